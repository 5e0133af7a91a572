"""MirrorSync against a plain loop over items."""

from math import inf, isfinite, isnan, nan

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq

from halflife.belief.mirror import MirrorSync, spread
from halflife.belief.schedule import RequestPace
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from store_looks import present

GOLDEN, PLASTIC = (5**0.5 - 1) / 2, 0.7548776662466927  # 1 / 1.3247..., x**3 = x + 1


@given(
    st.lists(st.floats(0.1, 50.0), min_size=1, max_size=5),
    st.floats(0.05, 5.0),
    st.floats(1.0, 3.0),
)
def test_all_intervals_move_by_the_same_so_that_the_budget_is_spent(
    given_, budget, cost
):
    interval = np.array(given_)
    found = spread(interval, np.full(interval.size, cost), budget)
    assert found - interval == pytest.approx(found[0] - interval[0], abs=1e-9)
    assert float(np.sum(cost / found)) == pytest.approx(budget, rel=1e-6)


class PlainItem:
    """One item, as the module's words describe it."""

    def __init__(self, row, interval):
        self.row, self.interval = row, interval
        self.synced, self.probe, self.seen, self.cycle = -inf, inf, nan, 0

    def look(self, at, *, changed, share, step, probes):
        if isfinite(self.probe) and isnan(self.seen):
            self.seen = float(changed)
            return
        if not isnan(self.seen):
            lost = max(self.seen, float(changed))
            slope = (self.seen - lost) / probes
            self.interval *= max(1 + step * share * slope, 0.5)
        self.synced, self.seen = at, nan
        self.cycle += 1
        drawn = (self.cycle * GOLDEN + self.row * PLASTIC) % 1
        moment = (self.cycle * PLASTIC + self.row * GOLDEN) % 1
        self.probe = at + moment * self.interval if drawn < probes else inf

    @property
    def due(self):
        sync = self.synced + self.interval
        return min(self.probe, sync) if isnan(self.seen) else sync


def renewed(items, cost, budget):
    """Lengthen all intervals by the one number at which the budget is spent."""
    least = min(item.interval for item in items)

    def over(v):
        each = zip(items, cost, strict=True)
        return sum(c / (item.interval + v) for item, c in each) - budget

    v = brentq(over, -least + 1e-9, 1e6, xtol=1e-13)
    for item in items:
        item.interval += v


@pytest.mark.parametrize(("step", "probes"), [(0.3, 0.5), (2.0, 0.9), (0.05, 0.1)])
def test_intervals_follow_what_probes_show(step, probes):
    rng = np.random.default_rng(4)
    weight, cost = [1.0, 2.0, 6.0, 3.0], [1.0, 2.0, 1.0, 3.0]

    def made(i):
        return Item("abcd"[i], weight=weight[i], cost=cost[i])

    evidence = Evidence.of(map(made, range(3)))
    belief, pace = MirrorSync(step, probes), RequestPace()
    items, digest = [PlainItem(i, 1.0) for i in range(3)], dict.fromkeys("abcd", 0)
    seen = set()
    for turn in range(40):
        now = 1.0 + 0.5 * turn
        if turn == 15:
            evidence.add([made(3)])
            usual = float(np.mean([item.interval for item in items]))
            items.append(PlainItem(3, usual))
        rows = np.flatnonzero(rng.random(len(items)) < 0.7)
        before = evidence.changes.copy()
        for i in rows:
            digest["abcd"[i]] += int(rng.random() < 0.4)
        looks = [present("abcd"[i], now, str(digest["abcd"[i]])) for i in rows]
        evidence.take(evidence.weigh(Observations.of(looks)))
        mean = float(np.mean(weight[: len(items)]))
        for i in rows:
            changed = bool(evidence.changes[i] > before[i])
            items[i].look(
                now, changed=changed, share=weight[i] / mean, step=step, probes=probes
            )
            seen.add(isfinite(items[i].probe))
        spent = pace.follow(evidence, now)
        if spent is not None:
            renewed(items, cost[: len(items)], spent / (1 + probes))
        view = belief(evidence, now, now)
        assert view.due == pytest.approx([item.due for item in items], rel=1e-6)
    assert seen == {True, False}


def test_other_evidence_is_learned_from_the_beginning():
    one, other = (Evidence.of(Item(key) for key in "ab") for _ in range(2))
    belief, fresh = MirrorSync(0.5, 0.5), MirrorSync(0.5, 0.5)
    for at in range(1, 9):
        one.take(one.weigh(Observations.of([present("a", float(at), str(at))])))
        belief(one, float(at), float(at))
    for at in range(9, 15):
        other.take(
            other.weigh(Observations.of([present("b", float(at), str(at // 2))]))
        )
        again = belief(other, float(at), float(at)).due
        assert again.tolist() == fresh(other, float(at), float(at)).due.tolist()
