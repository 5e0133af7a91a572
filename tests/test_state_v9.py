"""State files of version 9, written before notes had types, are brought up to date.

``state_v9`` holds three of them with their settings: a service kept a made-up world on
the loopback for two days, on a budget (``mixed``) and by targets (``targets``), and
began a form's first crawl (``crawl``). Beside each lies what that version answered.
"""

import gzip
import json
import re
import sqlite3
from contextlib import closing
from itertools import pairwise
from math import inf
from pathlib import Path

import numpy as np
import pytest

from halflife.cli import main
from halflife.config import Config
from halflife.core.errors import StoreError, TooNew
from halflife.core.store import Note
from halflife.core.wording import span
from halflife.engine import breakers, targets
from halflife.kinds.form import runner as form_runner
from halflife.stores import note_rows, schema, summaries, summary_lifetimes
from halflife.stores.notes.accepted_texts import ACCEPTED_TEXTS
from halflife.stores.notes.answer_columns import ANSWER_COLUMNS, RECORD_COLUMNS
from halflife.stores.notes.busy_times import BUSY_TIMES
from halflife.stores.notes.cleanup import TIDIED_AT
from halflife.stores.notes.fault import FAULT
from halflife.stores.notes.followed_maps import FOLLOWED_MAPS
from halflife.stores.notes.form_crawl import FIRST_CRAWL
from halflife.stores.notes.form_facts import FORM_FACTS
from halflife.stores.notes.form_queries import FORM_QUERIES, TriedQuery
from halflife.stores.notes.income import SPENT_UNTIL
from halflife.stores.notes.rate_prior import RATE_PRIOR
from halflife.stores.notes.redirect import REDIRECTS
from halflife.stores.notes.reported_total import REPORTED_TOTAL
from halflife.stores.notes.rhythm import RHYTHM
from halflife.stores.notes.state_origin import MADE_ANEW
from halflife.stores.notes.sync_cost import SYNC_COST
from halflife.stores.notes.target_memory import ROUND_CHANCES, TARGET_MEMORY
from halflife.stores.sqlite import SqliteStore

FOLDER = Path(__file__).with_name("state_v9")
ANSWERED_AT = 20_002.05  # days; when the answers beside the files were given
WORLDS = ("mixed", "targets", "crawl")
NEARBY = re.compile(r" \([^()]*, by signs of change nearby\)")  # reasons say more since


