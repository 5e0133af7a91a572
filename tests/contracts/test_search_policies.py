"""The contract of policies for searches, ours or a plug-in's: all that are registered.

A policy is added to the entry points ``halflife.policies.search`` and nowhere else.
"""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife import plugins
from halflife.kinds.search.rules import bad_choices
from halflife.kinds.search.settings import SearchConfig
from halflife.policies.texts import CountChecks, Refreshes
from halflife.policies.texts.live import Databases, SearchPolicy, SummaryChecks

GROUP = SearchConfig.policy_group
NAMES = plugins.policies(GROUP)
DOMAINS = ("com", "edu", "gov", "misc", "org")
NOW = 20_000.0

pytestmark = pytest.mark.parametrize("name", NAMES)


def policy(name):
    return plugins.load(GROUP, name, SearchPolicy)


def known(seed, n, *, income=50.0, seen=12):
    """Return n databases of which this and that is known."""
    rng = np.random.default_rng(seed)
    made = NOW - rng.uniform(0.0, 200.0, n)
    looked = np.where(rng.random(n) < 0.5, made, rng.uniform(made, NOW))
    checked = np.where(looked > made, looked, -np.inf)
    kl = np.where(rng.random(seen) < 0.3, 0.0, rng.gamma(1.0, 0.3, seen))
    return Databases(
        now=NOW,
        domain=tuple(rng.choice(DOMAINS, n)),
        method=tuple(rng.choice(["QBS", "FPS"], n)),
        size=rng.lognormal(6.0, 2.0, n),
        tau=rng.uniform(0.01, 1.0, n),
        made=made,
        looked=looked,
        doubted=(looked > made) & (rng.random(n) < 0.3),
        cost=rng.integers(20, 500, n).astype(float),
        check=np.where(rng.random(n) < 0.3, np.inf, 40.0),
        weight=rng.uniform(0.5, 3.0, n),
        income=income,
        refreshes=Refreshes(
            rng.integers(0, n, seen), rng.uniform(0.1, 30.0, seen), kl
        ),
        checks=SummaryChecks(
            checked, rng.random(n), rng.gamma(1.0, 0.1, n),
            np.full(n, 3), np.full(n, 2),
        ),
        counts=counted(rng, n, (NOW - made) / 7.0),
    )  # fmt: skip


def counted(rng, n, age):
    """Return checks by match counts of some of the databases; not all tell counts."""
    some = rng.integers(0, n, 2 * n)
    return CountChecks(
        some,
        age[some] * rng.random(some.size),
        np.where(rng.random(some.size) < 0.1, np.nan, rng.gamma(0.5, 0.1, some.size)),
        np.where(rng.random(n) < 0.3, np.inf, 5.0),
    )


def twins(*, kl, share, income):
    """Return two databases that differ only in what refreshes and samples showed."""
    gap, count = 4.0, 6
    return Databases(
        now=NOW,
        domain=("org", "org"),
        method=("QBS", "QBS"),
        size=np.full(2, 500.0),
        tau=np.full(2, 0.5),
        made=np.full(2, NOW - 30.0),
        looked=np.full(2, NOW - 20.0),
        doubted=np.zeros(2, bool),
        cost=np.full(2, 200.0),
        check=np.full(2, 40.0),
        weight=np.ones(2),
        income=income,
        refreshes=Refreshes(
            np.tile([0, 1], count), np.full(2 * count, gap), np.tile(kl, count)
        ),
        checks=SummaryChecks(
            np.full(2, NOW - 20.0), np.array(share), np.array(kl),
            np.full(2, 3), np.full(2, 3),
        ),
    )  # fmt: skip


def chosen(name, databases):
    """Return what a policy chooses; None if the market's price decides."""
    found = policy(name).choose(databases)
    if found is not None:
        assert bad_choices(found, len(databases)) == ""
    return found


def test_it_says_what_it_does_and_where_it_was_published(name):
    assert policy(name).about
    assert isinstance(policy(name).paper, str)


@given(st.integers(0, 10**6), st.integers(1, 8), st.sampled_from([0.0, 1e-3, 50, 1e6]))
@settings(max_examples=15, deadline=None)
def test_whatever_is_known_it_says_something_usable_and_the_same_again(
    name, seed, n, income
):
    databases = known(seed, n, income=income)
    before = known(seed, n, income=income)
    first, again = chosen(name, databases), chosen(name, known(seed, n, income=income))
    for part in fields(Databases):
        if part.name not in {"refreshes", "checks", "counts", "fitted"}:
            np.testing.assert_equal(
                getattr(databases, part.name), getattr(before, part.name)
            )
    if first is None:
        assert again is None
        return
    assert first.why == again.why
    for column in ("renews", "due", "every", "since", "rank", "cost"):
        np.testing.assert_array_equal(getattr(first, column), getattr(again, column))


@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=10, deadline=None)
def test_nothing_that_was_just_made_is_due(name, seed, n):
    databases = known(seed, n)
    now = np.full(n, NOW)
    fresh = replace(
        databases, made=now, looked=now, doubted=np.zeros(n, bool),
        checks=replace(databases.checks, at=np.full(n, -np.inf)),
        counts=CountChecks.none(databases.counts.price),
    )  # fmt: skip
    found = chosen(name, fresh)
    assert found is None or not found.due.any()


@given(st.integers(0, 10**6), st.integers(2, 6))
@settings(max_examples=10, deadline=None)
def test_the_order_of_the_databases_means_nothing(name, seed, n):
    databases = known(seed, n)
    turn = np.random.default_rng(seed).permutation(n)
    place = np.argsort(turn)
    seen, checks = databases.refreshes, databases.checks
    mixed = replace(
        databases,
        **{
            part: getattr(databases, part)[turn]
            for part in ("size", "tau", "made", "looked", "doubted", "cost", "check",
                         "weight")
        },
        domain=tuple(databases.domain[i] for i in turn),
        method=tuple(databases.method[i] for i in turn),
        refreshes=replace(seen, database=place[seen.database]),
        checks=SummaryChecks(
            *(getattr(checks, f.name)[turn] for f in fields(SummaryChecks))
        ),
        counts=replace(
            databases.counts,
            database=place[databases.counts.database],
            price=databases.counts.price[turn],
        ),
    )  # fmt: skip
    one, other = chosen(name, databases), chosen(name, mixed)
    if one is not None:
        assert one.every[turn] == pytest.approx(other.every, rel=1e-4)
        np.testing.assert_array_equal(one.renews[turn], other.renews)


def test_what_never_changed_is_renewed_no_more_often_than_what_always_does(name):
    """With an ample income; with little, Eq. 4 gives up on what changes fastest."""
    found = chosen(name, twins(kl=(0.0, 0.6), share=(0.0, 0.5), income=40.0))
    if found is None:
        return
    never, always = found.renews & found.due
    assert never <= always
    assert found.every[0] >= found.every[1] * (1.0 - 1e-9)


def test_an_income_of_nothing_plans_nothing_and_breaks_nothing(name):
    found = chosen(name, twins(kl=(0.1, 0.2), share=(0.0, 0.0), income=0.0))
    if found is not None and name != "bayes-free":
        assert (found.every > 300.0).all()
