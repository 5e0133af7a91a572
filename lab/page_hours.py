"""Hours and weekdays of pages: what it is worth to know them.

    python -m lab.page_hours FOLDER [--half 0|1] [--pages 1500] [--days 360]

FOLDER has the histories of real sites (``sites/`` of the recorded data). Sites are
taken in turn, so that one half of them can be used for choices and the other for
figures. Besides, there are made-up worlds: pages that change on weekdays in working
hours (``office``), and at any time (``flat``).

*Foretold*: pages are fetched about once a day; each fetch is first foretold by the rate
of its site, with the rhythm as far as it has proven itself by then, and without. The
gain is the difference of the log scores, for each change. *Forecasts*: a replay with
four turns a day; before each turn the product forecasts how fresh the copy is, with the
rhythm and without, and the truth is known. *Freshness*: the same replay, if what is
fetched goes by the rhythm, too. JSON goes to standard output.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from halflife import plugins
from halflife.belief import Belief
from halflife.core.arrays import Bools, Floats
from halflife.core.evidence import Evidence
from halflife.core.view import View
from halflife.kinds.pages.hours import WeekLearner
from halflife.models.quality import freshness_forecast
from halflife.models.week_rhythm import LearnedWeek, WeekCalendar
from halflife.policies import Strategy
from halflife.recordings import histories
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay
from halflife.stores.memory import MemoryStore

TURN = 0.25  # days
GAP = 1.0  # days between two fetches of a page, in the mean
SOME = 100  # pages of a site that forecasts are tried on
POLICIES = ("freshness", "champion")
SHARES = (0.5, 0.1)  # requests a day for each page
WEEKEND = (2, 3)  # days of a week that begins on a Thursday
OFFICE = range(8, 17)


def halved(recording: Recording, half: int, pages: int) -> Recording:
    """Return pages of every other site, evenly drawn."""
    sites = sorted(set(recording.group))[half::2]
    rows = np.flatnonzero(np.isin(np.array(recording.group), sites))
    rng = np.random.default_rng(half)
    return recording.take(np.sort(rng.permutation(rows)[:pages]))


def made_up(kind: str, pages: int, days: float, seed: int) -> Recording:
    """Return pages of ten hosts that change once in five days, in the mean."""
    rng = np.random.default_rng(seed)
    times = []
    for _ in range(pages):
        at = np.sort(days * rng.random(rng.poisson(days)))
        if kind == "office":
            hour, day = (at % 1.0 * 24).astype(int), (at % 7.0).astype(int)
            at = at[np.isin(hour, OFFICE) & ~np.isin(day, WEEKEND)]
            chance = 0.2 / (5 / 7 * len(OFFICE) / 24)
        else:
            chance = 0.2
        times.append(at[rng.random(at.size) < chance])
    start = np.concatenate([[0], np.cumsum([one.size for one in times])])
    return Recording(
        tuple(f"http://h{i % 10}.example/{i}" for i in range(pages)),
        start.astype(np.intp),
        np.concatenate(times),
        np.ones(pages),
        np.full(pages, -np.inf),
        np.full(pages, np.inf),
        group=tuple(f"h{i % 10}.example" for i in range(pages)),
    )


def fetches(
    changes: Sequence[Floats], days: float, seed: int
) -> tuple[Floats, Floats, Bools]:
    """Return fetches of pages: since when, until when, and whether they changed."""
    rng, found = np.random.default_rng(seed), []
    for one in changes:
        gaps = GAP * (0.5 + rng.random(int(1.3 * days / GAP)))
        at = np.unique(np.ceil(np.cumsum(gaps) / TURN) * TURN)
        at = at[at < days]
        many = np.searchsorted(one, at, side="right")
        found.append((at[:-1], at[1:], many[1:] > many[:-1]))
    since, until, changed = (np.concatenate(one) for one in zip(*found, strict=True))
    order = np.argsort(until, kind="stable")
    return since[order], until[order], changed[order]


def foretell(since: Floats, until: Floats, changed: Bools) -> tuple[float, float, int]:
    """Return the gain of the rhythm as it is used, that of always using it; changes."""
    known, day = LearnedWeek(), np.floor(until)
    used = always = 0.0
    for one in np.unique(day):
        at = slice(np.searchsorted(day, one), np.searchsorted(day, one, side="right"))
        s, u, c = since[at], until[at], changed[at]
        if known.rate > 0:
            own = np.maximum(known.fit().between(s, u), 1e-6)
            gain = float(np.log(own[c] / (u - s)[c]).sum())
            gain -= known.rate * float((own - (u - s)).sum())
            always += gain
            used += gain if known.is_proven else 0.0
        known = known.after(u, s, c)
    return used, always, int(np.count_nonzero(changed))


def foretold(recording: Recording, days: float, seed: int) -> dict[str, object]:
    """Return the gain of forecasts over all hosts of a recording."""
    group, sums = np.array(recording.group), []
    rng = np.random.default_rng(seed)
    for host in sorted(set(recording.group)):
        rows = rng.permutation(np.flatnonzero(group == host))[:SOME]
        times = [recording.at[slice(*recording.start[i : i + 2])] for i in rows]
        if sum(one.size for one in times):
            sums.append(foretell(*fetches(times, days, seed)))
    used, always, changes = np.array(sums).sum(axis=0)
    return {
        "hosts": len(sums),
        "changes": int(changes),
        "gain": round(used / changes, 4),
        "gain_if_always_used": round(always / changes, 4),
        "worst_host": round(min(one[0] for one in sums), 2),
    }


class WeekPaced:
    """What another belief says, and at which hours the pages of each host change.

    Args:
        inner: The belief.
        in_exposure: Whether policies go by it, too, and not forecasts alone.

    """

    def __init__(self, inner: Belief, *, in_exposure: bool) -> None:
        self.inner, self._in_exposure = inner, in_exposure
        self._learner: WeekLearner | None = None

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        if self._learner is None:
            self._learner = WeekLearner(MemoryStore(), evidence)
        else:
            self._learner.end_turn(-np.inf)
        self._learner.begin_turn()
        view = self.inner(evidence, now, since)
        known = self._learner.rhythms
        rhythms = {
            number: known[name].fit()
            for number, name in enumerate(evidence.groups)
            if name in known and known[name].is_proven
        }
        calendar = WeekCalendar(now, rhythms)
        if not self._in_exposure:
            return replace(view, calendar=calendar)
        pace, _ = calendar(view.group, view.age, 0.0)
        return replace(view, exposure=view.exposure * pace)


def replayed(
    recording: Recording, days: float, name: str, share: float
) -> dict[str, object]:
    """Return how wrong forecasts are and how fresh copies, with and without it."""
    budget, errors = share * len(recording), []
    replay = Replay(recording, budget, 0.0, days, ticks=4, warm=days / 3.0)
    strategy = plugins.strategy(name)

    def paced(*, in_exposure: bool) -> Strategy:
        made = partial(_paced, strategy, in_exposure)
        return replace(strategy, belief=made)

    def watch(view: View, fresh: float) -> None:
        casts = view, replace(view, calendar=None)
        said = [freshness_forecast(one, np.zeros(1)).mean[0] for one in casts]
        errors.append([said[0] - fresh, said[1] - fresh])

    plain = replay.score(paced(in_exposure=False), watch=watch).freshness
    wrong = np.sqrt(np.mean(np.array(errors[len(errors) // 3 :]) ** 2, axis=0))
    return {
        "policy": name,
        "requests": share,
        "error": round(float(wrong[0]), 4),
        "error_without": round(float(wrong[1]), 4),
        "freshness_if_heeded": round(
            replay.score(paced(in_exposure=True)).freshness, 4
        ),
        "freshness": round(plain, 4),
    }


def _paced(strategy: Strategy, in_exposure: bool) -> Belief:  # noqa: FBT001
    return WeekPaced(strategy.belief(), in_exposure=in_exposure)


def run(recording: Recording, days: float, name: str) -> Iterator[dict[str, object]]:
    """Yield all figures of a recording."""
    yield {"world": name, **foretold(recording, days, 1)}
    for policy in POLICIES:
        for share in SHARES:
            yield {"world": name, **replayed(recording, days, policy, share)}


def main(argv: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m lab.page_hours")
    parser.add_argument("folder", type=Path, help="with pages.parquet")
    parser.add_argument("--half", type=int, default=1)
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--days", type=float, default=360.0)
    parser.add_argument("--real", action="store_true", help="leave out made-up worlds")
    given = parser.parse_args(argv)
    real = histories.load(given.folder, days=given.days).recording
    kinds = () if given.real else ("office", "flat")
    for name in kinds:
        world = made_up(name, 200, 180.0, 1)
        for row in run(world, 180.0, name):
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
    for row in run(halved(real, given.half, given.pages), given.days, "real"):
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
