"""Hints: how often they come, what they leave unsaid, and when that is learned."""

from dataclasses import replace
from math import exp, inf, log

import numpy as np
import pytest

from halflife.belief.hints import (
    HintedBelief,
    SilentEvidence,
    expected_changes,
    hinted_looks,
    stretched_exposure,
)
from halflife.belief.neighbours import Neighbours
from halflife.belief.plain import KnownRates
from halflife.belief.weibull import Weibull
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import HINT_KINDS, Observations, Seen
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.models.signals import Announced
from store_looks import hint, present

RATE = np.array([0.1, 0.2, 0.3, 0.4])
WORTH = np.array([0.5, 0.5, 2.0, 0.5])
GROUP = "gghg"
# By hand: each gap's item, days, whether it saw a change, and its hints.
GAPS = [(0, 2.0, True, 1), (0, 2.0, False, 2), (0, 4.0, True, 0), (1, 4.0, False, 0),
        (2, 1.0, False, 0)]  # fmt: skip
NOW = 10.0


def empty():
    return Evidence.of(Item(k, group=g) for k, g in zip("abcd", GROUP, strict=True))


def of_kind(worth, kind=0):
    """Return what hints of each kind are worth, if those of the others are nothing."""
    table = np.zeros((len(HINT_KINDS), len(worth)))
    table[kind] = worth
    return table


def told_by_hints(evidence=None, scale=1.0, kind=""):
    evidence = evidence or empty()
    for one in (
        present("a", 0.0, "x"),
        present("b", 0.0),
        present("c", 0.0),
        hint("a", 1.0, modified=0.75),
        present("c", 1.0),
        present("a", 2.0, "y"),
        hint("a", 3.0, modified=2.75),
        hint("a", 3.5, modified=3.25),
        present("a", 4.0, "y"),
        present("b", 4.0),
        present("a", 8.0, "z"),
        hint("a", 9.0, modified=8.5),
    ):
        moment = None if one.modified is None else scale * one.modified
        digest = kind if one.seen is Seen.HINT else one.digest
        look = replace(one, at=scale * one.at, modified=moment, digest=digest)
        evidence.take(evidence.weigh(Observations.of([look])))
    return evidence


def plain_told(scale=1.0):
    """Return the hints a day of each item by ``SilentEvidence.hint_rates``."""
    days = [2.0 + 2.0 + 4.0 + 2.0, 4.0 + 6.0, 1.0 + 9.0, 0.0]
    days = [scale * one for one in days]
    hints = [1 + 2 + 1, 0, 0, 0]
    found = []
    for i in range(4):
        others = [j for j in range(4) if GROUP[j] == GROUP[i]]
        changes = sum(days[j] * RATE[j] for j in others)
        usual = sum(hints[j] for j in others) / changes * RATE[i]
        found.append((hints[i] + 1) * usual / (days[i] * usual + 1))
    return found


@pytest.mark.parametrize("kind", range(len(HINT_KINDS)))
@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_an_item_with_few_hints_borrows_from_its_group(scale, kind):
    evidence = told_by_hints(scale=scale, kind=HINT_KINDS[kind])
    view = KnownRates(RATE)(evidence, scale * NOW, scale * NOW)
    silent = SilentEvidence(evidence)
    silent.follow(None, of_kind(WORTH, kind))
    assert silent.hint_rates(view)[kind] == pytest.approx(plain_told(scale), rel=2e-3)
    assert silent.hint_rates(view)[kind, 2] == 0.0
    assert not np.delete(silent.hint_rates(view), kind, axis=0).any()


