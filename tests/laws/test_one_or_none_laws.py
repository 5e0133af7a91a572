"""Where there is one of a thing, or none: what is divided by, and what is left."""

import math
from dataclasses import astuple

import numpy as np
import pytest
from scipy import stats

from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.core.plan import Plan
from halflife.metrics.intervals import Interval
from halflife.models.ages import LifeTable, _mean_rate
from halflife.models.calibration import (
    brier,
    trust_factor,
    widen_bounds,
    widening_factor,
)
from halflife.models.census import _share
from halflife.models.conformal import steady, unsteady
from halflife.models.guard import DeleteGuard, _moments
from halflife.models.parametric import paper_interval
from halflife.models.turnover import Turnover, bounds
from halflife.models.unrest import LENT, _unrest
from halflife.policies.discovery import _mixed
from halflife.policies.listings.pace import (
    FARTHEST,
    TurnoverPace,
    expected,
    lower,
    moments,
)
from halflife.policies.sampling.categories import Categories
from halflife.policies.sampling.sizes import Root, _average, scaled, spread_factor
from halflife.probing.sample import Document
from halflife.probing.sample_resample import _inverse
from halflife.probing.stop_rule import predictive_likelihood
from halflife.queries.completeness import PartialAnswer
from halflife.queries.first_crawl import _pages_left
from halflife.queries.fresh.records import effectiveness
from halflife.queries.frontier import CrawlState
from halflife.queries.known.content import _words
from halflife.queries.known.coverage import Factor, ratio
from halflife.queries.local import LocalRecords, QueryReading
from halflife.queries.random_check import DrilledRecords, LookupSample
from halflife.queries.sampling import _Drawn
from halflife.selection.lexicon import _mean
from halflife.selection.samples import SampleIndex
from lab.query_order import loop_costs

CITY = Attribute("city", "select", ("Oslo", "Rome"))
FORM = Interface((CITY,), page_size=10)
OSLO = Query.of(Term("city", "Oslo"))


# Models


def test_of_nothing_all_is_kept_and_of_one_all_or_none():
    part, whole = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])
    assert _share(part, whole).tolist() == [1.0, 0.0, 1.0, 0.5]


def test_scores_below_all_losses_are_of_no_loss():
    c = np.array([0.5, 0.5, 2.0])
    assert unsteady(np.array([-2.0, 0.0, -0.3]), c).tolist() == [0.0, 0.0, 0.0]
    x = np.array([0.0, 0.5, 300.0])
    assert unsteady(steady(x, c), c) == pytest.approx(x, abs=1e-9)


@pytest.mark.parametrize(("days", "rate"), [(0.25, 0.5), (0.5, 0.5), (4.0, 0.125)])
def test_what_was_watched_for_less_than_a_day_counts_as_watched_for_one(days, rate):
    # Half a loss is lent; the exposure is two objects' days.
    found, _ = _moments(np.array([2.0]), np.zeros(1), np.array([days / 2.0 * 1.0]))
    assert found == pytest.approx(0.5 / max(days, 1.0))
    assert found == pytest.approx(rate)


def test_losses_of_single_objects_tell_no_dispersion():
    alone = _moments(np.ones(4), np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4))
    assert alone == (pytest.approx(2.5 / 4.0), 0.02)
    assert _moments(np.zeros(0), np.zeros(0), np.zeros(0)) == (0.0, 0.02)


def test_a_judgement_names_counts_between_none_and_all():
    guard = DeleteGuard().fit(np.full(6, 5), np.zeros(6), np.ones(6))
    for held in (0, 1, 3):
        for gone in range(held + 2):
            found = guard.judge(held, gone, 1.0)
            assert 0 <= found.low <= held
            assert 0 <= found.high <= held
            assert 0.0 <= found.tail <= 1.0
            assert (found.tail == 0.0) == (gone > held)


