"""The copy of a form is checked by records drawn at random, and so are forecasts."""

import asyncio

import numpy as np
import pytest

from form_worlds import behind, cars
from halflife.config import Config
from halflife.core.object_store import Register, Spell, Version
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine import audit_report, bootstrap, held_answers
from halflife.kinds.form import audit as form_audit, runner as form_runner
from halflife.kinds.form.audit import held_at
from halflife.kinds.form.client import FormClient
from halflife.queries.form_copy import FormCopy
from halflife.stores.forecasts import Forecasts
from hand_clock import Hands

NAME = "simulated"
HEAD = "[budget]\nrequests = 100000\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"


def some(n):
    """The first so many cars, always the same."""
    return dict(list(cars(200).items())[:n])


@pytest.fixture(scope="module")
def counter():
    """The address of a form, and the office that serves it."""
    office = FormServer(behind(cars(10)))
    with serving(office) as url:
        yield url, office


@pytest.fixture
def office(counter, tmp_path):
    """A form with 120 cars behind it, what it can do, and where its copy is kept."""
    url, office = counter
    office.form = behind(some(120), everything=True, page_size=20, **COUNTED)

    def settings(purpose="both", **can):
        interface = behind({}, everything=True, page_size=20, **can).interface
        text = HEAD + snippet(url, interface)
        text = text.replace('kind = "form"', f'kind = "form"\npurpose = "{purpose}"')
        return Config.parse(text, tmp_path / "halflife.toml")

    return office, settings


COUNTED = {"counts": "exact", "lookup": True}


@pytest.fixture
def kept(office):
    """A copy that was read whole on day 100, its form, and what asks it."""
    office, settings = office
    config, hands = settings(**COUNTED), Hands(100.0)
    (source,) = config.source
    with bootstrap.writing(config) as store:
        former = FormClient(config, store, hands)
        asyncio.run(form_runner.sync(former, source))
        yield former, source, office


def at(former, source, now, requests, seed=0):
    former.clock.now = now
    rng = np.random.default_rng(seed)
    return asyncio.run(form_audit.audit(former, source, requests, rng))


def changed(office, prices=10, new=10, gone=10):
    """Let records change, come and go."""
    records = {key: dict(record) for key, record in some(120 + new).items()}
    for key in list(records)[:gone]:
        del records[key]
    for key in list(records)[:prices]:
        records[key]["price"] = 99.5
    office.form = behind(records, everything=True, page_size=20, **COUNTED)
    return records


def test_a_copy_that_is_right_is_found_right(kept):
    former, source, _ = kept
    assert at(former, source, 101.0, 7) == 7  # robots.txt, and how many there are
    (told,) = Forecasts(former.store).settled(NAME)
    assert (told.ahead, told.found, told.measure) == (0.0, 1.0, "recall")
    assert told.looks == pytest.approx(5 / (1 - 5 / 120))
    judged = audit_report.judge(former.store, NAME, 101.0)
    assert judged.how == "checks"
    assert judged.quality.mean == 1.0
    assert judged.believed.low <= judged.believed.mean <= judged.believed.high


def test_turns_and_audits_note_when_values_were_read(kept):
    former, source, office = kept
    crawled = form_runner.load_copy(former.store, source).reads
    assert {term.attribute for term in crawled.last} == {"city"}
    assert set(crawled.last.values()) == {100.0}
    changed(office, gone=0)
    at(former, source, 102.0, 7)
    reads = form_runner.load_copy(former.store, source).reads
    assert reads.counted == (102.0, 130.0)  # the audit asked how many there are
    assert set(reads.last.values()) == {100.0}  # and looked records up, not values
    check = form_audit.prepare(former.store, source, 102.0)
    now = check.forecasts()[0]
    assert now.low < 120 / 130 < now.high


def test_whoever_draws_all_finds_the_truth_of_now_and_of_forecasts(kept):
    former, source, office = kept
    at(former, source, 101.0, 2)
    there = changed(office)
    held = held_at(former.store.register(NAME), 102.0)
    at(former, source, 102.0, 1000)
    right = sum(
        there.get(key) == {name: record[name] for name in there.get(key, {})}
        for key, record in held.items()
    )
    truth = right / (len(held) + len(there.keys() - held.keys()))
    assert truth == pytest.approx(100 / 130)
    told = {f.ahead: f for f in Forecasts(former.store).settled(NAME, 102.0)}
    assert set(told) == {0.0, 1.0}
    assert told[0.0].found == pytest.approx(truth)
    assert told[1.0].found == pytest.approx(truth)
    assert told[1.0].looks is None  # all were seen


