"""Where a rule that goes round has come to, to be written down.

Within a turn candidates are numbered. Between turns the copy changes, and numbers with
it: what is kept names the queries themselves, and the keys of records looked up.
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
from halflife.queries.known.rules import KnownChoice, Memory, RemembersKnown, Timed

Row: TypeAlias = dict[str, Any]


class DueQueries(NamedTuple):
    """A query that is still to be sent.

    Attributes:
        query: The query; None for a look-up.
        key: The record to look up; empty for a query.
        pages: Requests that it is expected to take.
        gain: What it was expected to buy when it was chosen.
        why: Why it was chosen.
        firm: Whether it is carried out also if it turns out dearer than expected.
        most: Pages to read at most; all if None.

    """

    query: Query | None
    key: str
    pages: int
    gain: float
    why: str
    firm: bool = False
    most: int | None = None


class Frequent(NamedTuple):
    """How often a query is sent.

    Attributes:
        query: The query; None for a look-up.
        key: The record to look up; empty for a query.
        frequency: Times a day.
        sent: When it was last sent, or should have been.

    """

    query: Query | None
    key: str
    frequency: float
    sent: float


@dataclass(frozen=True)
class KnownRound:
    """A round of refreshing known records that was cut short.

    Attributes:
        due: What is still to be sent, in order.
        frequent: How often each query is sent.
        began: When the round began, in days.
        interval: Days between two queries of it.
        sent: Queries of it that were sent.
        turns: Turns so far.
        last: When the last one was.
        guess: What is known of the server beside the copy, if that was asked for.

    """

    due: tuple[DueQueries, ...] = ()
    frequent: tuple[Frequent, ...] = field(default=(), repr=False)
    began: float = 0.0
    interval: float = 0.0
    sent: int = 0
    turns: int = 0
    last: float = 0.0
    guess: Guess | None = None


def so_far(worker: Refresher, unsent: Sequence[Probe]) -> KnownRound | None:
    """Return where a rule has come to; None if it keeps no place.

    ``unsent`` was planned and not asked.
    """
    if not isinstance(worker.rule, RemembersKnown):
        return None
    left = [KnownChoice(probe.number, *probe[3:]) for probe in unsent]
    memory, pool = worker.rule.so_far(left), worker.pool
    return KnownRound(
        tuple(_due(pool, one) for one in memory.choices),
        tuple(Frequent(*_named(pool, one.number), *one[1:]) for one in memory.paces),
        memory.began,
        memory.interval,
        memory.sent,
        memory.turns,
        memory.last,
    )


def go_on(worker: Refresher, before: KnownRound) -> None:
    """Let a rule begin where it had come to; what cannot be asked now is left out."""
    if not isinstance(worker.rule, RemembersKnown):
        return
    found = _Numbers(worker.pool)
    choices = [
        KnownChoice(number, *one[2:])
        for one in before.due
        if (number := found.of(one.query, one.key)) is not None
    ]
    paces = [
        Timed(number, one.frequency, one.sent)
        for one in before.frequent
        if (number := found.of(one.query, one.key)) is not None
    ]
    memory = Memory(
        tuple(choices), tuple(paces), before.began, before.interval, before.sent,
        before.turns, before.last,
    )  # fmt: skip
    worker.rule.go_on(memory)


def _due(pool: Pool, choice: KnownChoice) -> DueQueries:
    query, key = _named(pool, choice.number)
    return DueQueries(query, key, *choice[1:])


def _named(pool: Pool, number: int) -> tuple[Query | None, str]:
    query = pool.query(number)
    return query, pool.key(number) if query is None else ""


class _Numbers:
    """The candidates of a pool by what they ask for."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        first = np.flatnonzero(pool.lookup)
        keys = zip(pool.local.keys, first.tolist(), strict=False)
        self._lookups = dict(keys) if first.size else {}

    def of(self, query: Query | None, key: str) -> int | None:
        """Return the number of a candidate; None if it is none any more."""
        if query is None:
            return self._lookups.get(key)
        fits = 0 < len(query) <= self._pool.parts.shape[1]
        return self._pool.find(query) if fits else None


def write_round(one: KnownRound) -> Row:
    """Return a round as JSON can hold it."""
    names = "began", "interval", "sent", "turns", "last"
    return {
        **{name: getattr(one, name) for name in names},
        "guess": None if one.guess is None else write_guess(one.guess),
        "due": [[_asked(each), *each[2:]] for each in one.due],
        "frequent": [[_asked(each), *each[2:]] for each in one.frequent],
    }


def _asked(one: DueQueries | Frequent) -> object:
    return one.key if one.query is None else write_terms(one.query)


def read_round(row: Row) -> KnownRound:
    """Return the round that was written down."""
    return KnownRound(
        tuple(
            DueQueries(
                *_what(what), int(pages), float(gain), str(why), bool(firm),
                None if most is None else int(most),
            )
            for what, pages, gain, why, firm, most in row["due"]
        ),
        tuple(
            Frequent(*_what(what), float(frequency), float(sent))
            for what, frequency, sent in row["frequent"]
        ),
        float(row["began"]),
        float(row["interval"]),
        int(row["sent"]),
        int(row["turns"]),
        float(row["last"]),
        None if row["guess"] is None else read_guess(row["guess"]),
    )  # fmt: skip


def _what(said: Any) -> tuple[Query | None, str]:  # noqa: ANN401  (a key, or terms)
    return (None, said) if isinstance(said, str) else (read_terms(said), "")
