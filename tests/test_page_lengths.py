"""What the length of pages says of their rates."""

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings

from halflife.belief.hints import HintedBelief
from halflife.belief.neighbours import Neighbours
from halflife.belief.page_lengths import (
    EXPONENTS,
    LARGEST,
    STEPS,
    USUAL,
    WORTH,
    PageLengths,
    prior_weights,
)
from halflife.belief.page_rates import PageRates
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations, Seen
from halflife.kinds.pages import belief_notes
from halflife.policies.champion import champion
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay
from halflife.stores.memory import MemoryStore


def evidence_of(n, sites=1):
    """Return evidence on pages, one site after the other, that have numbers."""
    each = n // sites
    pages = [Item(f"http://{i // each}/{i}", group=str(i // each)) for i in range(n)]
    evidence = Evidence.of(pages)
    evidence.number[:] = np.arange(n) + 7
    return evidence


def measured(lengths, sites=1):
    """Return what is known of pages with these lengths; nan: not measured."""
    evidence, found = evidence_of(len(lengths), sites), PageLengths()
    pairs = zip(evidence.keys, lengths, strict=True)
    found.measure({key: n for key, n in pairs if not np.isnan(n)})
    assert found.follow(evidence)
    return evidence, found


def test_how_prone_pages_are_is_worked_out_by_hand():
    evidence, lengths = measured([1.0, 3.0, np.nan])
    lengths.exponent[:] = 0.5
    # Powers sqrt(2) and 2, their mean 1.7071; who is not measured is as others are.
    expected = [2**0.5 / 1.707107, 2 / 1.707107, 1.0]
    assert lengths.prone(evidence.group) == pytest.approx(expected, rel=1e-6)


def test_lengths_that_nobody_measured_say_nothing():
    evidence, lengths = measured([np.nan, np.nan])
    assert lengths.prone(evidence.group) is None


def test_the_first_length_counts_and_pages_may_become_known_later():
    evidence, lengths = measured([1.0, np.nan])
    first = lengths.of.copy()
    lengths.measure({evidence.keys[0]: 1000.0, "http://0/new": 3.0})
    assert not lengths.follow(evidence)
    assert lengths.of.tolist() == first.tolist()
    evidence.add([Item("http://0/new", group="0")])
    assert lengths.follow(evidence)
    assert lengths.of.tolist() == [*first, 0]


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.one_of(st.just(np.nan), st.floats(0, 1e9)), min_size=2, max_size=30),
    st.floats(0, 1),
)
def test_longer_pages_are_never_less_prone_and_a_site_is_as_busy_as_without(texts, g):
    evidence, lengths = measured(texts)
    lengths.exponent[:] = g
    prone = lengths.prone(evidence.group)
    known = np.flatnonzero(~np.isnan(texts))
    if not known.size:
        assert prone is None
        return
    assert (prone >= 1 / LARGEST).all()
    assert (prone <= LARGEST).all()
    order = known[np.argsort(np.array(texts)[known], kind="stable")]
    assert (np.diff(prone[order]) >= -1e-12).all()
    inside = (prone > 1 / LARGEST) & (prone < LARGEST)
    if inside[known].all():
        assert prone[known].mean() == pytest.approx(1.0)


def counted(power, sites=3, each=400, seed=3):
    """Return pages whose rates are drawn around a power of their lengths."""
    rng = np.random.default_rng(seed)
    n = sites * each
    lengths = np.exp(rng.normal(6.0, 1.2, n))
    evidence, known = measured(lengths, sites)
    mean = 0.02 * (lengths / 400.0) ** power
    rate = rng.gamma(1.0, mean)
    lived = rng.uniform(20.0, 400.0, n)
    changes = rng.poisson(rate * lived).astype(float)
    folder = np.asarray(evidence.group)
    pages = PageRates(evidence.group, folder, changes, lived)
    pages.prone = known.prone(evidence.group)
    return pages, known


@pytest.mark.parametrize("power", [0.0, 0.3, 0.6])
def test_the_exponent_that_made_the_counts_is_found(power):
    pages, lengths = counted(power)
    for _ in range(4):
        lengths.fit(pages, pages.around())
        pages.prone = lengths.prone(pages.site)
    assert lengths.exponent == pytest.approx(power, abs=0.1)


def test_exponents_are_those_that_negative_binomial_counts_make_likely():
    pages, lengths = counted(0.3, sites=2, each=12)
    pages.shape, around = 2.0, pages.around()
    mean, octaves = around.at(slice(None)), lengths.of / 8.0
    likely = np.zeros((EXPONENTS.size, 2))
    for s in range(2):
        mine = pages.site == s
        for row, g in enumerate(EXPONENTS):
            rate = mean[mine] / pages.prone[mine] * 2.0 ** (g * octaves[mine])
            lived = pages.lived[mine]
            rate *= (mean[mine] * lived).sum() / (rate * lived).sum()
            law = scipy.stats.nbinom(2.0, 1.0 / (1.0 + rate * lived / 2.0))
            likely[row, s] = law.logpmf(pages.changes[mine]).sum()
    common = prior_weights()
    for _ in range(STEPS):
        weight = np.exp(likely) * common[:, None]
        weight /= weight.sum(axis=0)
        common = (weight.sum(axis=1) + WORTH * prior_weights()) / (2.0 + WORTH)
    lengths.fit(pages, around)
    assert lengths.exponent == pytest.approx(EXPONENTS @ weight)


def look(evidence, at, texts):
    keys = tuple(evidence.keys)
    seen = np.full(len(keys), Seen.PRESENT, np.int8)
    looks = Observations(keys, np.full(len(keys), at), seen, tuple(texts))
    evidence.take(evidence.weigh(looks))


def test_a_long_page_is_believed_to_change_more_often_also_after_a_restart():
    evidence, belief = evidence_of(12), HintedBelief(Neighbours(), announced=False)
    look(evidence, 0.0, ["a"] * 12)
    lengths = dict(zip(evidence.keys, [10.0] * 6 + [10_000.0] * 6, strict=True))
    belief.measure(lengths)
    view = belief(evidence, 1.0, 1.0)
    assert view.rate[6:].min() > 2.0 * view.rate[:6].max()
    look(evidence, 2.0, ["a"] * 9 + ["b"] * 3)
    belief(evidence, 3.0, 3.0)
    store, again, told = MemoryStore(), Neighbours(), Neighbours()
    belief_notes.remember(store, belief)
    again.resume(belief_notes.recall_busy(store))
    after = again(evidence, 3.0, 3.0)
    assert after.rate[6:9].min() > 2.0 * after.rate[:6].max()
    told.measure(lengths)
    assert after.rate == pytest.approx(told(evidence, 3.0, 3.0).rate)


def test_a_belief_that_begins_anew_keeps_the_lengths():
    evidence, belief = evidence_of(4), Neighbours()
    look(evidence, 0.0, ["a"] * 4)
    belief.measure(dict(zip(evidence.keys, [1.0, 1.0, 1.0, 999.0], strict=True)))
    first = belief(evidence, 1.0, 1.0).rate
    other = evidence_of(4)
    look(other, 0.0, ["a"] * 4)
    assert belief(other, 1.0, 1.0).rate == pytest.approx(first)


def test_lengths_all_alike_change_nothing():
    recording = a_recording()
    alike = np.full(len(recording), 50.0)
    plain, same = (
        Replay(Recording(**columns(recording) | {"length": length}), 6, 0.0, 60.0, 1)
        for length in (np.zeros(0), alike)
    )
    found = [one.score(champion).freshness for one in (plain, same)]
    assert found[0] == pytest.approx(found[1], abs=1e-12)


def columns(recording):
    names = ("keys", "start", "at", "weight", "born", "died", "group")
    return {name: getattr(recording, name) for name in names}


def a_recording(n=60, seed=1, *, power=0.0):
    """Return pages that change by themselves, long ones more often by a power."""
    rng = np.random.default_rng(seed)
    length = np.exp(rng.normal(6.0, 1.5, n))
    pace = 0.05 * (length / 400.0) ** power
    times = [np.sort(rng.uniform(0, 60, rng.poisson(60 * p))) for p in pace]
    return Recording(
        keys=tuple(f"http://s/{i}" for i in range(n)),
        start=np.concatenate([[0], np.cumsum([t.size for t in times])]),
        at=np.concatenate(times),
        weight=np.ones(n),
        born=np.full(n, -np.inf),
        died=np.full(n, np.inf),
        group=("s",) * n,
        length=length,
    )


def test_known_lengths_keep_pages_fresher_where_long_ones_change_more():
    recording = a_recording(200, power=0.8)
    known = Replay(recording, 6, 0.0, 60.0, 1).score(champion).freshness
    plain = Recording(**columns(recording))
    assert known > Replay(plain, 6, 0.0, 60.0, 1).score(champion).freshness + 0.01


def test_usual_exponents_are_a_distribution_around_what_sites_have():
    assert prior_weights().sum() == pytest.approx(1.0)
    assert EXPONENTS @ prior_weights() == pytest.approx(USUAL, abs=0.02)
