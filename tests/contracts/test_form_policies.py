"""One suite for every policy of databases behind forms, ours or a plug-in's."""

from copy import deepcopy
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points

import numpy as np
import pytest

from halflife.core.forms import Attribute, Interface, ResultPage
from halflife.plugins import load
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.ledger import Ledger
from halflife.queries.policies import FormPolicy, KnownPolicy, NewPolicy
from halflife.queries.table_form import TableForm
from halflife.queries.upkeep import maintain, plan_ahead

GROUP = "halflife.policies.form"
NAMES = sorted(entry_points(group=GROUP).names)
POLICIES = {name: load(GROUP, name, FormPolicy) for name in NAMES}
NOW = 30.0
CITIES = ("Lima", "Oslo", "Rome")
SHAPE = Interface(
    (
        Attribute("city", "select", CITIES),
        Attribute("title", "keyword"),
        Attribute("price", "range", cuts=(10.0, 20.0)),
    ),
    page_size=5,
    everything=True,
    newest=True,
    lookup=True,
    together=2,
)


def table(n, *, price=0):
    words = ("red", "old", "fast", "small", "loud")
    return {
        f"k{i:02}": {
            "city": CITIES[i % 3],
            "title": f"{words[i % 5]} {words[(i // 5) % 5]}",
            "price": (7 * i + price) % 30,
        }
        for i in range(n)
    }


def held_of(records, seen=20.0):
    """Return a copy that was last seen some days ago, and in which things moved."""
    old = dict.fromkeys(records, 1.0)
    gaps = [(k, 5.0, r, {**r, "price": r["price"] + i % 2}) for i, (k, r) in
            enumerate(records.items())]  # fmt: skip
    return FormCopy(records, old, dict.fromkeys(records, seen), gaps, seen, 2.0)


@dataclass
class Watched:
    """A form that notes what it is asked, and complains of what it cannot be asked."""

    form: TableForm
    asked: list[object] = field(default_factory=list)

    @property
    def interface(self):
        return self.form.interface

    def ask(self, query, page=0, *, newest=False):
        shape = self.interface
        assert len(query) <= shape.together
        assert query or shape.everything
        assert not newest or shape.newest
        for term in query:
            kind = shape.attribute(term.attribute).kind  # KeyError if it has none
            assert kind != "range" or term.bounds
        assert shape.cap is None or page < shape.pages(shape.cap)
        self.asked.append((query, page, newest))
        return self.form.ask(query, page, newest=newest)

    def fetch(self, key):
        assert self.interface.lookup
        self.asked.append(key)
        return self.form.fetch(key)


@dataclass
class Silent(Watched):
    """A form that finds nothing any more."""

    def ask(self, query, page=0, *, newest=False):
        super().ask(query, page, newest=newest)
        return ResultPage({}, 0 if self.interface.counts == "exact" else None)

    def fetch(self, key):
        super().fetch(key)
        return ResultPage()


def wish_of(policy):
    if isinstance(policy, NewPolicy):
        return FormWish("new", new=policy)
    return FormWish("known", known=policy)


def turn(policy, held, there, *, most=None, seed=0, shape=SHAPE, kind=Watched):
    """Return what a turn came to, what it asked, and its ledger."""
    dates = {key: float(place) for place, key in enumerate(there)}
    form = TableForm(shape, there, rng=np.random.default_rng(5), dates=dates)
    watched = kind(form)
    ledger = Ledger(watched, most)
    rng = np.random.default_rng(seed)
    return maintain(ledger, held, wish_of(policy), NOW, rng), watched.asked, ledger


SHAPES = {
    "plain": SHAPE,
    "no counts": replace(SHAPE, counts="none"),
    "cut off": replace(SHAPE, cap=10),
    "one term": replace(SHAPE, together=1, everything=False, newest=False),
    "no look-up": replace(SHAPE, lookup=False, everything=False, newest=False),
    "a keyword alone": replace(
        SHAPE, attributes=SHAPE.attributes[1:2], everything=False, newest=False
    ),
}


