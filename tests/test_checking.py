"""Records drawn through a form tell how good a copy is, without bias."""

from itertools import combinations

import numpy as np
import pytest

from form_worlds import behind, cars
from halflife.core.errors import SourceError
from halflife.queries.ledger import Ledger
from halflife.queries.random_check import (
    DrilledRecords,
    LookupSample,
    by_key,
    counts_all,
    draw,
)

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
    tally = draws.tally(copy, same)
    whole = tally.held + (0.0 if known else tally.lacks)
    return tally.true / whole if whole else 1.0


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
    assert len(draws.shown) == len(copy) == draws.parts
    assert draws.total == 60
    assert quality(draws, copy) == pytest.approx(truth(there, copy))
    assert quality(draws, copy, known=True) == pytest.approx(45 / 54)
    tally = draws.tally(copy, same)
    assert (tally.true, tally.held, tally.lacks) == pytest.approx((45.0, 54.0, 10.0))
    assert tally.looks == np.inf


def test_look_ups_take_what_they_may(world):
    there, copy = world
    ledger = Ledger(behind(there, **COUNTED))
    draws = draw(ledger, copy, np.random.default_rng(0), 6, known=False)
    assert ledger.requests == 6
    assert len(draws.shown) == 5  # one request tells how many there are
    tally = draws.tally(copy, same)
    assert tally.looks == pytest.approx(5 / (1 - 5 / 54) * (54 + tally.lacks) / 54)
    known = draw(ledger, copy, np.random.default_rng(0), 6, known=True)
    assert len(known.shown) == 1  # at least one, whatever was spent before
    assert known.total is None


def test_sums_are_unbiased_over_all_samples(world):
    there, copy = world
    keys = ["car0", "car1", "car20", "car30", "gone0"]
    copy = {key: copy[key] for key in keys}
    each = []
    for some in combinations(keys, 2):
        shown = [{key: there[key]} if key in there else {} for key in some]
        tally = LookupSample(5, shown, len(there)).tally(copy, same)
        each.append((tally.true, tally.held, tally.lacks))
    true, held, lacks = np.mean(each, axis=0)
    assert true == pytest.approx(2.0)  # car20 and car30 are as they are there
    assert held == 5.0
    assert lacks == pytest.approx(60 - 4)


def test_audits_of_single_records_come_to_the_truth_together(world):
    there, copy = world
    form, each = behind(there, **COUNTED), []
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        tally = draw(Ledger(form), copy, rng, 2, known=False).tally(copy, same)
        each.append((tally.true / (tally.held + tally.lacks), tally.looks))
    found, looks = np.array(each).T
    assert looks @ found / looks.sum() == pytest.approx(truth(there, copy), abs=0.02)
    assert found.mean() > truth(there, copy) + 0.03  # their plain mean does not


@pytest.mark.parametrize("known", [False, True])
def test_drill_downs_find_the_truth_in_the_mean(world, known):
    there, copy = world
    rng = np.random.default_rng(1)
    ledger = Ledger(behind(there, everything=True))
    draws = draw(ledger, copy, rng, 600, known=known)
    each = np.array(
        [
            (one.true, one.held, one.lacks)
            for walk in draws.walks
            for one in [DrilledRecords(ledger.interface, [walk]).tally(copy, same)]
        ]
    )
    error = each.std(axis=0) / len(each) ** 0.5
    for mean, wanted, off in zip(each.mean(axis=0), (45, 54, 10), error, strict=True):
        assert mean == pytest.approx(wanted, abs=3.5 * off)
    expected = 45 / 54 if known else truth(there, copy)
    assert quality(draws, copy, known=known) == pytest.approx(expected, abs=0.04)
    both = draws.tally(copy, same)
    assert both.looks == pytest.approx((both.held + both.lacks) / len(copy))


def test_a_drill_down_counts_by_what_it_saw_and_stands_for(world):
    there, copy = world
    ledger = Ledger(behind(there, everything=True))
    drawn = draw(ledger, copy, np.random.default_rng(2), 40, known=False).walks
    for walk in drawn:
        one = DrilledRecords(ledger.interface, [walk]).tally(copy, same)
        assert 0.0 <= one.true <= one.held + 1e-9
        if not walk.records and not one.held:
            assert one.looks == 0.0
    both = DrilledRecords(ledger.interface, drawn).tally(copy, same)
    assert both.true <= both.held
    empty = DrilledRecords(ledger.interface).tally(copy, same)
    assert (empty.true, empty.held, empty.lacks, empty.looks) == (0.0, 0.0, 0.0, 0.0)


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
    drawn = draws.walks if isinstance(draws, DrilledRecords) else draws.shown
    assert len(drawn) <= answers
    assert 0.0 <= quality(draws, copy) <= 1.0
