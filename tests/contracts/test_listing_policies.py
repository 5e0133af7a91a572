"""One suite for every policy of listings that is registered, ours or a plug-in's."""

from copy import deepcopy
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from halflife import plugins
from halflife.config.kinds import settings_of
from halflife.core.lifetimes import Collection, Lives
from halflife.market.price import AGES
from halflife.market.target_status import FIRST, LATEST, SOONEST
from halflife.policies.listings import ListingPolicy, ListingTerms
from set_lives import grown

GROUP = "halflife.policies.listing"
TERMS = ListingTerms(group="kind")


def never():
    none = np.zeros(0)
    lives = Lives((), none, none, none, none, {})
    return Collection("s", none, lives, none.astype(np.intp), none)


def history(kind, scale=1.0, shift=0.0):
    """Return a history of this kind, its time stretched and moved."""
    rng = np.random.default_rng(11)
    whole = {
        "many": lambda: grown(rng, [0.02, 0.3], arrivals=8.0, days=45, start=90),
        "quiet": lambda: grown(rng, [1e-9], arrivals=0.0, days=20, start=40),
        "empty": lambda: grown(rng, [1.0], arrivals=0.0, days=9, start=0),
        "one": lambda: grown(rng, [0.1], days=10).until(0.0),
        "two": lambda: grown(rng, [0.1], days=10).until(1.0),
        "none": never,
    }[kind]()
    lives = whole.lives
    moved = {
        name: getattr(lives, name) * scale + shift
        for name in ("absent_before", "first_seen", "last_seen", "gone_by")
    }
    return replace(
        whole, looks=whole.looks * scale + shift, lives=replace(lives, **moved)
    )


KINDS = ("none", "one", "two", "many", "quiet", "empty")
NAMED = {n: plugins.load(GROUP, n, ListingPolicy) for n in plugins.policies(GROUP)}
FORESEEING = [n for n, p in NAMED.items() if p.schedule and p.foresees]
PRICING = [n for n, p in NAMED.items() if p.gain]


@pytest.fixture(params=NAMED)
def policy(request):
    return NAMED[request.param]


def last(known):
    return float(known.looks[-1]) if known.looks.size else 0.0


def test_it_says_what_it_does_in_a_line(policy):
    assert policy.about.strip()
    assert "\n" not in policy.about + policy.paper


@pytest.mark.parametrize("kind", KINDS)
def test_it_names_a_moment_after_the_last_fetch_or_leaves_it_to_the_market(
    policy, kind
):
    known = history(kind, shift=20_000.0)
    due = policy.due(known, TERMS)
    if policy.schedule is None:
        assert due == inf
    elif not known.looks.size:
        assert due == 0.0  # at once
    else:
        assert last(known) + SOONEST - 1e-9 <= due < inf


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("name", FORESEEING)
def test_it_looks_no_further_ahead_than_it_has_watched_nor_than_a_week(name, kind):
    known, policy = history(kind), NAMED[name]
    watched = max(last(known) - float(known.looks[0]), FIRST)
    days = policy.due(known, TERMS) - last(known)
    assert days <= min(watched, LATEST) + 1e-9
    longer = policy.due(known, replace(TERMS, longest=100.0)) - last(known)
    assert days - 1e-9 <= longer <= min(watched, 100.0) + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_history_has_the_same_answer_and_stays_as_it_was(policy, kind):
    known = history(kind)
    before = deepcopy(known)
    first = policy.due(known, TERMS)
    gains = policy.gain(known, AGES, TERMS) if policy.gain else None
    assert policy.due(known, TERMS) == first
    if gains is not None:
        assert np.array_equal(policy.gain(known, AGES, TERMS), gains)
    assert np.array_equal(known.looks, before.looks)
    for name in ("absent_before", "first_seen", "last_seen", "gone_by"):
        mine, old = getattr(known.lives, name), getattr(before.lives, name)
        assert np.array_equal(mine, old)


@pytest.mark.parametrize("kind", ["two", "many", "quiet"])
def test_the_date_makes_no_difference(policy, kind):
    here, there = history(kind), history(kind, shift=20_000.0)
    days = [policy.due(known, TERMS) - last(known) for known in (here, there)]
    assert days[0] == pytest.approx(days[1], abs=1e-6)


def test_a_listing_that_does_all_in_half_the_time_is_not_due_later(policy):
    terms = replace(TERMS, longest=365.0)
    slow, quick = history("many"), history("many", scale=0.5)
    days = [policy.due(known, terms) - last(known) for known in (slow, quick)]
    assert days[1] <= days[0] * 1.001 or days == [inf, inf]


def test_a_higher_level_or_confidence_is_due_no_later(policy):
    known = history("many")
    for low, high in (
        (replace(TERMS, recall=0.7), TERMS),
        (replace(TERMS, confidence=0.6), TERMS),
    ):
        assert policy.due(known, high) <= policy.due(known, low) + 1e-9


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("name", PRICING)
def test_what_a_fetch_buys_is_finite_and_grows_with_age(name, kind):
    gains = NAMED[name].gain(history(kind), AGES, TERMS)
    assert gains.shape == AGES.shape
    assert np.isfinite(gains).all()
    assert (gains >= -1e-12).all()
    assert (np.diff(gains) >= -1e-9).all()


def test_the_usual_policy_of_listings_is_the_market():
    (usual,) = settings_of("listing").usual_policies
    policy = NAMED[usual]
    assert (usual, policy.schedule, policy.gain) == ("market-price", None, None)


def test_the_paper_has_all_its_schedules_registered():
    published = {n for n, p in NAMED.items() if "quality-aware" in p.paper}
    assert published == {
        "threshold", "threshold-static", "threshold-adaptive", "threshold-groups",
    }  # fmt: skip
