import asyncio
import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings

from halflife.allocation import index
from halflife.belief.neighbours import Neighbours
from halflife.belief.page_rates import SHAPES, PageRates
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations, Seen
from halflife.core.view import evenly
from halflife.engine.loop import Allowance, Loop
from halflife.kinds.pages import belief_notes as pages_belief_notes
from halflife.models.quality import _moments, freshness_forecast
from halflife.plugins import strategy
from halflife.policies.champion import PatientIndex, champion
from halflife.policies.index import freshness
from halflife.policies.rounds import InRounds
from halflife.recordings.pages import NAME, RecordedPageSource, Recording
from halflife.replay.pages import Replay
from halflife.stores.memory import MemoryStore


def pages(sites=2, folders=2, each=5):
    """Return items of sites a, b, ... in folders of a few pages."""
    return [
        Item(f"https://{site}/{folder}/{page}", group=site)
        for site in "abcdef"[:sites]
        for folder in range(folders)
        for page in range(each)
    ]


def look(evidence, rows, at, texts, seen=Seen.PRESENT):
    """Fold looks at some rows that showed these texts."""
    keys = tuple(evidence.keys[row] for row in rows)
    looks = Observations(
        keys, np.full(len(keys), at), np.full(len(keys), seen, np.int8), tuple(texts)
    )
    evidence.take(evidence.weigh(looks))


@pytest.fixture
def evidence():
    evidence = Evidence.of(pages())
    look(evidence, range(20), 0.0, ["old"] * 20)
    return evidence


def chances(view):
    return 1.0 - view.survival.alive(view.exposure)


def test_a_page_seen_changed_raises_the_odds_of_its_folder_most_then_its_site(evidence):
    belief = Neighbours()
    before = chances(belief(evidence, 10.0, 10.0))
    look(evidence, [0, 1], 10.0, ["new", "new"])
    after = chances(belief(evidence, 10.0, 10.0))
    folder, site, other = after[2:5].mean(), after[5:10].mean(), after[10:].mean()
    assert folder > site > other
    assert folder > 1.5 * before[2]
    assert after[:2] == pytest.approx([0.0, 0.0])


def test_a_page_seen_unchanged_lowers_the_odds_of_its_neighbours(evidence):
    belief = Neighbours()
    before = chances(belief(evidence, 10.0, 10.0))
    look(evidence, [0, 1, 2], 10.0, ["old"] * 3)
    after = chances(belief(evidence, 10.0, 10.0))
    assert (after[3:10] < before[3:10]).all()


def test_pages_that_are_gone_are_believed_to_stay_away(evidence):
    belief = Neighbours()
    belief(evidence, 5.0, 5.0)
    look(evidence, [0], 5.0, [""], Seen.ABSENT)
    look(evidence, [1], 5.0, ["new"])
    view = belief(evidence, 5.0, 5.0)
    assert view.rate[0] < 0.1 * view.rate[1]


def test_pages_that_come_back_teach_that_others_may(evidence):
    belief = Neighbours()
    belief(evidence, 5.0, 5.0)
    look(evidence, range(4), 5.0, [""] * 4, Seen.ABSENT)
    before = belief(evidence, 5.0, 5.0).rate[3]
    look(evidence, range(3), 6.0, ["back"] * 3)
    assert belief(evidence, 6.0, 6.0).rate[3] > 2 * before


def test_new_pages_take_their_rate_from_their_folder(evidence):
    belief = Neighbours()
    for day in range(1, 30):
        look(evidence, range(5), float(day), [f"v{day}"] * 5)
        look(evidence, range(5, 10), float(day), ["old"] * 5)
        belief(evidence, float(day), float(day))
    evidence.add([Item(f"https://a/{f}/new", group="a") for f in (0, 1)])
    view = belief(evidence, 30.0, 30.0)
    assert view.rate[20] > 5 * view.rate[21]
    assert np.isinf(view.exposure[20:]).all()


def test_a_belief_that_starts_late_knows_the_rates_but_not_the_bursts(evidence):
    early = Neighbours()
    for day in range(1, 20):
        look(evidence, range(10), float(day), [f"v{day}"] * 10)
        early(evidence, float(day), float(day))
    late = Neighbours()(evidence, 20.0, 20.0)
    known = early(evidence, 20.0, 20.0)
    assert late.rate[:10] == pytest.approx(known.rate[:10], rel=1.0)
    assert late.exposure[10:] == pytest.approx(late.age[10:])


