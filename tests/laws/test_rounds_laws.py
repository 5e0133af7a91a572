"""Rounds over several turns: where one goes on, and what lies ahead of it."""

from math import inf

import numpy as np
import pytest

from halflife.core.errors import BudgetSpent
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.fresh import Choice
from halflife.queries.fresh.harvest import HarvestRound
from halflife.queries.fresh.progress import NewRound
from halflife.queries.fresh.rotation import Rotation, RotationRule
from halflife.queries.known import progress
from halflife.queries.known.guess import Guess
from halflife.queries.known.progress import KnownRound
from halflife.queries.known.refresh import DOUBTED, Probe, Refresher, make_refresher
from halflife.queries.known_rounds import KnownPlan
from halflife.queries.ledger import Ledger
from halflife.queries.local import Origin, QueryReading
from halflife.queries.new_rounds import (
    PENDING,
    NewRounds,
    _rest,
    round_ahead,
    sample_ahead,
)
from halflife.queries.policies import (
    EXHAUSTIVE,
    INDEX,
    METHOD_1,
    METHOD_1_CORPUS,
    NAIVE_1,
    SAMPLE_GUIDED,
)
from halflife.queries.sampling import DrawnSoFar
from halflife.queries.table_form import TableForm

NOW = 30.0
CITY = Attribute("city", "select", ("Oslo", "Rome", "Lima"))
FORM = Interface((CITY,), page_size=4, lookup=True)
MAKE = Attribute("make", "select", tuple("abcdefghijkl"))
RICH = Interface((CITY, MAKE), page_size=4)
OSLO, ROME, LIMA = (Query.of(Term("city", c)) for c in ("Oslo", "Rome", "Lima"))


def held_of(came, seen, **more):
    """Return a copy of records, of which all but the last are of Oslo."""
    keys = [f"k{i}" for i in range(len(came))]
    records = {key: {"city": "Oslo"} for key in keys[:-1]} | {
        keys[-1]: {"city": "Rome"}
    }
    first, last = (dict(zip(keys, each, strict=True)) for each in (came, seen))
    return FormCopy(records, first, last, [], 28.0, 0.0, **more)


def ledger_of(records, most=None, **interface):
    shape = Interface((CITY,), **{"page_size": 4, "lookup": True, **interface})
    return Ledger(TableForm(shape, records, rng=np.random.default_rng(0)), most)


class Remembering:
    """A rule that says what it is told to say, and remembers queries."""

    samples = False

    def __init__(self, *choices):
        self.choices, self.memory = list(choices), {"asked": [OSLO]}

    def next(self, _local, _ledger, _rng):
        return self.choices.pop(0) if self.choices else None

    def so_far(self):
        return self.memory

    def go_on(self, queries):
        self.memory = queries


# New records


def rounds_of(held, rule=None, policy=EXHAUSTIVE):
    return NewRounds(policy, Remembering() if rule is None else rule, held, NOW)


def test_what_came_in_a_round_is_new_to_it_and_what_it_showed_is_shown():
    # The round began on day 20: k2 came then, k3 later; k1 was seen in it, k0 not.
    before = NewRound(20.0, DrawnSoFar(("k3", "k9")), {ROME: QueryReading(2, {"k3"})})
    held = held_of([0.0, 0.0, 20.0, 25.0], [19.9, 20.0, 20.0, 25.0], new_round=before)
    local = rounds_of(held).local(FORM)
    assert local.old == 2
    assert local.shown == {"k1", "k2", "k3"}
    origin = [local.origin(f"k{i}") for i in range(4)]
    assert origin == [Origin.HISTORY, Origin.HISTORY, Origin.HARVESTED, Origin.SAMPLED]
    assert local.sampled == {"k3"}  # k9 has gone
    assert local.reads == dict(before.reads)
    # A round that begins now has seen nothing yet.
    anew = rounds_of(held_of([0.0, 29.0], [29.0, 29.0])).local(FORM)
    assert (anew.old, anew.shown) == (2, set())


def test_a_rule_goes_on_with_what_it_remembered_and_the_query_that_was_open():
    reads = {OSLO: QueryReading(3), ROME: QueryReading(2, done=True)}
    held = held_of([0.0, 0.0], [1.0, 1.0])
    for pending, choice in (
        (OSLO, Choice(OSLO, 3, None, why="the rest of it")),
        (ROME, None),
        (LIMA, None),
    ):
        rule = Remembering()
        queries = {"asked": (ROME,), PENDING: (pending,)}
        work = NewRounds(EXHAUSTIVE, rule, _with(held, queries, reads), NOW)
        local = work.local(FORM)
        assert rule.memory == {"asked": (ROME,)}
        found = work.next(local, ledger_of({}), np.random.default_rng(0))
        assert repr(found) == repr(choice)
    nothing = Remembering()
    NewRounds(EXHAUSTIVE, nothing, _with(held, {}, {}), NOW).local(FORM)
    assert nothing.memory == {"asked": [OSLO]}  # it is not told of nothing


