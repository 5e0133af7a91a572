"""Replays of queries ask what a form is asked live, query by query."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from form_worlds import behind, cars
from halflife.bench.newrecords_play import Task, policy
from halflife.core.forms import Form
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.fresh.harvest import DrilledSample, harvest
from halflife.queries.known.keywords import pool_for
from halflife.queries.known.query_loop import ALPHA
from halflife.queries.known.refresh import Refresher
from halflife.queries.known_rounds import KnownPlan, refresh
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords
from halflife.queries.policies import KNOWN, NEW
from halflife.queries.upkeep import maintain

BEGIN, END = 100.0, 130.0
NOW = cars(90, seed=4)
BEFORE = {key: NOW[key] for key in list(NOW)[:70]}
CAME = {key: BEGIN - 40.0 + i / 2.0 for i, key in enumerate(NOW)}


@dataclass
class Heard:
    """A form that writes down what it is asked, in order."""

    form: Form
    asked: list[object] = field(default_factory=list)

    @property
    def interface(self):
        return self.form.interface

    def ask(self, query, page=0, *, newest=False):
        self.asked.append((query, page, newest))
        return self.form.ask(query, page, newest=newest)

    def fetch(self, key):
        self.asked.append(key)
        return self.form.fetch(key)


def form(**can):
    return Heard(behind(NOW, seed=1, dates=CAME, **can))


def held():
    came = {key: CAME[key] for key in BEFORE}
    seen = dict.fromkeys(BEFORE, BEGIN)
    return FormCopy(BEFORE, came, seen, (), BEGIN, since=BEGIN - 30.0)


@pytest.mark.parametrize("name", sorted(NEW))
def test_a_replay_for_new_records_asks_what_a_live_form_is_asked(name):
    can = {"everything": True, "newest": True} if name == "newest" else {}
    live, replayed = form(**can), form(**can)
    wish = FormWish("new", new=NEW[name])
    maintain(Ledger(live), held(), wish, END, np.random.default_rng(5))
    work = Task(BEFORE, NOW, held().came, CAME, 2 * BEGIN - END, BEGIN, END)
    rule = policy(name, work, replayed.interface)
    local = LocalRecords(replayed.interface, BEFORE, held().came)
    sampler = None
    if NEW[name].sample is not None:
        sampler = DrilledSample(BEFORE, NEW[name].share, NEW[name].sample)
    harvest(rule, local, Ledger(replayed), np.random.default_rng(5), sampler)
    assert len(live.asked) > 3
    assert replayed.asked == live.asked


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_replay_for_known_records_asks_what_a_live_form_is_asked(name):
    live, replayed = form(lookup=True), form(lookup=True)
    wish = FormWish("known", known=KNOWN[name])
    maintain(Ledger(live, 12), held(), wish, END, np.random.default_rng(5))
    rule = KNOWN[name].make(ALPHA)
    worker = Refresher(pool_for(replayed.interface, BEFORE), replayed.interface, rule)
    plan = KnownPlan(KNOWN[name], held().copy(wish, END), END)
    refresh(plan, worker, Ledger(replayed, 12), np.random.default_rng(5))
    assert len(live.asked) > 1
    assert replayed.asked == live.asked