@pytest.mark.parametrize("kind", range(len(HINT_KINDS)))
def test_all_gaps_of_groups_that_are_hinted_at_are_told_with_their_hints(kind):
    evidence = told_by_hints(kind=HINT_KINDS[kind])
    view = KnownRates(RATE)(evidence, NOW, NOW)
    silent = SilentEvidence(evidence)
    worth = of_kind(WORTH, kind)
    silent.follow(None, worth)
    net = {}
    for *row, tally in zip(*hinted_looks(silent, view, worth, kind), strict=True):
        key = tuple(round(float(x), 9) for x in row)
        net[key] = net.get(key, 0.0) + tally
    told, wanted = plain_told(), {}
    for i, days, changed, hints in GAPS[:-1]:
        announced = (1 - exp(-WORTH[i])) * told[i] * days
        key = (0, RATE[i] * days + announced, told[i] * days, hints, changed)
        wanted[tuple(round(float(x), 9) for x in key)] = 1.0
    assert {key: n for key, n in net.items() if abs(n) > 1e-9} == pytest.approx(wanted)


def test_a_change_after_hints_counts_as_silent_by_its_chance():
    evidence = empty()
    silent = SilentEvidence(evidence)
    silent.follow(None, of_kind(WORTH))
    told_by_hints(evidence)
    view = KnownRates(RATE)(evidence, NOW, NOW)
    silent.follow(view, of_kind(WORTH))
    net = {}
    for i, days, changed, tally in zip(*silent.gaps(), strict=True):
        net[i, days, changed] = net.get((i, days, changed), 0.0) + tally
    x = RATE[0] * 2.0
    share = (1 - exp(-x)) / (1 - exp(-x - WORTH[0] * 1))
    assert net == pytest.approx(
        {
            (0, 2.0, True): share,
            (0, 2.0, False): 1.0 + (1.0 - share),
            (0, 4.0, True): 1.0,
            (1, 4.0, False): 1.0,
            (2, 1.0, False): 1.0,
        }
    )
    assert (silent.gaps().tally != 0).all()
    mark = silent.batches
    silent.follow(view, of_kind(WORTH))  # nothing is new
    assert silent.gaps(mark).item.size == 0
    assert silent.looks.tolist() == evidence.looks.tolist()


def test_what_was_counted_stays_when_items_become_known():
    evidence = told_by_hints()
    silent = SilentEvidence(evidence)
    silent.follow(None, of_kind(WORTH))
    evidence.add([Item("e", group="h")])
    evidence.take(evidence.weigh(Observations.of([present("e", 9.0)])))
    silent.follow(None, of_kind(np.append(WORTH, 1.0)))
    view = KnownRates(np.append(RATE, 0.5))(evidence, NOW, NOW)
    assert silent.hint_rates(view)[0, :2] == pytest.approx(plain_told()[:2])
    assert silent.hint_rates(view)[0, 4] == 0.0


def test_expected_changes_are_the_fall_of_survival_of_each_gap():
    laws = (
        Exponential(RATE),
        GammaSurvival(np.array([0.5, 1.0, 2.0, 3.0]), np.array([5.0, 1.0, 9.0, 2.0])),
        Weibull(RATE, 0.7),
    )
    item = np.array([3, 0, 0, 2, 0, 4])
    length = np.array([1.0, 2.0, 0.5, 4.0, 8.0, 3.0])
    for law in laws:
        view = replace(KnownRates(RATE)(empty(), NOW, NOW), survival=law)
        found = expected_changes(view, item, length)
        for k, (i, days) in enumerate(zip(item, length, strict=True)):
            t = np.full(4, days)
            wanted = -log(law.alive(t)[i]) if i < 4 else 0.0  # not known to the view
            assert found[k] == pytest.approx(wanted)
    nothing = expected_changes(view, item[:0], length[:0])
    assert nothing.size == 0


@pytest.mark.parametrize(
    "law",
    [
        Exponential(RATE),
        GammaSurvival(np.array([0.5, 1.0, 2.0, 3.0]), np.array([5.0, 1.0, 9.0, 2.0])),
        Weibull(RATE, 0.7),
    ],
)
def test_exposure_is_stretched_to_where_survival_has_fallen_by_the_hints(law):
    age, load = np.array([3.0, 0.0, 7.0, inf]), np.array([0.4, 1.0, 0.0, 0.0])
    found = stretched_exposure(law, age, load)
    assert found[2:].tolist() == [7.0, inf]
    there = np.where(np.isfinite(found), found, 0.0)
    before = law.alive(np.where(np.isfinite(age), age, 0.0))
    assert law.alive(there)[:2] == pytest.approx((before * np.exp(-load))[:2])
    assert (found[:2] > age[:2]).all()


