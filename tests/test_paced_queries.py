"""Loops of queries, one every so often, with the staleness that is allowed."""

import numpy as np
import pytest

from form_worlds import behind, cars
from halflife.queries.known.content import measure
from halflife.queries.known.copies import Copy
from halflife.queries.known.query_loop import LONGEST, PacedLoop
from halflife.queries.known.refresh import make_refresher
from halflife.queries.known.rules import GreedyRounds

RNG = np.random.default_rng


def worker_of(rule, n=40):
    """Return a refresher of cars of which the dearer ones change more often."""
    records = cars(n)
    copy = Copy(records, measure=measure("price"), now=0.0)
    moves = np.arange(n, dtype=float)
    copy.pace.add(np.arange(n), np.full(n, 10.0), moves)
    return make_refresher(copy, behind(records).interface, rule), copy


def standing_at(worker, copy, now, budget=1e6):
    return worker.standing(copy, now, budget)


def bisected(a, alpha, size):
    """Return the interval by the paper's own search: doubling, then halving."""
    k = a.size

    def relative(interval):
        at_end = sum(one * (k - i) ** 2 for i, one in enumerate(sorted(a), 1))
        return at_end * interval**2 / (k * interval * size)

    low, high = 0.0, 1e-9
    while relative(high) <= alpha:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = (low + high) / 2.0
        low, high = (middle, high) if relative(middle) <= alpha else (low, middle)
    return low


@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
def test_the_interval_is_that_of_the_papers_search(alpha):
    rule = PacedLoop(alpha=alpha)
    worker, copy = worker_of(rule)
    now = standing_at(worker, copy, 5.0)
    plan, a = GreedyRounds().plan(now)
    assert (np.diff(a) >= 0).all()
    rule(now, RNG(0))
    found = rule.so_far(()).interval
    assert found == pytest.approx(min(bisected(a, alpha, 40), LONGEST / len(plan)))


def test_twice_the_staleness_allows_twice_the_time():
    found = []
    for alpha in (0.001, 0.002):
        rule = PacedLoop(alpha=alpha)
        worker, copy = worker_of(rule)
        rule(standing_at(worker, copy, 5.0), RNG(0))
        found.append(rule.so_far(()).interval)
    assert found[1] == pytest.approx(2.0 * found[0])


def test_a_query_is_sent_every_interval_and_the_next_loop_waits_for_the_last_one():
    rule = PacedLoop(alpha=0.01)
    worker, copy = worker_of(rule)
    plan, _ = GreedyRounds().plan(standing_at(worker, copy, 5.0))
    sent = [choice.number for choice in rule(standing_at(worker, copy, 5.0), RNG(0))]
    every = rule.so_far(()).interval
    assert rule(standing_at(worker, copy, 5.0 + 0.9 * every), RNG(0)) == []
    for slot in range(1, len(plan)):
        now = 5.0 + (slot + 0.01) * every
        sent += [
            choice.number for choice in rule(standing_at(worker, copy, now), RNG(0))
        ]
        assert len(sent) == slot + 1
    assert sent == [choice.number for choice in plan]
    end = 5.0 + len(plan) * every
    assert rule(standing_at(worker, copy, end - 0.01 * every), RNG(0)) == []
    assert rule(standing_at(worker, copy, end + 0.01 * every), RNG(0))


def test_a_loop_goes_on_after_a_restart_and_sends_again_what_was_not_asked():
    rule = PacedLoop(alpha=0.01)
    worker, copy = worker_of(rule)
    (first,) = rule(standing_at(worker, copy, 5.0), RNG(0))
    again = PacedLoop(alpha=0.01)
    again.go_on(rule.so_far([first]))
    assert again(standing_at(worker, copy, 5.0), RNG(0)) == [first]
    later = PacedLoop(alpha=0.01)
    later.go_on(rule.so_far(()))
    assert later(standing_at(worker, copy, 5.0), RNG(0)) == []
    assert later.so_far(()) == rule.so_far(())


def test_what_could_not_be_sent_in_time_is_sent_as_requests_allow():
    rule = PacedLoop(alpha=0.01)
    worker, copy = worker_of(rule)
    rule(standing_at(worker, copy, 5.0), RNG(0))
    late = 5.0 + 5.5 * rule.so_far(()).interval
    few = rule(standing_at(worker, copy, late, budget=2.0), RNG(0))
    assert 1 <= len(few) <= 2
    rest = rule(standing_at(worker, copy, late), RNG(0))
    assert len(few) + len(rest) == 5
