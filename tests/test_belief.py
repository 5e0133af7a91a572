import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from halflife.belief.due import DueDates, IntervalRule
from halflife.belief.plain import KnownRates, PlainRates
from halflife.belief.poisson import PoissonBelief
from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.models.quality import freshness_forecast
from halflife.policies.adaptive import NUTCH, STORMCRAWLER
from halflife.policies.index import freshness
from halflife.replay.pages import Replay
from lab.rates.empirical_bayes import EmpiricalBayesRate

BELIEFS = {
    "poisson": PoissonBelief,
    "plain": PlainRates,
    "known": lambda: KnownRates(np.array([0.5, 1.0, 2.0])),
    "nutch": lambda: DueDates(NUTCH),
}


def evidence_of(*looks, keys="abc"):
    evidence = Evidence.of(Item(k) for k in keys)
    for key, at, digest in looks:
        see(evidence, key, at, digest)
    return evidence


def see(evidence, key, at, digest):
    seen = Seen.FAILED if digest is None else Seen.PRESENT
    looks = Observations.of([Observation(key, at, seen, digest or "")])
    evidence.take(evidence.weigh(looks))


@pytest.mark.parametrize("belief", BELIEFS.values(), ids=BELIEFS.keys())
class TestEveryBelief:
    def test_knows_what_was_looked_at_when(self, belief):
        evidence = evidence_of(("a", 1.0, "x"), ("a", 3.0, "y"), ("b", 3.0, "z"))
        view = belief()(evidence, 5.0, 3.0)
        assert view.age.tolist() == [2.0, 2.0, np.inf]
        assert view.looks.tolist() == [2, 1, 0]
        assert view.changes.tolist() == [1, 0, 0]
        assert view.looked.tolist() == [True, True, False]
        assert view.held.tolist() == [True, True, False]

    def test_a_failed_look_is_no_look_but_makes_us_wait(self, belief):
        evidence = evidence_of(("a", 1.0, "x"), ("a", 2.0, None))
        soon, later = (belief()(evidence, t, 2.0) for t in (2.001, 2.1))
        assert soon.age[0] == pytest.approx(1.001)
        assert not soon.ready[0]
        assert later.ready[0]
        assert later.looked[0]

    def test_the_wait_doubles_and_ends_at_a_day(self, belief):
        looks = [("a", float(t), None) for t in range(1, 30)]
        evidence = evidence_of(*looks)
        assert not belief()(evidence, 29.99, 29.5).ready[0]
        assert belief()(evidence, 30.01, 29.5).ready[0]

    def test_no_age_is_negative_when_the_clock_is_set_back(self, belief):
        evidence = evidence_of(("a", 10.0, "x"))
        view = belief()(evidence, 4.0, 4.0)
        assert view.age[0] == 0.0
        assert not view.looked[0]

    def test_an_earlier_view_is_not_changed_by_later_looks(self, belief):
        evidence, made = evidence_of(("a", 1.0, "x")), belief()
        view = made(evidence, 2.0, 2.0)
        before = view.looks.copy(), view.rate.copy(), view.survival.alive(np.ones(3))
        see(evidence, "a", 3.0, "y")
        made(evidence, 4.0, 4.0)
        after = view.looks, view.rate, view.survival.alive(np.ones(3))
        assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))

    def test_nothing_known_is_no_trouble(self, belief):
        made = belief()
        if isinstance(made, KnownRates):  # belongs to a number of items
            made = KnownRates(np.zeros(0))
        assert len(made(Evidence(), 0.0, 0.0)) == 0


def test_rates_learned_look_by_look_equal_rates_learned_at_once():
    rate, weight = rates_and_weights(40, 1)
    recording = poisson_recording(rate, weight, 30.0, 1)
    evidence = Evidence.of(recording.items())
    step, once = PoissonBelief(refit=1.0001), PoissonBelief()
    for day in range(30):
        evidence.take(evidence.weigh(recording.observe(np.arange(40), float(day))))
        view = step(evidence, day + 0.5, day + 0.5)
    whole = once(evidence, 29.5, 29.5)
    assert view.rate == pytest.approx(whole.rate, rel=1e-3)
    fitted = EmpiricalBayesRate().fit(*evidence.gaps(), n_items=40)
    assert whole.rate == pytest.approx(fitted.rate_, rel=1e-3)


