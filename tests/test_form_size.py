"""How many records are behind a form, and how that changes."""

from math import inf
from typing import Any

import numpy as np
import pytest

from form_walks import outcomes
from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.errors import BudgetSpent, UsageError
from halflife.core.object_store import Attributes
from halflife.queries.ledger import Ledger
from halflife.queries.levels import LocalChances
from lab import size_panel as panels
from lab.capture import chapman
from lab.relation_size import (
    FormSizeMethod,
    averaged,
    estimate,
    of_walks,
    recapture,
    skewed,
)

CITY, TITLE, PRICE = ATTRIBUTES
FORM: dict[str, Any] = {
    "attributes": (CITY, PRICE), "counts": "none", "page_size": 25
}  # fmt: skip


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_form_that_counts_everything_is_asked_once() -> None:
    size = estimate(Ledger(behind(cars(321), everything=True)), 50, rng())
    assert (size.mean, size.low, size.high) == (321, 321, 321)
    assert (size.requests, size.method) == (1, FormSizeMethod.COUNT)


def test_sizes_are_right_in_the_mean_and_inside_their_intervals() -> None:
    form = behind(cars(300), **FORM)
    known = LocalChances(form.interface, cars(100, seed=9).values())
    sizes = [
        estimate(Ledger(form), 100, rng(seed), known=known) for seed in range(25)
    ]  # fmt: skip
    means = np.array([size.mean for size in sizes])
    assert abs(means.mean() - 300) < 3 * means.std() / 25**0.5
    assert np.mean([size.low <= 300 <= size.high for size in sizes]) > 0.85
    assert all(size.method is FormSizeMethod.WALKS for size in sizes)


def test_a_size_is_at_least_what_was_seen() -> None:
    size = estimate(Ledger(behind(cars(30), **FORM)), 200, rng())
    assert 25 < size.low <= 30 <= size.high


@pytest.mark.parametrize("counts", ["exact", "none"])
def test_an_empty_database_has_no_records(counts: str) -> None:
    form = {**FORM, "counts": counts}
    size = estimate(Ledger(behind({}, **form)), 10, rng())
    assert (size.mean, size.low) == (0.0, 0.0)
    whole = estimate(Ledger(behind({}, **form, everything=True)), 10, rng())
    assert whole.mean == 0.0


def test_walks_made_before_the_budget_was_spent_count() -> None:
    size = estimate(Ledger(behind(cars(300), **FORM), most=25), 1000, rng())
    assert 0 < size.walks < 1000
    assert size.requests == 25
    none = estimate(Ledger(behind(cars(300), **FORM), most=0), 10, rng())
    assert (none.walks, none.mean, none.high) == (0, 0.0, inf)


def test_where_nothing_can_be_read_whole_the_share_found_again_tells() -> None:
    records: dict[str, Attributes] = {
        key: {"title": row["title"]} for key, row in cars(120).items()
    }
    form = behind(records, attributes=(TITLE,), together=1, cap=20, counts="none")
    size = recapture(Ledger(form), 10, rng(), known=records.values())
    assert size.method is FormSizeMethod.RECAPTURE
    assert size.mean > 20
    assert size.low <= size.mean <= size.high


def test_capture_and_recapture_is_that_of_chapman() -> None:
    records = cars(80)
    ledger = Ledger(behind(records, attributes=(TITLE,), counts="none"))
    found = recapture(ledger, 4, rng(), known=records.values())
    halves: list[set[str]] = [set(), set()]
    for i, query in enumerate(ledger.asked):
        shown = [page.records for page in Ledger(behind(records)).pages(query)]
        halves[i % 2].update(*shown)
    first, second = halves
    meant = chapman(len(first), len(second), len(first & second))
    assert (found.mean, found.low, found.high) == (meant.size, meant.low, meant.high)


def test_only_words_are_enough_for_a_size() -> None:
    records = cars(300)
    form = behind(records, attributes=(TITLE,), counts="none")
    size = estimate(Ledger(form), 60, rng(), known=records.values())
    assert size.method is FormSizeMethod.WALKS
    assert size.low <= 300 <= size.high


def test_a_mean_of_one_value_has_no_bounds() -> None:
    assert averaged(np.array([3.0])).high == inf
    assert skewed(np.array([3.0]), rng()).high == inf
    assert of_walks([], rng()).high == inf


def aged(
    records: dict[str, Attributes], fresh: int, gone: int
) -> dict[str, Attributes]:
    """Return records of which some went, and others came."""
    kept = dict(list(records.items())[gone:])
    more = cars(fresh, seed=77)
    return kept | {f"new {key}": row for key, row in more.items()}