def test_what_was_learned_of_busy_times_outlives_a_run(evidence):
    first = Neighbours()
    for day in range(1, 9):  # one site is busy in the second half of the time
        texts = ["old" if day <= 4 else f"{day}"] * 4 + ["old"] * 4
        look(evidence, [0, 1, 3, 4, 10, 11, 12, 13], float(day), texts)
        first(evidence, float(day), float(day))
    store = MemoryStore()
    pages_belief_notes.remember(store, first)
    second = Neighbours()
    second.resume(pages_belief_notes.recall_busy(store))
    here, there = first(evidence, 9.0, 9.0), second(evidence, 9.0, 9.0)
    assert there.exposure == pytest.approx(here.exposure, rel=1e-5)
    assert there.doubt == pytest.approx(here.doubt, rel=1e-5)
    assert there.exposure[2] > 1.2 * there.age[2]


def test_a_memory_of_places_that_are_gone_does_no_harm(evidence):
    first = Neighbours()
    first(evidence, 1.0, 1.0)
    look(evidence, [0, 19], 4.0, ["new", "new"])
    first(evidence, 4.0, 4.0)
    fewer = Evidence.of(pages(sites=1, folders=1))
    look(fewer, range(5), 3.0, ["old"] * 5)
    second = Neighbours()
    second.resume(first.memory())
    view = second(fewer, 9.0, 9.0)
    assert np.isfinite(view.exposure).all()


def test_where_pages_change_by_themselves_neighbours_are_not_trusted():
    rng = np.random.default_rng(3)
    evidence = Evidence.of(pages(sites=4, folders=3, each=20))
    belief, texts = Neighbours(), np.zeros(len(evidence), dtype=int)
    rate = rng.choice([0.02, 0.3], len(evidence))
    for day in range(60):
        texts += rng.random(texts.size) < 1 - np.exp(-rate)
        rows = np.flatnonzero(rng.random(texts.size) < 0.3)
        look(evidence, rows, float(day), [str(texts[row]) for row in rows])
        view = belief(evidence, float(day), float(day))
    age = view.age[view.held]
    off = np.abs(view.exposure[view.held] - age) / np.maximum(age, 1.0)
    assert off.mean() < 0.1
    assert (view.unsettled[view.held] <= 0.2 * age).all()


def pages_alone(seed, n=120, days=30):
    """Return a view of pages that change by themselves, and how many are fresh."""
    rng = np.random.default_rng(seed)
    evidence = Evidence.of(pages(sites=1, folders=1, each=n))
    belief, texts, held = Neighbours(), np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    rate = np.minimum(0.1 * np.exp(1.8 * rng.standard_normal(n)), 24.0)
    for day in range(days):
        texts += rng.poisson(rate)
        if day < days - 1:
            rows = np.flatnonzero(rng.random(n) < (0.25 if day else 1.0))
            look(evidence, rows, float(day), [str(texts[row]) for row in rows])
            held[rows] = texts[rows]
        view = belief(evidence, float(day), float(day))
    return view, float(np.mean(held == texts))


def test_bounds_are_narrower_where_pages_are_found_to_change_by_themselves():
    inside, widths = [], []
    for seed in range(20):
        view, fresh = pages_alone(seed)
        whole = dataclasses.replace(view, unsettled=np.zeros(0))
        casts = [freshness_forecast(one, np.zeros(1)) for one in (view, whole)]
        widths.append([float(cast.high[0] - cast.low[0]) for cast in casts])
        inside.append(casts[0].low[0] <= fresh <= casts[0].high[0])
    some, more = np.mean(widths, axis=0)
    assert some < 0.9 * more
    assert np.mean(inside) >= 0.85


def test_where_pages_change_together_the_whole_past_is_unrestful():
    rng = np.random.default_rng(4)
    evidence = Evidence.of(pages(sites=4, folders=3, each=20))
    belief, texts = Neighbours(), np.zeros(len(evidence), dtype=int)
    site = np.arange(len(evidence)) // 60
    for day in range(60):
        texts += (rng.random(4) < 0.1)[site]
        rows = np.flatnonzero(rng.random(texts.size) < 0.3)
        look(evidence, rows, float(day), [str(texts[row]) for row in rows])
        view = belief(evidence, float(day), float(day))
    held = view.held
    assert view.unsettled[held] == pytest.approx(view.age[held], rel=0.02)


