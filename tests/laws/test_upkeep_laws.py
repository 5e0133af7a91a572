"""What each step of a turn is worth, by hand, and what a turn says it did."""

from math import inf, nan
from statistics import fmean

import numpy as np
import pytest

from form_worlds import behind, cars
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.doubt import AbsenceCheck
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.fresh import Choice
from halflife.queries.fresh.harvest import HarvestRound
from halflife.queries.fresh.rotation import Rotation
from halflife.queries.known.refresh import Probe, Refresher
from halflife.queries.ledger import Ledger
from halflife.queries.local import Origin
from halflife.queries.policies import LOOKUP_INDEX, METHOD_1, NAIVE_1
from halflife.queries.reported_total import ReportedTotal
from halflife.queries.table_form import TableForm
from halflife.queries.turn_result import TurnResult
from halflife.queries.upkeep import Upkeep, _ask_all, maintain, plan_ahead

NOW = 30.0
OSLO, ROME, LIMA = (Term("city", city) for city in ("Oslo", "Rome", "Lima"))
CITY = Attribute("city", "select", ("Oslo", "Rome", "Lima"))
PLAIN = Interface((CITY,), page_size=4)
DATED = Interface((CITY,), page_size=4, everything=True, newest=True)


def held_of(seen, *, city="Oslo", came=None, last=28.0, since=10.0, **more):
    """Return a copy of records of one city that were last seen at these times."""
    keys = [f"k{i}" for i in range(len(seen))]
    records = {key: {"city": city} for key in keys}
    first = dict.fromkeys(keys, 0.0) | (came or {})
    when = dict(zip(keys, seen, strict=True))
    gaps = [(key, 1.0, records[key], records[key]) for key in keys]
    return FormCopy(records, first, when, gaps, last, since, **more)


def upkeep(held, interface=PLAIN, purpose="both", now=NOW):
    return Upkeep(held, interface, FormWish(purpose), now)


def ledger_of(records, interface=PLAIN, most=None, dates=None):
    form = TableForm(interface, records, rng=np.random.default_rng(0), dates=dates)
    return Ledger(form, most)


# What is known at the start


def test_new_records_come_at_their_rate_for_the_time_since_records_were_seen():
    held = held_of([20.0, 26.0], came={"k1": 12.0})  # 1.5 records in 18 days
    work = upkeep(held)
    assert work.gap == NOW - 23.0
    assert work.coming == pytest.approx(1.5 / 18.0 * 7.0)
    assert work.fresh.since == 28.0 - 7.0
    dated = upkeep(held, DATED)  # every look shows what is new: since the last one
    assert dated.gap == 2.0
    assert dated.coming == pytest.approx(1.5 / 18.0 * 2.0)
    for part in ({"everything": True}, {"newest": True}):
        assert upkeep(held, Interface((CITY,), **part)).gap == 7.0
    assert upkeep(held, now=20.0).coming == 0.0  # a clock that was set back


def test_who_looks_for_new_records_sees_what_was_shown_in_the_first_half_as_old():
    # ages 8, 8, ... and one of 4 and one a little less: half of the longest is 4
    seen = [22.0] * 60 + [26.0, 26.001]
    work = upkeep(held_of(seen))
    assert work.local.shown == {"k61"}
    assert len(work.local) == work.local.old == 62
    assert upkeep(held_of([])).local.shown == set()
    # one record in twenty may have been seen longer ago: some have gone
    gone = upkeep(held_of([0.0] * 3 + [22.0] * 60 + [26.0, 26.001]))
    assert gone.local.shown == {"k64"}


def test_values_count_what_came_after_the_first_crawl():
    held = held_of([20.0] * 4, came={"k0": 10.0, "k1": 10.001, "k2": 15.0})
    came = {"k1", "k2"}  # what came with the first crawl did not come since
    same = Rotation(PLAIN, held.records, held.seen, came, held.arrival[1])
    work = upkeep(held)
    assert work.values.ranked(NOW, 5.0) == same.ranked(NOW, 5.0)
    other = Rotation(PLAIN, held.records, held.seen, {*came, "k0"}, held.arrival[1])
    assert work.values.ranked(NOW, 5.0) != other.ranked(NOW, 5.0)


