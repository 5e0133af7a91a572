import pytest

import powerloss
from fault_world import World
from form_worlds import behind, cars
from halflife.demo.forms import FormServer, serving
from nursery import Nursery


def pytest_collection_modifyitems(items):
    """Mark all that is tried here."""
    for item in items:
        if "tests/faults/" in item.path.as_posix():
            item.add_marker("faults")


@pytest.fixture(scope="session")
def traced():
    powerloss.need_recorder()


@pytest.fixture(scope="session")
def nursery():
    """Where the whole program is started from, in a moment."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def world(server):
    """Pages, a listing and a form, as they are in their first age."""
    office = FormServer(behind(cars(4)))
    with serving(office) as address:
        world = World(server, office, address)
        world.age(0)
        yield world
