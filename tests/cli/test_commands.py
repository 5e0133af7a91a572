"""Every command that a page shows without its output is run, and must end well.

Blocks ``console``, whose output is compared, are run by ``test_console.py``. A command
that cannot be run here stands in ``NOT_RUN`` with the reason, so none is left out
silently.
"""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from console_blocks import Reader, commands
from halflife.web.server import ServeWish, running
from plugin_folder import install
from web_visitor import Visitor

ROOT = Path(__file__).parents[2]
BOOK = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
BOOK += sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
NOON = 20_775.5  # 2026-11-18: days since 1970
DEMO = "tests/cli/test_readme.py runs it and compares what it prints"
FOREVER = "it runs until it is stopped; "
NOT_RUN = {
    "halflife replay data --sources toyota_inventory,alphagov/notifications-tech-docs,"
    "cloudfoundry/docs-cf-admin:search --policies champion,uniform --budgets 40 "
    "--days 8": "a clone has no recorded histories; docs/worlds.md replays made ones",
    "halflife replay world --sources jobs,cars:form,site00,site02:search "
    "--policies champion,uniform --days 30": "two minutes; "
    "tests/cli/test_replay_folder.py and test_query_replay.py replay smaller folders",
    "make demo": DEMO,
    "make coverage": "it runs thousands of tests; tests/test_mutants.py tries the tool",
    "halflife demo": DEMO,
    "halflife run": FOREVER + "tests/cli/test_run.py starts and stops it",
    "halflife serve": FOREVER + "tests/web asks it everything",
    "halflife changes --since 4711 --follow --json": FOREVER
    + "tests/cli/test_changes.py follows changes",
    "halflife worker /etc/halflife --name a1": FOREVER
    + "tests/live/test_fleet.py has three at once",
    "halflife worker /etc/halflife --name b1": FOREVER + "as above",
    "python examples/tutorial/world.py": FOREVER
    + "tests/cli/test_console.py serves it",
    "datasette halflife.db": FOREVER + "tests/test_change_retention.py asks Datasette",
    "halflife world serve world --sources site00,jobs,cars:form,site01:search "
    "--speed 8640": FOREVER + "tests/test_world_server.py serves worlds",
    "halflife world serve --seed 1 --size 0.05 --faults errors,wrong-validators": (
        FOREVER + "as above"
    ),
    "halflife world score http://127.0.0.1:8800": "it asks the server above; "
    "tests/test_world_server.py asks for scores",
    "make league ONLY=league DATA=DIR": "an hour; tests/test_results.py runs its parts",
    "make experiments-objects DATA=DIR": "minutes for each source; "
    "tests/test_forecast_halves.py runs its parts",
    "python -m lab.entries": "a minute; tests/test_world_entries.py plays the entries",
    "python -m lab.entries halflife cron-curl --days 10 --requests 50 "
    "--faults errors": "as above",
    "python -m lab.world_tolerances world": "a minute at full size; "
    "tests/test_worlds.py holds worlds to the same limits",
    "make release": "it builds an environment for each Python; "
    "tests/test_release.py runs its parts",
    "make test-servers": "it installs servers; make test-servers is its own run",
    'halflife allocate "postgresql://planner@db/work?schema=shop&table=items" '
    "--budget 20000000 --out plan/ --keep url": (
        "tests/cli/test_postgres.py runs it, where there is a PostgreSQL"
    ),
    'halflife store copy halflife.db "postgresql://halflife@db/work?schema=shop"': (
        "as above"
    ),
    'halflife store copy "postgresql://halflife@db/work?schema=shop" halflife.db': (
        "as above"
    ),
    "pg_dump --format=custom --schema=shop --file=shop.dump work": "as above",
    "pg_restore --clean --if-exists --dbname=work shop.dump": "as above",
    "pip install '.[serve]'": "it downloads packages; make setup has them",
    "pip install '.[dlt]' duckdb": "it downloads packages; make setup has both",
    "python examples/dlt/pipeline.py halflife.toml copy.duckdb": (
        "tests/test_dlt_source.py runs it, where it can set dlt's folders"
    ),
    "make setup": "the environment in which these tests run",
    "make check": "it is run beside these tests",
    "make test": "it is these tests",
    "make test-mutants": "minutes; tests/test_mutants.py runs its parts",
    "make format": "it writes into the clone",
    "make docs": "tests/test_book.py builds the book",
    "make reference": "it writes into the clone; tests/test_book.py compares",
    "make fuzz": "minutes in an environment of its own",
}
# A world as small as they get: the commands are what is tried, not their figures.
SMALLER = {
    "--size 0.1": "--size 0.02",
    "--days 30": "--days 3",
    "--days 60": "--days 2",
    "--seeds 5": "--seeds 1",
    "--budgets 0.005,0.02": "--budgets 0.02",
    "replay DIR": "replay recorded --sources cars,site00",
    "--pages DIR": "--pages recorded/sites",
}


class Stage:
    """A folder with what a page takes for granted."""

    def __init__(self, here, told, web, monkeypatch):
        self.here, self._told, self._web, self.patch = here, told, web, monkeypatch
        self.now, real, began = NOON, time.time, time.time()
        monkeypatch.setattr(time, "time", lambda: self.now * 86400.0 + real() - began)

    def settings(self, text):
        """Write settings that wait for nobody; all of their hosts are here."""
        text = f"[fetch]\ndelay = 0.0\n{text}"
        (self.here / "halflife.toml").write_text(self._web.here(text))

    def do(self, *words):
        code, _, err = self._told(*words)
        assert code == 0, err


