"""Pages and what is around them: the formulas as loops."""

from dataclasses import replace
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize, stats

from halflife.belief import neighbours as module, page_rates
from halflife.belief.neighbours import Neighbours
from halflife.belief.page_rates import FOLDER, SHAPES, SITE, PageRates
from halflife.belief.trust import TrustPosterior, _exposures
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.models.poisson import GammaSurvival
from store_looks import absent, present

N = 60


def some_pages(shape=1.0, true=0.4, pace=0.05):
    rng = np.random.default_rng(5)
    folder = rng.integers(0, 6, N)
    site = folder // 2
    lived = rng.uniform(0.2, 4, N) / pace * (rng.random(N) < 0.9)
    rate = rng.gamma(true, pace / true, N) * (1 + site)
    return PageRates(
        site, folder, rng.poisson(rate * lived).astype(float), lived, shape
    )


def around(pages, i):
    """Return the mean rate around page ``i``: all, then its site, then its folder."""
    rate = (pages.changes.sum() + 1.0) / (pages.lived.sum() + 1.0 * 30.0)
    for group, worth in ((pages.site, SITE), (pages.folder, FOLDER)):
        mine = group == group[i]
        count, lived = pages.changes[mine].sum(), pages.lived[mine].sum()
        rate = (count + worth) / (lived + worth / rate)
    return rate


def test_rates_are_pooled_from_the_outside_in():
    pages = some_pages(shape=2.0)
    rows = np.array([5, 0, 40])
    found = pages.around()
    wanted = [around(pages, i) for i in rows]
    assert found.at(rows) == pytest.approx(wanted)
    shape, exposure = found.rates(rows)
    assert shape == pytest.approx(pages.changes[rows] + 2.0)
    assert exposure == pytest.approx(pages.lived[rows] + 2.0 / np.array(wanted))


def best_shape(pages, rows):
    def likely(k):
        odds = [k / around(pages, i) for i in rows]
        each = zip(rows, odds, strict=True)
        return sum(
            stats.nbinom.logpmf(pages.changes[i], k, o / (o + pages.lived[i]))
            for i, o in each
        )

    return max(SHAPES, key=likely)


