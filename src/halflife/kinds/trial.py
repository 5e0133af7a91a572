"""Trials: fetch an address, guess how to keep it, and confirm the guess.

A trial goes through the gate like any other request: robots.txt is obeyed, rate limits
are kept, and every request is paid for. It costs one request for the address itself
(and one for robots.txt), one more if a page links to the same content as data, and one
for the second page of a list.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from json import dumps
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError
from yarl import URL

from halflife.config import Config, SourceConfig, problem
from halflife.config.kinds import read_source
from halflife.core.budget import Purse
from halflife.core.errors import BudgetSpent, SourceError, Unreachable, UsageError
from halflife.core.wording import count, number
from halflife.engine import bootstrap, network
from halflife.engine.leased_session import Visitor
from halflife.engine.loop import Clock
from halflife.kinds import guesses
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.registry import kind_named
from halflife.net.access import GET, Answer, Payload
from halflife.net.addresses import host_of, parse_url, shown
from halflife.net.dates import to_http
from halflife.net.gate import Gate
from halflife.readers.containment import read_in_thread
from halflife.readers.json_document import load_json
from halflife.recognition.graphql_schema import INTROSPECTION, find_queries
from halflife.recognition.guess import (
    LIKELY,
    NOTHING,
    Corrections,
    SourceGuess,
    TrialAnswer,
)
from halflife.stores import Store

GOOD = frozenset({200, 203})
JSON = "application/json"
EXCERPT = 200  # characters shown of an answer without records
MONTH = 30.0  # days


RequestKey: TypeAlias = tuple[str, bytes, str]  # the address, the body, the format


class RecordingGate(Gate):
    """A gate that records its answers and sends no request twice."""

    answers: dict[str, Answer]
    recorded: dict[RequestKey, Answer]

    async def get(self, url: str | URL, *given: Any, **named: Any) -> Answer:  # noqa: ANN401  (as it is)
        """Fetch a URL, as any gate does."""
        answer = await super().get(url, *given, **named)
        self.answers[str(url)] = answer
        return answer

    async def ask(
        self,
        url: str | URL,
        payload: Payload,
        *given: Any,  # noqa: ANN401  (as it is)
        **named: Any,  # noqa: ANN401
    ) -> Answer:
        """Send a request, as any gate does, unless it was answered before."""
        terms = named.get("access")
        wanted = terms.headers.get("Accept", "") if terms else ""
        key = str(url), payload.body or b"", wanted
        if key not in self.recorded:
            self.recorded[key] = await super().ask(url, payload, *given, **named)
        return self.recorded[key]


@dataclass(frozen=True, slots=True)
class TrialWish:
    """An address that a user wants to keep.

    Attributes:
        url: The address.
        name: The name of the source.
        given: Settings that the source gets in any case.
        kind: The kind that the user chose; empty for the best match.
        corrections: Settings of the user that replace guesses.
        question: The GraphQL query; empty for a plain address.

    """

    url: str
    name: str
    given: Mapping[str, object] = field(default_factory=dict)
    kind: str = ""
    corrections: Corrections = NOTHING
    question: str = ""

    def source(self, guess: SourceGuess) -> SourceConfig:
        """Return the settings of a guess; raise ``UsageError`` if they are invalid."""
        try:
            table = {"name": self.name, **self.given, **guess.settings}
            return read_source({k: v for k, v in table.items() if v not in ((), {})})
        except ValidationError as error:
            raise UsageError(problem(error)) from None


@dataclass(slots=True)
class TrialFetch:
    """A trial of one address.

    Attributes:
        wish: The address, and how the user wants it.
        guesses: How it could be kept, the most likely way first.
        notes: What could not be confirmed.
        recorded: Recorded answers; another trial that shares them costs nothing.

    """

    wish: TrialWish
    guesses: list[SourceGuess] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    recorded: dict[RequestKey, Answer] = field(default_factory=dict, repr=False)

    @property
    def best(self) -> SourceGuess | None:
        """The most likely guess of the wanted kind."""
        kind = self.wish.kind
        fitting = (g for g in self.guesses if not kind or g.kind == kind)
        return next(fitting, None)

    @property
    def is_page(self) -> bool:
        """Whether the address is kept as a page, or as a map of pages."""
        return self.best is not None and not {"pages", "maps"}.isdisjoint(
            self.best.settings
        )

    def others(self) -> list[SourceGuess]:
        """Return the guesses that were not chosen."""
        return [guess for guess in self.guesses if guess is not self.best]

    def way_out(self, config: Config, store: Store, clock: Clock) -> RecordingGate:
        """Return a gate that records its answers."""
        plain = network.gate(config, store, clock)
        gate = RecordingGate(plain.settings, hosts=store, clock=clock)
        gate.answers, gate.recorded = {}, self.recorded
        return gate

    async def fetch(self, gate: Gate, purse: Purse) -> None:
        """Fetch the address and examine its answer; raise ``SourceError``."""
        url = self.wish.url
        page = self.wish.source(SourceGuess("pages", "", 0.0, {"pages": (url,)}))
        access = network.access(page, page=True)
        answer = await gate.get(parse_url(url), purse, access=access)
        if answer.status not in GOOD:
            raise Unreachable(f"{shown(url)}: it answered {answer.status}")
        await self.examine(gate, purse)

    async def question(self, gate: Gate, purse: Purse) -> None:
        """Send a GraphQL query, and examine its answer.

        Without a query, the server is asked for its schema. Raise ``SourceError`` if
        the answer is not usable.
        """
        if not self.wish.question:
            answer = await self._posted(gate, purse, INTROSPECTION)
            self.wish = replace(self.wish, question=self._chosen(answer))
        url = self.wish.url
        answer = await self._posted(gate, purse, self.wish.question)
        first = await self._recognise(answer)
        self.guesses = [guess for guess in self.guesses if "graphql" in guess.settings]
        if not self.guesses:
            excerpt = answer.body[:EXCERPT].decode("utf-8", "replace")
            raise SourceError(f"{shown(url)}: its answer has no records: {excerpt}")
        if self.guesses[0].second_body:
            await self._confirm(gate, purse, self.guesses[0], first)

    def _chosen(self, answer: Answer) -> str:
        """Return a query for one of the lists that a server describes."""
        url, named = shown(self.wish.url), self.wish.corrections.records
        try:
            questions = find_queries(load_json(answer.body.decode()))
        except (ValueError, RecursionError):
            questions = []
        if not questions:
            raise SourceError(f"{url}: it describes no list; give --graphql FILE")
        wanted = [question for question in questions if question.records == named]
        if len(questions) > 1 and not wanted:
            names = ", ".join(question.name for question in questions[1:10])
            self.notes.append(
                f"{questions[0].name!r} was taken; it has other lists: {names}; to "
                f"keep one of them say, for example, --records "
                f"'{questions[1].records}'"
            )
        return (wanted or questions)[0].query

    async def _posted(self, gate: Gate, purse: Purse, query: str) -> Answer:
        """Return the answer to a GraphQL query."""
        url = self.wish.url
        table = {"kind": "listing", "url": url, "graphql": {"query": query}}
        source = self.wish.source(SourceGuess("listing", "", 0.0, table))
        payload = Payload(
            "POST", dumps({"query": query, "variables": {}}).encode(), JSON
        )
        access = network.access(source)
        answer = await gate.ask(parse_url(url), payload, purse, access=access)
        if answer.status not in GOOD:
            raise Unreachable(f"{shown(url)}: it answered {answer.status}")
        return answer

    async def examine(self, gate: Gate, purse: Purse) -> None:
        """Examine the answer of the address, and fetch what would confirm the guess."""
        answers = gate.answers if isinstance(gate, RecordingGate) else {}
        answer = answers.get(str(parse_url(self.wish.url)))
        if answer is None or answer.status not in GOOD:
            return
        first = await self._recognise(answer)
        shown_as = next((guess for guess in self.guesses if guess.instead), None)
        if shown_as is not None and (
            shown_as.missing or self.wish.kind in {"", *self._kinds(but=shown_as)}
        ):
            first = await self._instead(gate, purse, shown_as, first)
        best = self.best
        if best is not None and best.usable:
            await self._confirm(gate, purse, best, first)

    def _kinds(self, but: SourceGuess) -> set[str]:
        return {guess.kind for guess in self.guesses if guess.kind != but.kind}

    async def _recognise(self, answer: Answer) -> TrialAnswer:
        trial = trial_answer(answer, self.wish)
        candidates = await read_in_thread(self.wish.url, guesses.recognise, trial)
        self.guesses = sorted(candidates, key=lambda guess: -guess.score)
        return trial

    async def _instead(
        self,
        gate: Gate,
        purse: Purse,
        page: SourceGuess,
        first: TrialAnswer,
        *,
        again: bool = True,
    ) -> TrialAnswer:
        """Fetch the same content as data; keep that, if it has records.

        The data may in turn link to a better form (``again``).
        """
        earlier = self.guesses
        if host_of(page.instead) != host_of(first.url):
            return first
        listing = replace(page, kind="listing", settings={"kind": "listing",
                          "url": page.instead, "format": "json"})  # fmt: skip
        answer = await self._ask(gate, purse, listing, page.instead)
        if answer is None:
            return first
        trial = await self._recognise(answer)
        further = next((guess for guess in self.guesses if guess.missing), None)
        if further is not None and further.instead and again:
            trial = await self._instead(gate, purse, further, trial, again=False)
        best = self.guesses[0] if self.guesses else None
        if best is None or not best.usable or best.score < LIKELY:
            self.guesses = earlier
            return first
        why = f"{page.instead} has the same as data"
        reasons = {**best.reasons, "format": f"{best.reasons['format']}; {why}"}
        self.guesses[0] = replace(best, reasons=reasons)
        self.guesses += [guess for guess in earlier if not guess.missing]
        return trial

    async def _confirm(
        self, gate: Gate, purse: Purse, guess: SourceGuess, first: TrialAnswer
    ) -> None:
        """Fetch the second page, to check whether paging was guessed right.

        If it was not, the alternatives are tried; if none works, no paging is set.
        """
        better, tried = guess, False
        if guess.second:
            better = await self._second(gate, purse, guess, first)
            tried = better is not guess and bool(better.second)
        notes = len(self.notes)
        for rival in () if tried else guess.rivals:
            improved = await self._second(gate, purse, rival, first)
            if improved is not rival and improved.second:
                better, tried = improved, True
                break
        if guess.rivals and not tried:
            reasons = dict(better.reasons)
            reasons["paging"] += "; other usual parameters bring no other records"
            better = replace(better, reasons=reasons)
        del self.notes[notes:]  # notes on failed attempts are of no interest
        self.guesses[self.guesses.index(guess)] = better

    async def _second(
        self, gate: Gate, purse: Purse, guess: SourceGuess, first: TrialAnswer
    ) -> SourceGuess:
        """Return a guess updated with its second page; unchanged if there is none."""
        if host_of(guess.second) != host_of(first.url):
            self.notes.append("its next page lies on another host and is not read")
            return guess
        posted = guess.second_body
        answer = await self._ask(gate, purse, guess, guess.second, posted=posted)
        if answer is None:
            return guess
        second = trial_answer(answer, self.wish)
        confirm = kind_named(guess.kind).confirm
        return await read_in_thread(guess.second, confirm, guess, first, second)

    async def _ask(
        self,
        gate: Gate,
        purse: Purse,
        guess: SourceGuess,
        url: str,
        *,
        posted: bytes = b"",
    ) -> Answer | None:
        """Return another answer of the source; None if there is none, with a note."""
        try:
            source = self.wish.source(replace(guess, missing=()))
            access = network.access(source)
            payload = Payload("POST", posted, JSON) if posted else GET
            answer = await gate.ask(parse_url(url), payload, purse, access=access)
        except (SourceError, BudgetSpent, UsageError) as error:
            self.notes.append(f"not confirmed: {error}")
            return None
        if answer.status not in GOOD:
            self.notes.append(f"{shown(url)} answered {answer.status}")
            return None
        return answer


def ask(path: Path, trial: TrialFetch) -> None:
    """Send the query of a trial, paid for and within rate limits."""
    config = Config.load(path)

    async def visit(store: Store) -> None:
        visitor = Visitor(config, store, bootstrap.clock)
        async with visitor.visit(trial.wish.name) as (_, gate, purse):
            await trial.question(gate, purse)

    with bootstrap.writing(config) as store:
        asyncio.run(visit(store))


def fetch(config: Config, trial: TrialFetch) -> None:
    """Fetch an address and recognise what it is, paid for and within rate limits.

    Neither settings nor store get a new source. The lease has a name of its own, so
    that it does not conflict with a service that keeps a source of the same host.
    """
    name = f"trial:{host_of(trial.wish.url)}"

    async def visit(store: Store) -> None:
        async with trial.way_out(config, store, bootstrap.clock) as gate:
            visitor = Visitor(config, store, bootstrap.clock, gate)
            async with visitor.visit(name) as (_, _, purse):
                await trial.fetch(gate, purse)

    with bootstrap.writing(config) as store:
        asyncio.run(visit(store))


def trial_answer(answer: Answer, wish: TrialWish) -> TrialAnswer:
    """Return an answer of the gate in the form that kinds recognise."""
    headers = {n.lower(): v for n, v in answer.headers.items()}
    if answer.etag:
        headers["etag"] = answer.etag
    if answer.modified is not None:
        headers["last-modified"] = to_http(answer.modified)
    return TrialAnswer(
        answer.url,
        answer.body,
        answer.content_type,
        headers,
        wish.corrections,
        wish.question,
    )


@dataclass(frozen=True, slots=True)
class TrialCost:
    """The expected cost of a source.

    Attributes:
        read: Requests of one full read; None if it is unknown.
        month: Requests of a month with a full read a day.
        budget: Requests of the budget in a month.

    """

    read: int | None
    month: int | None
    budget: int

    def words(self) -> str:
        """Return it in a line."""
        if self.read is None or self.month is None:
            return (
                "unknown; the answer does not say how many requests a full read takes"
            )
        share = self.month / self.budget
        text = (
            f"{count(self.read, 'request')} for a full read; read once a day that is "
            f"{number(self.month)} a month, {share:.1%} of the budget"
        )
        return text if share <= 1 else f"{text}, so it will be read less often"


def expected_cost(guess: SourceGuess, config: Config) -> TrialCost:
    """Return the expected cost of a source in a month."""
    budget = max(round(config.budget.requests * MONTH / config.budget.days), 1)
    month = None if guess.reads is None else round(guess.reads * MONTH)
    return TrialCost(guess.reads, month, budget)


def free_name(config: Config, wanted: str, url: str, *, joins: bool = False) -> str:
    """Return a name that no source has: the host, with its path if necessary.

    With ``joins`` the name of a source of pages is allowed: pages join one another.

    >>> free_name(Config(), "a.example", "http://a.example/x")
    'a.example'
    """
    pages = PagesConfig if joins else ()
    taken = {source.name for source in config.source if not isinstance(source, pages)}
    if wanted not in taken:
        return wanted
    path = URL(url).path.strip("/").replace("/", "-")
    words = "".join(c for c in path if c.isascii() and (c.isalnum() or c in "._-"))
    stem = f"{wanted}-{words}"[:190].rstrip("-") if words else wanted
    numbered = (f"{stem}-{n}" for n in range(2, len(taken) + 3))
    return next(name for name in (stem, *numbered) if name not in taken)