@pytest.mark.parametrize("guide", ["even", "known"])
@pytest.mark.parametrize(("fresh", "gone"), [(0, 0), (9, 0), (0, 11), (14, 6)])
def test_over_all_panels_what_came_and_went_is_exactly_right(
    guide: Any, fresh: int, gone: int
) -> None:
    before = cars(60)
    after = aged(before, fresh, gone)
    known = list(cars(20, seed=3).values())

    def play(script: Any) -> panels.PanelChange:
        ledger = Ledger(behind(before, **FORM))
        made = panels.start(ledger, 1, script, known=known, guide=guide)
        _, change = panels.reissue(Ledger(behind(after, **FORM)), made)
        return change

    found = list(outcomes(play))
    came, went, net = (
        sum(p * getattr(change, name).size for p, change in found)
        for name in ("came", "went", "net")
    )
    assert came == pytest.approx(fresh)
    assert went == pytest.approx(gone)
    assert net == pytest.approx(fresh - gone)


def test_a_panel_of_an_unchanged_database_says_so_for_a_request_a_member() -> None:
    made = panels.start(Ledger(behind(cars(200), **FORM)), 40, rng())
    again = Ledger(behind(cars(200), **FORM))
    after, change = panels.reissue(again, made)
    assert change.net == change.came == change.went == averaged(np.zeros(40))
    assert change.requests == again.requests <= 40
    assert change.requests < made.requests
    assert [w.records for w in after.walks] == [w.records for w in made.walks]


def test_each_round_of_a_panel_counts_its_own_requests_and_no_others() -> None:
    ledger = Ledger(behind(cars(200), **FORM))
    first = panels.start(ledger, 12, rng())
    spent = ledger.requests
    assert first.requests == spent == sum(walk.requests for walk in first.walks) > 0
    second = panels.start(ledger, 12, rng(1))
    assert second.requests == ledger.requests - spent > 0
    assert second.requests == sum(walk.requests for walk in second.walks)
    before = ledger.requests
    third, change = panels.reissue(ledger, second)
    assert change.requests == third.requests == ledger.requests - before
    assert third.requests == sum(walk.requests for walk in third.walks)


def test_growth_between_two_sets_of_walks_is_the_difference_of_their_means() -> None:
    few, many = (
        panels.start(Ledger(behind(cars(n), **FORM)), walks, rng()).walks
        for n, walks in ((60, 9), (200, 12))
    )
    found = panels.restarted(few, many)
    steps = [b.size - a.size for a, b in zip(few, many, strict=False)]
    assert found.size == pytest.approx(np.mean(steps))
    assert found.low < found.size < found.high


def test_a_panel_goes_deeper_where_more_records_are_than_can_be_read() -> None:
    made = panels.start(Ledger(behind(cars(60), **FORM)), 60, rng())
    after, _ = panels.reissue(Ledger(behind(cars(300), **FORM)), made)
    depths = np.array([[m.depth for m in p.members] for p in (made, after)])
    assert (depths[1] >= depths[0]).all()
    assert depths[1].sum() > depths[0].sum()


def test_change_is_seen_far_better_by_the_same_walks_than_by_new_ones() -> None:
    before = behind(cars(300), **FORM)
    after = behind(aged(cars(300), 20, 10), **FORM)
    known = LocalChances(before.interface, cars(60, seed=3).values())
    same, new = [], []
    for seed in range(30):
        made = panels.start(Ledger(before), 30, rng(seed), known=known)
        _, change = panels.reissue(Ledger(after), made)
        other = panels.start(Ledger(after), 30, rng(1000 + seed), known=known)
        same.append(change.net.size)
        new.append(panels.restarted(made.walks, other.walks).size)
    assert abs(np.mean(same) - 10) < 3 * np.std(same) / 30**0.5
    assert np.var(same) < np.var(new) / 3


def test_a_panel_that_cannot_be_paid_for_says_so() -> None:
    with pytest.raises(BudgetSpent):
        panels.start(Ledger(behind(cars(300), **FORM), most=5), 40, rng())


def test_a_form_that_offers_nothing_has_no_size() -> None:
    with pytest.raises(UsageError):
        estimate(Ledger(behind(cars(3), attributes=(TITLE,))), 5, rng())


def test_a_panel_begins_without_conditions_and_adds_one_only_where_it_must() -> None:
    small = {**FORM, "everything": True}
    made = panels.start(Ledger(behind(cars(4), **small)), 12, rng())
    assert {member.depth for member in made.members} == {0}
    assert {len(walk.query) for walk in made.walks} == {0}
    assert all(len(walk.records) == 4 for walk in made.walks)
    large = panels.start(Ledger(behind(cars(300), **small)), 12, rng())
    assert all(member.depth >= 1 for member in large.members)
    for member in large.members:  # one condition less would have been too few
        assert member.walk.steps == member.steps[: member.depth]
