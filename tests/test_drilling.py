"""Random drill-downs through forms."""

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from form_walks import outcomes
from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.core.object_store import Attributes
from halflife.queries.completeness import QueryReader
from halflife.queries.drill_down import Drill, DrillWalk
from halflife.queries.ledger import Ledger
from halflife.queries.levels import levels
from halflife.queries.sampling import sample

CITY, TITLE, PRICE = ATTRIBUTES
GUIDES = ("even", "known", "counts")


def drill(records: dict[str, Attributes], known: Any = (), **options: Any) -> Drill:
    names = ("guide", "backtrack", "most", "order")
    how = {name: options.pop(name) for name in names if name in options}
    ledger = Ledger(behind(records, **options))
    how.setdefault("order", [a.name for a in ledger.interface.attributes])
    return Drill(ledger, known, **how)


def expected(made: Drill) -> tuple[dict[str, float], list[DrillWalk]]:
    """Return the mean weight of each record over all walks, and the walks."""
    mean: dict[str, float] = defaultdict(float)
    paths: dict[tuple[Any, ...], float] = defaultdict(float)
    walks = []
    for chance, walk in outcomes(made.walk):
        each = zip(walk.records, walk.weight, strict=True) if walk.whole else ()
        for key, weight in each:
            mean[key] += chance * float(weight)
        steps = tuple((s.level.attribute.name, s.term) for s in walk.steps)
        paths[steps] += chance
        walks.append((steps, walk))
    assert sum(paths.values()) == pytest.approx(1.0)
    for steps, walk in walks:
        if walk.records:
            assert paths[steps] == pytest.approx(walk.probability)
    return mean, [walk for _, walk in walks]


@pytest.mark.parametrize("guide", GUIDES)
@pytest.mark.parametrize("backtrack", [True, False])
@pytest.mark.parametrize("counts", ["exact", "none"])
@pytest.mark.parametrize("everything", [True, False])
def test_over_all_walks_each_record_weighs_exactly_one(
    guide: str, backtrack: bool, counts: str, everything: bool
) -> None:
    records = cars(60)
    known = list(cars(15, seed=1).values())
    made = drill(
        records,
        known,
        guide=guide,
        backtrack=backtrack,
        counts=counts,
        everything=everything,
        page_size=10,
        attributes=(CITY, PRICE),
    )
    mean, walks = expected(made)
    assert all(walk.whole for walk in walks if walk.records)
    assert mean == pytest.approx(dict.fromkeys(records, 1.0))


@pytest.mark.parametrize("guide", GUIDES)
def test_records_without_a_value_or_with_an_unknown_one_are_reached_too(
    guide: str,
) -> None:
    records = cars(40)
    for i, key in enumerate(records):
        if i % 4 == 0:
            records[key] = {**records[key], "city": None}
        if i % 4 == 1:
            records[key] = {**records[key], "city": f"village {i % 3}"}
    attributes = (CITY, PRICE)
    made = drill(records, guide=guide, page_size=12, attributes=attributes)
    mean, walks = expected(made)
    assert all(walk.whole for walk in walks if walk.records)
    assert mean == pytest.approx(dict.fromkeys(records, 1.0))


@pytest.mark.parametrize("guide", ["even", "known"])
def test_a_record_with_many_words_weighs_no_more_than_one_with_few(guide: str) -> None:
    records = cars(40)
    made = drill(records, records.values(), guide=guide, attributes=(TITLE,))
    mean, walks = expected(made)
    assert all(walk.whole for walk in walks if walk.records)
    assert mean == pytest.approx(dict.fromkeys(records, 1.0))


def test_where_one_word_overflows_two_are_asked_for() -> None:
    records: dict[str, Attributes] = {
        "a": {"title": "red old"},
        "b": {"title": "red new"},
        "c": {"title": "red fast"},
        "d": {"title": "slow"},
    }
    made = drill(records, records.values(), attributes=(TITLE,), most=2)
    mean, walks = expected(made)
    assert mean == pytest.approx(dict.fromkeys(records, 1.0))
    assert {len(walk.query) for walk in walks} == {0, 1, 2}


def test_words_follow_where_values_do_not_tell_records_apart() -> None:
    records = {key: {**row, "city": "Oslo"} for key, row in cars(20).items()}
    known = records.values()
    made = drill(records, known, attributes=(CITY, TITLE), most=8, page_size=8)
    mean, _ = expected(made)
    assert mean == pytest.approx(dict.fromkeys(records, 1.0))


ROWS = st.lists(
    st.fixed_dictionaries(
        {"a": st.sampled_from(["x", "y", None, "other"]), "b": st.integers(0, 3)}
    ),
    max_size=12,
)
AB = (Attribute("a", "select", ("x", "y", "z")), Attribute("b", "range", cuts=(1, 2)))