def _with(held, queries, reads):
    again = NewRound(20.0, reads=reads, queries=queries)
    return FormCopy(held.records, held.came, held.seen, [], 28.0, 0.0, new_round=again)


def test_the_rest_of_a_query_begins_with_the_page_that_was_not_read():
    local = rounds_of(held_of([0.0, 0.0], [1.0, 1.0])).local(FORM)
    assert _rest(local, OSLO) is None
    local.reads[OSLO] = QueryReading(5)
    rest = _rest(local, OSLO)
    assert (rest.query, rest.page, rest.pages) == (OSLO, 5, None)
    local.reads[OSLO] = QueryReading(5, done=True)
    assert _rest(local, OSLO) is None


def test_a_choice_stands_until_it_was_carried_out_and_the_round_ends_without_one():
    first, second = Choice(OSLO, pages=None), Choice(ROME)
    work = rounds_of(held_of([0.0, 0.0], [1.0, 1.0]), Remembering(first, second))
    local, ledger, rng = work.local(FORM), ledger_of({}), np.random.default_rng(0)
    assert work.next(local, ledger, rng) is work.next(local, ledger, rng) is first
    work.done(second)  # not the one that stands
    assert work.next(local, ledger, rng) is first
    open_ = work.so_far(local)
    assert (open_.began, open_.queries) == (NOW, {"asked": [OSLO], PENDING: [OSLO]})
    work.done(first)
    assert work.next(local, ledger, rng) is second
    assert work.so_far(local).queries == {
        "asked": [OSLO]
    }  # of one page nothing is open
    work.done(second)
    assert not work.over
    assert work.next(local, ledger, rng) is None
    assert work.over
    assert work.so_far(local) is None
    assert work.next(local, ledger, rng) is None  # the rule is not asked again


class Forgetting:
    """A rule that remembers nothing."""

    samples = False

    def next(self, _local, _ledger, _rng):
        return Choice(ROME)


def test_a_rule_that_remembers_nothing_goes_on_by_what_was_read():
    work = rounds_of(held_of([0.0, 0.0], [1.0, 1.0]), Forgetting())
    local = work.local(FORM)
    local.reads[OSLO] = QueryReading(2, {"k0"}, 1, 9)
    found = work.so_far(local)
    assert (found.queries, found.drawn) == ({}, DrawnSoFar())
    assert found.reads == {OSLO: QueryReading(2, set(), 1, 9)}


def cities(oslo, rome):
    named = ["Oslo"] * oslo + ["Rome"] * rome
    return {f"r{i}": {"city": city} for i, city in enumerate(named)}


def rich_ledger(most):
    rows = [{"city": c, "make": m} for c in CITY.values for m in MAKE.values] * 5
    records = {f"r{i}": row for i, row in enumerate(rows)}
    return Ledger(TableForm(RICH, records, rng=np.random.default_rng(0)), most)


@pytest.mark.parametrize(("share", "most"), [(0.5, None), (0.5, 12), (0.25, 12)])
def test_a_sample_is_drawn_with_a_share_of_the_requests_left(share, most):
    held = held_of([0.0, 0.0], [1.0, 1.0])
    work = rounds_of(held, policy=SAMPLE_GUIDED)
    assert work.lacks_sample
    ledger, rng = rich_ledger(most), np.random.default_rng(3)
    local = work.local(RICH)
    assert work.next(local, ledger, rng) is None  # before its sample is drawn
    turn = HarvestRound(Remembering(), local, ledger)
    work.draw(turn, ledger, rng, share)
    if most is None:
        assert not work.lacks_sample
    else:
        # A walk begins only while less than the share was spent.
        assert share * most <= ledger.requests <= share * most + 3
    drawn = work.so_far(local).drawn
    assert drawn.walks > 0
    assert drawn.complete == (not work.lacks_sample)
    assert set(drawn.keys) <= local.sampled
    whole = rounds_of(
        _drawn_before(held, DrawnSoFar(complete=True)), policy=SAMPLE_GUIDED
    )
    assert not whole.lacks_sample
    assert not rounds_of(held).lacks_sample  # who wants none lacks none


def _drawn_before(held, drawn):
    again = NewRound(20.0, drawn)
    return FormCopy(held.records, held.came, held.seen, [], 28.0, 0.0, new_round=again)


