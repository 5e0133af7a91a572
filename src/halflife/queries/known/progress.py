"""The progress of a rule that works in rounds, as it is stored.

Within a turn candidates have numbers. These change with the copy between turns, so the
stored progress has the queries themselves, and the keys of records to look up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from halflife.core.forms import Query
from halflife.queries.fresh.progress import read_terms, write_terms
from halflife.queries.known.guess import Guess, read_guess, write_guess
from halflife.queries.known.keywords import Pool
from halflife.queries.known.refresh import Probe, Refresher
from halflife.queries.known.rules import (
    KnownChoice,
    QueryPace,
    RemembersKnown,
    RuleMemory,
)

Row: TypeAlias = dict[str, Any]


class DueQuery(NamedTuple):
    """A query that is still to be sent.

    Attributes:
        query: The query; None for a look-up.
        key: The record to look up; empty for a query.
        pages: Requests that it is expected to take.
        gain: The gain that was expected when it was chosen.
        why: Why it was chosen.
        firm: Whether it is carried out even if it costs more than expected.
        most: Pages to read at most; all if None.

    """

    query: Query | None
    key: str
    pages: int
    gain: float
    why: str
    firm: bool = False
    most: int | None = None


class StoredPace(NamedTuple):
    """How often a query is sent.

    Attributes:
        query: The query; None for a look-up.
        key: The record to look up; empty for a query.
        frequency: Times a day.
        sent: When it was last sent, or was due.

    """

    query: Query | None
    key: str
    frequency: float
    sent: float


@dataclass(frozen=True)
class KnownRound:
    """An interrupted round for known records.

    Attributes:
        due: The queries still to be sent, in order.
        frequent: How often each query is sent.
        began: When the round began, in days.
        interval: Days between two queries of it.
        sent: Queries of it that were sent.
        turns: Turns so far.
        last: The time of the last turn.
        guess: The estimate of the server's hits, if the policy has one.

    """

    due: tuple[DueQuery, ...] = ()
    frequent: tuple[StoredPace, ...] = field(default=(), repr=False)
    began: float = 0.0
    interval: float = 0.0
    sent: int = 0
    turns: int = 0
    last: float = 0.0
    guess: Guess | None = None


def so_far(worker: Refresher, unsent: Sequence[Probe]) -> KnownRound | None:
    """Return the progress of a rule; None if it does not work in rounds.

    ``unsent`` are probes that were planned and not sent.
    """
    if not isinstance(worker.rule, RemembersKnown):
        return None
    left = [KnownChoice(probe.number, *probe[3:]) for probe in unsent]
    memory, pool = worker.rule.so_far(left), worker.pool
    return KnownRound(
        tuple(_due(pool, choice) for choice in memory.choices),
        tuple(
            StoredPace(*_named(pool, pace.number), *pace[1:]) for pace in memory.paces
        ),
        memory.began,
        memory.interval,
        memory.sent,
        memory.turns,
        memory.last,
    )


def go_on(worker: Refresher, before: KnownRound) -> None:
    """Restore the progress of a rule, without queries that are no longer candidates."""
    if not isinstance(worker.rule, RemembersKnown):
        return
    numbers = _Numbers(worker.pool)
    choices = [
        KnownChoice(number, *due[2:])
        for due in before.due
        if (number := numbers.of(due.query, due.key)) is not None
    ]
    paces = [
        QueryPace(number, pace.frequency, pace.sent)
        for pace in before.frequent
        if (number := numbers.of(pace.query, pace.key)) is not None
    ]
    memory = RuleMemory(
        tuple(choices), tuple(paces), before.began, before.interval, before.sent,
        before.turns, before.last,
    )  # fmt: skip
    worker.rule.go_on(memory)


def _due(pool: Pool, choice: KnownChoice) -> DueQuery:
    query, key = _named(pool, choice.number)
    return DueQuery(query, key, *choice[1:])


def _named(pool: Pool, number: int) -> tuple[Query | None, str]:
    query = pool.query(number)
    return query, pool.key(number) if query is None else ""


class _Numbers:
    """The numbers of a pool's candidates, by query or key."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        first = np.flatnonzero(pool.lookup)
        keys = zip(pool.local.keys, first.tolist(), strict=False)
        self._lookups = dict(keys) if first.size else {}

    def of(self, query: Query | None, key: str) -> int | None:
        """Return the number of a candidate; None if it is no candidate any more."""
        if query is None:
            return self._lookups.get(key)
        fits = 0 < len(query) <= self._pool.parts.shape[1]
        return self._pool.find(query) if fits else None


def write_round(known_round: KnownRound) -> Row:
    """Return a round as JSON values."""
    names, guess = ("began", "interval", "sent", "turns", "last"), known_round.guess
    return {
        **{name: getattr(known_round, name) for name in names},
        "guess": None if guess is None else write_guess(guess),
        "due": [[_target(due), *due[2:]] for due in known_round.due],
        "frequent": [[_target(pace), *pace[2:]] for pace in known_round.frequent],
    }


def _target(entry: DueQuery | StoredPace) -> object:
    return entry.key if entry.query is None else write_terms(entry.query)


def read_round(row: Row) -> KnownRound:
    """Return the round stored in a row."""
    return KnownRound(
        tuple(
            DueQuery(
                *_read_target(what), int(pages), float(gain), str(why), bool(firm),
                None if most is None else int(most),
            )
            for what, pages, gain, why, firm, most in row["due"]
        ),
        tuple(
            StoredPace(*_read_target(what), float(frequency), float(sent))
            for what, frequency, sent in row["frequent"]
        ),
        float(row["began"]),
        float(row["interval"]),
        int(row["sent"]),
        int(row["turns"]),
        float(row["last"]),
        None if row["guess"] is None else read_guess(row["guess"]),
    )  # fmt: skip


def _read_target(
    value: Any,  # noqa: ANN401  (a key, or terms)
) -> tuple[Query | None, str]:
    return (None, value) if isinstance(value, str) else (read_terms(value), "")