@given(
    ROWS,
    ROWS,
    st.sampled_from(GUIDES),
    st.booleans(),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["exact", "none"]),
)
@settings(max_examples=60)
def test_no_record_ever_weighs_more_than_one_and_all_do_if_all_are_reached(
    rows: list[Any],
    known: list[Any],
    guide: str,
    backtrack: bool,
    page_size: int,
    counts: str,
) -> None:
    records = {str(i): row for i, row in enumerate(rows)}
    made = drill(
        records,
        known,
        guide=guide,
        backtrack=backtrack,
        page_size=page_size,
        counts=counts,
        attributes=AB,
    )
    mean, walks = expected(made)
    assert all(weight <= 1.0 + 1e-9 for weight in mean.values())
    whole = {key for walk in walks if walk.whole for key in walk.records}
    assert all(mean[key] == pytest.approx(1.0) for key in whole)
    if all(walk.whole for walk in walks):
        assert set(mean) == set(records)


@given(ROWS, st.sampled_from(GUIDES), st.booleans())
@settings(max_examples=30)
def test_counts_make_up_for_what_is_not_shown(
    rows: list[Any], guide: str, backtrack: bool
) -> None:
    records = {str(i): {"a": "x", **row} for i, row in enumerate(rows) if row["a"]}
    attributes = (Attribute("a", "select", ("x", "y", "other")),)
    made = drill(
        records, guide=guide, backtrack=backtrack, page_size=1, attributes=attributes
    )
    mean = sum(chance * walk.size for chance, walk in outcomes(made.walk))
    assert mean == pytest.approx(len(records))


def test_counted_walks_all_estimate_the_same_size() -> None:
    made = drill(cars(60), guide="counts", everything=True, attributes=(CITY, PRICE))
    sizes = [walk.size for _, walk in outcomes(made.walk)]
    assert sizes == pytest.approx([60.0] * len(sizes))


def test_backtracking_leaves_no_walk_empty() -> None:
    records = cars(60)
    options: dict[str, Any] = {"attributes": (CITY, PRICE), "guide": "even"}
    empty = []
    for backtrack in (True, False):
        made = drill(records, backtrack=backtrack, **options)
        walks = [walk for _, walk in outcomes(made.walk) if not walk.records]
        # Nothing lacks a value here, so that there is no rest.
        empty += [sum(all(s.term for s in walk.steps) for walk in walks)]
    assert empty[0] == 0 < empty[1]


def test_a_walk_that_can_add_nothing_more_says_that_it_saw_not_all() -> None:
    records = {str(i): {"city": "Oslo"} for i in range(9)}
    made = drill(records, attributes=(CITY,), order=None, counts="none")
    walks = [made.walk(np.random.default_rng(seed)) for seed in range(20)]
    full = [walk for walk in walks if walk.records]
    assert full
    assert not any(walk.whole for walk in full)


def test_counted_hits_stand_in_for_those_that_were_not_shown() -> None:
    records = {str(i): {"city": "Oslo"} for i in range(9)}
    made = drill(records, attributes=(CITY,))
    mean = sum(chance * walk.size for chance, walk in outcomes(made.walk))
    assert mean == pytest.approx(9.0)


def test_a_query_that_was_asked_is_not_paid_for_again() -> None:
    made = drill(cars(60), attributes=(CITY, PRICE))
    walks = [walk for _, walk in outcomes(made.walk)]
    assert sum(walk.requests for walk in walks) == made.reader.ledger.requests
    # One page more confirms the number of hits, after a last page that was full.
    assert len(made.reader.ledger.asked) == made.reader.ledger.requests - 1


def test_levels_know_what_the_form_and_the_records_know() -> None:
    interface = Interface((Attribute("city", "select", ("Oslo",)), TITLE, PRICE))
    known: list[Attributes] = [{"city": "Rome", "title": "red car"}, {"price": 7.0}]
    city, price, title = levels(interface, known)
    assert [term.value for term in city.terms] == ["Oslo", "Rome"]
    assert city.rest == pytest.approx(2 / 5)
    assert city.chance.tolist() == pytest.approx([3 / 5 / 3, 3 / 5 * 2 / 3])
    assert len(price.terms) == 10
    assert [term.value for term in title.terms] == ["car", "red"]


def test_a_range_without_cuts_is_cut_where_known_numbers_lie() -> None:
    interface = Interface((Attribute("price", "range"),))
    (level,) = levels(interface, [{"price": float(n)} for n in range(80)])
    assert len(level.terms) == 8
    assert level.chance.min() > 0.8 * level.chance.max()


def test_a_form_of_which_nothing_is_known_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="give values, or records, or words"):
        drill(cars(5), attributes=(TITLE,))