def test_an_item_with_few_looks_borrows_from_the_others():
    keys = [f"k{i}" for i in range(60)]
    evidence = Evidence.of(Item(k) for k in [*keys, "new"])
    alone = chance_of_change(Evidence.of([Item("new")]))
    for day in range(20):
        looks = [Observation(k, float(day), Seen.PRESENT, "same") for k in keys]
        evidence.take(evidence.weigh(Observations.of(looks)))
    among_quiet = chance_of_change(evidence)
    for day in range(20, 60):
        looks = [Observation(k, float(day), Seen.PRESENT, str(day)) for k in keys]
        evidence.take(evidence.weigh(Observations.of(looks)))
    assert among_quiet < 0.5 * alone
    assert chance_of_change(evidence) > 1.5 * alone


def chance_of_change(evidence):
    """Return how likely the last item is believed to change within a day."""
    survival = PoissonBelief()(evidence, 100.0, 100.0).survival
    return 1.0 - survival.alive(np.ones(len(evidence)))[-1]


def test_a_belief_that_goes_on_from_a_saved_prior_plans_the_same():
    rate, weight = rates_and_weights(30, 4)
    recording = poisson_recording(rate, weight, 20.0, 4)
    evidence = Evidence.of(recording.items())
    for day in range(20):
        evidence.take(evidence.weigh(recording.observe(np.arange(30), float(day))))
    first = PoissonBelief()
    view = first(evidence, 20.0, 20.0)
    again = PoissonBelief(first.prior)(evidence, 20.0, 20.0)
    assert np.array_equal(view.rate, again.rate)


def nutch_by_hand(changes, times, rule):
    """The rule as its authors wrote it: one page, one look after the other."""
    interval, modified, due = rule.start, times[0], times[0] + rule.start
    for changed, at in zip(changes, times[1:], strict=True):
        if changed:
            interval = interval * rule.shrink + rule.pull * rule.shortest
            modified = at
        else:
            interval = interval * rule.grow
        delta = at - modified if rule.sync_delta else 0.0
        interval = max(interval, delta)
        interval = min(max(interval, rule.shortest), rule.longest)
        due = at - rule.sync_delta * delta + interval
    return due


@pytest.mark.parametrize("rule", [NUTCH, STORMCRAWLER], ids=["nutch", "stormcrawler"])
@given(looks=st.lists(st.tuples(st.booleans(), st.floats(0.01, 100.0)), max_size=25))
def test_due_dates_follow_the_rule_look_by_look(rule, looks):
    belief, evidence = DueDates(rule), evidence_of(("a", 0.0, "0"), keys="a")
    times, digest = [0.0], 0
    due = belief(evidence, 0.0, 0.0).due[0]
    for changed, gap in looks:
        digest += changed
        times.append(times[-1] + gap)
        see(evidence, "a", times[-1], str(digest))
        due = belief(evidence, times[-1], times[-1]).due[0]
    expected = nutch_by_hand([c for c, _ in looks], times, rule)
    assert due == pytest.approx(expected, rel=1e-9)


def test_an_interval_after_a_restart_is_that_of_its_counts():
    rule = IntervalRule(start=4.0, grow=2.0, shrink=0.5, shortest=0.1, longest=100.0)
    evidence = evidence_of(("a", 0.0, "0"), ("a", 1.0, "0"), ("a", 2.0, "1"), keys="a")
    assert DueDates(rule)(evidence, 2.0, 2.0).due[0] == pytest.approx(2.0 + 4.0)


def test_the_forecast_covers_the_truth_as_often_as_it_says():
    inside = []
    for seed in range(6):
        rate, weight = rates_and_weights(300, seed)
        recording = poisson_recording(rate, np.minimum(weight, 20.0), 60.0, seed)
        replay = Replay(recording, 60.0, 0.0, 60.0, ticks=2, warm=20.0)

        def watch(view, truth):
            if view.now > 20.0 and view.now % 5 == 0:
                believed = freshness_forecast(view, np.zeros(1))
                inside.append(believed.low[0] <= truth <= believed.high[0])

        replay.score(freshness, seed, watch)
    assert np.mean(inside) >= 0.85  # 95 % meant; about 42 draws, not all independent


def test_a_forecast_only_falls_and_stays_within_its_bounds():
    evidence = evidence_of(("a", 1.0, "x"), ("a", 3.0, "y"), ("b", 3.0, "z"))
    view = PoissonBelief()(evidence, 4.0, 4.0)
    ahead = np.linspace(0, 30, 40)
    forecast = freshness_forecast(view, ahead)
    assert np.all(np.diff(forecast.mean) <= 1e-12)
    assert np.all(forecast.low <= forecast.mean + 1e-12)
    assert np.all(forecast.mean <= forecast.high + 1e-12)
    assert forecast.mean[0] < 2 / 3  # the item never seen is not fresh
    assert forecast.first_below(0.01) is not None