@pytest.mark.parametrize(("size", "counts_as"), [(0.0, 1.0), (1.0, 1.0), (4.0, 4.0)])
def test_the_interval_of_the_paper_takes_nothing_for_one(size, counts_as):
    low, high = paper_interval(np.array([0.5]), np.array([size]), 0.5).ravel()
    half = stats.norm.ppf(0.75) * math.sqrt(0.25 / counts_as)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half))
    sure = paper_interval(np.array([0.9, 0.1]), np.array([size, size]), 0.999)
    assert sure.min() == 0.0
    assert sure.max() == 1.0


@pytest.mark.parametrize("scale", [0.25, 1.0, 8.0])
def test_a_group_that_expects_less_than_one_change_weighs_as_one_that_expects_one(
    scale,
):
    expects, seen = np.array([[0.5, 0.5]]) * scale, np.array([[2.0, 0.0]])
    weight = 1.0 / max(scale, 1.0)
    excess = ((seen - expects) ** 2 - seen).sum() * weight
    wanted = excess / (weight * (expects**2).sum() + LENT)
    assert _unrest(expects, seen, 1) == pytest.approx(wanted)


@pytest.mark.parametrize("present", [0.0, 1.0, 3.0])
def test_a_rate_goes_by_a_step_of_what_is_there_if_less_was_lived(present):
    edges = np.array([0.0, 2.0, 6.0])
    table = LifeTable(
        edges,
        np.array([[present, 0.0]]),
        np.array([[0.5, 0.5]]),
        np.array([[1.0, 0.0]]),
    )
    wanted = 1.5 / max(1.0, 2.0 * max(present, 1.0))
    assert _mean_rate(table) == pytest.approx(np.array([[wanted]]))


def test_of_one_record_the_copy_is_right_or_not():
    turns, one = Turnover(0.0, 2.0, 10.0, 20.0), np.ones((1, 1))
    for n, shares in ((1, {1.0}), (2, {0.5, 1.0})):
        _, _, high = bounds(turns, n, 0.5 * one, one)
        assert {float(h) for h in high} <= shares


def test_forecasts_alone_in_their_bins_are_scored_one_by_one():
    chance, came = (
        np.array([0.05, 0.25, 0.95, 1.0]),
        np.array([True, False, True, True]),
    )
    found = brier(chance, came)
    assert found.score == pytest.approx(np.mean((chance - came) ** 2))
    # 0.95 and 1 share a bin; the others are alone.
    mean = np.array([0.05, 0.25, 0.975, 0.975])
    assert found.reliability == pytest.approx(np.mean((mean - came) ** 2))
    assert found.resolution == pytest.approx(np.mean((came - 0.75) ** 2))
    parts = found.reliability - found.resolution + found.uncertainty + found.within
    assert parts == pytest.approx(found.score)


def test_bounds_are_widened_as_far_as_there_is_room():
    low, high = widen_bounds(
        np.array([0.5, 0.9]), np.array([0.4, 0.2]), np.array([0.6, 1.0]), 3.0
    )
    assert low == pytest.approx([0.2, 0.0])
    assert high == pytest.approx([0.8, 1.0])
    _, far = widen_bounds(
        np.array([5.0]), np.array([4.0]), np.array([6.0]), 9.0, most=12.0
    )
    assert far.tolist() == [12.0]
    assert (
        widening_factor(Interval(0.9, 0.1, 1.0), Interval(0.6, 0.5, 0.7)) == 1.0
    )  # within
    assert widening_factor(Interval(0.1, 0.1, 0.1), Interval(0.6, 0.5, 0.7)) == 20.0
    assert trust_factor(np.full(60, 1e9)) == pytest.approx(
        trust_factor(np.full(60, 8.0))
    )


# Policies


def plan_of(*keys):
    return Plan(keys, np.arange(len(keys)), np.ones(len(keys)), lambda _: "x")