@pytest.fixture
def old(request, tmp_path, monkeypatch):
    """A folder with settings and a state file of version 9; return the file's path."""
    name = request.param
    (tmp_path / "halflife.toml").write_text((FOLDER / f"{name}.toml").read_text())
    path = tmp_path / "halflife.db"
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.db.gz").read_bytes()))
    monkeypatch.delenv("HALFLIFE_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    return path


def memos(path):
    with closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT name, text FROM memo"))


NUMBER = re.compile(r"\d+(?:\.\d+)?")
BELIEVED = ("gain", "why")
MISSED = re.compile(r"of the last (.*) missed the bounds among those (.*) ahead")
AHEAD = {
    "not at all": "for the same moment",
    "hours": "for a few hours ahead",
    "a day or so": "for about a day ahead",
    "a week or more": "for a week or more ahead",
}
QUERY = re.compile(r"about (\S+) new of (\d+), read (\S+) days ago")  # as it was worded
RENAMED = {"gone": "gone_estimate"}  # what was an estimate is called so now
REWORDED = ("its first crawl has not come to its end", "its first crawl goes on")


def never_rising(rows):
    """Lower bounds as they are stated now: without a fetch they do not rise."""
    for one, later in pairwise(rows):
        low = later["freshness"]["low"]
        later["freshness"]["low"] = min(low, one["freshness"]["low"])


ESTIMATES = ("gone", "precision", "recall", "new", "freshness")


def agree(after, before):
    """Say whether two estimates agree: what is believed has been sharpened since."""
    low, high = (after[name] for name in ("low", "high"))
    return low <= after["mean"] <= high and low <= before["mean"] <= high


def near(after, before):
    """Say whether two numbers agree as far as beliefs have been refined since."""
    return after == pytest.approx(before, rel=0.1, abs=0.01)


def near_as_printed(after, before):
    """Say whether two printed numbers may stand for numbers that are near."""
    rounding = sum(
        0.5 * 10.0 ** -len(text.partition(".")[2]) for text in (after, before)
    )
    apart = abs(float(after) - float(before))
    return apart <= rounding or near(float(after), float(before))


def has(after, before):
    """Say whether an answer tells all that another did; it may tell more."""
    if isinstance(before, dict):
        for key, value in before.items():
            name = RENAMED.get(key, key) if isinstance(value, dict) else key
            assert name in after, name
            if key in ESTIMATES and isinstance(value, dict) and "mean" in value:
                assert agree(after[name], value), (name, after[name], value)
                continue
            new_words = value == REWORDED[0]
            same = believed if key in BELIEVED and not new_words else has
            assert same(after[name], value), (name, after[name], value)
        return True
    if isinstance(before, list):
        assert len(after) == len(before), (after, before)
        return all(has(*pair) for pair in zip(after, before, strict=True))
    if before == REWORDED[0]:
        return str(after).startswith(REWORDED[1])
    return after == before


def believed(after, before):
    """Say whether a number, or a text with numbers, is as it was but for beliefs."""
    if isinstance(before, str):
        before = QUERY.sub(query_in_present_words, before)
        before = MISSED.sub(misses_in_present_words, before)
        numbers = [NUMBER.findall(text) for text in (after, before)]
        same = NUMBER.sub("#", after) == NUMBER.sub("#", before)
        return same and all(map(near_as_printed, *numbers))
    return near(after, before)


def misses_in_present_words(found):
    """Return how many forecasts missed as it is worded now."""
    return f"of the last {found[1]} {AHEAD[found[2]]} missed the bounds"


def query_in_present_words(found):
    """Return why a query comes next as it is worded now."""
    new, held, days = found.groups()
    return f"about {new} new, {held} held, read {span(float(days))} ago"


def rows(path, table, names=None):
    """Return the rows of a table; of a later file only what it had before."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"SELECT {names or '*'} FROM {table}").fetchall()


def names(path, table):
    with closing(sqlite3.connect(path)) as db:
        found = db.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchall()
    return ", ".join(name for (name,) in found)


@pytest.mark.parametrize("old", WORLDS, indirect=True)
def test_every_verb_answers_as_the_version_before_did(
    old, request, capsys, monkeypatch
):
    name = request.node.callspec.params["old"]
    said = json.loads((FOLDER / f"{name}.json").read_text())
    assert {"status --json", "plan --json"} <= said.keys()
    with SqliteStore.open(old) as store:
        assert store.verify() == []
    for verb, before in said.items():
        capsys.readouterr()
        with monkeypatch.context() as stopped:
            stopped.setattr("time.time", lambda: ANSWERED_AT * 86400.0)
            assert main(verb.split()) == 0, verb
        after = json.loads(NEARBY.sub("", capsys.readouterr().out))
        before.pop("store", None)  # where it lies
        if verb.startswith("forecast"):
            never_rising(before["results"])
        assert has(after, before), verb


@pytest.mark.parametrize("old", WORLDS, indirect=True)
def test_a_backup_of_the_file_before_is_kept_and_all_else_stays(old):
    kept = ("observation", "evidence", "ledger", "run", "host", "forecast", "life")
    known = {table: names(old, table) for table in kept}
    before = memos(old), {table: rows(old, table) for table in kept}
    with SqliteStore.open(old) as store:
        assert store.verify() == []
    backup = old.with_name("halflife.db.backup-v9")
    for path in (backup, old):
        assert {table: rows(path, table, known[table]) for table in kept} == before[1]
    assert memos(backup) == before[0]
    with closing(sqlite3.connect(old)) as db:
        assert schema.version(db) == len(schema.STEPS)
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
    assert "memo" not in tables


@pytest.mark.parametrize("old", WORLDS, indirect=True)
def test_every_memo_becomes_a_note_that_can_be_read(old, caplog):
    kinds = {
        kind.name: kind
        for kind in (
            ACCEPTED_TEXTS, ANSWER_COLUMNS, breakers.BREAKER, BUSY_TIMES, FAULT,
            FIRST_CRAWL, FOLLOWED_MAPS, FORM_FACTS, FORM_QUERIES, MADE_ANEW,
            RATE_PRIOR, RECORD_COLUMNS, REDIRECTS, REPORTED_TOTAL, RHYTHM,
            ROUND_CHANCES, SPENT_UNTIL, summaries.VERSIONS, summaries.SUMMARY,
            summary_lifetimes.LIFETIMES, SYNC_COST, TARGET_MEMORY, TIDIED_AT,
        )
    }  # fmt: skip
    there = [name for name, text in memos(old).items() if text]
    assert len(there) >= 8
    with SqliteStore.open(old) as store:
        notes = rows(old, "note")
        assert len(notes) == len(there)
        for source, kind, number, version, body in notes:
            value = kinds[kind].load(store, source, number)
            assert value is not None, (source, kind)
            again = json.loads(json.dumps(kinds[kind].write(value)))
            told = json.loads(body)
            assert (again, version) == (told, 1) or kind == "first_crawl", kind
    assert not caplog.records


@pytest.mark.parametrize("old", ["mixed"], indirect=True)
def test_what_was_known_of_sources_on_a_budget_is_known(old):
    with SqliteStore.open(old) as store:
        how = breakers.recall(store, "library")
        assert (how.failures, how.trouble) == (1, "503 from the server")
        assert SYNC_COST.load(store, "cars") == 3
        assert "ValueError" in FAULT.load(store, "cars")
        assert [one.times for one in REDIRECTS.load(store, "site").values()] == [1]
        assert ACCEPTED_TEXTS.load(store, "site") == ("0123456789abcdef",)
        assert FOLLOWED_MAPS.load(store, "site") == ("http://127.0.0.1/map.xml",)
        assert FORM_FACTS.load(store, "desk").ignored == ("size",)
        first = FORM_QUERIES.load(store, "desk")[0]
        told = (20001.666666666668, "color=black", 6, 54, 0, 54)
        assert first == TriedQuery(*told)
        assert RHYTHM.load(store, "cars").last == 20001.875
        assert RATE_PRIOR.load(store).looks == 7
        assert BUSY_TIMES.load(store).folders[0].startswith("http://127.0.0.1")
        assert SPENT_UNTIL.load(store) == 20001.513333333347
        assert TIDIED_AT.load(store) == 20002.0
        assert MADE_ANEW.load(store) == (20002.0, "there is no state file")
        summary = summaries.current(store, "library")
        assert (summary.source, summary.version, summary.whole) == ("library", 1, False)
        assert summary_lifetimes.lives(store, "library")[0].held == 1.5
        assert RECORD_COLUMNS.load(store, "cars").usual["price"].kind == "numbers"


@pytest.mark.parametrize("old", ["targets"], indirect=True)
def test_what_was_remembered_of_targets_is_remembered(old):
    with SqliteStore.open(old) as store:
        memory = targets.recall(store, "site")
        assert memory.past.days == 1.89948027509125
        assert memory.chances.size == 24
        assert np.all((memory.chances >= 0) & (memory.chances <= 1))
        assert targets.recall(store, "cars").past.missed == 0.0
        assert targets.recall(store, "nobody") == targets.TargetMemory()


@pytest.mark.parametrize("old", ["crawl"], indirect=True)
def test_a_crawl_that_was_cut_short_goes_on(old):
    with SqliteStore.open(old) as store:
        kept = FIRST_CRAWL.load(store, "desk")
        assert kept.of.startswith("Interface(")
        assert kept.crawl["left"]
        assert REPORTED_TOTAL.load(store, "desk").total == 72
        source = Config.load(old.with_name("halflife.toml")).source[0]
        assert form_runner.load_copy(store, source).crawl.left
        store.save_note("desk", FIRST_CRAWL.name, Note(1, "{"))
        anew = form_runner.load_copy(store, source)
        assert (anew.crawl, anew.since) == (None, inf)  # it begins anew


@pytest.mark.parametrize("old", ["crawl"], indirect=True)
def test_memos_that_make_no_sense_do_not_stop_the_upgrade(old, caplog):
    odd = {
        "how it goes with desk": "{",
        "summaries of desk": "nothing",
        "round of desk": "\N{SNOWMAN}",
        "a plug-in's own memo": "its text",
    }
    with closing(sqlite3.connect(old)) as db, db:
        db.executemany("REPLACE INTO memo VALUES (?, ?)", odd.items())
    with SqliteStore.open(old) as store:
        assert breakers.recall(store, "desk") == breakers.Breaker()
        assert summaries.current(store, "desk") is None
        assert ROUND_CHANCES.load(store, "desk") is None
        kind = note_rows.UNKNOWN + "a plug-in's own memo"
        assert store.note("", kind) == Note(1, '"its text"')
        assert store.verify() == []
    assert len(caplog.records) == 3


@pytest.mark.parametrize("written", [0, 1, 5])
@pytest.mark.parametrize("old", ["mixed"], indirect=True)
def test_an_upgrade_that_is_cut_off_leaves_the_file_as_it_was(
    old, written, monkeypatch
):
    before, left = memos(old), [written]
    save = note_rows.save

    def fails(*row):
        left[0] -= 1
        if left[0] < 0:
            raise sqlite3.OperationalError("database or disk is full")
        save(*row)

    with monkeypatch.context() as broken:
        broken.setattr(note_rows, "save", fails)
        with pytest.raises(StoreError):
            SqliteStore.open(old)
    assert memos(old) == before
    with SqliteStore.open(old) as store:
        assert len(rows(old, "note")) == sum(bool(text) for text in before.values())
        assert store.verify() == []


@pytest.mark.parametrize("old", ["crawl"], indirect=True)
def test_the_version_before_refuses_a_file_that_was_brought_up_to_date(
    old, monkeypatch
):
    with SqliteStore.open(old):
        pass
    monkeypatch.setattr(schema, "STEPS", schema.STEPS[:9])
    with pytest.raises(TooNew):
        SqliteStore.open(old)
