"""Laws of a loop of queries: when each is due, and when the next loop begins."""

from types import SimpleNamespace

import numpy as np
import pytest

from halflife.queries.known.order import interval_for
from halflife.queries.known.query_loop import LONGEST, PacedLoop
from halflife.queries.known.rules import KnownChoice, RuleMemory


class Loop:
    """Plans the queries that it is given, with how much each moves a day."""

    def __init__(self, a, pages=1):
        self.a, self.pages, self.plans = np.array(a, float), pages, 0

    def plan(self, _standing):
        self.plans += 1
        return [KnownChoice(i, self.pages, 1.0, "") for i in range(self.a.size)], self.a


def at(now, budget=1e9, held=8):
    weight = np.append(np.ones(held), 0.0)  # the last one is gone
    return SimpleNamespace(now=now, budget=budget, weight=weight)


def numbers(choices):
    return [choice.number for choice in choices]


def test_queries_are_due_one_every_interval_from_the_beginning_on():
    loop = Loop([1.0, 2.0, 3.0])
    rule = PacedLoop(alpha=0.5, _rounds=loop)
    assert numbers(rule(at(10.0), None)) == [0]
    every = rule._interval
    assert every == pytest.approx(interval_for(loop.a, 0.5, 8))
    assert numbers(rule(at(10.0 + 0.99 * every), None)) == []
    assert numbers(rule(at(10.0 + every * (1 + 1e-9)), None)) == [1]
    assert numbers(rule(at(10.0 + 2.5 * every), None)) == [2]
    assert rule(at(10.0 + 2.9 * every), None) == []  # the loop is not over
    assert loop.plans == 1
    assert numbers(rule(at(10.0 + 3.0 * every), None)) == [0]
    assert (loop.plans, rule._began) == (2, 10.0 + 3.0 * every)


def test_queries_that_are_late_are_sent_while_there_are_requests():
    rule = PacedLoop(alpha=0.5, _rounds=Loop([1.0, 2.0, 3.0, 4.0], pages=2))
    rule(at(0.0), None)
    late = 3.0 * rule._interval * (1 + 1e-9)
    assert numbers(rule(at(late, budget=2.0), None)) == [1]
    assert numbers(rule(at(late, budget=3.0), None)) == [2, 3]
    assert rule._sent == 4


def test_nothing_is_sent_without_a_loop_or_a_request():
    assert PacedLoop(_rounds=Loop([]))(at(0.0), None) == []
    rule = PacedLoop(_rounds=Loop([1.0]))
    assert rule(at(0.0, budget=0.0), None) == []
    assert numbers(rule(at(0.0), None)) == [0]


def test_a_loop_lasts_a_year_at_most():
    """What stands still would allow any interval."""
    for a in ([0.0, 0.0], [1e-12, 1e-12]):
        rule = PacedLoop(_rounds=Loop(a))
        rule(at(5.0), None)
        assert rule._interval == LONGEST / 2


def test_a_loop_goes_on_after_a_pause_with_what_was_not_sent():
    rule = PacedLoop(alpha=0.5, _rounds=Loop([1.0, 2.0, 3.0]))
    first = rule(at(10.0), None)
    kept = rule.so_far(first)
    assert numbers(kept.choices) == [0, 1, 2]
    assert (kept.began, kept.interval, kept.sent) == (10.0, rule._interval, 0)
    assert rule.so_far(()).sent == 1
    other = PacedLoop(alpha=0.5, _rounds=Loop([9.0]))
    other.go_on(kept)
    assert numbers(other(at(10.0), None)) == [0]
    assert other.so_far(()) == RuleMemory(
        rule.so_far(()).choices, began=10.0, interval=rule._interval, sent=1
    )
