"""Policies that find new records: a contract for all, and what each is for."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from form_worlds import behind, cars
from halflife.core.forms import Query, Term
from halflife.core.object_store import Attributes
from halflife.queries.fresh import FreshPolicy
from halflife.queries.fresh.expected_gain import ExpectedGainRule
from halflife.queries.fresh.harvest import GivenSample, Harvest, harvest
from halflife.queries.fresh.metrics import scores
from halflife.queries.fresh.records import SampleGuidedRule
from halflife.queries.fresh.simple import (
    Exhaustive,
    FreshOracle,
    GammaPoissonRule,
    Newest,
)
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords
from halflife.queries.table_form import TableFaults, TableForm

NOW = cars(400)
BEFORE = {key: NOW[key] for key in list(NOW)[:300]}
MAKERS: dict[str, Callable[[], FreshPolicy]] = {
    "default": ExpectedGainRule,
    "paper": SampleGuidedRule,
    "uniform": lambda: SampleGuidedRule(sharp=0.0),
    "exhaustive": Exhaustive,
    "gamma-poisson": GammaPoissonRule,
    "oracle": lambda: FreshOracle(NOW),
    "newest": Newest,
}
OPEN = {"everything": True, "newest": True}
DATES = {key: float(i) for i, key in enumerate(NOW)}


def played(
    policy: FreshPolicy,
    form: TableForm,
    before: Mapping[str, Attributes] = BEFORE,
    *,
    most: int | None = None,
    seed: int = 0,
) -> tuple[Harvest, LocalRecords, Ledger]:
    rng = np.random.default_rng(seed)
    keys = rng.choice(sorted(form.records), len(form.records) // 7, replace=False)
    sample = GivenSample({key: form.records[key] for key in keys.tolist()})
    local, ledger = LocalRecords(form.interface, before), Ledger(form, most)
    return harvest(policy, local, ledger, rng, sample), local, ledger


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_found_is_new_and_there_and_every_request_is_charged(name) -> None:
    form = behind(NOW, dates=DATES, **OPEN)
    done, local, ledger = played(MAKERS[name](), form)
    assert set(done.new) <= NOW.keys() - BEFORE.keys()
    assert done.requests == ledger.requests
    assert set(local.keys) == BEFORE.keys() | done.new.keys()
    requests, found = zip(*done.curve, strict=True)
    assert list(requests) == sorted(requests)
    assert list(found) == sorted(found)
    assert found[-1] == len(done.new)


@pytest.mark.parametrize("name", MAKERS)
def test_most_new_records_are_found_when_nothing_stops_it(name) -> None:
    done, *_ = played(MAKERS[name](), behind(NOW, dates=DATES, **OPEN))
    assert scores(done, BEFORE, NOW).icr > 0.9
    assert done.stop == "nothing more is worth a request"


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=8)
@given(most=st.integers(12, 40), seed=st.integers(0, 99))
def test_no_policy_spends_more_than_there_is(name, most, seed) -> None:
    form = behind(NOW, dates=DATES, **OPEN)
    done, *_ = played(MAKERS[name](), form, most=most, seed=seed)
    assert done.requests <= most
    assert done.stop in ("the budget is spent", "nothing more is worth a request")


@pytest.mark.parametrize("name", ["default", "paper", "uniform", "exhaustive"])
def test_an_empty_copy_or_form_ends_it(name) -> None:
    done, *_ = played(MAKERS[name](), behind({}), {})
    assert done.new == {}


@pytest.mark.parametrize(
    "shape",
    [
        {"counts": "none"},
        {"counts": "rounded"},
        {"faults": TableFaults(lies=2.0)},
        {"cap": 20},
        {"cap": 20, "counts": "none"},
        {"cap": 20, "counts": "capped"},
    ],
    ids=str,
)
def test_the_default_finds_them_whatever_the_form_tells(shape) -> None:
    done, *_ = played(ExpectedGainRule(), behind(NOW, **shape))
    assert scores(done, BEFORE, NOW).icr > 0.85


def test_results_cut_off_are_reached_by_a_second_term() -> None:
    form = behind(NOW, cap=20)
    _, local, _ = played(ExpectedGainRule(), form)
    pairs = [query for query in local.reads if len(query) == 2]
    assert pairs
    whole = {query.terms[0] for query in local.reads if len(query) == 1}
    assert all(whole & set(pair) for pair in pairs)


def test_without_a_second_term_what_is_cut_off_stays_hidden() -> None:
    _, local, _ = played(ExpectedGainRule(), behind(NOW, cap=20, together=1))
    assert all(len(query) == 1 for query in local.reads)


def test_a_new_value_is_followed_up() -> None:
    there = dict(BEFORE)
    for i in range(30):
        there[f"new{i}"] = {"city": "Tokyo", "title": "red car", "price": 5.0 + i}
    done, local, _ = played(ExpectedGainRule(), behind(there))
    assert scores(done, BEFORE, there).icr == 1.0
    assert local.reads[Query.of(Term("city", "Tokyo"))].pages >= 1


def test_the_default_needs_fewer_requests_than_drawing_records() -> None:
    form = behind(NOW)
    cost = {
        name: np.mean(
            [
                next(
                    r
                    for r, n in played(MAKERS[name](), form, seed=s)[0].curve
                    if n >= 90
                )
                for s in range(3)
            ]
        )
        for name in ("default", "paper")
    }
    assert cost["default"] < cost["paper"]


def test_newest_first_reads_little_more_than_what_is_new() -> None:
    done, *_ = played(Newest(), behind(NOW, dates=DATES, **OPEN))
    assert scores(done, BEFORE, NOW).icr == 1.0
    assert done.requests == 100 // 5 + 2


def test_newest_first_needs_a_form_that_can() -> None:
    with pytest.raises(ValueError, match="newest first"):
        played(Newest(), behind(NOW))
    for half in ({"newest": True, "everything": False}, {"everything": True}):
        with pytest.raises(ValueError, match="newest first"):
            played(Newest(), behind(NOW, dates=DATES, **half))


def test_ten_issued_queries_without_new_records_end_the_papers_way() -> None:
    policy = SampleGuidedRule(patience=10)
    # Counts that say twice what is there make every query look worth asking.
    form = behind(BEFORE, faults=TableFaults(lies=4.0))
    done, local, _ = played(policy, form)
    assert done.new == {}
    assert len(policy._issued) == 10
    assert len(local.reads) >= 10


def test_a_choice_says_why() -> None:
    form = behind(NOW)
    local = LocalRecords(form.interface, BEFORE)
    choice = ExpectedGainRule().next(local, Ledger(form), np.random.default_rng(0))
    assert choice is not None
    assert "new, page 1" in choice.why
    assert choice.expected > 0