def test_known_records_are_refreshed_if_that_is_wanted_and_there_are_any():
    assert upkeep(held_of([20.0]), purpose="new").known is None
    assert upkeep(held_of([])).known is None
    for purpose in ("known", "both"):
        assert upkeep(held_of([20.0]), purpose=purpose).known is not None
    wants = {p: upkeep(held_of([20.0]), purpose=p).wants_new for p in
             ("new", "known", "both")}  # fmt: skip
    assert wants == {"new": True, "known": False, "both": True}
    assert set(upkeep(held_of([20.0, 21.0])).records) == {"k0", "k1"}


# What steps are worth


def probe(pages=1, gain=3.0, query=None):
    return Probe(0, query, "k0" if query is None else "", pages, gain, "why")


def test_a_known_record_is_worth_what_its_rule_says_for_each_request():
    work = upkeep(held_of([20.0]))
    assert work.worth(probe(pages=2)) == 1.5
    assert work.worth(probe(pages=0)) == 3.0  # it takes one request at least
    assert work.describe(probe()) == ("k0", 1, 3.0, "why")
    query = Query.of(OSLO)
    assert work.describe(probe(2, query=query)) == ("city=Oslo", 2, 1.5, "why")


def test_a_record_that_may_be_gone_is_worth_as_much_as_a_new_one():
    work = upkeep(held_of([20.0, 26.0]))  # 7 days ago in the mean
    check = AbsenceCheck(Query.of(OSLO), 3, 2)
    assert work.worth(check) == pytest.approx(2 * 7.0 / 2 / 3)
    told = work.describe(check)
    assert (told.what, told.requests, told.why) == ("city=Oslo", 3, "are 2 gone?")
    assert told.gain == work.worth(check)


def test_new_records_are_missed_for_half_of_the_time_since_the_last_look():
    work = upkeep(held_of([20.0, 26.0]), DATED)
    newest = Choice(Query(), 0, 2, 5.0, "newest", newest=True)
    assert work.worth(newest) == pytest.approx(5.0 * 2.0 / 2 / 2)
    assert work.worth(Choice(Query(), newest=True)) == 0.0  # nobody says how many
    assert work.worth(Choice(Query(), 0, None, 5.0, newest=True)) == pytest.approx(5.0)


def test_a_value_in_turn_is_worth_by_the_days_since_it_was_read():
    seen = [16.0, 20.0, 22.0, 26.0, 28.0]  # a quarter of them was seen 4 days ago
    work = upkeep(held_of(seen))
    assert work.next_choices(2)  # from here on values are asked for in turn
    days = float(np.quantile(NOW - np.array(seen), 0.25))
    assert work.values.days_since_read(Query.of(OSLO), NOW, work.gap) == days
    choice = Choice(Query.of(OSLO), 0, 2, 5.0)
    assert work.worth(choice) == pytest.approx(5.0 * days / 2 / 2)
    # two conditions are none of the values that are asked for in turn
    both = Choice(Query.of(OSLO, ROME), 0, 1, 5.0)
    assert work.worth(both) == pytest.approx(5.0 * work._credible() * work.gap / 2)
    never = Choice(Query.of(ROME), 0, 1, 5.0)  # nobody has it: as usual
    assert work.worth(never) == pytest.approx(5.0 * work.gap / 2)


def test_a_page_is_worth_the_credible_part_by_the_days_its_records_waited():
    held = held_of([20.0, 26.0, 14.0], came={"k1": 12.0})
    work = upkeep(held)
    gap = NOW - 20.0
    assert work.gap == gap
    # 1.5 records in 18 days; a round begins with 0.3 for each old one, one at least
    credible = 1.5 / 18.0 * gap / 1.0
    choice = Choice(Query.of(OSLO), 0, 1, 4.0)
    assert work.worth(choice) == pytest.approx(4.0 * credible * gap**2 / gap / 2)
    one = Choice(Query.of(ROME), 0, 1, 4.0)  # no record of it was ever seen
    assert work.worth(one) == work.worth(choice)
    assert work.worth(Choice(Query.of(OSLO), 0, 1, nan)) == 0.0
    assert work.worth(Choice(Query.of(OSLO), 0, 1, inf)) == 0.0


