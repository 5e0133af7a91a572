"""Small functions that others are made of, each against its definition."""

import math

import numpy as np
import pytest

from halflife.allocation.checks import gain_of_check, mean_cost
from halflife.core.budget import Account, BudgetSpent
from halflife.core.errors import UsageError
from halflife.core.lazy_scipy import exprel
from halflife.core.lifetimes import Collection, Lives
from halflife.models.conformal import inside
from halflife.models.signals import announced_share, silent_share
from halflife.summary import Summary
from halflife.summary.tables import Summaries, vocabulary
from lab.arrival_counts import arrivals

INF = math.inf


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", [0.0, 0.5, 1.0, 3.0])
def test_arrivals_are_the_spells_first_seen_after_one_look_and_by_the_next(seed, step):
    rng = np.random.default_rng(seed)
    looks = np.cumsum(rng.choice([0.25, 0.5, 1.0, 2.5], 14)) + 3.0
    first = rng.integers(0, looks.size, 30)
    lives = Lives(
        tuple(f"k{i}" for i in range(30)),
        np.where(first == 0, -INF, looks[np.maximum(first - 1, 0)]),
        looks[first],
        np.full(30, looks[-1]),
        np.full(30, INF),
        {},
    )
    source = Collection("x", looks, lives, np.zeros(0, np.intp), np.zeros(0))
    kept = [looks[0]]
    for at in looks[1:]:
        if step == 0 or (at - looks[0]) // step > (kept[-1] - looks[0]) // step:
            kept.append(at)
    start, end, count = arrivals(source, step=step)
    assert start.tolist() == kept[:-1]
    assert end.tolist() == kept[1:]
    for a, b, n in zip(start, end, count, strict=True):
        assert n == sum(1 for i in first if i > 0 and a < looks[i] <= b)


def test_no_request_is_sent_unpaid_and_none_beyond_the_limit():
    paid = [0]
    account = Account(lambda: paid[0], limit=2)
    with pytest.raises(UsageError, match="charges the ledger"):
        account.send()
    paid[0] = 3
    for n in (1, 2):
        account.check()
        account.send()
        assert account.sent == n
    with pytest.raises(BudgetSpent):
        account.check()
    Account(lambda: 0, sent=10**9).check()  # without a limit


@pytest.mark.parametrize("x", [-700.0, -3.0, -1e-9, 1e-12, 0.1, 2.0, 50.0])
def test_the_relative_exponential_is_the_mean_of_exp_up_to_x(x):
    assert float(exprel(x)) == pytest.approx(math.expm1(x) / x, rel=1e-14)
    assert exprel(np.array([0.0, x])).tolist()[0] == 1.0


def test_the_relative_exponential_at_the_ends():
    found = exprel(np.array([0.0, -0.0, INF, -INF, 800.0]))
    assert found.tolist() == [1.0, 1.0, INF, 0.0, INF]


def test_bounds_hold_what_lies_on_them():
    low, high = np.full(5, 0.2), np.full(5, 0.6)
    truth = np.array([0.2, 0.6, 0.4, 0.2 - 1e-6, 0.6 + 1e-6])
    assert inside(low, high, truth).tolist() == [True, True, True, False, False]


def test_a_check_pays_the_rest_only_if_the_page_changed():
    gain, fresh = np.array([3.0, 3.0, 3.0]), np.array([0.5, 2.0, 0.0])
    rate, check = np.array([0.4, 0.5, 9.0]), np.array([1.0, 2.0, 4.0])
    assert gain_of_check(gain, fresh, rate, check, 0.0) == pytest.approx(gain / check)
    found = gain_of_check(gain, fresh, rate, check, 5.0)
    assert found == pytest.approx([3 / (1 + 5 * 0.2), 3 / (2 + 5 * 1.0), 3 / 4])
    surer = gain_of_check(gain, fresh * 10, rate * 10, check, 5.0)
    assert surer == pytest.approx([3 / 6, 3 / 7, 3 / 4])


def test_looks_cost_a_check_each_and_more_where_a_change_is_found():
    f, rate = np.array([2.0, 0.5, 0.0]), np.array([1.0, 3.0, 1.0])
    by_hand = [2 * (1 + 4 * (1 - math.exp(-0.5))), 0.5 * (1 + 4 * (1 - math.exp(-6)))]
    assert mean_cost(f, rate, 1.0, 4.0) == pytest.approx([*by_hand, 0.0])


def test_the_share_of_changes_that_hints_announce():
    silent, told, worth = np.array([0.2, 0.0, 0.3, 0.0]), np.array([1.0, 2, 0, 0]), 0.7
    true = 1.0 * (1 - math.exp(-0.7))
    found = announced_share(silent, told, np.full(4, worth))
    assert found == pytest.approx([true / (0.2 + true), 1.0, 0.0, 0.0])


def test_a_change_after_worthless_hints_was_a_silent_one():
    expected, hints = np.array([0.4, 0.4, 2.0]), np.array([0.0, 3.0, 1.0])
    found = silent_share(expected, hints * np.array([5.0, 0.5, 1.0]))
    by_hand = [
        1.0,
        (1 - math.exp(-0.4)) / (1 - math.exp(-1.9)),
        (1 - math.exp(-2)) / (1 - math.exp(-3)),
    ]
    assert found == pytest.approx(by_hand)


def test_a_table_over_another_vocabulary_has_the_same_rows():
    rows = {
        "one": Summary(("b", "d"), np.array([3.0, 1.0]), 9.0, 4),
        "none": Summary((), np.zeros(0), 0.0, 0),
        "two": Summary(("a", "b", "c"), np.array([1.0, 2.0, 5.0]), 7.0, 7),
    }
    table = Summaries.of(rows, 3.0)
    other = vocabulary(["d", "x", "c", "b", "y", "a"])
    moved = table.over(other)
    assert moved.words is other
    for name, row in rows.items():
        found = moved.row(name)
        assert found.words == row.words
        assert found.count.tolist() == row.count.tolist()
        assert (found.size, found.sampled) == (row.size, row.sampled)
        cells = slice(*moved.start[moved.place(name) : moved.place(name) + 2])
        assert np.all(np.diff(moved.word[cells]) > 0)
    assert moved.taken_at.tolist() == [3.0] * 3
    assert table.over(table.words) is table
    with pytest.raises(ValueError, match="'d' is not in the other vocabulary"):
        table.over(vocabulary(["a", "b", "c"]))
