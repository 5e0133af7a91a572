"""What policies for new records choose, against plain loops over their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.errors import BudgetSpent
from halflife.core.forms import Attribute, Interface, Query, ResultPage, Term
from halflife.core.wording import span
from halflife.queries.fresh import Choice
from halflife.queries.fresh.expected_gain import (
    JOINED,
    KEPT,
    LEAST,
    WORTH,
    ExpectedGainRule,
    _split,
)
from halflife.queries.fresh.form_traits import FormTraits, progress_of
from halflife.queries.fresh.harvest import (
    DrilledSample,
    GivenSample,
    HarvestRound,
    harvest,
    read,
)
from halflife.queries.fresh.outlook import (
    QueryOutlook,
    QueryState,
    ReadingProgress,
    outlook,
)
from halflife.queries.fresh.prior import GROWTH, HIDDEN, LATELY, SHAPE, SURE, UNHEARD
from halflife.queries.fresh.records import SampleGuidedRule, effectiveness
from halflife.queries.fresh.rotation import Rotation
from halflife.queries.fresh.simple import (
    Exhaustive,
    FreshOracle,
    GammaPoissonRule,
    Newest,
    _asked,
    _pages,
)
from halflife.queries.graph import selection
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords, Origin
from halflife.queries.table_form import TableForm

CITY, TITLE = Attribute("city", "select"), Attribute("title", "keyword")
RNG = np.random.default_rng(0)


def one(attribute, value):
    return Query.of(Term(attribute, value))


def records(sizes, first=0, **more):
    """Return so many records of each city, named by city and number."""
    return {
        f"{city}{i}": {"city": city, **more}
        for city, size in sizes.items()
        for i in range(first, first + size)
    }


def form_of(held, *attributes, dates=None, **interface):
    shape = Interface(attributes or (CITY,), **{"page_size": 5, **interface})
    return TableForm(shape, held, rng=np.random.default_rng(0), dates=dates)


# the default

# Before anything is read 0.3 new records are expected for each old one, and 17 of 20
# old ones are thought to be there still.


def first_page(held, page):
    left = 0.3 * held
    hits = 0.85 * held + left
    return left * min(page / max(hits, 1.0), 1.0), left, hits


def test_the_first_page_promises_its_part_of_what_is_expected():
    form = form_of(records({"Oslo": 20, "Rome": 2, "Lima": 3}))
    local, policy = (
        LocalRecords(form.interface, form.records),
        ExpectedGainRule(least=0.0),
    )
    gain = {c: first_page(n, 5.0) for c, n in (("Oslo", 20), ("Rome", 2), ("Lima", 3))}
    ranked = policy.ranked(local, 9)
    assert [c.query for c in ranked] == [
        one("city", "Oslo"),
        one("city", "Lima"),
        one("city", "Rome"),
    ]
    for choice in ranked:
        promised, left, hits = gain[choice.query.terms[0].value]
        assert choice.expected == pytest.approx(promised)
        assert choice.why == f"about {left:.1f} of {hits:.0f} new, page 1"
        assert (choice.page, choice.pages) == (0, 1)
    assert len(policy.ranked(local, 2)) == 2
    best = ExpectedGainRule().next(local, Ledger(form), RNG)
    assert best.query == one("city", "Oslo")
    assert best.expected == pytest.approx(6.0 * 5.0 / 23.0)


def test_nothing_is_chosen_below_the_least_that_is_worth_a_request():
    form = form_of(records({"Oslo": 20, "Rome": 2}))
    local = LocalRecords(form.interface, form.records)
    ledger = Ledger(form)
    promised = ExpectedGainRule().next(local, ledger, RNG).expected
    for least, chosen in ((promised, True), (math.nextafter(promised, 9.0), False)):
        policy = ExpectedGainRule(least=least)
        assert (policy.next(local, ledger, RNG) is not None) is chosen
        assert bool(policy.ranked(local, 5)) is chosen
    second = ExpectedGainRule(least=0.59).ranked(local, 5)  # Rome promises 0.6
    assert len(second) == 2
    assert len(ExpectedGainRule(least=0.61).ranked(local, 5)) == 1
    empty = LocalRecords(form.interface, {})
    assert ExpectedGainRule().next(empty, ledger, RNG) is None
    assert ExpectedGainRule().ranked(empty, 5) == []
    assert LEAST > 0


@pytest.mark.parametrize("words", [8, 13, 14, 25])
def test_a_page_of_a_word_must_promise_more_than_one_of_a_value(words):
    # Ten records have a city, others a word; city values that nobody has heard of
    # hide one new record, or 3 % of the old ones, which words may show.
    held = records({"Oslo": 10}) | {f"w{i}": {"title": "red"} for i in range(words)}
    form = form_of(held, CITY, TITLE, page_size=50)
    local = LocalRecords(form.interface, held)
    hidden = max(0.03 * len(held), 1.0) / len(held)
    city = 3.0
    word = 0.3 * words + hidden * 1.15 * words
    ranked = ExpectedGainRule().ranked(local, 2)
    gains = {c.query.terms[0].attribute: c.expected for c in ranked}
    assert gains == pytest.approx({"city": city, "title": word})
    ahead = "title" if WORTH["keyword"] * word > city else "city"
    assert ranked[0].query.terms[0].attribute == ahead
    chosen = ExpectedGainRule().next(local, Ledger(form), RNG)
    assert chosen.query == ranked[0].query
    assert chosen.expected == pytest.approx(gains[ahead])


def test_the_next_page_of_a_query_follows_those_that_were_read():
    held = records({"Oslo": 30})
    form = form_of(held | records({"Oslo": 20}, first=30), counts="none")
    local, policy = LocalRecords(form.interface, held), ExpectedGainRule()
    turn = HarvestRound(policy, local, Ledger(form))
    pages = []
    while (choice := turn.step(RNG)) is not None:
        pages.append(choice.page)
        assert f"page {choice.page + 1}" in choice.why
    assert pages == list(range(10))


def promised(local, since, setting, shown):
    """Return what the next page of each term promises, term by term.

    The growth of an attribute is (new seen + 5) / (weight open to view + 5 / usual);
    what no old record has is expected by kind (``UNHEARD``), sure by the same.
    """
    kinds = {a.name: a.kind for a in local.interface.attributes}
    old = [key for key in local.keys if not local.origin(key) and key not in local.gone]
    rows = {}
    for term in local.terms:
        mine = [key for key in old if local.number(term) in local.of(key)]
        fresh = sum(
            bool(local.origin(k)) and local.number(term) in local.of(k)
            for k in local.keys
        )
        seen = sum(key in local.shown for key in mine)
        late = sum(local._came.get(key, -1.0) > since for key in mine)
        there = seen + setting.stays * (len(mine) - seen)
        open_ = min((seen + shown[term.attribute]) / (there + 1.0), 1.0)
        rows[term] = len(mine), seen, fresh, len(mine) + late, open_
    held = sum(row[0] for row in rows.values())
    weight = sum(row[3] for row in rows.values())
    usual = max(GROWTH * held / max(weight, 1.0), GROWTH / LATELY)
    gains = {}
    for term, (n, seen, fresh, w, _) in rows.items():
        peers = [r for t, r in rows.items() if t.attribute == term.attribute and r[3]]
        found, view = sum(r[2] for r in peers), sum(r[3] * r[4] for r in peers)
        growth = (found + SURE) / (view + SURE / usual)
        shape, mean = (SHAPE[kinds[term.attribute]], growth * w)
        if not w:
            shape, mean = UNHEARD[kinds[term.attribute]]
        hidden = 0.0
        for name, kind in kinds.items():
            if kind == "select" and name != term.attribute:
                new = sum(
                    r[2] for t, r in rows.items() if t.attribute == name and not r[3]
                )
                few = max(HIDDEN[1] * GROWTH * local.old, 1.0)
                left = (HIDDEN[0] + new) / (HIDDEN[0] / few + shown[name])
                hidden += left * (1.0 - shown[name]) / len(local)
        columns = (n, seen, fresh, mean, shape, shown[term.attribute], hidden)
        progress = progress_of(local, [Query.of(term)])
        at = QueryState(*(np.array([float(c)]) for c in columns), progress)
        gains[Query.of(term)] = float(outlook(at, setting).gain[0])
    return gains


@pytest.mark.parametrize("since", [math.inf, 20.0])
def test_after_some_pages_every_term_promises_what_they_taught(since):
    form, _ = world(None)
    came = {f"k{i}": float(i) for i in range(45)}
    local = LocalRecords(form.interface, dict(list(form.records.items())[:45]), came)
    policy, ledger = ExpectedGainRule(least=0.0, since=since), Ledger(form)
    policy.ranked(local, 1)  # what is held tells before anything was read
    turn = HarvestRound(policy, local, ledger)
    for query in (one("city", "Oslo"), one("make", "m1"), one("title", "red")):
        turn.carry_out(
            Choice(query, 0, 2 if query.terms[0].attribute == "city" else None)
        )
        learned = FormTraits()
        learned.catch_up(local)
        setting = learned.setting(local)
        shown = learned.shown(local, setting.stays)
        wanted = promised(local, since, setting, shown)
        found = {c.query: c.expected for c in policy.ranked(local, 99)}
        assert found == pytest.approx(wanted)
    assert len({round(gain, 6) for gain in wanted.values()}) > 4


def world(cap, *, seed=3):
    """Return a copy with cities, makes and words, of which a form shows ``cap``."""
    rng = np.random.default_rng(seed)
    held = {
        f"k{i}": {
            "city": str(rng.choice(["Oslo", "Rome"])),
            "make": f"m{rng.integers(4)}",
            "title": " ".join(rng.choice(["red", "blue", "old", "new"], 2)),
        }
        for i in range(60)
    }
    form = form_of(held, CITY, Attribute("make", "select"), TITLE, cap=cap)
    local = LocalRecords(form.interface, dict(list(held.items())[:45]))
    return form, local


def harvested(form, local, *queries):
    """Read some queries to their ends."""
    turn = HarvestRound(ExpectedGainRule(), local, Ledger(form))
    for query in queries:
        turn.carry_out(Choice(query, 0, None))
    learned = FormTraits()
    learned.catch_up(local)
    return learned.setting(local)


def best_pair(local, term, density, setting):
    """Return the second term whose first page promises most, each weighed alone."""
    found = None
    for other in local.terms:
        query = Query.of(term, other)
        mine = [k for k in local.matching(query) if not local.origin(k)]
        fresh = len(local.matching(query)) - len(mine)
        if other.attribute == term.attribute or not (mine or fresh):
            continue
        columns = {
            "held": len(mine),
            "seen": sum(key in local.shown for key in mine),
            "fresh": fresh,
            "mean": fresh + density * (len(mine) + 1.0),
            "shape": JOINED,
            "shown": 0.0,
            "hidden": 0.0,
        }
        progress = progress_of(local, [query])
        at = QueryState(**{n: np.array([float(v)]) for n, v in columns.items()},
                      progress=progress)  # fmt: skip
        ahead = outlook(at, setting)
        if found is None or ahead.gain[0] > found[0] + 1e-12:
            found = float(ahead.gain[0]), query, int(progress.pages[0])
    return found


@pytest.mark.parametrize("density", [0.05, 0.4])
def test_a_query_cut_off_is_joined_with_the_term_that_promises_most(density):
    form, local = world(10)
    term = Term("city", "Oslo")
    setting = harvested(form, local, Query.of(term))
    for _ in range(3):
        gain, query, page = best_pair(local, term, density, setting)
        choice = _split(local, term, density, setting)
        assert (choice.query, choice.page, choice.pages) == (query, page, 1)
        assert choice.expected == pytest.approx(gain)
        turn = HarvestRound(ExpectedGainRule(), local, Ledger(form))
        turn.carry_out(choice)
    lonely = LocalRecords(form.interface, {"a": {"city": "Bonn"}})
    assert _split(lonely, Term("city", "Bonn"), density, setting) is None


def test_pairs_are_weighed_again_after_five_pages_or_when_one_was_read():
    form, local = world(10)
    term = Term("city", "Oslo")
    setting = harvested(form, local, Query.of(term))
    policy = ExpectedGainRule()
    first = policy._again(local, term, 0.2, setting)
    assert first == _split(local, term, 0.2, setting)
    room = int(KEPT * setting.page)
    for i in range(room):
        local.note(f"n{i}", {"city": "Rome"}, Origin.HARVESTED)
    assert policy._again(local, term, 0.4, setting) is first
    local.note("more", {"city": "Rome"}, Origin.HARVESTED)
    second = policy._again(local, term, 0.4, setting)
    assert second is not first
    assert second.expected > first.expected
    local.reading(second.query).pages = 1
    third = policy._again(local, term, 0.4, setting)
    assert (third.query, third.page) != (second.query, second.page)


def test_three_queries_cut_off_are_looked_into_those_with_most_left_first():
    form, local = world(10)
    names = ["make=m0", "make=m1", "make=m2", "make=m3", "city=Oslo", "city=Rome"]
    place = {str(term): i for i, term in enumerate(local.terms)}
    setting = harvested(form, local)
    n = len(local.terms)
    left, done = np.zeros(n), np.zeros(n, dtype=bool)
    hits = np.full(n, 20.0)
    for name, amount in zip(names, (3.0, 6.0, 2.0, 1.0, 5.0, 0.05), strict=True):
        left[place[name]], done[place[name]] = amount, True
    done[place["city=Oslo"]] = False  # not read to its end: it goes on by itself
    nothing = np.zeros(n)
    progress = ReadingProgress(nothing, nothing, nothing, done)
    standing = QueryState(*[nothing] * 7, progress)
    now = standing, QueryOutlook(left, hits, nothing)
    splits = {
        name: _split(local, local.terms[place[name]], left[place[name]] / 20.0, setting)
        for name in names
    }
    looked = [splits[name] for name in ("make=m1", "make=m0", "make=m2")]
    best = max(looked, key=lambda choice: choice.expected)
    assert ExpectedGainRule(least=0.01)._joined(local, now, setting, None) == best
    # what another page promises more of is not given up for a pair
    better = Choice(Query(), expected=best.expected + 0.01)
    assert ExpectedGainRule(least=0.01)._joined(local, now, setting, better) is better
    worse = Choice(Query(), expected=best.expected - 0.01)
    assert ExpectedGainRule(least=0.01)._joined(local, now, setting, worse) == best
    assert ExpectedGainRule(least=9.0)._joined(local, now, setting, None) is None
    same = Choice(Query(), expected=best.expected)
    assert ExpectedGainRule(least=0.01)._joined(local, now, setting, same) is same


def test_a_fourth_query_cut_off_has_to_wait():
    form, local = world(10)
    place = {str(term): i for i, term in enumerate(local.terms)}
    setting = harvested(form, local)
    n = len(local.terms)
    left, done, hits = np.zeros(n), np.zeros(n, dtype=bool), np.full(n, 1e3)
    names = ["make=m0", "make=m1", "make=m2", "make=m3"]
    for name, amount in zip(names, (4.0, 3.9, 3.8, 3.7), strict=True):
        left[place[name]], done[place[name]] = amount, True
    hits[place["make=m3"]] = 4.0  # nearly all that it finds is new
    progress = ReadingProgress(*[np.zeros(n)] * 3, done)
    now = (
        QueryState(*[np.zeros(n)] * 7, progress),
        QueryOutlook(left, hits, np.zeros(n)),
    )
    found = ExpectedGainRule(least=1e-9)._joined(local, now, setting, None)
    assert Term("make", "m3") not in found.query.terms
    left[place["make=m0"]] = 3.6
    found = ExpectedGainRule(least=1e-9)._joined(local, now, setting, None)
    assert Term("make", "m3") in found.query.terms


@pytest.mark.parametrize(("cap", "together"), [(None, 2), (10, 1), (10, 2)])
def test_a_second_term_is_added_only_where_results_are_cut_off(cap, together):
    form, local = world(10)
    shape = Interface(form.interface.attributes, 5, cap=cap, together=together)
    form.interface = local.interface = shape
    harvest(ExpectedGainRule(least=0.02), local, Ledger(form), RNG)
    pairs = [query for query in local.reads if len(query) == 2]
    assert bool(pairs) is (cap is not None and together > 1)


# policies to measure others by


def states(data, held, extra):
    """Return a copy after some events: shown, lost and new records."""
    form = form_of({**held, **extra}, CITY, TITLE, page_size=2, cap=data["cap"])
    local = LocalRecords(form.interface, held)
    for key, event in zip(held, data["events"], strict=False):
        if event == "shown":
            local.note(key, held[key], Origin.HARVESTED)
        elif event == "lost":
            local.note_missing(key)
    for key in list(extra)[: data["new"]]:
        local.note(key, extra[key], Origin.HARVESTED)
    for number in data["read"]:
        if number < len(local.terms):
            local.reading(Query.of(local.terms[number]))
    return form, local


HELD = {
    f"k{i}": {"city": ("Oslo", "Rome", "Lima")[i % 3], "title": ("red", "old")[i % 2]}
    for i in range(9)
}
EXTRA = {
    f"n{i}": {"city": ("Bonn", "Oslo")[i % 2], "title": "green red"} for i in range(4)
}
WORLDS = st.fixed_dictionaries(
    {
        "cap": st.sampled_from([None, 3]),
        "events": st.lists(st.sampled_from(["shown", "lost", ""]), max_size=9),
        "new": st.integers(0, 4),
        "read": st.sets(st.integers(0, 7)),
    }
)


def requests_for(form, hits):
    reachable = min(hits, form.interface.cap or hits)
    return max(1, math.ceil(reachable / 2))


@settings(max_examples=60)
@given(WORLDS)
def test_reading_everything_asks_for_most_records_not_shown_for_a_request(data):
    form, local = states(data, HELD, EXTRA)
    best, most = None, 0.0
    for term in local.terms:
        query = Query.of(term)
        mine = local.matching(query)
        unseen = sum(not local.origin(k) and k not in local.shown for k in mine)
        old = any(not local.origin(k) for k in mine)
        worth = unseen if unseen or old else 0.5
        value = worth / requests_for(form, len(mine))
        if query not in local.reads and value > most:
            best, most, said = term, value, unseen
    found = Exhaustive().next(local, Ledger(form), RNG)
    if best is None:
        assert found is None
    else:
        assert (found.query, found.pages) == (Query.of(best), None)
        assert found.why.startswith(f"{said} record")


def test_new_terms_are_asked_for_when_all_that_was_held_was_shown_or_missed():
    form = form_of({}, CITY, TITLE, page_size=2)
    local = LocalRecords(form.interface, {"a": {"city": "Oslo"}, "b": {"city": "Rome"}})
    local.note("a", {"city": "Oslo"}, Origin.HARVESTED)
    local.note_missing("b")
    # nothing held has the terms of these; red has two pages and green one
    for i in range(3):
        local.note(f"n{i}", {"title": "red"}, Origin.HARVESTED)
    local.note("m", {"title": "green"}, Origin.HARVESTED)
    asked = []
    while (choice := Exhaustive().next(local, Ledger(form), RNG)) is not None:
        asked.append(str(choice.query))
        local.reading(choice.query)
    assert asked == ["city=Rome", "title=green", "title=red"]


@settings(max_examples=60)
@given(WORLDS)
def test_who_knows_the_truth_asks_for_most_new_records_for_a_request(data):
    form, local = states(data, HELD, EXTRA)
    truth = {**HELD, **EXTRA}
    terms = sorted({t for r in truth.values() for t in form.interface.terms(r)})
    best, most = None, 0.0
    for term in terms:
        query = Query.of(term)
        hits = [k for k, r in truth.items() if form.interface.meets(r, query)]
        new = sum(key not in local for key in hits)
        value = new / requests_for(form, len(hits))
        if query not in local.reads and value > most:
            best, most, said = term, value, new
    found = FreshOracle(truth).next(local, Ledger(form), RNG)
    if best is None:
        assert found is None
    else:
        assert (found.query, found.expected) == (Query.of(best), said)
        assert found.why == f"{said} new records"
    assert FreshOracle({}).next(local, Ledger(form), RNG) is None


def test_a_sample_ends_it_below_the_least_that_is_worth_a_request():
    form = form_of(records({"Oslo": 12, "Rome": 4}))
    local = LocalRecords(form.interface, form.records)
    for key in ("Oslo0", "Oslo1", "Rome0", "Rome1"):
        local.note(key, local[key], Origin.SAMPLED)
        local.sampled.add(key)
    ledger = Ledger(form)
    # A quarter was drawn, nothing new: half a record for sixteen. Of Rome's four
    # that is 1 / (8 + 1/4) for one page, of Oslo's twelve 1 / (8/3 + 1/4) for three.
    choice = GammaPoissonRule(least=0.0).next(local, ledger, RNG)
    value = choice.expected
    assert choice.query == one("city", "Rome")
    assert value == pytest.approx(1.0 / 8.25)
    assert choice.why == "0.1 new records expected, 0.12 for a request"
    again = GammaPoissonRule(least=value).next(local, ledger, RNG)
    assert again == choice
    more = math.nextafter(value, 1.0)
    assert GammaPoissonRule(least=more).next(local, ledger, RNG) is None


def test_a_sample_promises_records_of_values_that_nobody_held():
    form = form_of({}, page_size=1, cap=2)
    local = LocalRecords(form.interface, records({"Oslo": 8}))
    for key in ("Oslo0", "Oslo1"):
        local.note(key, local[key], Origin.SAMPLED)
        local.sampled.add(key)
    for i in range(3):
        local.note(f"n{i}", {"city": "Bonn"}, Origin.SAMPLED)
        local.sampled.add(f"n{i}")
    # a quarter of the old was drawn and three new ones, so twelve came for eight
    rule, ledger = GammaPoissonRule(shape=2.0), Ledger(form)
    choice = rule.next(local, ledger, RNG)
    bonn = (2.0 + 3.0) / (2.0 / (1.5 * 0.3) + 0.25) - 3.0
    oslo = 2.0 / (2.0 / (1.5 * 8.0) + 0.25)
    assert bonn < 0.0 < oslo
    assert (choice.query, choice.pages) == (one("city", "Oslo"), None)
    assert choice.expected == pytest.approx(oslo)
    # the sample is what it was; what came since is taken off, two pages at most
    local.note("late", {"city": "Oslo"}, Origin.HARVESTED)
    again = rule.next(local, ledger, RNG)
    assert again.expected == pytest.approx(oslo - 1.0)
    why = f"{oslo - 1.0:.1f} new records expected, {(oslo - 1.0) / 2:.2f} for a request"
    assert again.why == why
    local.note("rome", {"city": "Rome"}, Origin.HARVESTED)
    local.reading(one("city", "Oslo"))
    rome = rule.next(local, ledger, RNG)
    assert rome is None  # one came of 2 / (2 / 0.45 + 0.25) that were expected


def test_requests_are_full_pages_of_what_can_be_reached():
    local = LocalRecords(form_of({}, page_size=5, cap=12).interface, {})
    hits = np.array([0.0, 1.0, 5.0, 5.5, 10.0, 11.0, 99.0])
    assert _pages(local, hits).tolist() == [1, 1, 1, 2, 2, 3, 3]
    free = LocalRecords(form_of({}, page_size=5).interface, {})
    assert _pages(free, hits).tolist() == [1, 1, 1, 2, 2, 3, 20]


def test_only_terms_asked_for_alone_were_asked():
    local = LocalRecords(form_of({}, CITY, TITLE).interface, HELD)
    oslo, red = Term("city", "Oslo"), Term("title", "red")
    for query in (Query(), Query.of(oslo, red), Query.of(red), one("city", "Bonn")):
        local.reading(query)
    assert _asked(local).tolist() == [local.number(red)]


# newest first


def newest(local, *, told=None, barren=0, done=False, shown=(), **policy):
    reading = local.newest
    reading.total, reading.barren, reading.done = told, barren, done
    reading.shown = list(shown)
    return Newest(**policy).next(local, Ledger(form_of({})), RNG)


def dated(counts="exact"):
    shape = {"everything": True, "newest": True, "counts": counts}
    held = {f"k{i}": {"city": "Oslo", "day": 9 - i // 2} for i in range(6)}
    return LocalRecords(form_of({}, **shape).interface, held)


def test_newest_first_goes_on_until_enough_pages_had_nothing_new():
    local = dated("none")
    for barren in (0, 1):
        found = newest(local, barren=barren)
        assert (found.query, found.newest, found.pages) == (Query(), True, 1)
        assert found.why == "newest first, until nothing is new"
        assert math.isnan(found.expected)
    assert newest(local, barren=2) is None
    assert newest(local, barren=2, margin=3) is not None
    assert newest(local, barren=3, margin=3) is None
    assert newest(local, done=True) is None
    local.newest.pages = 7
    assert newest(local).page == 7


def test_newest_first_goes_on_while_more_are_reported_than_held():
    local = dated()
    assert newest(local, told=6, barren=2) is None
    more = newest(local, told=8, barren=2)
    assert more.why == "newest first; 2 more are reported than are held"
    assert more.expected == 2.0
    assert newest(local, told=7, barren=2).expected == 1.0
    assert newest(local, told=8, barren=2, unfound=2) is None
    assert newest(local, told=8, barren=2, unfound=1).expected == 1.0
    assert newest(local, told=7, barren=2, done=True) is None
    local.note_missing("k0")
    assert newest(local, told=6, barren=2).expected == 1.0
    early = newest(local, told=6, barren=1)
    assert (early.why, early.expected) == ("newest first, until nothing is new", 1.0)


def test_newest_first_goes_on_among_records_of_one_date():
    local = dated("none")
    local.note("n", {"city": "Oslo", "day": 9}, Origin.HARVESTED)
    tied = newest(local, barren=2, shown=["n", "k0", "k1"], date="day")
    assert tied.why == "newest first; records of the same date may be new"
    assert newest(local, barren=2, shown=["n", "k0", "k2"], date="day") is None
    assert newest(local, barren=2, shown=["n", "k0", "k1"]) is None
    assert newest(local, barren=2, shown=["n"], date="day") is None
    assert newest(local, barren=2, shown=["k0", "k1"], date="year") is None
    # the newest that was known before counts, not the newest of all
    local.note("m", {"city": "Oslo", "day": 8}, Origin.HARVESTED)
    assert newest(local, barren=2, shown=["n", "k2", "m"], date="day") is not None


# a record, then the best of its values


def test_a_query_is_effective_by_the_share_that_is_not_held():
    form = form_of({})
    local = LocalRecords(form.interface, records({"Oslo": 4}))
    query = one("city", "Oslo")
    reading = local.reading(query)
    reading.total = 10
    assert effectiveness(local, query) == (0.6, 6.0)
    reading.total = 4
    assert effectiveness(local, query) == (0.0, 0.0)
    reading.total = 0
    assert effectiveness(local, query) == (-4.0, -4.0)
    reading.total, reading.gained = None, 3
    assert effectiveness(local, query) == (3.0, 3.0)  # nothing shown counts as one
    reading.keys |= {"Oslo0", "Oslo1", "a", "b", "c"}
    assert effectiveness(local, query) == (0.6, 3.0)


def test_records_are_drawn_in_proportion_to_a_power_of_equation_4():
    _, local = world(None)
    for key in ("k1", "k9", "k20"):
        local.note(key, local[key], Origin.SAMPLED)
        local.sampled.add(key)
    for i in range(4):
        local.note(f"n{i}", {"city": "Bonn", "make": "m1"}, Origin.SAMPLED)
        local.sampled.add(f"n{i}")
    history = np.array([key[0] == "k" for key in local.keys])
    sampled = np.array([key in local.sampled for key in local.keys])
    sel = selection(local.incidence(), history, sampled).sel
    for sharp in (1.0, 8.0):
        policy = SampleGuidedRule(sharp=sharp)
        rows = [policy._row(local, np.random.default_rng(s)) for s in range(400)]
        wanted = np.cumsum(sel**sharp / (sel**sharp).sum())
        drawn = [np.random.default_rng(s).random() for s in range(400)]
        assert rows == [int(np.argmax(wanted > u)) for u in drawn]
    even = SampleGuidedRule(sharp=0.0)
    rows = [even._row(local, np.random.default_rng(s)) for s in range(2000)]
    assert set(rows) == set(range(len(local)))
    first = SampleGuidedRule(sharp=1.0, renewed=0.1)
    first._row(local, RNG)
    chance = first._chance
    for i in range(4):  # 49 records: five more are a tenth
        local.note(f"late{i}", {"city": "Bonn"}, Origin.HARVESTED)
        first._row(local, RNG)
        assert first._chance is chance
    local.note("late4", {"city": "Bonn"}, Origin.HARVESTED)
    first._row(local, RNG)
    assert first._chance.size == len(local) == 54


def test_issued_queries_without_gain_end_it_only_in_a_row():
    local = LocalRecords(form_of({}).interface, records({"Oslo": 1}))
    policy = SampleGuidedRule(patience=2)
    queries = [one("city", c) for c in ("a", "b", "c")]
    for query, gained in zip(queries, (0, 3, 0), strict=True):
        local.reading(query).gained = gained
    for issued, ended in (([0], False), ([0, 2], True), ([0, 1], False),
                          ([0, 1, 2], False), ([1, 0, 2], True)):  # fmt: skip
        policy._issued = [queries[i] for i in issued]
        assert policy._exhausted(local) is ended


def test_the_best_of_the_probed_queries_is_read_to_its_end():
    held = {"a": {"city": "Oslo", "title": "red"}}
    form = form_of(held, CITY, TITLE)
    local, policy = LocalRecords(form.interface, held), SampleGuidedRule(sharp=0.0)
    ledger = Ledger(form)
    oslo, red = one("city", "Oslo"), one("title", "red")
    probes = [policy.next(local, ledger, RNG).query for _ in range(2)]
    assert sorted(probes) == [oslo, red]
    for query, told in ((oslo, 5), (red, 2)):
        reading = local.reading(query)
        reading.pages, reading.total = 1, told
    choice = policy.next(local, ledger, RNG)
    assert (choice.query, choice.page, choice.pages) == (oslo, 1, None)
    assert choice.expected == 4.0
    assert choice.why == "80% of what matches is not held"
    # then the other one, and when nothing promises anything it ends
    choice = policy.next(local, ledger, RNG)
    assert (choice.query, choice.expected) == (red, 1.0)
    assert policy.next(local, ledger, RNG) is None


def test_a_query_that_promises_nothing_settles_its_rivals():
    held = {"a": {"city": "Oslo", "title": "red"}}
    form = form_of(held, CITY, TITLE)
    local, policy = LocalRecords(form.interface, held), SampleGuidedRule(sharp=0.0)
    for query in (one("city", "Oslo"), one("title", "red")):
        reading = local.reading(query)
        reading.pages, reading.total = 1, 1
    assert policy.next(local, Ledger(form), RNG) is None
    assert len(policy._settled) == 2
    assert policy._issued == []
    done = SampleGuidedRule(sharp=0.0)
    local.reads[one("city", "Oslo")].total = 3
    local.reads[one("city", "Oslo")].done = True
    assert done.next(local, Ledger(form), RNG) is None  # nothing is left to read
    assert done._issued == [one("city", "Oslo")]


# values one after the other


def test_values_are_ranked_by_records_times_days_for_a_request():
    form = Interface((Attribute("city", "select", ("Bonn",)), TITLE), page_size=10)
    sizes = {"Oslo": 12, "Rome": 30, "Lima": 4}
    held = records(sizes, title="red")
    seen = {
        key: {"Oslo": 2.0, "Rome": 6.0, "Lima": 9.0}[row["city"]] + int(key[4:]) % 4
        for key, row in held.items()
    }
    came = {"Oslo0", "Rome1", "Rome2", "Rome3"}
    values, now = Rotation(form, held, seen, came, 20.0), 16.0
    usual = (4 + 0.5) / 20.0 / 46.0
    wanted = []
    for city, n in (*sizes.items(), ("Bonn", 0)):
        ages = [now - seen[key] for key in held if key.startswith(city)]
        days = float(np.quantile(ages, 0.25)) if ages else 3.0
        fresh = sum(key.startswith(city) for key in came)
        pace = (fresh + 1.0) / (20.0 + 1.0 / (usual * max(n, 0.5)))
        pages = max(math.ceil((n + pace * days) / 10), 1)
        wanted.append((pace * days * days / pages, city, pages, pace * days, days, n))
        assert values.days_since_read(one("city", city), now, 3.0) == pytest.approx(
            days
        )
    found = values.ranked(now, 3.0)
    assert len(found) == 4
    for choice, row in zip(found, sorted(wanted, reverse=True), strict=True):
        _, city, pages, expected, days, n = row
        assert (choice.query, choice.pages) == (one("city", city), pages)
        assert (choice.page, choice.expected) == (0, pytest.approx(expected))
        read = f"read {span(days)} ago"
        assert choice.why == f"about {expected:.1f} new, {n} held, {read}"
    assert values.pages() == 1 + 2 + 3 + 1
    assert one("city", "Oslo") in values
    assert Query.of(Term("city", "Oslo"), Term("city", "Rome")) not in values
    assert Query() not in values
    assert "Oslo" not in values


def test_a_value_that_was_read_just_now_promises_nothing():
    form = Interface((CITY,), page_size=10)
    held = records({"Oslo": 3, "Rome": 2})
    seen = {key: 5.0 if row["city"] == "Oslo" else 4.0 for key, row in held.items()}
    values = Rotation(form, held, seen, (), 10.0)
    assert [c.query for c in values.ranked(5.0, 1.0)] == [one("city", "Rome")]
    assert values.days_since_read(one("city", "Oslo"), 4.0, 1.0) == 0.0
    assert values.days_since_read(one("city", "Bonn"), 4.0, -1.0) == 0.0
    nothing = Rotation(form, {}, {}, (), 10.0)
    assert not nothing
    assert nothing.pages() == 0
    ranges = Interface((Attribute("price", "range", cuts=(10.0,)),), page_size=2)
    prices = {"a": {"price": 5}, "b": {"price": 15}, "c": {"price": 16}}
    values = Rotation(ranges, prices, dict.fromkeys(prices, 1.0), (), 4.0)
    assert values.pages() == 2
    assert {c.query.terms[0].value for c in values.ranked(9.0, 1.0)} == {"..10", "10.."}
    assert len(values.ranked(9.0, 1.0)) == 2


# carrying out


def test_a_given_sample_costs_its_full_pages():
    form = form_of(records({"Oslo": 20}))
    for size, pages in ((5, 1), (6, 2), (11, 3)):
        ledger = Ledger(form)
        some = dict(list(form.records.items())[:size])
        assert GivenSample(some)(ledger, RNG) == some
        assert (ledger.requests, ledger.returned) == (pages, size)
        assert ledger.seen == some


def test_what_was_shown_on_the_way_to_a_sample_is_kept_but_not_sampled():
    form = form_of(records({"Oslo": 20, "Rome": 9}))
    held = dict(list(form.records.items())[:6])
    local, ledger = LocalRecords(form.interface, held), Ledger(form)
    turn = HarvestRound(ExpectedGainRule(), local, ledger)
    turn.sample(DrilledSample(form.records, share=0.2), np.random.default_rng(1))
    assert local.sampled
    assert set(local.keys) == ledger.seen.keys() | held.keys()
    assert turn.harvest.new.keys() == ledger.seen.keys() - held.keys()
    for key in turn.harvest.new:
        sampled = key in local.sampled
        assert local.origin(key) is (Origin.SAMPLED if sampled else Origin.HARVESTED)
    assert turn.harvest.curve == [(ledger.requests, len(turn.harvest.new))]
    assert turn.harvest.requests == ledger.requests > 0
    assert turn.harvest.returned == ledger.returned >= turn.harvest.unique > 0


def test_a_page_is_noted_with_what_it_gained():
    form = form_of(records({"Oslo": 12}), everything=True, newest=True)
    local = LocalRecords(form.interface, records({"Oslo": 5}))
    turn = HarvestRound(ExpectedGainRule(), local, Ledger(form))
    query = one("city", "Oslo")
    old = {f"Oslo{i}": {"city": "Oslo"} for i in range(3)}
    new = {"x": {"city": "Oslo"}, "y": {"city": "Oslo"}}
    pages = [
        ResultPage(old, 7, more=True),
        ResultPage(new | old, 8, more=True),
        ResultPage(old, 9),
    ]
    for i, barren, gained in ((0, 1, 0), (1, 0, 2), (2, 1, 2)):
        page = pages[i]
        turn._take(Choice(query), page)
        reading = local.reads[query]
        assert (reading.pages, reading.total) == (i + 1, page.total)
        assert (reading.barren, reading.gained) == (barren, gained)
        assert reading.done is (i == 2)
        assert reading.shown == []
    assert reading.keys == {*old, *new}
    assert local.newest.pages == 0
    turn._take(Choice(Query(), newest=True), ResultPage(new, 9, more=True))
    assert (local.newest.pages, local.newest.shown) == (1, ["x", "y"])
    turn._take(Choice(Query(), newest=True), ResultPage(old, 9, more=True))
    assert (local.newest.barren, local.newest.shown) == (2, ["x", "y", *old])
    assert Query() not in local.reads


@pytest.mark.parametrize(
    ("counts", "cap", "told", "shown", "lost"),
    [
        ("exact", None, 3, 3, True),
        ("exact", None, 4, 3, False),  # fewer than counted: pages have shifted
        ("none", None, 4, 3, True),
        ("exact", 4, 3, 3, True),
        ("exact", 3, 3, 3, False),  # as many as can be reached
        ("exact", 2, 3, 3, False),
        ("exact", None, None, 3, True),
    ],
)
def test_what_a_whole_answer_lacks_is_lost(counts, cap, told, shown, lost):
    shape = form_of({}, counts=counts, cap=cap).interface
    local = LocalRecords(shape, records({"Oslo": 5, "Rome": 1}))
    turn = HarvestRound(ExpectedGainRule(), local, Ledger(form_of({})))
    turn._take(
        Choice(one("city", "Oslo")),
        ResultPage(records({"Oslo": shown}), told, more=False),
    )
    assert local.gone == ({"Oslo3", "Oslo4"} if lost else set())


def test_reading_to_the_cap_is_reading_to_the_end():
    form = form_of(records({"Oslo": 30}), cap=12)
    local, ledger = LocalRecords(form.interface, {}), Ledger(form)
    turn = HarvestRound(ExpectedGainRule(), local, ledger)
    query = one("city", "Oslo")
    for page in range(3):
        assert query not in ledger.finished
        turn._take(Choice(query), ResultPage(records({"Oslo": 4}), 30, more=True))
        assert local.reads[query].done is (page == 2)  # three pages of five are twelve
    assert query in ledger.finished


@pytest.mark.parametrize(
    ("cap", "page", "pages", "asked"),
    [
        (None, 0, None, [0, 1, 2, 3, 4]),
        (None, 0, 2, [0, 1]),
        (None, 1, 2, [1, 2]),
        (None, 3, 9, [3, 4]),
        (12, 0, None, [0, 1, 2]),
        (12, 1, 9, [1, 2]),
        (12, 3, None, []),
        (None, 2, 0, []),
    ],
)
def test_pages_are_read_from_where_the_choice_says_to_the_end(cap, page, pages, asked):
    form = form_of(records({"Oslo": 23}), cap=cap)
    whole = Ledger(form)
    query = one("city", "Oslo")
    every = [whole.ask(query, number).records for number in range(5)]
    ledger = Ledger(form)
    found = [f.records for f in read(ledger, Choice(query, page, pages))]
    assert found == [every[number] for number in asked]
    assert ledger.requests == len(asked)


def test_the_newest_are_asked_for_each_time():
    dates = {f"Oslo{i}": float(i) for i in range(7)}
    form = form_of(
        records({"Oslo": 7}), dates=dates, everything=True, newest=True, page_size=3
    )
    ledger = Ledger(form)
    ledger.first(Query())
    pages = list(read(ledger, Choice(Query(), 0, 2, newest=True)))
    shown = [key for page in pages for key in page.records]
    assert shown == [f"Oslo{i}" for i in (6, 5, 4, 3, 2, 1)]
    assert ledger.requests == 3


def test_what_somebody_else_was_shown_counts_as_well():
    local = LocalRecords(form_of({}).interface, records({"Oslo": 2}))
    turn = HarvestRound(ExpectedGainRule(), local, Ledger(form_of({})))
    turn.note_shown({"Oslo1": {"city": "Rome"}, "x": {"city": "Oslo"}})
    assert turn.harvest.new == {"x": {"city": "Oslo"}}
    assert turn.harvest.updated == {"Oslo1"}
    assert turn.harvest.curve == [(0, 1)]


def test_a_round_says_why_it_ended():
    form = form_of(records({"Oslo": 20}))
    held = records({"Oslo": 10})
    spent = harvest(
        ExpectedGainRule(), LocalRecords(form.interface, held), Ledger(form, 2), RNG
    )
    assert (spent.stop, spent.requests) == ("the budget is spent", 2)
    assert spent.curve[-1][0] == 2
    done = harvest(
        ExpectedGainRule(), LocalRecords(form.interface, held), Ledger(form), RNG
    )
    assert done.stop == "nothing more is worth a request"
    assert len(done.new) == 10
    with pytest.raises(BudgetSpent):
        Ledger(form, 0).ask(Query.of(Term("city", "Oslo")))
    sampler = GivenSample(dict(list(form.records.items())[:3]))
    plain = harvest(
        ExpectedGainRule(),
        LocalRecords(form.interface, held),
        Ledger(form),
        RNG,
        sampler,
    )
    assert plain.requests == done.requests  # the default wants no sample
