"""How many records of the server answer a query."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import gammaln
from scipy.stats import t

from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.errors import BudgetSpent
from halflife.core.forms import Interface, Query, Term
from halflife.queries.incidence import Incidence
from halflife.queries.known.association import (
    SampledCoverage,
    together_error,
    together_mle,
)
from halflife.queries.known.coverage import (
    Hits,
    ReportedCoverage,
    ScaledCorpus,
    count_matches,
    ratio,
)
from halflife.queries.known.greedy import GreedyLimits, ProbePlan, choose, offers
from halflife.queries.known.guess import count_hits, learn_factor
from halflife.queries.known.keywords import Pool, pool_of
from halflife.queries.ledger import Ledger
from halflife.queries.table_form import TableFaults
from lab.hit_counts import ROUNDED, HitCounts, TrueCoverage, refresh, send, settle

CARS = cars(600)
HELD = {key: car for key, car in CARS.items() if car["city"] in {"Rome", "Lima"}}
FORM = Interface(ATTRIBUTES)


def pool(together: int = 2, *, lookup: bool = False) -> Pool:
    return pool_of(Incidence.of(FORM, HELD), together=together, lookup=lookup)


def server(n: int = 600, seed: int = 0) -> Incidence:
    return Incidence.of(FORM, dict(list(cars(n, seed).items())))


def test_what_lies_open_is_counted() -> None:
    candidates = pool(3, lookup=True)
    table = behind(CARS)
    hits = TrueCoverage(server()).hits(candidates)
    for j in range(len(candidates)):
        query = candidates.query(j)
        wanted = 1 if query is None else table.matches(query).size
        assert hits.count[j] == wanted
    assert not hits.error.any()


def test_the_factor_is_a_ratio_of_sums_with_students_interval() -> None:
    y, x = np.array([46.0, 90.0, 14.0]), np.array([10.0, 20.0, 3.0])
    factor = ratio(y, x)
    assert factor.value == pytest.approx(150 / 33)
    spread = np.sqrt(((y - factor.value * x) ** 2).sum() / 2 / 3) / 11.0
    assert factor.error == pytest.approx(spread)
    low, high = factor.interval(0.9)
    far = t.ppf(0.95, 2) * spread
    assert (low, high) == pytest.approx((150 / 33 - far, 150 / 33 + far))


def test_a_factor_needs_a_query_that_the_reference_knows() -> None:
    with pytest.raises(ValueError, match="found in the reference"):
        ratio(np.array([3.0]), np.zeros(1))


def test_the_interval_of_the_factor_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(400):
        x = rng.integers(20, 200, 12).astype(float)
        y = rng.poisson(4.6 * x).astype(float)
        low, high = ratio(y, x).interval(0.9)
        inside += low <= 4.6 <= high
    assert 0.85 <= inside / 400 <= 0.95


def test_a_reference_of_a_fifth_is_scaled_by_about_five() -> None:
    candidates, rng = pool(), np.random.default_rng(2)
    some = rng.choice(list(CARS), 120, replace=False)
    reference = Incidence.of(FORM, {key: CARS[key] for key in some.tolist()})
    ledger = Ledger(behind(CARS))
    found = learn_factor(candidates, reference, ledger, 15, rng)
    assert ledger.requests == 15
    low, high = found.factor.interval(0.999)
    assert low < 5.0 < high
    hits, truth = found.hits(candidates), count_matches(candidates, server())
    often = truth >= 50
    assert np.abs(hits.count[often] / truth[often] - 1.0).mean() < 0.25
    assert (hits.count >= candidates.held).all()


def test_no_count_is_below_what_is_held_and_a_look_up_finds_one() -> None:
    candidates = pool(lookup=True)
    few = ScaledCorpus(server(20), ratio(np.array([1.0]), np.array([100.0])))
    hits = few.hits(candidates)
    assert (hits.count >= candidates.held).all()
    assert (hits.count[candidates.lookup] == 1.0).all()


def likelihood(
    a: np.ndarray, sample: list[int], margins: tuple[int, int], size: int
) -> np.ndarray:
    """Log likelihood of a count of records that have both words: hypergeometric."""
    cells = [a, margins[0] - a, margins[1] - a, size - sum(margins) + a]
    total = np.zeros(a.size)
    for cell, drawn in zip(cells, sample, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            ways = gammaln(cell + 1) - gammaln(drawn + 1) - gammaln(cell - drawn + 1)
        total += np.where(cell >= drawn, ways, -np.inf)
    return total


@given(
    st.integers(0, 60),
    st.integers(0, 200),
    st.integers(0, 200),
    st.integers(1, 2000),
    st.integers(0, 2**32 - 1),
)
def test_the_count_is_the_most_likely_one(
    both: int, first: int, second: int, none: int, seed: int
) -> None:
    cells = np.array([both, first, second, none])
    size = int(cells.sum())
    drawn = max(1, size // 4)
    rng = np.random.default_rng(seed)
    sample = rng.multivariate_hypergeometric(cells, drawn)
    f1, f2 = both + first, both + second
    rows = np.array(
        [[sample[0]], [sample[0] + sample[1]], [sample[0] + sample[2]], [f1], [f2]],
        dtype=float,
    )
    found = float(together_mle(rows, float(size), float(drawn))[0])
    low, high = max(0, f1 + f2 - size), min(f1, f2)
    assert low <= found <= high
    counts = np.arange(low, high + 1)
    exact = likelihood(counts, sample.tolist(), (f1, f2), size)
    assert exact[counts == found] == pytest.approx(exact.max(), abs=1e-9)


def test_for_a_small_sample_it_is_the_root_of_the_cubic() -> None:
    a_s, b_s, c_s, d_s, f1, f2, size = 20.0, 40.0, 14.0, 265.0, 1e6, 6e5, 6e6
    rows = np.array([[a_s], [a_s + b_s], [a_s + c_s], [f1], [f2]])
    found = float(together_mle(rows, size, a_s + b_s + c_s + d_s)[0])
    grid = np.linspace(1.0, f2 - 1.0, 400_001)
    log = a_s * np.log(grid) + b_s * np.log(f1 - grid) + c_s * np.log(f2 - grid)
    log = log + d_s * np.log(size - f1 - f2 + grid)
    assert found == pytest.approx(grid[np.argmax(log)], rel=1e-4)
    slope = a_s / found - b_s / (f1 - found) - c_s / (f2 - found)
    assert slope + d_s / (size - f1 - f2 + found) == pytest.approx(0.0, abs=1e-9)


def test_margins_make_the_count_better_and_the_error_is_as_large_as_said() -> None:
    rng = np.random.default_rng(3)
    cells, drawn = np.array([200, 100, 250, 4450]), 500
    samples = rng.multivariate_hypergeometric(cells, drawn, size=4000).T.astype(float)
    both, first, second, _ = samples
    margins = np.full((2, 4000), [[300.0], [450.0]])
    rows = np.array([both, both + first, both + second, *margins])
    found = together_mle(rows, 5000.0, float(drawn))
    told_error = together_error(
        np.array([200.0]), (np.array([300.0]), np.array([450.0])), 5000.0, drawn
    )
    assert found.mean() == pytest.approx(200.0, rel=0.02)
    assert found.std() / 200.0 == pytest.approx(float(told_error[0]), rel=0.1)
    assert found.std() < 0.75 * (samples[0] * 10.0).std()


def test_a_sample_with_margins_beats_scaling() -> None:
    rng, candidates = np.random.default_rng(4), pool()
    some = rng.choice(list(CARS), 150, replace=False).tolist()
    sample = Incidence.of(FORM, {key: CARS[key] for key in some})
    whole = server()
    margins = dict(zip(whole.terms, whole.hits.tolist(), strict=True))
    truth = count_matches(candidates, whole).astype(float)
    pairs = (candidates.parts >= 0).all(axis=1) & (truth >= 10)
    off = {
        scaling: np.abs(
            SampledCoverage(sample, 600.0, margins, scaling).hits(candidates).count
            - truth
        )[pairs].mean()
        for scaling in (False, True)
    }
    assert off[False] < off[True]


def test_single_terms_with_a_margin_are_known() -> None:
    candidates, whole = pool(1), server()
    margins = dict(zip(whole.terms, whole.hits.tolist(), strict=True))
    hits = SampledCoverage(server(50), 600.0, margins).hits(candidates)
    assert hits.count == pytest.approx(count_matches(candidates, whole))


def test_three_terms_that_have_nothing_to_do_with_each_other_multiply() -> None:
    rng = np.random.default_rng(6)
    words = {
        f"r{i}": {
            "title": " ".join(w for w in ("aa", "bb", "cc") if rng.random() < 0.5)
        }
        for i in range(4000)
    }
    whole = Incidence.of(FORM, words)
    margins = dict(zip(whole.terms, whole.hits.tolist(), strict=True))
    held = {f"r{i}": words[f"r{i}"] for i in range(100)}
    candidates = pool_of(Incidence.of(FORM, held), together=3)
    sample = Incidence.of(FORM, {f"r{i}": words[f"r{i}"] for i in range(500)})
    hits = SampledCoverage(sample, 4000.0, margins).hits(candidates)
    truth = count_matches(candidates, whole)
    assert hits.count == pytest.approx(truth, rel=0.15)


@settings(max_examples=20)
@given(st.sampled_from(["exact", "rounded", "capped", "none"]))
def test_what_the_form_tells_replaces_the_guess(counts: str) -> None:
    candidates = pool()
    table = behind(CARS, counts=counts, cap=40)
    ledger = Ledger(table)
    coverage = HitCounts(
        ledger, ScaledCorpus(server(60), ratio(np.array([10.0]), np.ones(1)))
    )
    which = [0, 3, 7]
    assert coverage.ask(candidates, which) == 3
    assert coverage.ask(candidates, which) == 0
    assert ledger.requests == 3
    hits, guess = coverage.hits(candidates), coverage.guess.hits(candidates)
    for j in which:
        query = candidates.query(j)
        assert query is not None
        truth = table.matches(query).size
        if counts in {"exact", "rounded"}:
            assert hits.count[j] == pytest.approx(truth, rel=0.05)
            assert hits.error[j] in {0.0, ROUNDED}
        if truth > 40 and counts == "capped":
            assert hits.count[j] >= 41
    rest = np.setdiff1d(np.arange(len(candidates)), which)
    assert hits.count[rest].tolist() == guess.count[rest].tolist()


def test_what_was_not_reported_is_what_is_held_times_the_factor_of_what_was() -> None:
    candidates = pool(lookup=True)
    reported, held = ReportedCoverage(candidates), candidates.held
    assert reported.hits().count.tolist() == held.tolist()
    assert np.all(reported.hits().error[~candidates.lookup] == np.inf)
    reported.note_hits(0, 16 * held[0])
    reported.note_hits(1, 2 * held[1])
    assert reported.factor == pytest.approx(32 ** (1 / 3))  # of 16, 2 and 1
    hits = reported.hits()
    assert hits.count[2] == pytest.approx(held[2] * 32 ** (1 / 3))
    assert (hits.count[0], hits.error[0]) == (16 * held[0], 0.0)
    logs = np.log([16, 2, 1])
    assert hits.error[2] == pytest.approx(np.std(logs))
    lookups = hits.count[candidates.lookup]
    assert np.all(lookups == 1.0)


def test_a_report_may_be_less_than_what_is_held_and_a_guess_may_not() -> None:
    candidates = pool()
    guess = Hits(np.full(len(candidates), 50.0), np.full(len(candidates), 0.2))
    reported = ReportedCoverage(candidates, guess)
    reported.note_hits(0, 3)
    reported.note_least(1, 60)
    reported.note_least(2, 10)
    assert reported.hits().count[:4].tolist() == [3, 60, 50, 50]
    assert reported.hits().error[:4].tolist() == [0.0, 0.2, 0.2, 0.2]


def test_a_query_with_one_page_is_counted_even_if_the_form_tells_nothing() -> None:
    table = behind(CARS, counts="none", page_size=1000)
    candidates = pool()
    query = candidates.query(0)
    assert query is not None
    assert count_hits(Ledger(table), candidates, 0) == table.matches(query).size


def chosen_by(candidates: Pool):
    def decide(hits) -> ProbePlan:
        offered = offers(hits.count, page_size=5)
        return choose(candidates, np.ones(len(candidates.local)), offered)

    return decide


def test_settling_asks_for_what_is_chosen_and_no_more_than_it_must() -> None:
    candidates = pool()
    ledger = Ledger(behind(CARS))
    blind = ScaledCorpus(server(30, seed=9), ratio(np.array([1.0]), np.ones(1)))
    coverage = HitCounts(ledger, blind)
    probes = settle(candidates, coverage, chosen_by(candidates), rounds=100)
    assert ledger.requests < len(candidates)
    hits = coverage.hits(candidates)
    truth = count_matches(candidates, server())
    assert hits.count[probes.queries].tolist() == truth[probes.queries].tolist()


def test_settling_ends_with_the_budget() -> None:
    candidates = pool()
    ledger = Ledger(behind(CARS), most=7)
    coverage = HitCounts(
        ledger, ScaledCorpus(server(60), ratio(np.array([10.0]), np.ones(1)))
    )
    probes = settle(candidates, coverage, chosen_by(candidates))
    assert ledger.requests == 7
    assert probes.covered == len(HELD)
    with pytest.raises(BudgetSpent):
        ledger.ask(Query.of(Term("city", "Oslo")))


def test_sending_everything_shows_everything_for_what_was_planned() -> None:
    candidates = pool(lookup=True)
    hits = TrueCoverage(server()).hits(candidates).count
    probes = choose(candidates, np.ones(len(HELD)), offers(hits, page_size=5))
    ledger = Ledger(behind(CARS))
    assert send(candidates, probes, ledger).all()
    assert ledger.requests == probes.requests


def test_sending_ends_with_the_budget_and_keeps_what_came() -> None:
    candidates = pool()
    hits = TrueCoverage(server()).hits(candidates).count
    probes = choose(candidates, np.ones(len(HELD)), offers(hits, page_size=5))
    ledger = Ledger(behind(CARS), most=3)
    shown = send(candidates, probes, ledger)
    assert ledger.requests == 3
    assert 0 < shown.sum() <= 15


@pytest.mark.parametrize("unstable", [True, False])
def test_first_pages_show_as_much_as_expected(unstable: bool) -> None:
    candidates = pool()
    hits = TrueCoverage(server()).hits(candidates).count
    offered = offers(hits, page_size=5, reading="first")
    probes = choose(candidates, np.ones(len(HELD)), offered, GreedyLimits(queries=25))
    faults = TableFaults(unstable=unstable)
    shown = np.mean(
        [
            send(candidates, probes, Ledger(behind(CARS, seed=s, faults=faults))).sum()
            for s in range(60)
        ]
    )
    if unstable:  # every query ranks anew
        assert shown == pytest.approx(probes.covered, rel=0.03)
    else:  # all rank alike: what one shows first, so does another
        assert probes.alike.sum() <= shown <= probes.covered


def test_refreshing_by_turns_shows_everything_for_less_than_counting_first() -> None:
    candidates = pool(lookup=True)
    blind = ScaledCorpus(server(30, seed=9), ratio(np.array([1.0]), np.ones(1)))
    turns, counting = Ledger(behind(CARS, lookup=True)), Ledger(behind(CARS))
    value = np.ones(len(HELD))
    assert refresh(candidates, HitCounts(turns, blind), value, batch=5).all()
    probes = settle(candidates, HitCounts(counting, blind), chosen_by(candidates))
    assert send(candidates, probes, counting).all()
    assert turns.requests < counting.requests


def test_refreshing_by_turns_ends_with_the_budget() -> None:
    candidates = pool()
    ledger = Ledger(behind(CARS), most=9)
    shown = refresh(
        candidates, HitCounts(ledger, TrueCoverage(server())), np.ones(len(HELD))
    )
    assert ledger.requests == 9
    assert 0 < shown.sum() <= 45


def test_refreshing_by_turns_ends_when_records_are_gone() -> None:
    candidates = pool(lookup=True)
    left = {key: car for i, (key, car) in enumerate(CARS.items()) if i % 2}
    ledger = Ledger(behind(left, lookup=True))
    shown = refresh(
        candidates, HitCounts(ledger, TrueCoverage(server())), np.ones(len(HELD))
    )
    assert shown.tolist() == [key in left for key in HELD]