def test_a_query_has_waited_as_long_as_its_own_records_in_the_mean():
    records = {"a": {"city": "Oslo"}, "b": {"city": "Oslo"}, "c": {"city": "Rome"}}
    seen = {"a": 10.0, "b": 16.0, "c": 28.0}
    held = FormCopy(records, dict.fromkeys(records, 0.0), seen, [], 28.0, 10.0)
    work = upkeep(held)
    gap = NOW - fmean(seen.values())
    base = 4.0 * work._credible() / gap / 2
    for city, days in ((OSLO, 17.0), (ROME, 2.0), (LIMA, gap)):
        choice = Choice(Query.of(city), 0, 1, 4.0)
        assert work.worth(choice) == pytest.approx(base * days**2)
    early = upkeep(held, now=12.0)  # b and c were seen after now: the mean is 0 then
    assert early._waited(Query.of(OSLO)) == 0.0
    assert early._waited(Query.of(LIMA)) == 0.0
    work.local.note("new", {"city": "Rome"}, Origin.HARVESTED)
    assert work._waited(Query.of(ROME)) == 2.0  # what is new was not seen before


@pytest.mark.parametrize("old", [1, 4, 12])
@pytest.mark.parametrize("new", [0, 1, 2, 6])
@pytest.mark.parametrize("came", [0, 1, 10])
@pytest.mark.parametrize("days", [0.0, 1.0, 20.0])
def test_a_round_is_believed_as_far_as_records_came_so_far(old, new, came, days):
    names = {f"k{i}": 12.0 for i in range(min(came, old))}
    held = held_of([NOW - days] * old, came=names, last=NOW - days, since=9.0)
    work = upkeep(held)
    for i in range(new):
        work.local.note(f"new{i}", {"city": "Rome"}, Origin.HARVESTED)
    rate = (len(names) + 0.5) / max(NOW - days - 9.0, 1.0)
    coming = rate * days
    assert work.coming == pytest.approx(coming)
    if new > max(coming, 1.0):
        assert work._credible() == 1.0  # the round itself shows more
    else:
        expected = min(coming / max(0.3 * old, 1.0), 1.0)
        assert work._credible() == pytest.approx(expected)


# What is asked next


def test_the_newest_are_expected_as_they_came_and_as_they_are_missing():
    records = {f"r{i}": {"city": "Oslo"} for i in range(11)}
    dates = {key: float(i) for i, key in enumerate(records)}
    known = {key: records[key] for key in list(records)[:5]}
    when = dict.fromkeys(known, 20.0)

    def chosen(rate_days, **interface):
        """Return the choices of a turn; half a record came in so many days."""
        shape = Interface((CITY,), everything=True, newest=True, **interface)
        first = dict.fromkeys(known, 0.0)
        held = FormCopy(known, first, when, [], 20.0, 20.0 - rate_days)
        work = upkeep(held, shape, "new")
        ledger = ledger_of(records, shape, dates=dates)
        turn = HarvestRound(work.fresh, work.local, ledger)
        while (step := work.next(ledger, np.random.default_rng(0))) is not None:
            yield step
            work.carry_out(step, turn, ledger)

    one, two, *_ = chosen(20.0, page_size=4)  # 10 days later: a quarter of a record
    assert one.newest
    assert one.expected == 1.0  # one at least, while nobody says how many
    assert two.expected == 2.0  # six are new, four were shown
    one, *_ = chosen(1.0, page_size=4)
    assert one.expected == 4.0  # five would have come, a page holds four
    one, *_ = chosen(1.0, page_size=50)
    assert one.expected == 5.0


def test_dates_are_tried_with_three_other_pages_and_then_believed():
    records = {f"r{i:02}": {"city": city} for i, city in
               enumerate(["Oslo"] * 20 + ["Rome"] * 20 + ["Lima"] * 20)}  # fmt: skip
    when = dict.fromkeys(records, 10.0)
    held = FormCopy(records, {**when, "r00": 12.0}, when, [], 20.0, 10.0)
    dates = {key: float(i) for i, key in enumerate(records)}
    ledger = ledger_of(records, DATED, dates=dates)
    done = maintain(ledger, held, FormWish("new"), NOW, np.random.default_rng(0))
    what = [asked.what for asked in done.asked if not asked.why.startswith("are")]
    assert what[:2] == ["everything"] * 2  # pages without anything new
    assert len(what) == 2 + 3
    assert "everything" not in what[2:]
    assert done.stop == "nothing more is worth a request"