@pytest.mark.parametrize(
    "law",
    [
        Exponential(np.full(3, 1e-7)),
        GammaSurvival(np.full(3, 0.1), np.full(3, 1e6)),
        Weibull(np.full(3, 1e-7), 1.1),
    ],
)
def test_no_hint_makes_an_item_older_than_a_thousand_days(law):
    age, load = np.array([1.0, 1500.0, 20.0]), np.array([9.0, 9.0, 0.0])
    assert stretched_exposure(law, age, load) == pytest.approx([1000.0, 1500.0, 20.0])


def test_nothing_is_stretched_without_hints():
    age = np.array([1.0, inf, 0.0, 2.0])
    assert stretched_exposure(Exponential(RATE), age, np.zeros(4)) is age


@pytest.mark.parametrize("plug_in", [False, True])
@pytest.mark.parametrize("announced", [False, True])
def test_hints_raise_the_rate_by_what_they_announce(plug_in, announced):
    evidence = told_by_hints()
    belief = HintedBelief(
        KnownRates(RATE), worth=0.5, plug_in=plug_in, announced=announced
    )
    view = belief(evidence, NOW, NOW)
    told = np.array(plain_told())
    assert view.rate == pytest.approx(RATE + told * (1 - exp(-0.5)))
    assert view.exposure == pytest.approx([2.0 + 0.5 / 0.1, 6.0, 9.0, inf])
    assert isinstance(view.survival, Announced) == announced
    assert not any(hasattr(one, "pooled_") for one in belief.trusts)  # it was given


def test_what_hints_are_worth_is_learned_again_as_they_grow(monkeypatch):
    evidence, learned = empty(), []
    belief = HintedBelief(KnownRates(RATE), refit=1.5)
    plain = belief._learn

    def watch(silent, view):
        learned.append(evidence.hinted().item.size)
        return plain(silent, view)

    monkeypatch.setattr(belief, "_learn", watch)
    evidence.take(evidence.weigh(Observations.of([present("a", 0.0)])))
    for day in range(1, 9):
        at = float(day)
        looks = [hint("a", at - 0.25, modified=at - 0.5), present("a", at, str(day))]
        evidence.take(evidence.weigh(Observations.of(looks)))
        belief(evidence, at, at)
    assert learned == [1, 2, 4, 7]


def test_a_group_of_which_nothing_was_learned_goes_by_all_together():
    evidence = empty()
    belief = HintedBelief(KnownRates(RATE))
    assert belief.worth(evidence).tolist() == [[0.0] * 4] * 4
    belief._worth = np.array([[0.1], [0.2], [0.3], [0.4]])
    belief.trusts[0].pooled_, belief.trusts[2].pooled_ = 0.7, 0.8
    assert belief.worth(evidence).tolist() == [
        [0.1, 0.1, 0.7, 0.1],
        [0.2, 0.2, 0.0, 0.2],
        [0.3, 0.3, 0.8, 0.3],
        [0.4, 0.4, 0.0, 0.4],
    ]
    given = HintedBelief(KnownRates(RATE), worth=3.0)
    assert given.worth(evidence).tolist() == [[3.0] * 4] * 4


def test_some_items_are_told_of_only_where_nobody_has_ever_hinted():
    quiet = HintedBelief(Neighbours(), announced=False)
    evidence = empty()
    assert quiet.learn(evidence, 1.0)
    assert len(quiet.view_rows(evidence, np.array([1, 0]), 1.0, 1.0)) == 2
    evidence.take(evidence.weigh(Observations.of([present("a", 1.0)])))
    assert quiet.learn(evidence, 1.0)
    evidence.take(evidence.weigh(Observations.of([hint("a", 3.0, modified=2.5)])))
    assert not quiet.learn(evidence, 3.0)  # a hint stands
    evidence.take(evidence.weigh(Observations.of([present("a", 4.0, "2")])))
    assert not quiet.learn(evidence, 4.0)  # there was one
    assert not HintedBelief(Neighbours()).learn(empty(), 1.0)
    assert not HintedBelief(Neighbours(), announced=False, plug_in=True).learn(
        empty(), 1.0
    )
    assert not HintedBelief(KnownRates(RATE), announced=False).learn(empty(), 1.0)