@pytest.mark.parametrize("limit", [3, 5, 8])
def test_no_walk_begins_when_all_of_the_share_was_spent(limit):
    def spent(most):
        work = rounds_of(held_of([0.0, 0.0], [1.0, 1.0]), policy=SAMPLE_GUIDED)
        ledger, local = rich_ledger(2 * most), work.local(RICH)
        turn = HarvestRound(Remembering(), local, ledger)
        work.draw(turn, ledger, np.random.default_rng(3), 0.5)
        return ledger.requests

    walked = spent(limit)  # where some walk ended
    assert spent(walked) == walked


def test_what_was_drawn_until_the_requests_were_spent_is_kept():
    spent = []
    for most in range(4, 12):
        work = rounds_of(held_of([0.0, 0.0], [1.0, 1.0]), policy=SAMPLE_GUIDED)
        ledger, local = rich_ledger(most), work.local(RICH)
        turn = HarvestRound(Remembering(), local, ledger)
        try:
            work.draw(turn, ledger, np.random.default_rng(3), 1.0)
        except BudgetSpent:
            spent.append(most)
        assert ledger.requests == most
        assert work.so_far(local).drawn.walks > 0
        assert set(ledger.seen) <= set(local.keys)
    assert spent  # some walks are cut short


@pytest.mark.parametrize(
    ("pages", "parts"),
    [
        (0, []),
        (1, [1]),
        (10, [10]),
        (11, [10, 1]),
        (30, [10, 20]),
        (71, [10, 20, 40, 1]),
    ],
)
def test_a_round_ahead_comes_in_parts_that_double(pages, parts):
    steps = round_ahead("exhaustive", 3.25, pages, 0.5)
    assert [step.requests for step in steps] == parts
    for step in steps:
        assert (step.what, step.gain) == ("new records", 0.5)
        assert step.why == "exhaustive: about 3.2 new records by now"


@pytest.mark.parametrize(("most", "pages"), [(None, 10), (7, 7), (1, 1), (0, 10)])
def test_the_sample_ahead_takes_what_is_left(most, pages):
    step = sample_ahead(SAMPLE_GUIDED, ledger_of({}, most), 0.25)
    assert (step.what, step.requests) == ("a random sample of 15%", pages)
    assert step.gain == 0.25
    assert step.why.startswith("sample-guided: ")


# One value after the other


def in_turn(oslo, rome, now=20.0):
    records = cities(oslo, rome)
    seen = {key: 5.0 if r["city"] == "Oslo" else 8.0 for key, r in records.items()}
    return RotationRule(Rotation(FORM, records, seen, {"r0"}, 10.0), now, 3.0), records


def test_the_value_that_promises_most_of_those_the_budget_can_read_comes_next():
    rule, records = in_turn(30, 2)
    ranked = rule.values.ranked(20.0, 3.0)
    assert [choice.query for choice in ranked] == [OSLO, ROME, LIMA]
    assert ranked[0].pages > 2 >= ranked[1].pages == 1
    rng = np.random.default_rng(0)

    def chosen(most, *asked):
        ledger = ledger_of(records, most)
        ledger.asked.update(dict.fromkeys(asked, 0))
        return rule.next(None, ledger, rng)

    assert chosen(None) == chosen(ranked[0].pages) == ranked[0]
    assert chosen(ranked[0].pages - 1) == ranked[1]
    assert chosen(1) == ranked[1]
    assert chosen(None, OSLO) == ranked[1]
    assert chosen(None, OSLO, ROME, LIMA) is None
    assert chosen(5, OSLO, ROME, LIMA) is None
    # Where none can be read whole, the best is read as far as the budget goes.
    part = chosen(2, ROME, LIMA)
    assert (part.query, part.pages) == (OSLO, 2)
    assert chosen(0, ROME, LIMA).pages == 1


# Known records


def known_of(policy, n=6, now=NOW):
    records = cities(n - 2, 2)
    seen = {key: 10.0 + i for i, key in enumerate(records)}
    gaps = [(key, 2.0, r, {**r, "x": 1}) for key, r in records.items()]
    held = FormCopy(records, dict.fromkeys(records, 0.0), seen, gaps, 28.0, 0.0)
    copy = held.copy(FormWish(known=policy), now)
    worker = make_refresher(copy, FORM, policy.make(0.1))
    return KnownPlan(policy, copy, now), worker, copy


class Counted(Refresher):
    """A refresher that plans what it is told to."""

    def __init__(self, like, *plans):
        super().__init__(like.pool, like.interface, like.rule)
        self.plans, self.asked = list(plans), 0

    def next(self, *_given, **_more):
        self.asked += 1
        return self.plans.pop(0) if self.plans else ()