def test_dates_that_hid_a_record_are_not_believed():
    records = {f"r{i:02}": {"city": city} for i, city in
               enumerate(["Oslo"] * 20 + ["Rome"] * 20 + ["Lima"] * 20)}  # fmt: skip
    when = dict.fromkeys(records, 10.0)
    held = FormCopy(records, {**when, "r00": 12.0}, when, [], 20.0, 10.0)
    more = {**records, **{f"new{i}": {"city": "Rome"} for i in range(30)}}
    dates = {key: float(not key.startswith("new")) for key in more}  # dated back
    shape = Interface((CITY,), page_size=4, everything=True, newest=True, counts="none")
    ledger = ledger_of(more, shape, dates=dates)
    done = maintain(ledger, held, FormWish("new"), NOW, np.random.default_rng(0))
    assert len([a for a in done.asked if a.what != "everything"]) > 3
    assert more.keys() - records.keys() <= done.records.keys()


def values_of(n, seen=20.0):
    """Return a copy with as many records of each of three cities."""
    cities = [city for city in CITY.values for _ in range(n)]
    records = {f"k{i}": {"city": city} for i, city in enumerate(cities)}
    when = {key: seen + (row["city"] == "Rome") for key, row in records.items()}
    first = dict.fromkeys(records, 0.0)
    return FormCopy(records, first, when, [], 28.0, 10.0)


@pytest.mark.parametrize(
    ("left", "in_turn"), [(None, False), (6, False), (5, True), (2, True), (1, False)]
)
def test_who_cannot_read_all_values_reads_one_after_the_other(left, in_turn):
    # three values of six records: two pages each, six together
    work = upkeep(values_of(6), purpose="new")
    assert work.values.pages() == 6
    ledger = ledger_of(values_of(6).records, most=left)
    step = work.next(ledger, np.random.default_rng(0))
    assert step is not None
    assert (step.pages == 2) is in_turn
    if in_turn:  # the value read longest ago that fits, read whole
        best = work.values.ranked(NOW, work.gap)[0]
        assert step == best
        work.carry_out(step, HarvestRound(work.fresh, work.local, ledger), ledger)
        following = work.next(ledger, np.random.default_rng(0))
        assert following is None or following.query != step.query


def test_who_began_to_ask_in_turn_goes_on_so():
    held = values_of(6)
    work = upkeep(held, purpose="new")
    ledger = ledger_of(held.records, most=5)
    turn, asked = HarvestRound(work.fresh, work.local, ledger), []
    while ledger.left and (step := work.next(ledger, np.random.default_rng(0))):
        asked.append((str(step.query), step.pages))
        work.carry_out(step, turn, ledger)
    assert [pages for _, pages in asked[:2]] == [2, 2]
    assert len({query for query, _ in asked[:2]}) == 2


def test_where_values_can_be_chosen_they_are_ranked_for_what_lies_ahead():
    work = upkeep(values_of(6))
    assert work.next_choices(2) == work.values.ranked(NOW, work.gap)[:2]
    words = Interface((Attribute("city", "keyword"),), page_size=4)
    other = upkeep(values_of(6), words)
    assert other.next_choices(2) == other.fresh.ranked(other.local, 2)
    assert len(other.next_choices(2)) <= 2


class Watched(Refresher):
    """A refresher that remembers what it may spend."""

    def next(self, copy, now, budget, rng, *, truth=None):
        self.budget = budget
        return super().next(copy, now, budget, rng, truth=truth)


@pytest.mark.parametrize(("most", "planned"), [(None, 20.0), (50, 20.0), (7, 7.0)])
def test_no_more_is_planned_for_than_may_be_spent_nor_than_for_twenty(most, planned):
    work = upkeep(held_of([20.0, 26.0]), purpose="known")
    ours = work.known
    work.known = Watched(ours.pool, ours.interface, ours.rule)
    work.next(ledger_of({}, most=most), np.random.default_rng(0))
    assert work.known.budget == planned