SITE = """[[source]]
name = "site"
maps = ["https://example.org/sitemap.xml"]
allow = ["127.0.0.0/8"]
"""
JOBS = """[[source]]
name = "jobs"
kind = "listing"
url = "https://jobs.example.org/api/list"
records = "data.jobs"
key = "id"
fields = {title = "title", salary = "salary.from"}
allow = ["127.0.0.0/8"]
"""


def weeks(stage):
    """Keep a site and a listing for four weeks."""
    stage.settings(SITE + JOBS)
    for before in (28, 20, 12, 4, 0):
        stage.now = NOON - before
        stage.do("sync", "--all")


def alerts(stage):
    shown = (ROOT / "docs/alerts.md").read_text().split("```")[1][5:]
    stage.settings(f'{shown}allow = ["127.0.0.0/8"]\n{SITE}')
    stage.patch.setenv("OPS_WEBHOOK", stage._web.here("https://hooks.example/alert"))


def teas(stage):
    stage.settings("")
    query = "query ($after: String) { teas(after: $after) { nodes { id name } } }"
    (stage.here / "teas.graphql").write_text(query)


def items(stage):
    (stage.here / "items").mkdir()
    table = pa.table({"url": ["a", "b"], "rate": [0.1, 2.0]})
    parquet.write_table(table, stage.here / "items" / "part.parquet")


def sink(example):
    def write(stage):
        text = (ROOT / "examples" / example / "README.md").read_text()
        stage.settings(SITE + text.partition("```toml\n")[2].partition("```")[0])

    return write


def nothing(stage):
    stage.settings("")


BEFORE = {
    "docs/changes.md": weeks,
    "docs/alerts.md": alerts,
    "docs/adding-sources.md": teas,
    "docs/replay.md": weeks,
    "docs/scale.md": items,
    "docs/searches.md": nothing,
    "docs/api.md": weeks,
    "docs/hints.md": weeks,
    "examples/dlt/README.md": weeks,
    "examples/index/README.md": sink("index"),
    "examples/sink/README.md": sink("sink"),
}
# What must have happened between two commands of a page.
THEN = {("README.md", "halflife diff /news"): ("sync", "--all")}


def name(page):
    return str(page.relative_to(ROOT))


SHOWN = {name(page): list(commands(page.read_text())) for page in BOOK}
RUN = {
    page: [one for one in shown if one not in NOT_RUN] for page, shown in SHOWN.items()
}


def query(path):
    """Return the program ``sqlite3 FILE``: it answers one query."""

    def run(sql):
        with closing(sqlite3.connect(path)) as db:
            assert db.execute(sql).fetchall()

    return run


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Made-up histories of a few sites and one listing."""
    from halflife.cli import main  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("recorded") / "recorded"
    words = ("sites", "cars", "--size", "0.01", "--seed", "1")
    assert main(["world", "make", *words, "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def stage(here, told, web, monkeypatch):
    return Stage(here, told, web, monkeypatch)


@pytest.mark.parametrize("page", [page for page, found in RUN.items() if found])
def test_every_command_of_a_page_ends_well(page, stage, web, told, request):
    here, patch = stage.here, stage.patch
    BEFORE.get(page, lambda _: None)(stage)
    tools = {
        "sqlite3 halflife.db": query(here / "halflife.db"),
        "sqlite3 search.db": query(here / "search.db"),
        "pip install .": lambda what: patch.syspath_prepend(
            install(here / "packages", Path(what).name)
        ),
    }
    (here / "packages").mkdir()
    if "DIR" in "".join(RUN[page]):
        shutil.copytree(request.getfixturevalue("recorded"), here / "recorded")
    if "likely-stale" in "".join(RUN[page]):
        patch.syspath_prepend(install(here / "packages", "policy"))
    reader = Reader(here, told, patch, web, tools)
    for command in RUN[page]:
        if (page, command) in THEN:
            stage.now += 1.0  # with other editions of all pages
            stage.do(*THEN[page, command])
        for shown, tried in SMALLER.items():
            command = command.replace(shown, tried)  # noqa: PLW2901
        if "127.0.0.1:8787" in command:
            ask_the_page(here, reader, command)
            continue
        for part in command.split(" && "):
            assert reader.run(part) is not None


def ask_the_page(here, reader, command):
    """Run a command that talks to ``halflife serve``, with its token."""
    with running(ServeWish(here / "halflife.toml", port=0)) as served:
        visitor = Visitor(served)
        moved = command.replace("127.0.0.1:8787", visitor.host)
        assert reader.run(moved.replace("$TOKEN", visitor.token))


def test_none_is_left_out_without_a_reason_that_still_holds():
    everything = {one for shown in SHOWN.values() for one in shown}
    assert set(NOT_RUN) <= everything
    for reason in NOT_RUN.values():
        for test in (word for word in reason.split() if word.startswith("tests/")):
            assert (ROOT / test).exists(), test
    assert sum(len(found) for found in RUN.values()) > 60


def test_a_page_that_something_is_made_ready_for_has_commands():
    assert all(RUN[page] for page in BEFORE)
    assert all(command in RUN[page] for page, command in THEN)