def test_a_rule_without_a_place_decides_anew_each_time():
    plan, worker, _ = known_of(INDEX)
    one, two = Probe(0, OSLO, "", 1, 1.0, "a"), Probe(1, ROME, "", 1, 1.0, "b")
    counted, rng = Counted(worker, (one, two), (two,)), np.random.default_rng(0)
    assert plan.next(counted, 9.0, rng) == (one,)
    assert plan.next(counted, 9.0, rng) == (two,)
    assert plan.next(counted, 9.0, rng) == ()
    assert plan.so_far(worker) is None


@pytest.mark.parametrize(("why", "again"), [("by its turn", False), (DOUBTED, True)])
def test_a_round_is_followed_as_planned_and_begins_once_a_turn(why, again):
    plan, worker, copy = known_of(METHOD_1)
    one, two = (Probe(i, q, "", 1, 1.0, why) for i, q in ((0, OSLO), (1, ROME)))
    counted, rng = Counted(worker, (one, two), (two,)), np.random.default_rng(0)
    assert plan.next(counted, 9.0, rng) == [one]
    assert plan.next(counted, 9.0, rng) == [one]  # until it was carried out
    assert counted.asked == 1
    ledger = ledger_of(dict(zip(copy.keys, copy.held, strict=True)))
    assert plan.carry_out(counted, one, ledger) == 4
    assert plan.next(counted, 9.0, rng) == [two]
    plan.carry_out(counted, two, ledger)
    # A new round waits for the next turn; a look at what is in doubt is no round.
    assert list(plan.next(counted, 9.0, rng)) == ([two] if again else [])
    assert counted.asked == 1 + again


def test_a_query_longer_than_a_turn_counts_as_sent():
    plan, worker, _ = known_of(METHOD_1)
    one, two = (
        Probe(0, OSLO, "", 1, 1.0, "a", firm=True),
        Probe(1, ROME, "", 1, 1.0, "b"),
    )
    counted, rng = Counted(worker, (one, two)), np.random.default_rng(0)
    records = cities(30, 2)
    for most, left in ((0, one), (1, two)):
        plan.next(counted, 9.0, rng)
        with pytest.raises(BudgetSpent):
            plan.carry_out(counted, one, ledger_of(records, most))
        assert plan.next(counted, 9.0, rng) == [left]


def test_a_probe_puts_right_what_it_brings_by_weight_whatever_chose_it():
    plan, worker, copy = known_of(NAIVE_1)
    copy.gone[1], copy.doubted[2] = True, True
    copy.weight[:] = [1.0, 9.0, 9.0, 3.0, 9.0, 9.0]
    worth = copy.growth().worth(copy.age(NOW))
    number = worker.pool.find(OSLO)
    probe = Probe(number, OSLO, "", 1, 77.0, "x")
    assert plan.gain(worker, probe) == pytest.approx(worth[0] + 3.0 * worth[3])
    assert worth[0] > worth[3] > 0.0
    weighing, _, _ = known_of(INDEX)
    assert weighing.gain(worker, probe) == 77.0


def test_a_guess_is_lacking_until_it_was_learned_and_is_kept_with_the_round():
    plan, worker, copy = known_of(METHOD_1_CORPUS)
    assert plan.lacks_guess
    assert plan.guess is None
    records = dict(zip(copy.keys, copy.held, strict=True))
    before = worker.reported
    plan.learn(worker, ledger_of(records, counts="exact"), np.random.default_rng(0))
    assert not plan.lacks_guess
    assert worker.reported is not before
    assert plan.so_far(worker).guess is plan.guess
    plain, other, _ = known_of(METHOD_1)
    assert not plain.lacks_guess
    kept = other.reported
    plain.believe(other, None)
    assert other.reported is kept
    assert plain.so_far(other).guess is None
    assert isinstance(plan.guess, Guess)
    assert inf > plan.guess.at == NOW


@pytest.mark.parametrize("way", [METHOD_1, NAIVE_1], ids=["a round", "no round"])
def test_a_round_goes_on_where_it_was_cut_short(way):
    held = held_of([0.0, 1.0, 2.0], [20.0, 21.0, 22.0])
    copy = held.copy(FormWish("known", known=way), NOW)
    first = make_refresher(copy, FORM, way.make(None))
    planned = first.next(copy, NOW, inf, np.random.default_rng(0))
    place = progress.so_far(first, planned[1:])
    again = make_refresher(copy, FORM, way.make(None))
    if way is NAIVE_1:  # it keeps no place, and is left as it is
        assert place is None
        progress.go_on(again, KnownRound())
        assert again.next(copy, NOW, inf, np.random.default_rng(0)) == planned
    else:
        assert len(planned) > 1
        progress.go_on(again, place)
        found = again.next(copy, NOW, inf, np.random.default_rng(0))
        assert [one.query for one in found] == [one.query for one in planned[1:]]
