"""Records drawn through a form tell how good a copy is, without bias."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from form_worlds import behind, cars
from halflife.errors import SourceError
from halflife.models.auditing import shared
from halflife.queries.checking import Draws, by_key, counts_all, draw
from halflife.queries.ledger import Ledger

COUNTED = {"everything": True, "counts": "exact", "lookup": True}


def same(old, new):
    return old == new


@pytest.fixture
def world():
    """A database, and a copy of which some is wrong, some gone, and some lacking."""
    there = cars(60, seed=3)
    keys = list(there)
    copy = {key: dict(there[key]) for key in keys[:50]}  # 10 are lacking
    for key in keys[:5]:
        copy[key]["price"] = -1.0  # 5 have changed
    copy |= {
        f"gone{i}": {"city": "Oslo", "title": "odd", "price": 1.0} for i in range(4)
    }
    return there, copy


def truth(there, copy):
    right = sum(there.get(key) == record for key, record in copy.items())
    return right / (len(copy) + len(there.keys() - copy.keys()))


def quality(draws, copy, *, known=False):
    true, lacks = draws.sums(copy, same)
    return shared(true, 0.0 * lacks if known else lacks, float(len(copy)))


def test_how_a_form_is_checked_follows_from_what_it_can_do():
    plain, full = behind({}).interface, behind({}, **COUNTED).interface
    assert not counts_all(plain)
    assert counts_all(full)
    assert by_key(full, known=False)
    assert by_key(behind({}, lookup=True).interface, known=True)
    assert not by_key(behind({}, lookup=True).interface, known=False)
    assert not by_key(plain, known=True)


def test_whoever_looks_everything_up_knows(world):
    there, copy = world
    ledger = Ledger(behind(there, **COUNTED))
    draws = draw(ledger, copy, np.random.default_rng(0), 1000, known=False)
    assert len(draws) == len(copy) == draws.parts
    assert draws.total == 60
    assert quality(draws, copy) == pytest.approx(truth(there, copy))
    assert quality(draws, copy, known=True) == pytest.approx(45 / 54)
    true, lacks = draws.sums(copy, same)
    assert true.mean() == pytest.approx(45.0)
    assert lacks.mean() == pytest.approx(10.0)
    assert draws.effective() == np.inf


def test_look_ups_take_what_they_may(world):
    there, copy = world
    ledger = Ledger(behind(there, **COUNTED))
    draws = draw(ledger, copy, np.random.default_rng(0), 6, known=False)
    assert ledger.requests == 6
    assert len(draws) == 5  # one request tells how many there are
    known = draw(ledger, copy, np.random.default_rng(0), 6, known=True)
    assert len(known) == 1  # at least one, whatever was spent before
    assert known.total is None


def test_sums_are_unbiased_over_all_samples(world):
    there, copy = world
    keys = ["car0", "car1", "car20", "car30", "gone0"]
    copy = {key: copy[key] for key in keys}
    each = []
    for some in combinations(keys, 2):
        draws = Draws(total=len(there), parts=5)
        for key in some:
            found = {key: there[key]} if key in there else {}
            draws.note(found, np.full(len(found), 5.0))
        each.append([column.mean() for column in draws.sums(copy, same)])
    true, lacks = np.mean(each, axis=0)
    assert true == pytest.approx(2.0)  # car20 and car30 are as they are there
    assert lacks == pytest.approx(60 - 4)


@pytest.mark.parametrize("known", [False, True])
def test_drill_downs_find_the_truth_in_the_mean(world, known):
    there, copy = world
    rng = np.random.default_rng(1)
    ledger = Ledger(behind(there, everything=True))
    draws = draw(ledger, copy, rng, 600, known=known)
    assert draws.parts is None
    true, lacks = draws.sums(copy, same)
    spread = true.std() / np.sqrt(len(draws))
    assert true.mean() == pytest.approx(45.0, abs=3.5 * spread)
    assert lacks.mean() == pytest.approx(
        10.0, abs=3.5 * lacks.std() / len(draws) ** 0.5
    )
    expected = 45 / 54 if known else truth(there, copy)
    assert quality(draws, copy, known=known) == pytest.approx(expected, abs=0.05)


class _Broken:
    def __init__(self, form, answers):
        self.form, self.left, self.interface = form, answers, form.interface

    def ask(self, *args, **how):
        return self._answer(self.form.ask, *args, **how)

    def fetch(self, key):
        return self._answer(self.form.fetch, key)

    def _answer(self, ask, *args, **how):
        self.left -= 1
        if self.left < 0:
            raise SourceError("it is down")
        return ask(*args, **how)


@pytest.mark.parametrize("answers", [0, 1, 3])
@pytest.mark.parametrize("can", [COUNTED, {"everything": True}])
def test_a_form_that_stops_answering_costs_only_the_draws_after(world, can, answers):
    there, copy = world
    ledger = Ledger(_Broken(behind(there, **can), answers))
    draws = draw(ledger, copy, np.random.default_rng(0), 50, known=False)
    assert len(draws) <= answers
    assert 0.0 <= quality(draws, copy) <= 1.0


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(-1e3, 1e6)), min_size=0, max_size=8
    ),
    held=st.floats(0, 1e6),
)
def test_shares_are_within_their_range_whatever_was_drawn(rows, held):
    true, lacks = np.array(rows, dtype=float).reshape(-1, 2).T
    assert 0.0 <= shared(true, lacks, held) <= 1.0


def test_what_was_drawn_counts_by_its_weights():
    looked = Draws(parts=10)
    for _ in range(5):
        looked.note({}, np.zeros(0))
    assert looked.effective() == 10.0  # 5 / (1 - 5 / 10)
    drilled = Draws()
    drilled.note({"a": {}, "b": {}}, np.array([2.0, 2.0]))
    drilled.note({"c": {}, "d": {}}, np.array([3.0, 1.0]))
    drilled.note({}, np.zeros(0))
    assert drilled.effective() == pytest.approx(2.0 + 16.0 / 10.0 + 1.0)
