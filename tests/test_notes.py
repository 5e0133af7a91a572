"""Notes come back as they were written; what cannot be read counts as absent."""

import dataclasses
import json
import logging
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.alerts.schemas import Usual
from halflife.belief.neighbours import NeighbourMemory
from halflife.belief.poisson import RatePrior
from halflife.core.forms import Query, Term
from halflife.core.store import Note
from halflife.market import target_status
from halflife.market.burst_rows import BurstRows
from halflife.market.target_rule import LossHistory
from halflife.models.bursts import BurstMemory
from halflife.models.pace import PaceMemory
from halflife.models.rhythm import BINS, LearnedRhythm
from halflife.queries.form_facts import FormFacts, FormFinding
from halflife.queries.fresh.progress import NewRound
from halflife.queries.known.progress import DueQuery, KnownRound, StoredPace
from halflife.queries.local import QueryReading
from halflife.queries.reported_total import ReportedTotal
from halflife.queries.sampling import DrawnSoFar
from halflife.queries.unseen import UnseenRecords
from halflife.queries.value_reads import FormReads
from halflife.stores import notes, summaries, summary_lifetimes
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.accepted_texts import ACCEPTED_TEXTS
from halflife.stores.notes.answer_columns import (
    ANSWER_COLUMNS,
    RECORD_COLUMNS,
    AnswerMemory,
)
from halflife.stores.notes.breaker import BREAKER, BreakerState
from halflife.stores.notes.busy_times import BUSY_TIMES
from halflife.stores.notes.cleanup import TIDIED_AT
from halflife.stores.notes.fault import FAULT
from halflife.stores.notes.followed_maps import FOLLOWED_MAPS
from halflife.stores.notes.form_crawl import FIRST_CRAWL, MISSING_SEARCH, CrawlNote
from halflife.stores.notes.form_facts import FORM_FACTS
from halflife.stores.notes.form_queries import FORM_QUERIES, TriedQuery
from halflife.stores.notes.form_reads import FORM_READS
from halflife.stores.notes.form_round import FORM_ROUND, FormRound
from halflife.stores.notes.form_unseen import FORM_UNSEEN
from halflife.stores.notes.held_removals import HELD_REMOVALS, HeldRemovals
from halflife.stores.notes.income import SPENT_UNTIL
from halflife.stores.notes.rate_prior import RATE_PRIOR
from halflife.stores.notes.redirect import REDIRECTS, Redirect
from halflife.stores.notes.reported_total import REPORTED_TOTAL
from halflife.stores.notes.rhythm import RHYTHM
from halflife.stores.notes.service_turn import SERVICE_TURN, ServiceTurn
from halflife.stores.notes.state_origin import MADE_ANEW
from halflife.stores.notes.sync_cost import SYNC_COST
from halflife.stores.notes.target_memory import (
    ROUND_AGES,
    ROUND_CHANCES,
    TARGET_MEMORY,
)

CRAWL = {
    "left": [], "stuck": [], "unproven": [], "words": [], "whole": True, "total": 3,
    "reads": [], "begun": None,
}  # fmt: skip
BUSY = BurstMemory(
    5.0, np.eye(2), np.array([0, 1]), np.array([0, 0]), np.zeros((2, 2))
)  # rows of numbers that 32 bits hold exactly
PACED = NeighbourMemory(
    ("h", "i"), (), dataclasses.replace(BUSY, pace=np.array([[1.0, 2.5], [1.0, 1.0]])),
    (0.0, -1.5), (), np.zeros((2, 0)), (0.0, -2.0),
    pace=PaceMemory(
        np.ones((2, 7, 2)), np.ones((2, 2)), np.zeros((3, 2)), (0.0, -1.0, *5 * (0.5,)),
        (2.0, 8.0), 20_000.0, np.array([1.0, 1.5]), np.array([1.0, 3.0]),
    ),
)  # fmt: skip
QUERY = Query.of(Term("city", "Oslo"), Term("title", "red"))
NEW_ROUND = NewRound(
    3.5,
    DrawnSoFar(("a", "b"), (0.25, 0.5), 12.5, 3, 1, complete=True),
    {QUERY: QueryReading(2, {"a"}, 1, None, done=False, barren=1)},
    {"settled": (QUERY,), "rivals": ()},
)
KNOWN_ROUND = KnownRound(
    (
        DueQuery(QUERY, "", 2, 0.5, "why", firm=True, most=1),
        DueQuery(None, "k", 1, 0.0, "it"),
    ),
    (StoredPace(QUERY, "", 0.5, 3.0), StoredPace(None, "k", 2.0, 1.5)),
    3.0,
    0.25,
    2,
    4,
    3.5,
)
FINDING = FormFinding("paging", "works", "page 2 differs")
VALUES = [
    (ACCEPTED_TEXTS, ("a", "b")),
    (ANSWER_COLUMNS, AnswerMemory("m")),
    (
        RECORD_COLUMNS,
        AnswerMemory(
            "m",
            {"c": Usual(0.5, "text", 3, 2)},
            {"c": 1},
            {"c": 2.0},
            ("gone",),
            (("new", 1.0),),
        ),
    ),
    (BREAKER, BreakerState(2, 5.5, 4.5, "ö")),
    (BUSY_TIMES, NeighbourMemory(("h",), ("h/a", "h/b"), BUSY, (0.0, -1.5))),
    (TIDIED_AT, 20_000.25),
    (SERVICE_TURN, ServiceTurn("{}", 20_000.5, 20_001.25)),
    (FAULT, "an address: ValueError"),
    (FOLLOWED_MAPS, ("x",)),
    (FIRST_CRAWL, CrawlNote("claims", CRAWL, "http://h/2")),
    (MISSING_SEARCH, CrawlNote("claims", CRAWL)),
    (FORM_FACTS, FormFacts(3, "exact", ignored=("a",), findings=(FINDING,))),
    (FORM_QUERIES, [TriedQuery(1.0, "a=b", 2, 3, 1), TriedQuery(0.5, "c", 1, 0, 0, 7)]),
    (FORM_READS, FormReads({Term("city", "Oslo"): 2.5}, (2.25, 30.0))),
    (FORM_ROUND, FormRound("of", NEW_ROUND, KNOWN_ROUND)),
    (SPENT_UNTIL, 1.5),
    (RATE_PRIOR, RatePrior((0.25, 0.75), 4)),
    (REDIRECTS, {"http://a": Redirect("http://b", 2)}),
    (REPORTED_TOTAL, ReportedTotal(1.0, 5, 2, "why", doubted=True)),
    (FORM_UNSEEN, UnseenRecords(3.5, 17.0, 2)),
    (HELD_REMOVALS, HeldRemovals(20_000.5, 72, 194)),
    (RHYTHM, LearnedRhythm(3.0, np.ones((2, 3)), np.ones(BINS), 2.0, 3.0, 0.5)),
    (MADE_ANEW, (1.0, "words")),
    (SYNC_COST, 3),
    (
        TARGET_MEMORY,
        target_status.TargetMemory(
            LossHistory(1.0, 0.5, (0.5,), (0.25,), rows=BurstRows(2.0, heat=0.5)),
            2.0,
            needed=inf,
        ),
    ),
    (ROUND_AGES, np.array([2.5, np.inf])),
    (ROUND_CHANCES, np.array([0.5, 0.25])),
    (summaries.VERSIONS, summaries.SummaryVersions(3, 2)),
    (summary_lifetimes.LIFETIMES, [summary_lifetimes.Life(1, 1.0, 2.0)]),
]
KINDS = [kind for kind, _ in VALUES]