@pytest.mark.parametrize("sample", [7, 1000])
def test_how_much_pages_differ_is_the_likeliest_of_those_there_are(monkeypatch, sample):
    monkeypatch.setattr(page_rates, "SAMPLE", sample)
    found = set()
    for true, pace in product((0.2, 0.5, 3.0, 20.0), (0.05, 20.0)):
        pages = some_pages(true=true, pace=pace)
        some = np.flatnonzero(pages.lived > 0)
        pages.fit()
        rows = some[:: max(some.size // sample, 1)]
        assert pages.shape == best_shape(pages, rows)
        found.add(pages.shape)
    assert len(found) > 1


def counted_at_start(evidence, shape=1.0):
    """Return the changes that gaps stand for before a start, page by page.

    What is around pages is known from one change in half of each gap that saw one.
    """
    gaps, n = evidence.gaps(), len(evidence)
    half = np.where(gaps.changed, 0.5, 1.0) * gaps.length * gaps.tally
    places = {key.rpartition("/")[0]: None for key in evidence.keys}
    folder = [list(places).index(key.rpartition("/")[0]) for key in evidence.keys]
    lived = np.bincount(gaps.item, half, n)
    simple = PageRates(
        evidence.group, np.array(folder), evidence.changes.astype(float), lived
    )
    around = simple.around().at(slice(None))
    found = np.zeros(n)
    for i in range(n):
        rows = np.flatnonzero((gaps.item == i) & gaps.changed)
        length, tally = gaps.length[rows], gaps.tally[rows]
        days = float((gaps.length * gaps.tally)[gaps.item == i].sum())

        def changes(rate, length=length, tally=tally):
            x = rate * length
            return float((tally * x / -np.expm1(-x)).sum())

        def off(rate, days=days, lent=shape / around[i], changes=changes):
            return (changes(rate) + shape) / (days + lent) - rate

        if rows.size:
            found[i] = changes(optimize.brentq(off, 1e-6, 1e3))
    return found


def test_changes_before_a_start_are_those_that_the_rates_make_likely():
    evidence = Evidence.of(Item(k) for k in "abc")
    for look in (
        present("a", 0.0, "x"),
        present("a", 3.0, "x"),
        present("a", 7.0, "y"),
        present("b", 1.0),
        present("b", 6.0, "2"),
    ):
        evidence.take(evidence.weigh(Observations.of([look])))
    belief = Neighbours()
    belief(evidence, 7.0, 7.0)
    assert belief._pages.lived == pytest.approx([3.0 + 4.0, 5.0, 0.0], rel=1e-3)
    assert belief._pages.changes == pytest.approx(counted_at_start(evidence), rel=0.01)
    assert (belief._pages.changes[:2] > 1.0).all()


def test_exposure_lies_between_age_and_time_lived_by_trust():
    age, lived = np.array([4.0, 4.0, 0.0]), np.array([9.0, 1.0, 0.0])
    found = _exposures(age, lived, np.array([0.0, 0.5, 1.0]))
    assert found[0] == pytest.approx(age, abs=1e-9)
    assert found[1] == pytest.approx([6.0, 2.0, 0.0], abs=1e-9)
    assert found[2] == pytest.approx(lived, abs=1e-9)


def test_trust_goes_by_how_likely_each_degree_made_what_was_found():
    degrees = np.array([0.0, 0.5, 1.0])
    trust = TrustPosterior(degrees)
    assert trust.weight == pytest.approx([1 / 3] * 3)
    assert trust.share == pytest.approx(0.5)
    law = GammaSurvival(np.array([1.0, 2.0]), np.array([10.0, 5.0]))
    age, lived = np.array([4.0, 2.0]), np.array([9.0, 0.5])
    changed = np.array([True, False])
    likely = np.zeros(3)
    for _ in range(2):
        trust.learn(law, age, lived, changed)
        likely *= exp(-2 / 5000.0)
        for d, degree in enumerate(degrees):
            at = age * (lived / age) ** degree
            gone = 1 - (1 + at[0] / 10.0) ** -1.0
            likely[d] += log(gone) - 2.0 * log(1 + at[1] / 5.0)
        assert trust.likely == pytest.approx(likely)
    weight = np.exp(likely) / np.exp(likely).sum()
    assert trust.weight == pytest.approx(weight)
    assert trust.share == pytest.approx(weight @ degrees)
    wanted = weight @ np.array([age * (lived / age) ** d for d in degrees])
    assert trust.mean(age, lived) == pytest.approx(wanted)


def test_doubt_asks_for_evidence_in_proportion_to_the_degree_of_trust():
    trust = TrustPosterior(np.array([0.0, 0.5, 1.0]), doubt=4.0)
    odds = np.array([1.0, exp(-2.0), exp(-4.0)])
    assert trust.weight == pytest.approx(odds / odds.sum())
    assert trust.share == pytest.approx(0.0745, abs=1e-4)  # (.5 x .135 + .018) / 1.154
    trust.likely = np.array([0.0, 2.0, 4.0])  # evidence as strong as the doubt
    assert trust.weight == pytest.approx([1 / 3] * 3)


@given(
    likely=st.lists(st.floats(-9.0, 9.0), min_size=3, max_size=3),
    doubt=st.floats(0.0, 9.0),
    more=st.floats(0.1, 9.0),
)
def test_more_doubt_means_less_trust(likely, doubt, more):
    degrees = np.array([0.0, 0.5, 1.0])
    light, heavy = TrustPosterior(degrees, doubt), TrustPosterior(degrees, doubt + more)
    light.likely = heavy.likely = np.array(likely)
    assert heavy.share < light.share


def test_a_degree_of_trust_that_is_hardly_likely_is_left_out():
    trust = TrustPosterior(np.array([0.0, 1.0]))
    age, lived = np.array([4.0]), np.array([9.0])
    trust.likely = np.array([0.0, log(0.5e-4)])
    assert trust.mean(age, lived).tolist() == [4.0]
    trust.likely = np.array([0.0, log(2e-4)])
    assert trust.mean(age, lived)[0] > 4.0


def test_looks_that_were_certain_to_fail_do_not_forbid_a_degree_for_ever():
    trust = TrustPosterior(np.array([0.0, 1.0]))
    law = GammaSurvival(np.array([1.0]), np.array([1.0]))
    trust.learn(law, np.array([0.0]), np.array([1.0]), np.array([True]))
    assert trust.likely == pytest.approx([log(1e-12), log(0.5)])


KEYS = [
    f"http://{site}/{folder}/{i}" for site in "st" for folder in "xy" for i in "012"
]


@pytest.fixture
def evidence():
    found = Evidence.of(Item(key, group=key[7]) for key in KEYS)
    for day in range(12):
        looks = [
            present(key, 100.0 + day + i / 20, str(day // (i + 1)))
            for i, key in enumerate(KEYS[:9])
            if (day + i) % 3
        ]
        if day == 4:
            looks.append(absent(KEYS[10], 104.5))
        found.take(found.weigh(Observations.of(looks)))
    return found


COLUMNS = ("rate", "age", "exposure", "doubt", "looks", "changes", "looked", "changed",
           "ready", "weight", "cost", "group")  # fmt: skip


def same(one, other, rows=slice(None)):
    for name in COLUMNS:
        found, wanted = getattr(one, name), getattr(other, name)[rows]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=name)
    t = np.full(len(one), 3.0)
    alive = other.survival.alive(np.full(len(other), 3.0))[rows]
    np.testing.assert_allclose(one.survival.alive(t), alive)
    assert list(one.keys) == list(np.array(other.keys, object)[rows])
    for mine, its in zip(one.unrest(), other.unrest(), strict=True):
        np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("block", [2, 3, 5])
def test_views_in_blocks_and_of_some_rows_say_what_the_whole_says(
    monkeypatch, evidence, block
):
    belief = Neighbours()
    whole = belief(evidence, 113.0, 111.0)
    rows = np.array([11, 0, 3, 10, 7, 2, 8])
    same(belief.view_rows(evidence, rows, 113.0, 111.0), whole, rows)
    monkeypatch.setattr(module, "BLOCK", block)
    assert len(KEYS) > 2 * block or block > 5
    same(belief(evidence, 113.0, 111.0), whole)
    same(belief.view_rows(evidence, rows, 113.0, 111.0), whole, rows)


def test_blocks_are_used_only_for_more_than_two_of_them(monkeypatch, evidence):
    belief, used = Neighbours(), []
    plain = belief._in_blocks
    monkeypatch.setattr(
        belief, "_in_blocks", lambda *given: used.append(1) or plain(*given)
    )
    for block, many in ((6, 0), (5, 1)):
        monkeypatch.setattr(module, "BLOCK", block)
        belief(evidence, 113.0, 111.0)
        assert len(used) == many
        belief.view_rows(evidence, np.arange(12), 113.0, 111.0)
        assert len(used) == 2 * many


def at_least_one(x):
    return x / (1 - exp(-x))


@pytest.mark.parametrize("back", [False, True])
def test_pages_that_are_gone_teach_how_often_pages_come_back(evidence, back):
    belief = Neighbours()
    before = belief(evidence, 113.0, 113.0)
    assert belief._return_rate == pytest.approx(0.1 / 5.0)
    shape, exposure = belief._around.rates(np.array([10]))
    usual = float(shape[0] / exposure[0])
    assert before.rate[10] == pytest.approx(usual * 0.1 / 5.0)
    look = present(KEYS[10], 113.5) if back else absent(KEYS[10], 113.5)
    evidence.take(evidence.weigh(Observations.of([look])))
    belief(evidence, 114.0, 114.0)
    x = usual * (113.5 - 104.5)
    wanted = (0.1 + back * at_least_one(x)) / (5.0 + x)
    assert belief._return_rate == pytest.approx(wanted)


def test_how_much_pages_differ_is_learned_again_as_looks_grow(monkeypatch):
    fitted = []
    plain = PageRates.fit
    evidence = Evidence.of(Item(key, group=key[7]) for key in KEYS[:2])
    count = lambda: int(evidence.looks.sum()) - 2  # noqa: E731 - of looks after the first
    monkeypatch.setattr(
        PageRates, "fit", lambda pages: fitted.append(count()) or plain(pages)
    )
    belief = Neighbours()
    for day in range(14):
        key = KEYS[day % 2]
        evidence.take(
            evidence.weigh(Observations.of([present(key, float(day), str(day))]))
        )
        if day > 1:
            belief(evidence, float(day), float(day))
    assert fitted == [1, 2, 3, 4, 6, 8, 11]


def plain_view(pages, known, changed, days):
    """Count one more look at each of the pages known; return the rates before it."""
    rate = [
        (pages.changes[i] + pages.shape)
        / (pages.lived[i] + pages.shape / around(pages, i))
        for i in range(pages.site.size)
    ]
    changes, lived = pages.changes.copy(), pages.lived.copy()
    for i in known:
        lived[i] += days[i]
        changes[i] += at_least_one(rate[i] * days[i]) if changed[i] else 0.0
    return replace(pages, changes=changes, lived=lived), rate


def counted_anew(pages, i, days):
    """Return the changes of one more gap that agree with the rate that they give."""
    lent = pages.shape / around(pages, i)

    def off(rate):
        total = pages.changes[i] + pages.shape + at_least_one(rate * days)
        return total - rate * (pages.lived[i] + days + lent)

    return at_least_one(optimize.brentq(off, 1e-9, 1e3) * days)


def test_a_look_adds_the_days_it_watched_and_the_changes_it_stands_for(evidence):
    belief = Neighbours(trust=np.zeros(1))  # what neighbours do is not trusted
    evidence.take(evidence.weigh(Observations.of([present(KEYS[9], 112.0)])))
    belief(evidence, 113.0, 113.0)
    pages = replace(belief._pages, shape=belief._pages.shape)
    gaps = evidence.gaps()
    days = np.bincount(gaps.item, gaps.length * gaps.tally, len(evidence))
    assert pages.lived == pytest.approx(days)
    assert pages.changes == pytest.approx(counted_at_start(evidence), rel=0.02)
    rows = [0, 3, 7, 9]
    days = dict(enumerate(114.5 - evidence.last_at))
    evidence.take(
        evidence.weigh(
            Observations.of(
                [
                    present(KEYS[0], 114.5, "new"),
                    present(KEYS[3], 114.5, evidence.digest[3]),
                    present(KEYS[7], 114.5, "new"),
                    present(KEYS[9], 114.5, "new"),
                    present(KEYS[11], 114.5),  # for the first time
                ]
            )
        )
    )
    changed = {0: True, 3: False, 7: True, 9: True}
    after, _ = plain_view(pages, rows, changed, days)
    view = belief(evidence, 115.0, 115.0)
    assert belief._pages.lived == pytest.approx(after.lived)
    assert belief._pages.changes == pytest.approx(after.changes)
    _, rate = plain_view(replace(after, shape=belief._pages.shape), [], {}, {})
    rate[10] *= 0.1 / 5.0  # it is gone
    for i in (0, 7, 9):  # their own rates count the changes of this gap anew
        first = after.changes[i] - pages.changes[i]
        more = counted_anew(pages, i, days[i]) - first
        rate[i] *= 1.0 + more / (after.changes[i] + belief._pages.shape)
        assert abs(more) > 1e-3
    assert view.rate == pytest.approx(rate)
    held = np.flatnonzero(view.held)
    assert view.exposure[held] == pytest.approx(view.age[held])
    assert not view.doubt.any()


def test_with_full_trust_exposure_is_the_time_that_the_neighbourhood_lived(evidence):
    belief = Neighbours(trust=np.ones(1), near=np.zeros(1))
    belief(evidence, 112.0, 112.0)
    news = [present(key, 113.0, "new") for key in KEYS[:4]]
    evidence.take(evidence.weigh(Observations.of(news)))
    view = belief(evidence, 114.0, 114.0)
    held = np.flatnonzero(view.held)
    lived = belief._bursts.lived(held, evidence.last_at[held], 114.0)
    doubt = belief._bursts.doubt(held, evidence.last_at[held], 114.0)
    assert view.exposure[held] == pytest.approx(lived)
    assert view.doubt[held] == pytest.approx(doubt)
    assert (np.abs(lived - view.age[held]) > 1e-3).any()


@pytest.mark.parametrize(("now", "origin"), [(113.0, 111.0), (105.5, 105.0)])
def test_busy_times_are_learned_from_the_last_look_on(evidence, now, origin):
    belief = Neighbours()
    belief(evidence, now, now)
    assert belief._bursts._origin == origin
    fresh = Neighbours()
    fresh(Evidence.of([Item("http://s/x/1")]), 7.5, 7.5)
    assert fresh._bursts._origin == 7.0


def test_a_clock_that_jumped_says_nothing_of_the_time_between(evidence):
    belief = Neighbours(trust=np.zeros(1))
    belief(evidence, 113.0, 113.0)
    lived = belief._pages.lived.copy()
    looks = [present(KEYS[0], 50.0, "new"), present(KEYS[1], 113.0 + 3651.0, "new")]
    evidence.take(evidence.weigh(Observations.of(looks)))
    belief(evidence, 114.0, 114.0)
    assert belief._pages.lived == pytest.approx(lived)


def test_nothing_is_remembered_of_what_was_never_seen():
    assert Neighbours().memory() is None