def test_what_was_drawn_is_put_right_and_is_no_look_for_new_records(kept):
    former, source, office = kept
    there = changed(office)
    before = FormCopy.of(former.store.register(NAME))
    at(former, source, 102.0, 1000)
    copy = FormCopy.of(former.store.register(NAME))
    assert copy.last == before.last
    assert all(
        record[name] == there[key][name]
        for key, record in copy.records.items()
        for name in there[key]
    )
    assert len(copy.records) == 110  # what is gone is not there, and nothing came


def test_without_counts_drill_downs_check_a_copy(office):
    office, settings = office
    config, hands = settings(), Hands(100.0)
    office.form = behind(some(120), everything=True, page_size=20)
    (source,) = config.source
    with bootstrap.writing(config) as store:
        former = FormClient(config, store, hands)
        asyncio.run(form_runner.sync(former, source))
        records = some(150)
        office.form = behind(records, everything=True, page_size=20)
        at(former, source, 101.0, 60)
        (told,) = Forecasts(store).settled(NAME)
    assert told.found == pytest.approx(0.8, abs=0.15)
    assert told.looks > 3


@pytest.mark.parametrize(
    ("purpose", "truth"), [("known", 100 / 120), ("new", 120 / 140)]
)
def test_what_is_checked_is_what_a_copy_is_kept_for(office, purpose, truth):
    office, settings = office
    config, hands = settings(purpose, **COUNTED), Hands(100.0)
    (source,) = config.source
    with bootstrap.writing(config) as store:
        former = FormClient(config, store, hands)
        asyncio.run(form_runner.sync(former, source))
        changed(office, prices=20, new=20, gone=0)
        at(former, source, 102.0, 1000)
        (told,) = Forecasts(store).settled(NAME)
    assert told.found == pytest.approx(truth)


def test_a_turn_checks_before_or_after_it_by_chance(kept):
    former, source, _ = kept
    moments = []
    for day in range(101, 113):
        former.clock.now = float(day)
        turned, checked = asyncio.run(form_audit.turn(former, source, 9, 2))
        assert 2 <= checked <= 3  # robots.txt comes with it
        assert turned.requests <= 10
        told = Forecasts(former.store).settled(NAME, float(day))
        moments.append(len(told))
    assert all(moments)


def test_checks_do_not_replace_an_answer_that_waits(kept, monkeypatch):
    former, source, office = kept
    monkeypatch.setattr(form_audit, "late_share", lambda _: 0.0)  # checks come last
    office.form = behind({}, everything=True, page_size=20, **COUNTED)
    former.clock.now = 102.0
    outcome, checked = asyncio.run(form_audit.turn(former, source, None, 20))
    assert outcome.held
    assert checked == 0
    (answer,) = held_answers.pending_answers(former.store)
    assert answer.run == outcome.run


def test_nothing_is_checked_where_nothing_was_read(office):
    _, settings = office
    config = settings(**COUNTED)
    (source,) = config.source
    with bootstrap.writing(config) as store:
        former = FormClient(config, store, Hands(100.0))
        assert at(former, source, 101.0, 5) == 0
        assert form_audit.usual_checks(former, source, 10, 0.5) == 0


def test_a_copy_is_known_as_it_was_held():
    spells = [
        Spell("a", 0, 0.0, 1.0, 9.0, attributes={"x": 1}),
        Spell("b", 0, 0.0, 5.0, 9.0, attributes={"x": 1}),
        Spell("c", 0, 0.0, 1.0, 3.0, gone_by=4.0, attributes={"x": 1}),
        Spell("d", 0, 0.0, 1.0, 3.0, missing_since=4.0, attributes={"x": 1}),
    ]
    versions = [Version("a", 0, 4.0, {"x": 2}), Version("a", 0, 6.0, {"x": 3})]
    register = Register(spells=spells, versions=versions)
    assert held_at(register, 0.5) == {}
    assert held_at(register, 3.5) == {key: {"x": 1} for key in "acd"}
    assert held_at(register, 4.5) == {"a": {"x": 2}}
    assert held_at(register, 9.0) == {"a": {"x": 3}, "b": {"x": 1}}