@pytest.mark.parametrize(("seed", "most"), [(0, None), (1, 3), (2, 30), (3, None)])
def test_the_step_that_buys_most_for_a_request_comes_next(seed, most):
    """Oracle: the best of what a check, a new page and a known record would buy."""
    records = cars(60, seed)
    keys = list(records)
    rng = np.random.default_rng(seed)
    when = {key: float(rng.integers(5, 29)) for key in keys[:50]}
    old = {key: records[key] for key in keys[:50]}
    gaps = [(k, 5.0, r, {**r, "price": 1.0}) for k, r in list(old.items())[:25]]
    held = FormCopy(old, when, when, gaps, 28.0, 10.0)
    now = {key: records[key] for key in keys[5:]}
    form = behind(now, seed=seed)
    ledger = Ledger(form, most)
    work = upkeep(held, form.interface)
    turn = HarvestRound(work.fresh, work.local, ledger)
    for _ in range(3):
        step = work.next(ledger, np.random.default_rng(1))
        plan = work.known.next(
            work.copy, NOW, min(ledger.left or 20.0, 20.0), np.random.default_rng(1)
        )
        others = [work.doubts.check(), *plan[:1]]
        others.append(work._next_new(ledger, np.random.default_rng(1)))
        best = max((work.worth(one) for one in others if one), default=None)
        assert (None if step is None else work.worth(step)) == best
        if step is None or (most is not None and ledger.left < 3):
            return
        work.carry_out(step, turn, ledger)


def test_a_rule_that_goes_round_is_followed_in_its_order():
    # the one seen longest ago never changed, the other one always did
    records = {"still": {"city": "Oslo", "n": 1}, "moves": {"city": "Rome", "n": 1}}
    gaps = [("still", 1.0, {"n": 1}, {"n": 1})] * 30
    gaps += [("moves", 1.0, {"n": 1}, {"n": 2})] * 30
    seen = {"still": 19.0, "moves": 20.0}
    held = FormCopy(records, seen, seen, gaps, 28.0, 10.0)
    shape = Interface((CITY,), page_size=4, lookup=True)
    work = Upkeep(held, shape, FormWish("known", known=NAIVE_1), NOW)
    one, two = work.known.next(work.copy, NOW, 20.0, np.random.default_rng(0))
    assert [one.key, two.key] == ["still", "moves"]
    assert work.worth(two) > work.worth(one)
    assert work.next(ledger_of(records, shape), np.random.default_rng(0)) == one


def test_a_step_that_took_no_request_is_never_taken_again():
    work = upkeep(held_of([20.0, 26.0]), purpose="known")
    ledger = ledger_of(work._held.records)
    first = work.next(ledger, np.random.default_rng(0))
    assert isinstance(first, Probe)
    work.note_free(first)
    assert work.next(ledger, np.random.default_rng(0)) is None
    both = upkeep(held_of([20.0, 26.0], came={"k1": 12.0, "k0": 12.0}))
    probe_ = next(iter(both.known.next(both.copy, NOW, 20.0, np.random.default_rng(0))))
    both.note_free(probe_)
    step = both.next(ledger, np.random.default_rng(0))
    assert isinstance(step, Choice)  # other kinds of steps are still taken


@pytest.mark.parametrize("before", [True, False])
def test_steps_are_free_if_all_of_them_was_asked_before(before):
    held = values_of(3)
    gaps = [(k, 5.0, r, {"city": "Bari"}) for k, r in held.records.items()]
    held = FormCopy(held.records, held.came, held.seen, gaps, 28.0, 10.0)
    work = upkeep(held, purpose="known")
    ledger = ledger_of(held.records)
    for term in (OSLO, ROME, LIMA) if before else ():
        ledger.first(Query.of(term))
    done = TurnResult(ledger.seen)
    _ask_all(work, done, ledger, np.random.default_rng(0), lambda _: None)
    assert done.tried
    free = [one.what for one in done.tried if not one.requests]
    assert {str(step.query) for step in work._free} == set(free)
    assert len(free) == (len(done.tried) if before else 0)
    assert ledger.requests == 3


# What a turn says