@pytest.mark.parametrize("method", ["weighted", "counts", "rejection", "naive"])
def test_a_sample_has_as_many_records_as_were_wanted_and_stands_for_all(
    method: Any,
) -> None:
    records = cars(600)
    ledger = Ledger(behind(records, attributes=(CITY, PRICE)))
    found = sample(ledger, 90, np.random.default_rng(0), method=method)
    assert 90 <= len(found.records) < 96
    assert set(found.records) <= set(records)
    assert found.weight.size == len(found.records)
    assert found.weight.sum() == pytest.approx(found.size)
    assert found.requests == ledger.requests


def test_a_share_of_the_database_can_be_wanted() -> None:
    known = list(cars(600).values())
    ledger = Ledger(behind(cars(600), attributes=(CITY, PRICE)))
    found = sample(ledger, 0.5, np.random.default_rng(0), known=known)
    assert len(found.records) == pytest.approx(300, rel=0.15)


def test_a_sample_ends_when_there_is_no_more_or_nothing_left_to_spend() -> None:
    rng = np.random.default_rng(0)
    whole = sample(Ledger(behind(cars(30), attributes=(CITY, PRICE))), 500, rng)
    assert len(whole.records) == 30
    short = sample(Ledger(behind(cars(600)), most=7), 500, rng)
    assert short.requests <= 7
    none = sample(Ledger(behind({})), 10, rng)
    assert (len(none.records), none.size) == (0, 0.0)


def skewness(method: Any, skew: float = 0.1) -> tuple[float, float]:
    """Return how far from uniform the records of many samples are, and their cost."""
    records = cars(40)
    ledger = Ledger(behind(records, attributes=(CITY,), page_size=40))
    drawn: Counter[str] = Counter()
    walks = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = sample(ledger, 8, rng, method=method, skew=skew)
        drawn.update(list(found.records))
        walks += found.walks
    share = np.array([drawn[key] for key in records]) / drawn.total()
    return float(np.abs(share - 1 / 40).sum() / 2), walks / 60


def test_rejection_makes_a_sample_more_uniform_at_a_price() -> None:
    naive, cheap = skewness("naive")
    strict, dear = skewness("rejection", 0.0)
    loose, middling = skewness("rejection", 0.7)
    assert strict < loose < naive
    assert strict < 0.15 < naive
    assert cheap < middling < dear


def test_an_answer_is_whole_if_it_must_be() -> None:
    oslo = Query.of(Term("city", "Oslo"))
    records: dict[str, Attributes] = {str(i): {"city": "Oslo"} for i in range(20)}
    for counts, cap, whole in [
        ("exact", 20, False),  # the number may have stopped at the cap
        ("exact", 21, True),
        ("exact", 19, False),
        ("none", 20, False),  # there may be more
        ("none", 21, True),
        ("none", None, True),
        ("rounded", 10, False),
        ("capped", 20, False),
        ("capped", 21, True),
    ]:
        ledger = Ledger(behind(records, counts=counts, cap=cap))
        assert QueryReader(ledger).read(oslo).whole is whole


def test_a_count_saves_reading_what_overflows() -> None:
    oslo = Query.of(Term("city", "Oslo"))
    records: dict[str, Attributes] = {str(i): {"city": "Oslo"} for i in range(200)}
    spent = {}
    for counts in ("exact", "rounded", "capped", "none"):
        ledger = Ledger(behind(records, counts=counts, cap=100))
        assert not QueryReader(ledger).read(oslo).whole
        spent[counts] = ledger.requests
    assert spent == {"exact": 1, "rounded": 1, "capped": 1, "none": 20}


def test_a_range_that_still_overflows_is_cut_where_its_records_lie():
    records = {f"k{i}": {"price": float(i % 40)} for i in range(400)}
    price = Attribute("price", "range", cuts=(1000.0,))
    form = behind(
        records, attributes=(price,), page_size=20, cap=20, counts="none",
        everything=True,
    )  # fmt: skip
    drill = Drill(Ledger(form), records.values())
    rng = np.random.default_rng(0)
    walks = [drill.walk(rng) for _ in range(400)]
    assert all(walk.whole for walk in walks)
    sizes = np.array([walk.size for walk in walks])
    assert abs(sizes.mean() - 400) < 3 * sizes.std() / 20


def test_records_alike_in_everything_cannot_be_told_apart():
    records = {f"k{i}": {"price": 5.0} for i in range(50)}
    price = Attribute("price", "range", cuts=(10.0,))
    form = behind(
        records, attributes=(price,), page_size=20, cap=20, counts="none",
        everything=True,
    )  # fmt: skip
    walk = Drill(Ledger(form), records.values()).walk(np.random.default_rng(0))
    assert not walk.whole