def test_worth_is_learned_unless_it_is_given():
    belief = HintedBelief(KnownRates(RATE))
    view = belief(told_by_hints(), NOW, NOW)
    assert belief.trusts[0].pooled_ >= 0.0
    told, worth = np.array(plain_told()), belief.worth(empty())[0]
    assert worth.tolist() == belief.trusts[0].worth_[[0, 0, 1, 0]].tolist()
    assert view.rate == pytest.approx(RATE + told * (1 - np.exp(-worth)))


@pytest.mark.parametrize("plug_in", [False, True])
def test_a_mean_rate_may_be_taken_for_the_truth(plug_in):
    shape, exposure = np.array([1.0, 2.0, 3.0, 4.0]), np.full(4, 10.0)

    def unsure(evidence, now, since):
        view = KnownRates(shape / exposure)(evidence, now, since)
        return replace(view, survival=GammaSurvival(shape, exposure))

    view = HintedBelief(unsure, worth=0.5, plug_in=plug_in)(told_by_hints(), NOW, NOW)
    gamma = 2.0 + (10.0 + 2.0) * (exp(0.5 / 1.0) - 1)
    assert view.exposure[0] == pytest.approx(2.0 + 0.5 / 0.1 if plug_in else gamma)


def test_other_evidence_is_believed_from_the_beginning():
    belief, fresh = (HintedBelief(KnownRates(RATE)) for _ in range(2))
    belief(told_by_hints(), NOW, NOW)
    other = empty()
    for look in (present("b", 0.0), hint("b", 1.0), present("b", 2.0, "2")):
        other.take(other.weigh(Observations.of([look])))
    one, two = (b(other, NOW, NOW) for b in (belief, fresh))
    assert one.rate.tolist() == two.rate.tolist()
    assert one.exposure.tolist() == two.exposure.tolist()


def test_worth_learned_of_more_groups_than_there_are_now_does_no_harm():
    belief = HintedBelief(KnownRates(RATE))
    belief._worth = of_kind([0.1, 0.2, 0.3], 1)
    assert belief.worth(empty())[1].tolist() == [0.1, 0.1, 0.2, 0.1]
    belief(told_by_hints(), NOW, NOW)
    assert belief.worth(empty())[1].tolist() == [0.1, 0.1, 0.2, 0.1]


def test_hints_of_other_kinds_count_as_expected():
    evidence = told_by_hints()
    feed = hint("a", 9.5, modified=9.25)
    evidence.take(evidence.weigh(Observations.of([replace(feed, digest="feed")])))
    evidence.take(evidence.weigh(Observations.of([present("a", 10.0, "new")])))
    view = KnownRates(RATE)(evidence, NOW, NOW)
    silent, worth = SilentEvidence(evidence), of_kind(WORTH) + of_kind(2 * WORTH, 1)
    silent.follow(None, worth)
    looks = hinted_looks(silent, view, worth, 0)
    (last,) = np.flatnonzero((looks.hints == 1) & looks.changed & (looks.tally > 0))[1:]
    told = silent.hint_rates(view)
    announced = (1 - exp(-WORTH[0])) * told[0, 0] * 2.0
    # One hint of the sitemap and one of the feed came in the last two days.
    wanted = RATE[0] * 2.0 + announced + 2 * WORTH[0] * 1
    assert looks.expected[last] == pytest.approx(wanted)
    exposed = HintedBelief(KnownRates(RATE), worth=0.5)(evidence, NOW, NOW).exposure
    assert exposed[0] == pytest.approx(0.0)
