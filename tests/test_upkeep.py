"""One turn of keeping the copy of a database behind a form."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from form_worlds import behind, cars
from halflife.core.forms import Attribute, Interface
from halflife.core.object_store import Attributes, Listing, Register
from halflife.core.tracker import Tracker
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.known.content import measure
from halflife.queries.ledger import Ledger
from halflife.queries.table_form import TableForm
from halflife.queries.upkeep import Upkeep, _gap, maintain, plan_ahead

NOW = 30.0


def register(*looks: dict[str, Attributes]) -> Register:
    """Return what a tracker makes of whole looks, ten days apart."""
    tracker = Tracker()
    for n, records in enumerate(looks):
        tracker.take(Listing(10.0 * n, records))
    return tracker.register()


def repriced(records: dict[str, Attributes], rows: range) -> dict[str, Attributes]:
    keys = list(records)
    new = {keys[i]: {**records[keys[i]], "price": 99.0} for i in rows}
    return {**records, **new}


@pytest.fixture
def world() -> tuple[Register, dict[str, Attributes]]:
    """A copy of 200 cars, and what there is now: 60 came, 20 went, 40 changed."""
    everything = cars(260)
    keys = list(everything)
    old = {key: everything[key] for key in keys[:200]}
    now = repriced({key: everything[key] for key in keys[20:]}, range(40))
    return register(old, old), now


def test_an_empty_copy_is_crawled_whole() -> None:
    records = cars(120)
    ledger = Ledger(behind(records, cap=20, everything=True))
    done = maintain(
        ledger, FormCopy.of(Register()), FormWish(), NOW, np.random.default_rng(0)
    )
    assert done.complete
    assert dict(done.records) == records


def test_what_a_register_holds_has_its_times_and_its_gaps() -> None:
    old = {"a": {"price": 1}, "b": {"price": 5}}
    known = register(old, {"a": {"price": 2}, "b": {"price": 5}, "c": {"price": 7}})
    held = FormCopy.of(known)
    assert held.records == {"a": {"price": 2}, "b": {"price": 5}, "c": {"price": 7}}
    assert held.came == {"a": 0.0, "b": 0.0, "c": 10.0}
    assert held.last == 10.0
    gaps = {(key, days, a["price"], b["price"]) for key, days, a, b in held.gaps}
    assert gaps == {
        ("a", 10.0, 1, 2), ("a", 0.0, 2, 2), ("b", 10.0, 5, 5), ("c", 0.0, 7, 7)
    }  # fmt: skip


def test_records_that_are_missing_or_gone_are_not_held() -> None:
    known = register({"a": {}, "b": {}, "c": {}}, {"a": {}}, {"a": {}, "b": {}})
    assert set(FormCopy.of(known).records) == {"a", "b"}


@pytest.mark.parametrize("purpose", ["new", "known", "both"])
def test_a_turn_brings_what_it_is_kept_for(world, purpose) -> None:
    known, now = world
    held = FormCopy.of(known)
    ledger = Ledger(behind(now), most=200)
    done = maintain(ledger, held, FormWish(purpose), NOW, np.random.default_rng(1))
    came = [key for key in now if key not in held.records]
    changed = [key for key in held.records if now.get(key, 0) != held.records[key]]
    changed = [key for key in changed if key in now]
    found = sum(key in done.records for key in came) / len(came)
    righted = sum(key in done.records for key in changed) / len(changed)
    if purpose != "known":
        assert found > 0.9
    if purpose != "new":
        assert righted > 0.9
    assert done.refreshed > 0
    assert ledger.requests <= 200


def test_what_went_is_told_absent_and_nothing_that_is_there(world) -> None:
    known, now = world
    held = FormCopy.of(known)
    done = maintain(
        Ledger(behind(now)), held, FormWish("both"), NOW, np.random.default_rng(1)
    )
    went = held.records.keys() - now.keys()
    assert done.absent <= went
    assert len(done.absent) > 0.7 * len(went)


def test_a_turn_ends_with_the_budget_and_keeps_what_it_has(world) -> None:
    known, now = world
    ledger = Ledger(behind(now), most=7)
    told: list[object] = []
    rng = np.random.default_rng(0)
    done = maintain(ledger, FormCopy.of(known), FormWish(), NOW, rng, told.append)
    assert done.stop == "the budget is spent"
    assert ledger.requests == 7
    assert dict(done.records) == ledger.seen
    assert told == done.asked


def test_without_a_look_between_nothing_is_worth_a_request(world) -> None:
    known, _ = world
    held = FormCopy.of(known)
    ledger = Ledger(behind(dict(held.records)))
    done = maintain(
        ledger, held, FormWish("known"), held.last, np.random.default_rng(0)
    )
    assert (ledger.requests, done.asked) == (0, [])
    assert done.stop == "nothing more is worth a request"


def test_what_would_be_asked_is_told_without_asking(world) -> None:
    known, now = world
    interface = behind(now).interface
    rng = np.random.default_rng(0)
    plan = plan_ahead(FormCopy.of(known), interface, FormWish(), NOW, rng, 10)
    assert len(plan) == 10
    gains = [step.gain for step in plan]
    assert gains == sorted(gains, reverse=True)
    assert all(step.why and step.requests >= 1 for step in plan)
    assert (
        plan_ahead(FormCopy.of(Register()), interface, FormWish(), NOW, rng, 10) == []
    )


def test_look_ups_are_mixed_in_where_they_are_cheaper() -> None:
    records = cars(400)
    held = FormCopy.of(register(records, records, repriced(records, range(3))))
    form = behind(records, lookup=True, page_size=2)
    wish = FormWish("known", measure("absolute:price"))
    work = Upkeep(held, form.interface, wish, NOW)
    assert work.known is not None
    plan = work.known.next(work.copy, NOW, 20.0, np.random.default_rng(0))
    assert {step.query is None for step in plan} == {True, False} or all(
        step.query is None for step in plan
    )


@settings(max_examples=15)
@given(
    n=st.integers(1, 60),
    went=st.integers(0, 20),
    most=st.integers(1, 60),
    purpose=st.sampled_from(["new", "known", "both"]),
    seed=st.integers(0, 99),
)
def test_whatever_happens_nothing_is_made_up(n, went, most, purpose, seed) -> None:
    everything = cars(n + 20, seed)
    keys = list(everything)
    old = {key: everything[key] for key in keys[:n]}
    now = {key: everything[key] for key in keys[min(went, n) :]}
    held = FormCopy.of(register(old, old))
    ledger = Ledger(behind(now, seed=seed), most=most)
    done = maintain(ledger, held, FormWish(purpose), NOW, np.random.default_rng(seed))
    assert all(now[key] == record for key, record in done.records.items())
    assert not done.absent & now.keys()
    assert ledger.requests <= most
    assert done.refreshed <= ledger.returned


def test_an_interface_without_attributes_asks_nothing() -> None:
    held = FormCopy.of(register({"a": {}}, {"a": {}}))
    plan = plan_ahead(
        held, Interface(()), FormWish("new"), NOW, np.random.default_rng(0), 5
    )
    assert plan == []


def test_a_record_that_only_changed_is_not_taken_for_gone() -> None:
    records = cars(300)
    held = FormCopy.of(register(records, records))
    moved = repriced(records, range(0, 300, 3))
    ledger = Ledger(behind(moved))
    done = maintain(ledger, held, FormWish("both"), NOW, np.random.default_rng(0))
    assert done.absent == frozenset()
    lacking = [key for key, r in moved.items() if r != records[key]]
    assert sum(key in done.records for key in lacking) > 0.9 * len(lacking)


def test_a_record_with_one_attribute_is_gone_if_its_query_lacks_it() -> None:
    old = {f"k{i}": {"city": "Oslo"} for i in range(8)}
    held = FormCopy.of(register(old, old))
    now = {key: old[key] for key in list(old)[2:]}
    done = maintain(
        Ledger(behind(now)), held, FormWish(), NOW, np.random.default_rng(0)
    )
    assert done.absent == {"k0", "k1"}


def test_a_cap_hides_records_and_does_not_remove_them() -> None:
    records = cars(200)
    held = FormCopy.of(register(records, records))
    form = behind(records, cap=10, counts="none")
    done = maintain(
        Ledger(form, most=80), held, FormWish("both"), NOW, np.random.default_rng(0)
    )
    assert done.absent == frozenset()


def dated(records: dict[str, Attributes]) -> dict[str, float]:
    return {key: float(i) for i, key in enumerate(records)}


def test_a_form_that_shows_the_newest_first_is_asked_for_them(world) -> None:
    known, now = world
    form = behind(now, dates=dated(now), everything=True, newest=True)
    ledger = Ledger(form)
    held = FormCopy.of(known)
    done = maintain(ledger, held, FormWish("new"), NOW, np.random.default_rng(0))
    came = set(now) - set(held.records)
    assert came <= set(done.records)
    assert ledger.requests <= len(came) // 5 + 6  # pages of five, and a few to try


def test_dates_that_lie_are_found_out(world) -> None:
    known, now = world
    backwards = {key: -day for key, day in dated(now).items()}
    form = behind(now, dates=backwards, everything=True, newest=True)
    held = FormCopy.of(known)
    done = maintain(Ledger(form), held, FormWish("new"), NOW, np.random.default_rng(0))
    came = set(now) - set(held.records)
    assert len(came & set(done.records)) > 0.9 * len(came)


def test_a_crawl_that_was_broken_off_is_made_again() -> None:
    records = cars(120)
    tracker = Tracker()
    some = {key: records[key] for key in list(records)[:30]}
    tracker.take(Listing(1.0, some, complete=False))
    held = FormCopy.of(tracker.register())
    assert not held.begun
    ledger = Ledger(behind(records, cap=20, everything=True))
    done = maintain(ledger, held, FormWish(), NOW, np.random.default_rng(0))
    assert dict(done.records) == records
    tracker.take(Listing(2.0, records, complete=False, note=done.stop))
    assert FormCopy.of(tracker.register()).begun


def in_turns(records, came, turns, most=None):
    """Return the share of new records found by turns an hour apart.

    Each turn has as many requests as the first thing that it would ask for takes.
    """
    interface = Interface(
        (Attribute("city", "select", tuple({r["city"] for r in records.values()})),),
        page_size=10,
    )
    places = {key: float(i * 7919 % 1009) for i, key in enumerate(records)}
    form = TableForm(interface, records, rng=np.random.default_rng(0), places=places)
    tracker = Tracker()
    tracker.take(Listing(0.0, {k: r for k, r in records.items() if k not in came}))
    for turn in range(turns):
        now = 10.0 + turn / 24.0
        held, rng = FormCopy.of(tracker.register()), np.random.default_rng(turn)
        plan = plan_ahead(held, interface, FormWish("new"), now, rng, 1)
        ledger = Ledger(form, most=most or plan[0].requests)
        done = maintain(ledger, held, FormWish("new"), now, rng)
        assert not done.absent
        told = dict(done.records), False, done.stop, done.absent
        tracker.take(Listing(now, *told))
    return sum(key in FormCopy.of(tracker.register()).records for key in came) / len(
        came
    )


def test_small_turns_get_to_the_last_pages_as_one_large_turn_does() -> None:
    records = {key: {"city": record["city"]} for key, record in cars(300).items()}
    came = set(list(records)[::7])
    assert in_turns(records, came, turns=13) > 0.95
    assert in_turns(records, came, turns=1, most=60) > 0.95


def test_what_was_just_seen_is_not_asked_for_again_before_the_rest() -> None:
    records = {key: {"city": record["city"]} for key, record in cars(120).items()}
    cities = sorted({record["city"] for record in records.values()})
    tracker = Tracker()
    tracker.take(Listing(0.0, records))
    lately = {key: r for key, r in records.items() if r["city"] == cities[0]}
    tracker.take(Listing(9.9, lately, complete=False))
    interface = Interface((Attribute("city", "select", tuple(cities)),), page_size=10)
    held, rng = FormCopy.of(tracker.register()), np.random.default_rng(0)
    plan = plan_ahead(held, interface, FormWish("new"), 10.0, rng, 50)
    assert [step.what for step in plan][-1] == f"city={cities[0]}"
    assert plan[-1].gain < 0.01 * plan[-2].gain


def test_few_new_records_promise_little_however_many_are_held() -> None:
    records = {key: {"city": record["city"]} for key, record in cars(400).items()}
    keys = list(records)
    cities = tuple(sorted({record["city"] for record in records.values()}))
    interface = Interface((Attribute("city", "select", cities),), page_size=10)

    def promised(came):
        first = {key: records[key] for key in keys[: 400 - came]}
        held = FormCopy.of(register(first, records))
        rng = np.random.default_rng(0)
        plan = plan_ahead(held, interface, FormWish("new"), 20.0, rng, 500)
        return sum(step.gain * step.requests for step in plan)

    assert promised(4) < 0.2 * promised(80)


def test_a_copy_was_seen_as_long_ago_as_its_records_in_the_mean() -> None:
    seen = {"a": 10.0, "b": 24.0}
    held = FormCopy({}, {}, seen, [], last=27.0)
    assert _gap(held, NOW, whole=False) == NOW - 17.0
    # where every look shows all that is new, since the last look
    assert _gap(held, NOW, whole=True) == 3.0
    assert _gap(FormCopy({}, {}, {}, [], last=27.0), NOW, whole=False) == 3.0
    # never longer ago than there was time, nor shorter than since the last look
    assert _gap(FormCopy({}, {}, seen, [], last=-np.inf), NOW, whole=True) == NOW
    assert _gap(FormCopy({}, {}, {"a": 29.0}, [], last=27.0), NOW, whole=False) == 3.0


def test_arrivals_are_those_after_the_first_crawl_with_half_a_record_lent() -> None:
    came = {"a": 0.0, "b": 10.0, "c": 12.0, "d": 19.0}
    held = FormCopy({}, came, {}, [], last=20.0, since=10.0)
    assert held.begun
    assert held.arrival == (2.5 / 10.0, 10.0)
    new = FormCopy({}, came, {}, [], last=20.0, since=20.0)
    assert new.arrival == (0.5, 1.0)  # a day at least
    assert not FormCopy({}, {}, {}, [], last=20.0).begun