def test_how_much_pages_differ_is_learned_as_by_brute_force():
    rng = np.random.default_rng(0)
    n, true = 400, 0.5
    rate = rng.gamma(true, 0.02 / true, n)
    lived = rng.uniform(50, 300, n)
    changes = rng.poisson(rate * lived).astype(float)
    places = PageRates(np.zeros(n, np.intp), np.zeros(n, np.intp), changes, lived)
    around = places.around().at(np.arange(n))[0]
    places.fit()

    def likely(k):  # a Gamma mixture of Poisson counts is negative binomial
        chance = (k / around) / (k / around + lived)
        return scipy.stats.nbinom.logpmf(changes, k, chance).sum()

    assert places.shape == max(SHAPES, key=likely)
    assert 0.25 <= places.shape <= 1.0


def test_what_a_whole_site_may_have_done_widens_the_bounds():
    evidence = Evidence.of(pages(each=20))
    look(evidence, range(80), 0.0, ["old"] * 80)
    view = dataclasses.replace(Neighbours()(evidence, 10.0, 10.0), unrest=evenly)
    sure = dataclasses.replace(view, doubt=np.zeros(len(view)))
    apart = dataclasses.replace(view, group=np.arange(len(view)))
    casts = [freshness_forecast(v, np.zeros(1)) for v in (view, sure, apart)]
    width = [float(cast.high[0] - cast.low[0]) for cast in casts]
    assert width[0] > max(width[1:])
    wide, narrow, between = (_moments(v, 80.0, 0.0)[1] for v in (view, sure, apart))
    assert wide > between > narrow


def test_the_variance_that_a_site_adds_is_that_of_simulated_busy_times(evidence):
    belief = Neighbours()
    belief(evidence, 5.0, 5.0)
    look(evidence, [0, 1, 10, 11], 5.0, ["new", "old", "old", "old"])
    view = belief(evidence, 6.0, 6.0)
    rng = np.random.default_rng(0)
    # Each site's time lived is off by one normal number for all of its pages.
    off = rng.standard_normal((4000, 2))[:, view.group] * view.doubt
    alive = np.array(
        [view.survival.alive(np.maximum(view.exposure + o, 0)) for o in off]
    )
    fresh = (rng.random(alive.shape) < alive).mean(axis=1)
    forecast = freshness_forecast(view, np.zeros(1), confidence=0.9)
    inside = (fresh >= forecast.low[0] - 1e-9) & (fresh <= forecast.high[0] + 1e-9)
    assert 0.85 < inside.mean() < 0.97


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_whatever_is_seen_the_view_stays_finite(seed):
    rng = np.random.default_rng(seed)
    evidence, belief, now = Evidence.of(pages()), Neighbours(), 0.0
    for _ in range(6):
        now += float(rng.exponential(rng.choice([1e-6, 1.0, 400.0])))
        now -= float(rng.random() < 0.1) * 5.0  # the clock is set back
        rows = np.flatnonzero(rng.random(20) < 0.5)
        seen = Seen.ABSENT if rng.random() < 0.2 else Seen.PRESENT
        texts = rng.choice(["x", "y"], rows.size)
        look(evidence, rows, now, ["" if seen else t for t in texts], seen)
        view = belief(evidence, now, now)
        held = view.held
        assert np.isfinite(view.exposure[held]).all()
        assert (view.exposure[held] >= 0).all()
        assert np.isfinite(view.rate).all()
        assert (view.rate > 0).all()
        assert np.isfinite(view.doubt).all()
        whole = freshness_forecast(view, np.array([0.0, 1.0]))
        assert (whole.mean <= 1).all()


def test_a_turn_is_spent_in_rounds_that_learn_from_each_other():
    recording = deploys(days=4.0)
    store = MemoryStore()
    store.add(recording.items())
    run = store.begin((NAME,), 0.0, lease=np.inf)
    store.append(run, recording.observe(np.arange(len(recording)), 0.0))
    planned = []

    def policy(view, budget, rng):
        planned.append(int(budget.requests))
        return PatientIndex("freshness")(view, budget, rng)

    source = RecordedPageSource(recording)
    loop = Loop(source, store, Neighbours(), InRounds(policy, 4))
    rng = np.random.default_rng(0)
    turn = asyncio.run(loop.turn(run, Allowance(40), rng, clock=lambda: 3.0))
    assert turn.observations == 40
    assert planned[:4] == [10, 10, 10, 10]


def deploys(days, pages=200, seed=5):
    """Return a recording of ten sites that change all at once, now and then."""
    rng = np.random.default_rng(seed)
    site = np.arange(pages) % 10
    when = [np.sort(rng.uniform(0, days, rng.poisson(days / 15))) for _ in range(10)]
    each = [when[s] for s in site]
    return Recording(
        keys=tuple(f"https://{s}/x/{i}" for i, s in enumerate(site)),
        start=np.concatenate([[0], np.cumsum([len(e) for e in each])]).astype(np.intp),
        at=np.concatenate(each),
        weight=np.ones(pages),
        born=np.full(pages, -np.inf),
        died=np.full(pages, np.inf),
        group=tuple(str(s) for s in site),
    )