@pytest.mark.parametrize("purpose", ["new", "known", "both"])
@pytest.mark.parametrize(("seed", "most"), [(0, 1), (1, 4), (2, 25)])
def test_what_was_tried_adds_up_to_what_the_ledger_says(seed, most, purpose):
    records = cars(50, seed)
    keys = list(records)
    old = {key: records[key] for key in keys[:40]}
    when = dict.fromkeys(old, 20.0)
    held = FormCopy(
        old, when, when, [(k, 1.0, r, r) for k, r in old.items()], 28.0, 10.0
    )
    ledger = Ledger(behind({k: records[k] for k in keys[3:]}, seed=seed), most)
    heard = []
    rng = np.random.default_rng(seed)
    done = maintain(ledger, held, FormWish(purpose), NOW, rng, heard.append)
    tried, asked = done.tried, done.asked
    assert heard == asked
    assert [one.what for one in tried] == [one.what for one in asked]
    # what is looked for afterwards, because it is reported, is in no step
    if purpose == "known":
        assert sum(one.requests for one in tried) == ledger.requests
        assert sum(one.shown for one in tried) == ledger.returned
        assert sum(one.new for one in tried) == len(ledger.seen.keys() - old.keys())
    told = {str(query): total for query, total in ledger.totals.items()}
    for one in tried:
        assert 0 <= one.new <= one.shown
        assert one.requests >= 1 or one is tried[-1]
        if one.what in told:
            assert one.total == told[one.what]


def test_a_look_up_is_told_no_number_of_hits():
    records = cars(40)
    when = dict.fromkeys(records, 20.0)
    gaps = [(k, 5.0, r, {**r, "price": -1.0}) for k, r in records.items()]
    held = FormCopy(records, when, when, gaps, 28.0, 10.0)
    form = behind(records, lookup=True, page_size=1, everything=True)
    ledger = Ledger(form, 6)
    ledger.first(Query())
    done = maintain(
        ledger,
        held,
        FormWish("known", known=LOOKUP_INDEX),
        NOW,
        np.random.default_rng(0),
    )
    looked_up = [one for one in done.tried if one.what in records]
    assert looked_up
    assert {one.total for one in looked_up} == {None}
    assert {(one.requests, one.shown, one.new) for one in looked_up[:-1]} == {(1, 1, 0)}
    assert done.refreshed == 5


def test_known_records_that_a_new_page_shows_are_refreshed():
    held = values_of(3)
    work = upkeep(held, purpose="new")
    ledger = ledger_of({**held.records, "new": {"city": "Oslo"}})
    turn = HarvestRound(work.fresh, work.local, ledger)
    assert work.carry_out(Choice(Query.of(OSLO), pages=None), turn, ledger) == 3
    assert "new" in work.local
    assert set(work.copy.seen.tolist()) == {NOW, 20.0, 21.0}
    # what was taken in before is not counted again
    assert work.carry_out(Choice(Query.of(OSLO), pages=None), turn, ledger) == 0
    assert work.carry_out(AbsenceCheck(Query.of(ROME), 1, 1), turn, ledger) == 3


def test_a_check_is_none_of_the_pages_that_dates_are_tried_with():
    held = values_of(3)
    work = upkeep(held, purpose="new")
    ledger = ledger_of(held.records)
    turn = HarvestRound(work.fresh, work.local, ledger)
    work._tries = 3
    work.carry_out(AbsenceCheck(Query.of(ROME), 1, 1), turn, ledger)
    assert work._tries == 3
    work.carry_out(Choice(Query.of(OSLO)), turn, ledger)
    assert work._tries == 2
    work._tries = 0
    work.carry_out(Choice(Query.of(LIMA)), turn, ledger)
    assert work._tries == 0


# What lies ahead


def test_the_newest_are_foretold_with_the_pages_that_make_it_sure():
    held = held_of([20.0] * 8, came={f"k{i}": 12.0 for i in range(8)}, since=24.0)
    held = FormCopy(
        held.records, dict.fromkeys(held.records, 25.0), held.seen, [], 26.0, 24.0
    )
    (step,) = plan_ahead(held, DATED, FormWish("new"), NOW, np.random.default_rng(0), 5)
    coming = 8.5 / 2.0 * 4.0  # since the last look, 4 days ago
    assert step.what == "everything"
    assert step.requests == 5 + 2 + 3  # 17 records on pages of 4, and five to be sure
    assert step.gain == pytest.approx(coming * 4.0 / 2 / 10)
    assert step.why == "newest first, until nothing is new: about 17.0 records"
    for shape in (PLAIN, Interface((CITY,), page_size=4, newest=True)):
        either = plan_ahead(
            held, shape, FormWish("new"), NOW, np.random.default_rng(0), 5
        )
        assert either
        assert all(one.what.startswith("city=") for one in either)