def test_two_plans_are_mixed_evenly():
    found, rest = plan_of("a", "b", "c"), plan_of("x", "y", "z")
    for first, kept, wanted in (
        ([0], 2, "xay"),
        ([0], 1, "ax"),  # whoever was found first
        ([0, 1], 1, "axb"),
        ([0, 1, 2], 3, "axbycz"),
        ([], 2, "xy"),
        ([2], 0, "c"),
    ):
        mixed = _mixed(found, np.array(first, np.intp), rest, kept)
        assert "".join(mixed.keys) == wanted


@pytest.mark.parametrize("ends", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("arrivals", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("size", [0.5, 1.0, 40.0])
def test_a_lower_bound_takes_less_than_one_for_one(ends, arrivals, size):
    paced = TurnoverPace(size, 0.1, 0.6, ends, arrivals, 2.0, 3.0)
    t, z = 3.0, stats.norm.ppf(0.9)
    lasting = math.exp(-0.3)
    kept, new = size * lasting, 0.6 * (1 - lasting) / 0.1
    rate = 2.0 * 0.3**2 / max(ends, 1.0)
    of_kept = 2.0 * kept * (1 - lasting) + kept**2 * rate
    of_new = 3.0 * (new + new**2 / max(arrivals, 1.0))
    total = kept + new
    spread = {
        "precision": of_kept / max(size, 1.0) ** 2,
        "recall": (new**2 * of_kept + kept**2 * of_new) / total**4,
    }
    for name, variance in spread.items():
        at = np.array([t])
        wanted = expected(paced, at, name)[0] - z * math.sqrt(variance)
        assert lower(paced, at, name, 0.9) == pytest.approx([max(wanted, 0.0)])


@pytest.mark.parametrize(
    ("size", "gone", "come", "first"),
    [
        (0.0, 0.1, 0.4, 1e-3 / 0.5),
        (1.0, 0.1, 0.4, 1e-3 / 0.5),
        (4.0, 0.1, 0.4, 1e-3 / 0.2),
        (4.0, 0.0, 0.0, FARTHEST / 10.0),
    ],
)
def test_moments_begin_with_a_thousandth_of_the_turnover(size, gone, come, first):
    found = moments(TurnoverPace(size, gone, come, 1.0, 1.0, 1.0, 1.0))
    assert found[0] == pytest.approx(min(first, FARTHEST / 10.0))
    assert found[-1] == pytest.approx(FARTHEST)
    assert np.diff(np.log(found)) == pytest.approx(np.log(found[1] / found[0]))


def test_samples_of_no_category_and_of_a_single_one():
    none = Categories((), np.zeros(1, np.intp), np.zeros(0, np.intp), 0)
    one = Categories(("a",), np.array([0, 1]), np.array([0]), 1)
    two = Categories(("a", "b"), np.array([0, 3, 4]), np.array([0, 1, 2, 2]), 3)
    assert [_average(each) for each in (none, one, two)] == [0.0, 1.0, 2.0]
    assert scaled(3.0, none).tolist() == []
    assert scaled(3.0, one).tolist() == scaled(3.0, one, "pages").tolist() == [3.0]
    assert scaled(2.0, two, "even").tolist() == [2.0, 2.0]

    class Pages(list):
        """All that a size asks of a view."""

    assert Root()(Pages("x"), one, 4.0).tolist() == [2.0]  # sqrt(1 * 4 / 1)
    assert Root()(Pages(), one, 4.0).tolist() == [2.0]
    assert Root("even")(Pages("xyz"), two, 6.0).tolist() == [2.0, 2.0]


def test_shares_that_cannot_tell_leave_the_root_alone():
    size = np.ones(3)
    assert spread_factor(np.array([0.1, 0.9]), size[:2], 1.0) == 1.0  # three are needed
    assert spread_factor(np.array([0.1, np.nan, 0.9]), size, 1.0) == 1.0
    assert spread_factor(np.full(3, 0.4), size, 1.0) == 1.0  # all alike
    share = np.array([0.9, 0.5, 0.1])
    # The budget reaches the second: one is above it, and the mean is 1/2.
    width = 1.06 * share.std() * 3**-0.2
    density = stats.norm.pdf((0.5 - share) / width).mean() / width
    assert spread_factor(share, size, 1.5) == pytest.approx(density / (6.0 * 0.4))


# Queries


@pytest.mark.parametrize(
    ("records", "shown", "total", "wanted"),
    [
        (1, 0, None, (0.0, 1.0, 0.0, 0.0)),
        (1, 1, None, (1.0, 1.0, 0.0, math.inf)),
        (4, 1, None, (4.0, 4.0, 0.0, 4 / 3)),
        (4, 2, 10, (4.0, 4.0, 6.0, 4.0 * 10 / 4)),
        (4, 2, 3, (4.0, 4.0, 0.0, 4.0)),
    ],
)
def test_records_looked_up_stand_for_all_of_the_copy(records, shown, total, wanted):
    held = {f"k{i}": {"x": i} for i in range(records)}
    looked = [{key: held[key]} for key in list(held)[:shown]]
    drawn = LookupSample(records, looked, total)
    found = drawn.tally(held, lambda a, b: a == b)
    assert astuple(found) == pytest.approx(wanted)


def test_of_an_empty_copy_all_that_there_is_is_lacking():
    found = LookupSample(2, [{}], 5).tally({}, lambda a, b: a == b)
    assert astuple(found) == (0.0, 0.0, 5.0, 2.0 * 5.0)
    nothing = DrilledRecords(FORM).tally({}, lambda a, b: a == b)
    assert astuple(nothing) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("reading", "wanted"),
    [
        (QueryReading(1, set(), 0, None), (0.0, 0.0)),
        (QueryReading(1, {"a"}, 1, None), (1.0, 1.0)),
        (QueryReading(1, {"a", "b"}, 1, None), (0.5, 1.0)),
        (QueryReading(1, set(), 0, 0), (-1.0, -1.0)),
        (QueryReading(1, set(), 0, 1), (0.0, 0.0)),
        (QueryReading(1, set(), 0, 4), (0.75, 3.0)),
    ],
)
def test_a_query_is_as_effective_as_the_share_of_it_that_is_missing(reading, wanted):
    local = LocalRecords(FORM, {"k": {"city": "Oslo"}})
    local.reads[OSLO] = reading
    assert effectiveness(local, OSLO) == wanted


def test_sizes_are_means_over_walks():
    drawn = _Drawn()
    assert drawn.size == 0.0
    drawn.sum = 6.0
    for walks, size in ((1, 6.0), (2, 3.0), (3, 2.0)):
        drawn.walks = walks
        assert drawn.size == size


@pytest.mark.parametrize(
    ("total", "pages", "left"),
    [(None, 0, 1), (None, 1, 1), (None, 3, 3), (35, 1, 3), (35, 3, 1), (35, 9, 1)],
)
def test_the_pages_left_are_those_not_read_and_one_at_least(total, pages, left):
    begun = PartialAnswer(OSLO, 10, pages, {}, total)
    crawl = CrawlState({}, False, (), (), 0, begun=begun)
    assert _pages_left(crawl, OSLO, FORM) == left
    assert _pages_left(crawl, Query(), FORM) == 1
    none = CrawlState({}, False, (), (), 0)
    assert _pages_left(none, OSLO, FORM) == 1


@pytest.mark.parametrize(("queries", "freedom"), [(1, 1), (2, 1), (3, 2), (9, 8)])
def test_a_factor_lies_within_students_bounds(queries, freedom):
    low, high = Factor(2.0, 0.1, queries).interval(0.9)
    far = 0.1 * stats.t.ppf(0.95, freedom)
    assert (low, high) == pytest.approx((2.0 - far, 2.0 + far))
    assert Factor(0.5, 9.0, queries).interval()[0] == 0.0


def test_the_factor_of_a_single_query_has_no_error_that_is_known():
    assert ratio(np.array([6.0]), np.array([2.0])) == Factor(3.0, math.inf, 1)
    found = ratio(np.array([6.0, 2.0]), np.array([2.0, 2.0]))
    off = (6.0 - 4.0) ** 2 + (2.0 - 4.0) ** 2
    assert found == Factor(2.0, pytest.approx(math.sqrt(off / 1 / 2) / 2.0), 2)


def test_words_differ_by_those_that_only_one_has():
    differ = _words(("t",))
    assert differ({"t": ""}, {"t": ""}) == 0.0
    assert differ({"t": ""}, {"t": "one"}) == 1.0
    assert differ({"t": "one"}, {"t": "one"}) == 0.0
    assert differ({"t": "one two"}, {"t": "two three"}) == pytest.approx(2 / 3)


def test_a_loop_costs_what_its_integral_says():
    a, age = np.array([1.0, 2.0]), np.array([0.5, 3.0])
    found = loop_costs(a, age)
    for i in range(2):
        for j in (1, 2):
            until = [(age[i] + u) ** 2 for u in (np.arange(4000) + 0.5) / 4000 * j]
            after = [u**2 for u in (np.arange(4000) + 0.5) / 4000 * (2 - j)]
            mean = (np.mean(until) * j + np.mean(after) * (2 - j)) / 2
            assert found[i, j - 1] == pytest.approx(a[i] * mean, rel=1e-5)
    alone = loop_costs(np.ones(1), np.zeros(1))
    assert alone.tolist() == [[pytest.approx(1 / 3)]]
    assert loop_costs(np.zeros(0), np.zeros(0)).shape == (0, 0)


# Text databases


def test_the_mean_over_no_word_is_nothing():
    assert _mean(np.zeros((0, 2))).tolist() == [0.0, 0.0]
    assert _mean(np.array([[2.0, 4.0]])).tolist() == [2.0, 4.0]
    assert _mean(np.array([[2.0, 4.0], [0.0, 1.0]])).tolist() == [1.0, 2.5]


def test_each_document_stands_for_its_share_of_the_database():
    entries = np.array([0, 0, 1]), np.array([0, 1, 1])
    home, size = np.array([0, 1, 1]), np.array([8.0, 8.0, 8.0])
    index = SampleIndex.of_entries(
        ("a", "b", "none"), {"x": 0, "y": 1}, entries, home, size=size
    )
    assert index.weight.tolist() == [8.0, 4.0, 8.0]
    assert index.length.tolist() == [1.0, 2.0, 0.0]
    table = index.table()
    assert table.words.tolist() == [8.0, 8.0, 0.0]


def test_documents_without_a_word_of_the_pool_count_as_with_one():
    pool = {"a": 3, "b": 1}
    docs = [Document(str(i), words) for i, words in enumerate(["x", "a", "ab"])]
    assert _inverse(docs[:1], pool) == _inverse(docs[1:2], pool) == 1.0
    assert _inverse(docs, pool) == pytest.approx((1 + 1 + 0.5) / 3)
    assert math.isnan(_inverse([], pool))


def test_a_word_never_seen_is_as_likely_as_one_of_all_words():
    document = Document("d", ("a", "b"))
    found = predictive_likelihood({"a": 4}, [document], 5)
    assert found == pytest.approx((math.log(0.8 + 0.04) + math.log(0.04)) / 2)
    nothing = predictive_likelihood({}, [document], 0)
    assert nothing == pytest.approx(math.log(0.2))
    single = predictive_likelihood({"a": 1}, [document], 1)
    assert single == pytest.approx((math.log(1.0) + math.log(0.2)) / 2)
    assert math.isnan(predictive_likelihood({"a": 1}, [], 1))