def test_where_whole_sites_change_at_once_the_champion_is_far_ahead():
    replay = Replay(deploys(120.0), 25.0, 0.0, 120.0, ticks=1, warm=20.0)
    ours, plain = (1 - replay.score(s).freshness for s in (champion, freshness))
    assert ours < 0.65 * plain


def test_no_page_is_left_alone_for_ever():
    recording = deploys(200.0, pages=60)
    score = Replay(recording, 3.0, 0.0, 200.0, ticks=1).score(champion)
    assert score.starved == 0.0


def test_the_champion_has_a_name():
    assert strategy("champion") is champion
    assert not champion.policy(view_of_nothing(), Budget(3), np.random.default_rng(0))


def view_of_nothing():
    return Neighbours()(Evidence(), 0.0, 0.0)


@pytest.mark.parametrize(
    ("requests", "first"), [(400, 25), (160, 10), (100, 8), (20, 5), (3, 1)]
)
def test_rounds_are_small_but_go_out_together(requests, first):
    planned = []

    def policy(view, budget, rng):
        planned.append(int(budget.requests))
        return PatientIndex("freshness")(view, budget, rng)

    evidence = Evidence.of(pages(6, 10, 10))
    view, rng = Neighbours()(evidence, 0.0, 0.0), np.random.default_rng(0)
    InRounds(policy)(view, Budget(requests), rng)
    assert planned == [first]


def test_the_index_with_patience_is_the_sum_of_two(evidence):
    view = Neighbours()(evidence, 10.0, 10.0)
    both = PatientIndex("freshness", patience=0.3).gain(view)
    parts = [index(view.survival, view.exposure, o) for o in ("freshness", "harmonic")]
    assert both == pytest.approx(parts[0] + 0.3 * parts[1])
    assert PatientIndex("age", patience=0.3).gain(view) == pytest.approx(
        index(view.survival, view.exposure, "age") + 0.3 * parts[1]
    )


def test_how_much_pages_differ_stays_known_when_pages_are_found(evidence):
    belief = Neighbours()
    belief(evidence, 1.0, 1.0)
    belief._pages.shape = 4.0
    evidence.add([Item("https://a/0/new", group="a")])
    belief(evidence, 1.0, 1.0)
    assert belief._pages.shape == 4.0


def hurried(rng, days, middle):
    """Return a belief of 80 pages that change at 0.1, later at 0.5 a day."""
    evidence, belief = Evidence.of(pages(4, 2, 10)), Neighbours()
    texts = np.zeros(80, dtype=int)
    look(evidence, range(80), 0.0, texts.astype(str))
    for day in range(1, days + 1):
        rate = 0.5 if day > middle else 0.1
        texts = np.where(rng.random(80) < -np.expm1(-rate), day, texts)
        rows = np.flatnonzero(np.arange(80) % 2 == day % 2)
        look(evidence, rows, float(day), texts[rows].astype(str))
        belief(evidence, float(day), float(day))
    return evidence, belief


def test_forecasts_follow_pages_that_change_five_times_as_fast():
    evidence, belief = hurried(np.random.default_rng(4), 50, 40)
    view = belief(evidence, 50.0, 50.0)
    assert 0.25 < view.rate.mean() < 0.6  # changes by days of the whole past: 0.18
    cast = freshness_forecast(view, np.array([3.0]))
    fresh = np.exp(-0.5 * 3.0 - 0.5 * view.age).mean()
    assert cast.low[0] < fresh < cast.high[0]


def test_pages_that_stay_as_they_are_keep_their_rates():
    evidence, belief = hurried(np.random.default_rng(4), 50, 50)
    view = belief(evidence, 50.0, 50.0)
    assert view.rate.mean() == pytest.approx(0.1, rel=0.2)
    assert view.unrest().doubt < 0.15


def test_a_later_run_forecasts_at_the_pace_of_the_earlier_one():
    evidence, first = hurried(np.random.default_rng(5), 50, 40)
    store = MemoryStore()
    pages_belief_notes.remember(store, first)
    here = first(evidence, 50.5, 50.5)
    for resumed in (True, False):
        second = Neighbours()
        if resumed:
            second.resume(pages_belief_notes.recall_busy(store))
        there = second(evidence, 50.5, 50.5)
        ratio = there.rate.mean() / here.rate.mean()
        assert (ratio > 0.8) == resumed
