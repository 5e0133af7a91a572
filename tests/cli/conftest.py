import json
import subprocess
import sys
from pathlib import Path

import pytest

from book_web import book_web
from form_worlds import behind, cars
from halflife.cli import main
from halflife.config import Config
from halflife.demo.forms import FormServer, serving
from halflife.demo.process import running
from halflife.demo.world import build
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.replay.play import Play, play_recorded
from replay.worlds import BEGAN as STARTED, KINDS, settings as world_settings
from site_settings import keep_site

BEGAN = 20_000.0
HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)
DAYS = 2.0
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def world():
    return build(seed=1, pages=20, days=20.0, began=BEGAN)


@pytest.fixture(scope="session")
def site(world):
    with running(world) as site:
        yield site


@pytest.fixture(scope="session")
def web():
    """The hosts that pages of the book name, on this machine."""
    with book_web() as served:
        yield served


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.delenv("HALFLIFE_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def settings(here, site):
    """Settings that keep the demo site; nothing was fetched yet."""
    return keep_site(here, site)


@pytest.fixture
def told(capsys):
    """Run the program; return its exit code, what it answered, what it said."""

    def run(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.fixture
def asked(told):
    """Run the program with --json; return its exit code and its answer."""

    def run(*words):
        code, out, _ = told(*words, "--json")
        return code, json.loads(out)

    return run


@pytest.fixture
def fails(told):
    """Run the program; return its exit code and its one line of complaint."""

    def run(*words):
        code, out, err = told(*words)
        assert out == ""
        assert err.startswith("halflife: ")
        assert err.count("\n") == 1, err
        return code, err.removeprefix("halflife: ").rstrip("\n")

    return run


@pytest.fixture
def keep(here):
    """Write settings that keep some pages of a server."""

    def write(server, *paths):
        pages = ", ".join(f'"{server.url}{path}"' for path in paths)
        (here / "halflife.toml").write_text(
            "[fetch]\ndelay = 0.0\ntimeout = 25.0\n"
            f'[[source]]\nname = "s"\nallow = ["127.0.0.0/8"]\npages = [{pages}]\n'
        )

    return write


@pytest.fixture(scope="module")
def counter():
    """The address of a form, and the office that serves it."""
    office = FormServer(behind(cars(10)))
    with serving(office) as url:
        yield url, office


@pytest.fixture
def example(here):
    """Run the script of a page of the book; return what it prints and should."""

    def run(page):
        book = (DOCS / page).read_text()
        done = subprocess.run(
            [sys.executable, "-c", _fenced(book, "python")],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout, _fenced(book, "text")

    return run


def _fenced(book, kind):
    """Return the first block of its kind."""
    _, begin, rest = book.partition(f"```{kind}\n")
    assert begin
    return rest.partition("```")[0]


@pytest.fixture(scope="session")
def mixed(tmp_path_factory):
    """A store that was kept for two days, with a source of every kind."""
    folder = tmp_path_factory.mktemp("mixed")
    parts = [make() for make in KINDS["mixed"]]
    urls = [f"http://source-{i}.invalid" for i in range(len(parts))]
    path = folder / "halflife.toml"
    path.write_text(world_settings(parts, urls, 240, 0.0))
    config = Config.load(path)
    world = {url: part.source for url, part in zip(urls, parts, strict=True)}
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        play_recorded(config, store, world, Play(STARTED, DAYS, rhythm=HOURLY))
    return config


@pytest.fixture
def ask(mixed, asked, monkeypatch):
    """Run a verb just after the two days; return its answer."""
    monkeypatch.setattr(bootstrap, "clock", lambda: STARTED + DAYS)

    def run(*words):
        code, answer = asked(*words, "--config", mixed.path)
        assert code == 0
        return answer

    return run
