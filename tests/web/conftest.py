import threading
from pathlib import Path

import pytest

from halflife.engine import bootstrap
from halflife.web import actions, board, survey
from halflife.web.server import ServeWish, running
from lab import showcase
from web_hostile import hostile_state
from web_visitor import Visitor


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Let nobody wait long for a decision that could still be taken back."""
    monkeypatch.setattr(actions, "GRACE", 0.05)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Settings and a state with every kind of source, and every kind of trouble."""
    return showcase.build(tmp_path_factory.mktemp("made"), bootstrap.clock())


@pytest.fixture(scope="session")
def full(made):
    with running(ServeWish(made, port=0)) as served:
        yield Visitor(served)


@pytest.fixture(scope="session")
def empty(tmp_path_factory):
    nothing = tmp_path_factory.mktemp("empty") / "halflife.toml"
    with running(ServeWish(nothing, port=0)) as served:
        yield Visitor(served)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """A state in which every text of other people is meant to do harm."""
    return hostile_state(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def visit(request):
    """Serve some settings during a test."""
    ends = []

    def served(path: Path, **more):
        block = running(ServeWish(path, port=0, **more))
        found = block.__enter__()
        ends.append(block)
        return Visitor(found)

    yield served
    for block in ends:
        block.__exit__(None, None, None)


@pytest.fixture
def slow(monkeypatch):
    """Let every state be a large one, whose survey goes on when the test says so."""
    go, take = threading.Event(), survey.take

    def patient(*given):
        assert go.wait(60.0)
        return take(*given)

    monkeypatch.setattr(board, "MUCH", -1)
    monkeypatch.setattr(survey, "take", patient)
    yield go
    go.set()
