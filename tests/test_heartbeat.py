"""What the service writes down of itself, and what others make of it."""

import asyncio
import json

import pytest

from halflife.engine import heartbeat
from halflife.engine.health import ServiceStatus
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.service_turn import SERVICE_TURN, ServiceTurn
from halflife.stores.owner import Owner


def turn(**more):
    return ServiceTurn(**{"owner": str(Owner.here()), "began": 10.0, **more})


def test_a_store_without_a_sign_knows_of_no_service():
    assert heartbeat.read(MemoryStore(), 12.0).state == "never"


def test_a_service_that_turned_lately_runs():
    store = MemoryStore()
    SERVICE_TURN.save(store, turn(turned=11.99))
    found = heartbeat.read(store, 12.0)
    assert (found.state, found.since, found.turned) == ("running", 10.0, 11.99)


def test_a_service_that_has_not_turned_for_hours_is_late():
    store = MemoryStore()
    SERVICE_TURN.save(store, turn(turned=11.0))
    assert heartbeat.read(store, 12.0).state == "late"


def test_a_service_that_ended_is_stopped_since_then():
    store = MemoryStore()
    SERVICE_TURN.save(store, turn(turned=11.0, ended=11.5))
    found = heartbeat.read(store, 12.0)
    assert (found.state, found.since) == ("stopped", 11.5)


def test_a_service_that_was_killed_is_stopped_since_its_last_turn():
    store = MemoryStore()
    owner = {**json.loads(turn().owner), "started": 1}  # nobody's start
    SERVICE_TURN.save(store, turn(owner=json.dumps(owner), turned=11.99))
    found = heartbeat.read(store, 12.0)
    assert (found.state, found.since) == ("stopped", 11.99)


@pytest.mark.parametrize("owner", ["", "{}", "no JSON"])
def test_an_owner_that_cannot_be_read_is_taken_to_run(owner):
    store = MemoryStore()
    SERVICE_TURN.save(store, turn(owner=owner, turned=11.99))
    assert heartbeat.read(store, 12.0).state == "running"


def test_signs_come_with_turns_and_the_last_one_says_that_it_ended():
    store, status = MemoryStore(), ServiceStatus(began=10.0)
    saved = []
    save = store.save_note
    store.save_note = lambda *given: (saved.append(given), save(*given))

    async def serve():
        async with heartbeat.beating(status, store, lambda: 11.0, every=0.01):
            assert heartbeat.read(store, 10.0).state == "running"
            await asyncio.sleep(0.05)  # no turn: nothing to write
            assert len(saved) == 1
            status.turned = 10.5
            await asyncio.sleep(0.05)
            assert SERVICE_TURN.load(store).turned == 10.5

    asyncio.run(serve())
    assert len(saved) == 3
    assert SERVICE_TURN.load(store) == turn(turned=10.5, ended=11.0)