@pytest.mark.parametrize("name", NAMES)
class TestEveryFormPolicy:
    def test_says_what_it_does_and_where_it_is_from(self, name):
        policy = POLICIES[name]
        assert policy.about
        assert "\n" not in policy.about
        assert isinstance(policy.paper, str)
        assert policy.name == name
        assert policy.job in {"new", "known"}
        assert policy.needs <= {"newest", "choices", "lookup"}
        kind = NewPolicy if policy.job == "new" else KnownPolicy
        assert isinstance(policy, kind)

    @pytest.mark.parametrize("most", [0, 1, 3, 20])
    def test_never_asks_more_than_the_ledger_allows(self, name, most):
        held = held_of(table(30))
        done, asked, ledger = turn(POLICIES[name], held, table(40), most=most)
        assert len(asked) == ledger.requests <= most
        assert done.stop

    @pytest.mark.parametrize("shape", SHAPES)
    def test_asks_only_what_the_form_can_be_asked_and_ends(self, name, shape):
        held = held_of(table(30))
        done, asked, _ = turn(
            POLICIES[name], held, table(40, price=3), most=400, shape=SHAPES[shape]
        )
        assert done.stop
        assert not done.trouble
        assert len(asked) < 400

    def test_ends_by_itself_without_a_limit(self, name):
        done, _, _ = turn(POLICIES[name], held_of(table(30)), table(40, price=3))
        assert done.stop == "nothing more is worth a request"

    def test_asks_the_same_for_the_same_seed(self, name):
        plays = [
            turn(POLICIES[name], held_of(table(30)), table(40), most=25, seed=7)
            for _ in range(2)
        ]
        assert plays[0][1] == plays[1][1]
        assert plays[0][0].asked == plays[1][0].asked

    def test_leaves_the_copy_that_it_was_given_as_it_was(self, name):
        held = held_of(table(30))
        before = deepcopy(held)
        turn(POLICIES[name], held, table(40, price=2), most=25)
        plan_ahead(
            held, SHAPE, wish_of(POLICIES[name]), NOW, np.random.default_rng(0), 20
        )
        assert held == before

    @pytest.mark.parametrize("counts", ["exact", "none"])
    def test_does_not_spin_when_nothing_is_found(self, name, counts):
        held, shape = held_of(table(20)), replace(SHAPE, counts=counts)
        done, asked, _ = turn(POLICIES[name], held, table(20), shape=shape, kind=Silent)
        assert done.stop
        queries = [one for one in asked if not isinstance(one, str)]
        assert len(queries) == len(set(queries)) <= 500

    def test_plans_no_more_than_it_may_and_names_reasons(self, name):
        held, rng = held_of(table(30)), np.random.default_rng(0)
        for most in (0, 1, 7):
            plan = plan_ahead(held, SHAPE, wish_of(POLICIES[name]), NOW, rng, most)
            assert len(plan) <= most
            for step in plan:
                assert step.requests >= 1
                assert step.gain >= 0.0
                assert step.why

    def test_goes_on_in_the_next_turn_where_the_budget_cut_it_short(self, name):
        """In turns of six requests it gets as far as in one long one, or nearly."""
        policy, there = POLICIES[name], table(40, price=3)
        records, found = table(30), set()
        held, spent = held_of(records), 0
        for day in range(60 if policy.job == "new" else 15):
            form = Watched(TableForm(SHAPE, there, rng=np.random.default_rng(5),
                                  dates=dict.fromkeys(there, 0.0)))  # fmt: skip
            ledger, now = Ledger(form, 6), NOW + day
            done = maintain(
                ledger, held, wish_of(policy), now, np.random.default_rng(day)
            )
            spent += ledger.requests
            shown = ledger.seen.keys() & there.keys()
            found |= shown
            records = {**held.records, **{k: there[k] for k in shown}}
            held = replace(
                held,
                records=records,
                came={**dict.fromkeys(records, now), **held.came},
                seen={**held.seen, **dict.fromkeys(shown, now)},
                last=now,
                new_round=done.new_round,
                known_round=done.known_round,
                reported=done.reported,
                search=done.search,
            )
            if far_enough(policy, held, found):
                break
        assert far_enough(policy, held, found)


def far_enough(policy, held, found):
    """Say whether it got nearly as far as can be; neither number ever falls."""
    if policy.job == "new":
        return len(held.records) >= 36
    return len(found & table(30).keys()) >= 15