def test_what_lies_ahead_is_sorted_and_no_longer_than_asked_for():
    held = values_of(6)
    gaps = [(k, 5.0, r, {"city": "Bari"}) for k, r in held.records.items()]
    held = FormCopy(held.records, held.came, held.seen, gaps, 28.0, 10.0)
    rng = np.random.default_rng(0)
    plans = {p: plan_ahead(held, PLAIN, FormWish(p), NOW, rng, 50) for p in
             ("new", "known", "both")}  # fmt: skip
    for plan in plans.values():
        gains = [step.gain for step in plan]
        assert gains == sorted(gains, reverse=True)
    assert sorted(plans["both"]) == sorted(plans["new"] + plans["known"])
    assert plans["known"]
    for n in range(4):
        assert plan_ahead(held, PLAIN, FormWish("new"), NOW, rng, n) == plans["new"][:n]
        assert len(plan_ahead(held, PLAIN, FormWish("both"), NOW, rng, n)) == n


def test_a_search_for_what_is_reported_lies_ahead_where_new_records_are_wanted():
    held = values_of(6)
    short = FormCopy(held.records, held.came, held.seen, [], 28.0, 10.0,
                 reported=ReportedTotal(28.0, 21))  # fmt: skip
    rng = np.random.default_rng(0)
    what = "everything, query by query"
    (search,) = [
        one
        for one in plan_ahead(short, PLAIN, FormWish("new"), NOW, rng, 50)
        if one.what == what
    ]
    assert search.requests == 6  # 21 records on pages of 4
    assert search.gain == pytest.approx(3 / 6 * 365.0)
    assert search.why == "3 more records are reported than are held"
    known = plan_ahead(short, PLAIN, FormWish("known"), NOW, rng, 50)
    assert what not in [one.what for one in known]


def test_a_copy_whose_first_crawl_is_not_over_is_crawled_on():
    held = FormCopy({"a": {"city": "Oslo"}}, {"a": 1.0}, {"a": 1.0}, [], 1.0)
    rng = np.random.default_rng(0)
    plan = plan_ahead(held, PLAIN, FormWish(), NOW, rng, 5)
    assert [step.why for step in plan] == [
        "the first crawl goes on; 1 record found so far"
    ]
    assert plan_ahead(held, PLAIN, FormWish(), NOW, rng, 0) == []
    empty = FormCopy({}, {}, {}, [], 1.0, 1.0)
    assert plan_ahead(empty, PLAIN, FormWish(), NOW, rng, 5) == []
    ledger = ledger_of({"a": {"city": "Oslo"}, "b": {"city": "Rome"}})
    done = maintain(ledger, held, FormWish(), NOW, rng)
    assert {one.why for one in done.asked} == {"the first crawl"}
    assert done.records.keys() == {"a", "b"}


def test_a_rule_that_goes_round_keeps_its_order_in_what_lies_ahead():
    cities = ("Oslo", "Oslo", "Oslo", "Rome", "Rome", "Lima")
    records = {f"k{i}": {"city": city} for i, city in enumerate(cities)}
    first, last = dict.fromkeys(records, 0.0), dict.fromkeys(records, 5.0)
    held = FormCopy(records, first, last, [], 28.0, 0.0)
    wish, rng = FormWish("known", known=METHOD_1), np.random.default_rng
    work = Upkeep(held, PLAIN, wish, NOW)
    plan = [work.describe(one) for one in work.known.next(work.copy, NOW, 9.0, rng(0))]
    gains = [step.gain for step in plan]
    assert len(plan) == 3
    assert gains != sorted(gains, reverse=True)  # by gain it would be another order
    assert plan_ahead(held, PLAIN, wish, NOW, rng(0), 9) == plan
