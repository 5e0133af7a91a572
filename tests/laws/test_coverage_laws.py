"""Server coverage by plain loops over what the definitions say."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import t

from halflife.core.errors import BudgetSpent
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.incidence import Incidence
from halflife.queries.known.association import (
    SampledCoverage,
    together_error,
    together_mle,
)
from halflife.queries.known.coverage import (
    Factor,
    Hits,
    ReportedCoverage,
    ScaledCorpus,
    numbered,
    ratio,
    renumbered,
)
from halflife.queries.known.greedy import ProbePlan, offers
from halflife.queries.known.guess import count_hits, learn_factor
from halflife.queries.known.keywords import pool_of
from halflife.queries.ledger import Ledger
from halflife.queries.table_form import TableForm, round_count
from lab.hit_counts import (
    ROUNDED,
    HitCounts,
    TrueCoverage,
    _open_offers,
    _sent,
    refresh,
    settle,
)
from probe_worlds import WORDS, relation, rows

# how often words go together


def most_likely(sample, f1, f2, size):
    """Return the first count whose successor is no likelier, in fractions."""
    both, first, second, none = sample
    low = max(both, math.ceil(f1 + f2 - size + none))
    high = math.floor(min(f1 - first, f2 - second))
    a = low
    while a < high:
        n = size - f1 - f2 + a
        more = (a + 1) * (f1 - a - first) * (f2 - a - second) * (n + 1)
        less = (a + 1 - both) * (f1 - a) * (f2 - a) * (n + 1 - none)
        if more <= less:
            return a
        a += 1
    return a


@settings(max_examples=80)
@given(
    st.tuples(*[st.integers(0, 6)] * 4),
    st.tuples(*[st.integers(0, 30)] * 4),
    st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1, 4)]),
)
def test_the_count_is_the_first_that_the_next_one_does_not_beat(sample, rest, part):
    both, first, second, none = sample
    f1 = both + first + rest[0] + rest[1] + part
    f2 = both + second + rest[0] + rest[2] + part
    size = both + first + second + none + sum(rest) + 2
    drawn = both + first + second + none
    columns = [[both], [both + first], [both + second], [float(f1)], [float(f2)]]
    found = together_mle(np.array(columns, float), float(size), float(drawn))
    assert found.tolist() == [most_likely(sample, f1, f2, size)]


def test_columns_are_counted_each_for_itself():
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 40, (4, 30)).astype(float)
    both, first, second, none = cells
    size = 400.0
    sample = np.floor(cells / 3.0)
    margins = both + first, both + second
    drawn = 60.0
    columns = np.array([sample[0], sample[0] + sample[1], sample[0] + sample[2]])
    columns = np.vstack([columns, *margins])
    together = together_mle(columns, size, drawn)
    for i in range(30):
        alone = together_mle(columns[:, i : i + 1], size, drawn)
        assert alone[0] == together[i]
    assert len(none) == 30


def test_the_error_is_that_of_the_four_cells():
    # 1/20 + 1/80 + 1/180 + 1/720 = 5/72, of a tenth drawn: sqrt(9 * 72 / 5) / 20
    count, margins = np.array([20.0]), (np.array([100.0]), np.array([200.0]))
    found = together_error(count, margins, 1000.0, 100.0)
    information = 1 / 20 + 1 / 80 + 1 / 180 + 1 / 720
    assert found[0] == pytest.approx(math.sqrt(9.0 / information) / 20.0)
    assert together_error(count, margins, 1000.0, 1000.0)[0] == 0.0
    assert together_error(count, margins, 1000.0, 1200.0)[0] == 0.0
    # an empty cell counts as half a record
    none = together_error(np.array([0.0]), margins, 1000.0, 100.0)
    information = 1 / 0.5 + 1 / 100 + 1 / 200 + 1 / 700
    assert none[0] == pytest.approx(math.sqrt(9.0 / information) / 0.5)


def by_hand(pool, sample, size, margins, *, scaling):
    """Return count and error of each candidate from terms and pairs, in loops."""
    drawn = [{sample.terms[i] for i in sample.of_record(r)} for r in range(len(sample))]
    times = size / len(drawn)

    def shown(*terms):
        return sum(set(terms) <= row for row in drawn)

    def single(term):
        scaled = max(shown(term), 0.5) * times
        held = int(pool.local.hits[pool.local.number[term]])
        return min(max(margins.get(term, scaled), held), size)

    def pair(a, b):
        rows = [[shown(a, b)], [shown(a)], [shown(b)], [single(a)], [single(b)]]
        found = together_mle(np.array(rows, float), size, len(drawn))
        count = np.maximum(found, 0.5)
        both = (np.array([single(a)]), np.array([single(b)]))
        return float(count[0]), float(together_error(count, both, size, len(drawn))[0])

    for j in range(len(pool)):
        query = pool.query(j)
        if query is None:
            yield 1.0, 0.0
            continue
        terms = list(query)
        if scaling:
            seen = max(shown(*terms), 0.5)
            count, error = seen * times, math.sqrt((times - 1) / (seen * times))
        else:
            pairs = [pair(a, b) for a, b in combinations(terms, 2)]
            count = size * math.prod(c / size for c, _ in pairs)
            count *= math.prod(single(a) / size for a in terms) ** (2 - len(terms))
            count = min([count, *map(single, terms), *(c for c, _ in pairs)])
            error = math.sqrt(sum(e**2 for _, e in pairs))
        held = max(float(pool.held[j]), 1.0)
        yield (count, error) if count >= held else (held, math.inf)


@settings(max_examples=20)
@given(
    rows,
    rows,
    st.integers(1, 3),
    st.booleans(),
    st.sets(st.integers(0, 5)),
    st.floats(1.0, 9.0),
)
def test_counts_of_sets_follow_from_those_of_terms_and_pairs(
    held, served, together, scaling, known, times
):
    pool = pool_of(relation(held), together=together, lookup=True)
    sample = relation(served)
    size = float(round(len(held) + times * len(served)))
    margins = {WORDS[w]: float(2 + 3 * w) for w in known}
    found = SampledCoverage(sample, size, margins, scaling).hits(pool)
    wanted = list(by_hand(pool, sample, size, margins, scaling=scaling))
    for j, (count, error) in enumerate(wanted):
        if count == pytest.approx(pool.held[j], rel=1e-9):
            # whether rounding makes it fall below what is held says nothing
            assert found.count[j] == pytest.approx(count)
            continue
        assert found.count[j] == pytest.approx(count)
        assert found.error[j] == pytest.approx(error)


def test_three_words_go_together_as_their_pairs_do():
    drawn = [{w for w in range(3) if (7 * i + 3 * w) % 5 < 3} for i in range(40)]
    sample, pool = relation(drawn), pool_of(relation([{0, 1, 2}] * 2), together=3)
    margins = {WORDS[0]: 610.0, WORDS[1]: 580.0, WORDS[2]: 600.0}
    found = SampledCoverage(sample, 1000.0, margins).hits(pool)
    wanted = list(by_hand(pool, sample, 1000.0, margins, scaling=False))
    assert found.count == pytest.approx([count for count, _ in wanted], rel=1e-9)
    assert found.error == pytest.approx([error for _, error in wanted], rel=1e-9)
    three = pool.find(Query.of(*WORDS[:3]))
    pairs = [pool.find(Query.of(*pair)) for pair in combinations(WORDS[:3], 2)]
    assert 2.0 < found.count[three] < 0.9 * found.count[pairs].min()


# scaling


@settings(max_examples=15)
@given(rows, rows)
def test_terms_are_renumbered_by_what_they_are(held, served):
    local, other = relation(held), relation(served)
    pool = pool_of(local, together=3)
    number = renumbered(local, other)
    for i, term in enumerate(local.terms):
        known = term in other.terms
        assert number[i] == (other.terms.index(term) if known else -2)
    for mine, theirs in zip(pool.parts, numbered(pool, other), strict=True):
        assert theirs.tolist() == [-1 if p < 0 else number[p] for p in mine.tolist()]


def test_one_counted_query_tells_nothing_of_the_error_of_the_factor():
    factor = ratio(np.array([12.0]), np.array([3.0]))
    assert (factor.value, factor.error, factor.queries) == (4.0, math.inf, 1)
    assert factor.interval() == (0.0, math.inf)
    with pytest.raises(ValueError, match="reference"):
        ratio(np.zeros(0), np.zeros(0))


def test_the_interval_of_a_factor_never_falls_below_nothing():
    low, high = Factor(2.0, 1.0, 3).interval(0.9)
    assert low == 0.0
    assert high == pytest.approx(2.0 + t.ppf(0.95, 2))
    low, high = Factor(2.0, 0.1, 1).interval(0.5)
    assert (low, high) == pytest.approx((1.9, 2.1))  # t of one degree: 1 at 75 %
    low, high = Factor(2.0, 0.1, 2).interval(0.5)
    assert (low, high) == pytest.approx((1.9, 2.1))


def test_a_scaled_count_is_as_uncertain_as_its_matches_and_its_factor():
    pool = pool_of(relation([{0, 1}, {0}]), together=1)
    reference = relation([{0}, {0}, {0}, {0}])
    found = ScaledCorpus(reference, Factor(3.0, 0.6, 5)).hits(pool)
    assert found.count.tolist() == [12.0, 1.5]  # what is never shown counts for half
    assert found.error == pytest.approx(
        [math.sqrt(1 / 4 + 0.04), math.sqrt(1 / 0.5 + 0.04)]
    )


def test_the_factor_of_reports_leaves_out_look_ups_and_queries_without_hits():
    pool = pool_of(relation([{0}, {0}, {0, 1}, {2}]), together=1, lookup=True)
    reported = ReportedCoverage(pool)
    assert reported.factor == 1.0
    reported.note_hits(0, 24)  # eight times the three held
    reported.note_hits(1, 0)
    assert reported.factor == pytest.approx(math.sqrt(8.0))
    hits = reported.hits()
    assert hits.count[:3] == pytest.approx([24.0, 0.0, math.sqrt(8.0)])
    assert hits.error[2] == pytest.approx(math.log(8.0) / 2.0)
    fewer = ReportedCoverage(pool)
    fewer.note_hits(0, 1, 0.25)
    assert fewer.factor == pytest.approx(math.sqrt(1 / 3))
    assert fewer.hits().count[1:3].tolist() == [1.0, 1.0]  # a guess is what is held
    assert fewer.hits().error[0] == 0.25


# what a form tells

FORM = Interface((Attribute("word", "keyword"),), page_size=4)


def served(sizes, **interface):
    """Return a form whose words a, b, c ... are in so many records each."""
    records = {
        f"{word.value}{i}": {"word": f"{word.value}{word.value}"}
        for word, size in zip(WORDS, sizes, strict=False)
        for i in range(size)
    }
    shape = Interface(FORM.attributes, **{"page_size": 4, **interface})
    return TableForm(shape, records, rng=np.random.default_rng(0))


def copy_of(form, each=1, **more):
    """Return the pool of the first records of every word."""
    some = {key: row for key, row in form.records.items() if int(key[1:]) < each}
    return pool_of(Incidence.of(form.interface, some), together=1, **more)


@pytest.mark.parametrize(
    ("counts", "cap", "wanted"),
    [
        ("exact", None, [3, 4, 5, 9, 123]),
        ("exact", 9, [3, 4, 5, 9, 123]),
        ("rounded", None, [3, 4, 5, 9, round_count(123)]),
        ("capped", 9, [3, 4, 5, None, None]),
        ("capped", None, [3, 4, 5, 9, 123]),
        ("none", None, [3, 4, None, None, None]),
    ],
)
def test_a_count_that_is_cut_off_or_kept_back_is_none(counts, cap, wanted):
    form = served((3, 4, 5, 9, 123), counts=counts, cap=cap)
    pool = copy_of(form, lookup=True)
    ledger = Ledger(form)
    assert [count_hits(ledger, pool, j) for j in range(5)] == wanted
    assert ledger.requests == 5
    assert [count_hits(ledger, pool, j) for j in range(5)] == wanted
    assert ledger.requests == 5
    assert count_hits(ledger, pool, 5) == 1
    assert ledger.requests == 5


def test_rounded_counts_are_off_from_a_hundred_on():
    form = served((99, 100, 123), counts="rounded")
    pool = copy_of(form)
    coverage = HitCounts(Ledger(form), TrueCoverage(form.incidence))
    assert coverage.ask(pool, [0, 1, 2]) == 3
    hits = coverage.hits(pool)
    assert hits.count.tolist() == [99.0, 100.0, 120.0]
    assert hits.error.tolist() == [0.0, ROUNDED, ROUNDED]
    exact = served((99, 100, 123))
    coverage = HitCounts(Ledger(exact), TrueCoverage(form.incidence))
    coverage.ask(pool, [0, 1, 2])
    assert coverage.hits(pool).error.tolist() == [0.0, 0.0, 0.0]


def test_the_guess_is_made_anew_for_another_pool():
    form = served((6, 7, 8), counts="none")
    one, two = copy_of(form), copy_of(form, each=2)
    coverage = HitCounts(
        Ledger(form), ScaledCorpus(form.incidence, Factor(2.0, 0.0, 3))
    )
    assert coverage.hits(one).count.tolist() == [12.0, 14.0, 16.0]
    assert coverage.ask(one, [1]) == 1
    # more than a page: at least five, which is less than the guess
    assert coverage.hits(one).count.tolist() == [12.0, 14.0, 16.0]
    low = HitCounts(coverage.ledger, ScaledCorpus(form.incidence, Factor(0.5, 0.0, 3)))
    assert low.hits(two).count.tolist() == [3.0, 5.0, 4.0]


def test_queries_are_drawn_to_learn_the_factor_by_how_often_they_are_found():
    form = served((8, 16, 40))
    pool = copy_of(form)
    half = {key: r for key, r in form.records.items() if int(key[1:]) % 2 == 0}
    table = TableForm(form.interface, half, rng=np.random.default_rng(0))
    scaled = learn_factor(
        pool, table.incidence, Ledger(form), 3, np.random.default_rng(0)
    )
    assert scaled.factor.value == pytest.approx(2.0)
    assert scaled.factor.queries == 3
    first = []
    for seed in range(150):
        ledger = Ledger(form)
        learn_factor(pool, table.incidence, ledger, 1, np.random.default_rng(seed))
        (query,) = ledger.asked
        first.append(query.terms[0].value)
    for word, part in (("aa", 1 / 8), ("bb", 1 / 4), ("cc", 5 / 8)):
        share = first.count(word) / 150
        assert share == pytest.approx(part, abs=0.12)  # three standard errors
    # a word that the reference lacks cannot be drawn, nor more than there are
    lacks = {key: r for key, r in half.items() if key[0] != "a"}
    table = TableForm(form.interface, lacks, rng=np.random.default_rng(0))
    ledger = Ledger(form)
    learn_factor(pool, table.incidence, ledger, 9, np.random.default_rng(0))
    assert {q.terms[0].value for q in ledger.asked} == {"bb", "cc"}
    # but one that it has once can
    once = {**lacks, **dict([next(kv for kv in half.items() if kv[0][0] == "a")])}
    table = TableForm(form.interface, once, rng=np.random.default_rng(0))
    ledger = Ledger(form)
    learn_factor(pool, table.incidence, ledger, 9, np.random.default_rng(0))
    assert {q.terms[0].value for q in ledger.asked} == {"aa", "bb", "cc"}


def test_counts_that_are_kept_back_teach_no_factor():
    form = served((3, 16, 40), counts="none")
    pool = copy_of(form)
    scaled = learn_factor(
        pool, form.incidence, Ledger(form), 3, np.random.default_rng(0)
    )
    assert (scaled.factor.value, scaled.factor.queries) == (1.0, 1)


def test_settling_chooses_again_until_nothing_new_is_asked_for():
    form = served((3, 16, 40))
    pool = copy_of(form)
    coverage = HitCounts(
        Ledger(form), ScaledCorpus(form.incidence, Factor(1.0, 0.0, 2))
    )
    heard = []

    def decide(hits: Hits) -> ProbePlan:
        """Choose one candidate after the other, as long as there is another."""
        heard.append(hits)
        number = np.array([min(len(heard) - 1, 2)])
        return ProbePlan(number, np.ones(1, int), 0.0, np.zeros(3), np.zeros(3))

    probes = settle(pool, coverage, decide)
    # three answers, then one choice that asks for nothing new
    assert (len(heard), coverage.ledger.requests) == (5, 3)
    assert probes.queries.tolist() == [2]
    heard.clear()
    again = HitCounts(Ledger(form), coverage.guess)
    settle(pool, again, decide, rounds=1)
    assert (len(heard), again.ledger.requests) == (2, 1)


def test_settling_chooses_once_more_when_the_budget_ends():
    form = served((3, 16, 40))
    pool = copy_of(form)
    coverage = HitCounts(Ledger(form, most=1), TrueCoverage(form.incidence))
    asked = []

    def decide(hits: Hits) -> ProbePlan:
        asked.append(hits)
        every = np.arange(3)
        return ProbePlan(every, np.ones(3, int), 0.0, np.zeros(3), np.zeros(3))

    settle(pool, coverage, decide)
    assert len(asked) == 2
    with pytest.raises(BudgetSpent):
        coverage.ledger.ask(Query.of(Term("word", "dd")))


def test_a_first_page_that_is_known_is_not_paid_for_again():
    form = served((3, 16, 40), cap=20)
    pool = copy_of(form)
    coverage = HitCounts(Ledger(form), TrueCoverage(form.incidence))
    sent = np.array([False, True, False])
    plain = offers(np.array([3.0, 16.0, 40.0]), page_size=4, cap=20)
    assert plain.pages.tolist() == [1, 4, 5]
    before = _open_offers(pool, coverage, sent)
    assert before.pages.tolist() == [1, 4, 5]
    coverage.ask(pool, [0, 2])
    after = _open_offers(pool, coverage, sent)
    assert after.pages.tolist() == [1, 4, 4]
    assert after.cost.tolist() == [1.0, 4.0, 4.0]
    assert after.blocks.tolist() == [1, 0, 1]
    assert after.reach.tolist() == plain.reach.tolist()


def test_a_candidate_dearer_than_believed_goes_back_once():
    form = served((16, 17))
    pool = copy_of(form, lookup=True)
    ledger = Ledger(form)
    assert _sent(pool, 1, 4, ledger) is False  # five pages
    assert ledger.requests == 1
    assert _sent(pool, 1, 4, ledger) is True  # its first page is known now
    assert ledger.requests == 5
    assert _sent(pool, 0, 4, ledger) is True  # just as many as believed
    assert ledger.requests == 9
    assert _sent(pool, 2, 1, ledger) is True
    assert (ledger.requests, ledger.looked_up) == (10, {"a0"})
    silent = served((16, 17), counts="none")
    ledger = Ledger(silent)
    assert _sent(pool, 1, 1, ledger) is True  # nobody says that it is dearer
    assert ledger.requests == 5


def test_refreshing_sends_the_best_few_first_and_nothing_that_is_worth_nothing():
    form = served((4, 8, 16, 40))
    pool = copy_of(form)
    coverage = HitCounts(Ledger(form), TrueCoverage(form.incidence))
    value = np.array([1.0, 9.0, 0.0, 2.0])
    shown = refresh(pool, coverage, value, batch=1)
    assert [q.terms[0].value for q in coverage.ledger.asked] == ["bb", "aa", "dd"]
    assert shown.tolist() == [True, True, False, True]
    assert coverage.ledger.requests == 2 + 1 + 10
    one = HitCounts(Ledger(form), TrueCoverage(form.incidence))
    shown = refresh(pool, one, value, batch=1, rounds=1)
    assert shown.tolist() == [False, True, False, False]