@pytest.mark.parametrize(
    ("kind", "value"), VALUES, ids=lambda v: getattr(v, "name", "")
)
def test_a_note_comes_back_as_it_was_written(kind, value, caplog):
    store = MemoryStore()
    assert kind.load(store, "s") is None
    kind.save(store, value, "s")
    found = kind.load(store, "s")
    if isinstance(value, np.ndarray):
        assert found.tolist() == value.tolist()
    elif kind is BUSY_TIMES:
        assert (found.sites, found.folders, found.trust) == (
            value.sites, value.folders, value.trust,
        )  # fmt: skip
        assert np.array_equal(found.kept.sites, BUSY.sites)
    else:
        assert found == value
    assert json.dumps(kind.write(found)) == json.dumps(kind.write(value))
    assert not caplog.records
    kind.remove(store, "s")
    assert kind.load(store, "s") is None


def test_the_paces_of_sites_come_back(caplog):
    store = MemoryStore()
    BUSY_TIMES.save(store, PACED)
    found = BUSY_TIMES.load(store)
    assert found.kept.pace.tolist() == PACED.kept.pace.tolist()
    for name, value in dataclasses.asdict(PACED.pace).items():
        assert np.array_equal(getattr(found.pace, name), value)
    unstepped = dataclasses.replace(PACED.pace, stepped=-inf)
    BUSY_TIMES.save(store, dataclasses.replace(PACED, pace=unstepped))
    assert BUSY_TIMES.load(store).pace.stepped == -inf
    assert not caplog.records


def test_no_two_kinds_share_a_name():
    names = [kind.name for kind in (*KINDS, summaries.SUMMARY)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "[[]]", '{"a": 1}', '"\\ud800 is no base64 *"', "NaN", "[{}]"],
)
def test_what_is_no_such_note_counts_as_absent_with_one_warning(kind, text, caplog):
    text = "0" if kind is FAULT and text.startswith('"') else text  # that is one
    store = MemoryStore()
    store.save_note("s", kind.name, Note(kind.version, text))
    with caplog.at_level(logging.WARNING, "halflife"):
        assert [kind.load(store, "s") for _ in range(3)] == [None] * 3
    (record,) = caplog.records
    assert f"{kind.name} of s" in record.getMessage()


@pytest.mark.parametrize(
    ("kind", "value"), VALUES, ids=lambda v: getattr(v, "name", "")
)
@settings(max_examples=15)
@given(data=st.data())
def test_a_note_that_was_cut_off_never_stops_anybody(kind, value, data):
    store = MemoryStore()
    kind.save(store, value, "s")
    text = store.note("s", kind.name).text
    cut = data.draw(st.integers(0, len(text) - 1))
    store.save_note("s", kind.name, Note(kind.version, text[:cut]))
    kind.load(store, "s")  # a number may be cut to another; all else is absent


def test_a_note_of_another_version_is_not_read(caplog):
    store = MemoryStore()
    store.save_note("", SPENT_UNTIL.name, Note(2, "1.0"))
    assert SPENT_UNTIL.load(store) is None
    assert "income_spent_until of all sources" in caplog.text
    assert "version 2" in caplog.text


def test_a_large_note_is_parsed_once():
    read = []
    kind = notes.NoteKind("k", 1, str, lambda v: read.append(v) or v, remembered=2)
    store = MemoryStore()
    kind.save(store, "x")
    assert [kind.load(store) for _ in range(3)] == ["x"] * 3
    assert read == ["x"]
