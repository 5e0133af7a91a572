"""Silence of maps is evidence: what it is worth, by hand, by simulation, by laws."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq

from halflife.belief.gap_hints import GapHints, changed_gaps
from halflife.belief.hints import (
    HintedBelief,
    SilentEvidence,
    announced_until,
    dating_groups,
)
from halflife.belief.neighbours import Neighbours
from halflife.belief.trust import TrustPosterior
from halflife.config import Config
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.engine import bootstrap
from halflife.models.bursts import at_least_one
from halflife.models.poisson import GammaSurvival
from halflife.models.quality import freshness_forecast
from halflife.models.silence import (
    LEAST,
    OWN,
    PRETEND,
    ChangedObservations,
    SilentShares,
)
from halflife.stores.memory import MemoryStore
from lab import demo_seeds
from store_looks import failed, hint, present

MAP = "https://h.example/sitemap.xml"


def fold(evidence, *looks):
    evidence.take(evidence.weigh(Observations.of(looks)))


def looks_of(*rows):
    """Return looks that found changes, from rows of item, expected, tally."""
    item, expected, tally = zip(*rows, strict=True)
    return ChangedObservations(np.array(item), np.array(expected), np.array(tally))


def test_the_share_of_a_page_worked_out_by_hand():
    # Two pages of one class. Of each 4 changes were expected; of the first, one came
    # unannounced, in a gap so short that it was just one; of the second, none did.
    gaps = looks_of((0, 1e-6, 1.0))
    expected = np.array([4.0, 4.0])
    found = SilentShares().fit(gaps, expected, np.zeros(2, np.intp)).share_
    weight = OWN / (OWN + 4.0)
    came, due = weight * 1.0, 2 * weight * 4.0
    around = (came + PRETEND) / (due + PRETEND)
    usual = (came + PRETEND * around) / (due + PRETEND)
    by_hand = [(1.0 + OWN * usual) / (4.0 + OWN), OWN * usual / (4.0 + OWN)]
    assert found == pytest.approx(by_hand, rel=1e-3)
    assert found.round(3).tolist() == [0.332, 0.166]  # around 0.696, usual 0.497


@given(
    seed=st.integers(0, 2**32 - 1),
    more=st.floats(0.1, 3.0),
    pages=st.integers(1, 6),
)
def test_shares_are_shares_and_grow_with_what_came_unannounced(seed, more, pages):
    rng = np.random.default_rng(seed)
    place = rng.integers(-1, 3, pages)
    expected = rng.exponential(3.0, pages)
    some = rng.integers(0, pages, 8)
    gaps = ChangedObservations(some, rng.exponential(1.0, 8), rng.exponential(1.0, 8))
    share = SilentShares().fit(gaps, expected, place).share_
    assert ((share >= LEAST) & (share <= 1.0)).all()
    assert (share[place < 0] == 1.0).all()
    again = replace_tally(gaps, gaps.tally + more)
    assert (SilentShares().fit(again, expected, place).share_ >= share - 1e-9).all()
    quiet = SilentShares().fit(replace_tally(gaps, 0.0 * gaps.tally), expected, place)
    assert (quiet.share_ <= share + 1e-9).all()


def replace_tally(gaps, tally):
    return gaps._replace(tally=tally)


def test_of_a_change_that_hints_explain_few_are_silent():
    # With x = 1 and a hint that is right in every second case.
    load = np.log(2.0)
    rng = np.random.default_rng(1)
    silent = rng.poisson(1.0, 200_000)
    told = rng.random(silent.size) < 0.5
    seen = (silent > 0) | told
    assert at_least_one(np.ones(1), load)[0] == pytest.approx(
        silent[seen].mean(), abs=0.01
    )
    both = GapHints(1.0, load, 0.5).changes(np.ones(1))[0]
    assert both == pytest.approx((silent + told)[seen].mean(), abs=0.01)
    assert both == pytest.approx((1.0 + 0.5) / (1.0 - exp(-1.0 - load)))
    alone = GapHints(1.0, 0.0, 0.0).changes(np.array([0.0, 1.0]))
    assert alone == pytest.approx(at_least_one(np.array([0.0, 1.0])))


def world(recall, seed, *, pages=100, days=45, dated=True, rate=0.08, read=True):
    """Keep pages whose changes a map announces with a chance, and look at some a day.

    Return the belief, its view at the end, and which copies are fresh.
    """
    rng = np.random.default_rng(seed)
    keys = [f"https://h.example/{i}" for i in range(pages)]
    evidence = Evidence.of(Item(key, "s", group="h") for key in [*keys, MAP])
    edition, told = np.zeros(pages, int), np.full(pages, -5.25)
    held = edition.copy()
    belief = HintedBelief(Neighbours(), announced=False)
    belief.maps = {MAP}
    fold(evidence, *(present(key, 0.0, "0") for key in [*keys, MAP]))
    view = None
    for day in range(1, days + 1):
        happens = rng.random(pages) < -np.expm1(-rate)
        edition = edition + happens
        announced = happens & (rng.random(pages) < recall)
        told = np.where(announced, day - 0.25, told)
        if read:
            news = [
                hint(k, day - 0.1, modified=t) for k, t in zip(keys, told, strict=True)
            ]
            fold(evidence, present(MAP, day - 0.1, "0"), *(news if dated else []))
        view = belief(evidence, day - 0.1, day - 0.1)
        if day < days:
            doubtful = np.argsort(-view.rate[:pages] * view.exposure[:pages])[:6]
            some = np.unique([*doubtful, *rng.integers(0, pages, 6)])
            fold(
                evidence, *(present(keys[i], day - 0.05, str(edition[i])) for i in some)
            )
            held[some] = edition[some]
    return belief, view, held == edition, evidence


@pytest.mark.parametrize("recall", [0.9, 0.5, 0.0])
def test_what_is_believed_of_pages_that_maps_date_is_true(recall):
    true, believed, share = [], [], []
    for seed in range(2):
        belief, view, fresh, _ = world(recall, seed)
        alive = view.survival.alive(np.minimum(view.exposure, 1e6))[:-1]
        true.append(fresh.mean())
        believed.append(alive.mean())
        share.append(belief._share[:-1].mean() if recall else 1.0)
    assert np.mean(believed) == pytest.approx(np.mean(true), abs=0.06)
    assert np.mean(share) == pytest.approx(1.0 - recall, abs=0.2)


def test_a_map_that_says_nothing_new_makes_us_surer():
    _, view, fresh, evidence = world(0.9, 7)
    quiet = (evidence.hints == 0)[:-1]
    alive = view.survival.alive(np.minimum(view.exposure, 1e6))[:-1]
    plain = Neighbours()(evidence, view.now, view.now)
    unheard = plain.survival.alive(np.minimum(plain.exposure, 1e6))[:-1]
    assert fresh[quiet].mean() >= 0.9
    assert alive[quiet].mean() > 0.85
    assert unheard[quiet].mean() < alive[quiet].mean() - 0.15
    assert (view.unsettled[:-1][quiet] < view.age[:-1][quiet]).all()
    sure = freshness_forecast(view, np.zeros(1))
    loose = freshness_forecast(replace(view, unsettled=np.zeros(0)), np.zeros(1))
    assert sure.high - sure.low <= loose.high - loose.low


def test_exposure_counts_what_nobody_announces_and_what_no_map_has_told_yet():
    evidence = Evidence.of(Item(key, "s", group="h") for key in ("a", "b", MAP))
    fold(evidence, *(present(key, 0.0) for key in ("a", "b", MAP)))
    for day in range(0, 20, 4):  # it is as it was unless a change was announced
        fold(evidence, hint("a", day + 1.0, modified=day + 0.5))
        fold(evidence, present("a", day + 1.5, str(day)))
        fold(evidence, present("a", day + 3.0, str(day)))
    fold(evidence, present(MAP, 25.0))
    belief = HintedBelief(Neighbours(), worth=5.0, announced=False)
    belief.maps = {MAP}
    view = belief(evidence, 27.0, 27.0)
    inner, q = belief._view, belief._share
    assert q[1] == q[2] == 1.0  # nobody dates it
    assert LEAST <= q[0] < 0.7
    # Seen 8 days ago, and the map was read 6 days later: it told of 3/4 of the time.
    told = 6.0 / 8.0
    by_hand = (q[0] * told + 1.0 - told) * inner.exposure[0]
    assert view.exposure[0] == pytest.approx(by_hand)
    assert view.exposure[1] == inner.exposure[1]
    assert (view.exposure <= inner.exposure).all()
    assert view.rate.tolist() == inner.rate.tolist()  # of all changes, as it was


def test_a_map_that_is_not_read_any_more_says_nothing():
    evidence = Evidence.of(Item(key, "s", group="h") for key in ("a", MAP, "b"))
    fold(evidence, present("a", 0.0), present(MAP, 0.0), present("b", 0.0))
    assert announced_until(evidence, 9.0, ()).tolist() == [-np.inf] * 3
    fold(evidence, hint("a", 3.0, modified=2.5), present(MAP, 3.0))
    assert announced_until(evidence, 9.0, {MAP, "unknown"}).tolist() == [3.0] * 3
    fold(evidence, failed(MAP, 5.0))
    assert announced_until(evidence, 9.0, {MAP}).tolist() == [3.0] * 3
    assert announced_until(evidence, 9.0, ()).tolist() == [2.5] * 3  # by what it claims
    fold(evidence, hint("b", 4.0, modified=4.9))
    assert announced_until(evidence, 4.5, ()).tolist() == [4.5] * 3  # not of the future


def test_pages_are_classed_by_who_dates_them_and_by_their_pace():
    evidence = Evidence.of(
        Item(k, "s", group=g) for k, g in zip("abcdef", "gghggg", strict=True)
    )
    fold(evidence, *(present(key, 0.0) for key in "abcdef"))
    fold(evidence, *(hint(key, 1.0, modified=0.5) for key in "abce"))
    fold(evidence, replace(hint("e", 1.0, modified=0.5), digest="feed"))
    rate = np.array([0.01, 0.01, 0.01, 0.01, 0.01, 3.0])
    fold(evidence, hint("f", 1.0, modified=0.5))
    place = dating_groups(evidence, rate)
    assert place[0] == place[1]
    assert place[3] == -1
    assert len({*place.tolist()}) == 5


def test_gaps_with_hints_are_counted_once():
    evidence = Evidence.of([Item("a", "s", group="g")])
    fold(evidence, present("a", 0.0, "1"), present("a", 2.0, "2"))
    fold(evidence, hint("a", 3.0, modified=2.5), present("a", 4.0, "3"))
    worth = np.zeros((4, 1))
    worth[0] = np.log(2.0)
    gaps = changed_gaps(evidence, worth)
    assert gaps.tally.sum() == pytest.approx(2.0)
    hinted = gaps.load > 0
    assert gaps.tally[hinted].sum() == pytest.approx(1.0)
    assert gaps.true[hinted] == pytest.approx(0.5)
    assert (gaps.length * gaps.tally).sum() == pytest.approx(4.0)
    assert changed_gaps(evidence, None).tally.sum() == pytest.approx(2.0)
    assert changed_gaps(evidence, worth, 0, 0).tally.size == 0


def test_trust_is_not_learned_from_looks_that_hints_explain():
    law = GammaSurvival(np.ones(1), np.full(1, 10.0))
    age, lived, yes = np.ones(1), np.full(1, 9.0), np.ones(1, np.bool_)
    for load, moved in ((0.0, True), (30.0, False)):
        trust = TrustPosterior(np.array([0.0, 1.0]))
        trust.learn(law, age, lived, yes, GapHints(1.0, load, 1.0))
        assert (trust.share > 0.6) == moved


def test_changes_before_a_start_are_counted_as_the_rate_has_them():
    # All of 12 gaps of 2 days saw a change. With x = 2 r the rate r solves
    # r = (12 x / (1 - exp(-x)) + 1) / (24 + 1 / around).
    keys = [f"https://h.example/{i}" for i in range(9)]
    evidence = Evidence.of(Item(key, "s", group="h") for key in keys)
    for day in range(13):  # but the other pages stay as they are
        news = [present(key, 2.0 * day, "0") for key in keys[1:]]
        fold(evidence, present(keys[0], 2.0 * day, str(day)), *news)
    belief = Neighbours()
    view = belief(evidence, 24.0, 24.0)
    pages, k = belief._pages, belief._pages.shape
    simple = replace(pages, changes=evidence.changes, lived=24.0 - evidence.changes)
    around = float(simple.around().at(slice(None))[0])

    def off(r):
        x = 2.0 * r
        return (12 * x / -np.expm1(-x) + 1.0) / (24.0 + 1.0 / around) - r

    found = brentq(off, 0.1, 5.0)  # at first a folder counts for one change
    assert pages.changes[0] == pytest.approx(
        24.0 * found / -np.expm1(-2.0 * found), rel=0.02
    )
    assert pages.changes[1:].tolist() == [0.0] * 8
    assert view.rate[0] > 0.5 > 10.0 * view.rate[1]
    before, k = pages.changes.copy(), pages.shape
    pages.shape = 1.0
    belief.recount(np.zeros((4, 9)), np.ones(9))  # nothing is new
    after = belief._pages
    assert (after.changes.tolist(), after.shape) == (before.tolist(), k)


def test_the_belief_of_the_settings_knows_which_items_are_maps(tmp_path):
    text = f'[[source]]\nname = "s"\nmaps = ["{MAP}"]\n'
    config = Config.parse(text, tmp_path / "halflife.toml")
    belief = bootstrap.belief(config, MemoryStore())
    assert belief.maps == {MAP}


def test_what_was_heard_of_a_look_is_forgotten_at_the_next():
    evidence = Evidence.of(Item(key, "s", group="g") for key in "ab")
    fold(evidence, present("a", 0.0, "1"), present("b", 0.0, "1"))
    silent, worth, until = (
        SilentEvidence(evidence),
        np.full((4, 2), 2.0),
        np.full(2, 6.0),
    )
    fold(evidence, hint("a", 1.0, modified=0.5), present("a", 2.0, "2"))
    silent.note_hints(worth, np.full(1, 0.25), until)
    assert silent.noted_before == 0
    share, load, true = silent.gap_hints(np.array([0, 1]))
    assert (share.tolist(), load.tolist()) == ([0.25, 1.0], [2.0, 0.0])
    assert true == pytest.approx([1.0 - exp(-2.0), 0.0])
    changes, days = silent.announced_since()
    assert changes.tolist() == [0.0, 0.0]
    assert days == pytest.approx([0.75 * 4.0, 0.0])
    silent.note_hints(worth, np.full(2, 0.5), until)
    assert silent.noted_before == 1
    assert silent.gap_hints(np.array([0])).load.tolist() == [0.0]


def test_demo_seeds_are_summed_up(tmp_path, capsys):
    log = tmp_path / "seeds.jsonl"
    rows = [
        {"seed": seed, "true": true, "freshness": 0.8,
         "believed": {"mean": 0.7, "low": 0.6, "high": 0.8}}
        for seed, true in ((1, 0.75), (2, 0.9), (3, 0.65), (4, 0.5))
    ]  # fmt: skip
    log.write_text("".join(f"{demo_seeds.json.dumps(row)}\n" for row in rows))
    demo_seeds.main(["--seeds", "4", "--log", str(log)])
    said = capsys.readouterr().out
    assert "held on 2 of 4 seeds: 0.500 [0.068, 0.932]" in said
    assert "above them 1 times, below 1" in said
    assert "True minus believed: +0.0000" in said
    # All bounds are 0.2 wide, and two truths lie 0.1 outside: 0.2 + 2 * 40 * 0.1 / 4.
    assert "interval score 2.200" in said
    demo_seeds.main(["--seeds", "1", "--first", "5", "--pages", "3", "--days", "1",
                     "--json", "--log", str(log)])  # fmt: skip
    found = demo_seeds.json.loads(capsys.readouterr().out)
    assert found["seeds"] == 1
    assert len(log.read_text().splitlines()) == 5
