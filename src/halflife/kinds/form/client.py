"""Databases behind forms: queried from a thread, paid from the budget."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.core.forms import Attribute, Interface, ResultPage, Term
from halflife.core.wording import count
from halflife.engine import bootstrap, network
from halflife.engine.leased_session import Visitor, in_thread
from halflife.engine.loop import Clock
from halflife.kinds.chosen import of_kind
from halflife.kinds.form.addresses import Addresses, Place
from halflife.kinds.form.answers import FormAnswerReader
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.form.web_form import FormEngine, FormSettings, WebForm
from halflife.kinds.search.dictionary import COMMON
from halflife.net.gate import Gate
from halflife.queries.form_facts import FormFacts
from halflife.queries.form_probe import REQUESTS, measure
from halflife.queries.ledger import Ledger
from halflife.readers.records import RecordReader
from halflife.stores import NoteBook, Run, Store
from halflife.stores.notes.form_facts import FORM_FACTS

ANSWERED = "order of results"  # a finding that every form which answered has
WORDS = 30  # common words for the first queries to a form without choices

Result = TypeVar("Result")


def forms(config: Config, names: list[str] | None = None) -> list[FormConfig]:
    """Return the sources behind forms; raise ``UsageError`` if there are none.

    A named source that is not behind a form is an error too.
    """
    none = (
        'no source is behind a form; write kind = "form" and so on into the '
        "settings, or run `halflife add NAME --form URL`"
    )
    return of_kind(config, FormConfig, names, "is not behind a form", none)


def interface(source: FormConfig) -> Interface:
    """Return the capabilities of a form according to the settings."""
    given = source.model_fields_set
    return Interface(
        attributes=tuple(
            Attribute(name, settings.kind, settings.values, settings.cuts)
            for name, settings in source.attributes.items()
        ),
        page_size=source.per_page,
        cap=source.cap if "cap" in given else None,
        counts=source.counts if source.total else "none",
        together=source.together,
        everything=source.everything,
        newest=bool(source.newest),
        lookup=source.lookup_url is not None,
        walks=bool(source.next) and not Addresses(source.form_url).paged,
    )


def settings(source: FormConfig) -> FormSettings:
    """Return how a form is queried and its answers read; or raise ``ConfigError``."""
    places = {
        name: Place(a.param, a.low, a.high, a.pattern, a.join, a.step)
        for name, a in source.attributes.items()
    }
    addresses = Addresses(
        source.form_url,
        places,
        newest=source.newest,
        lookup=source.lookup_url or "",
        first_page=source.first_page,
        first_offset=source.first_offset,
    )
    if source.next and source.format in {"csv", "jsonl"}:
        raise ConfigError(
            f"source {source.name}: {source.format} has no next; number the pages of "
            "the form, or leave next out"
        )
    try:
        records = RecordReader(
            source.key, source.format, source.records, source.fields, source.next
        )
        reader = FormAnswerReader(records, source.total, source.lookup_records)
    except ConfigError as error:
        raise ConfigError(f"source {source.name}: {error}") from None
    return FormSettings(addresses, reader, interface(source), network.access(source))


def seeds(source: FormConfig, rng: Generator) -> list[Term]:
    """Return terms that may have hits: choices, ranges, common words."""
    terms: list[Term] = []
    for attribute in interface(source).attributes:
        if attribute.kind == "select":
            batch = [Term(attribute.name, value) for value in attribute.values[:WORDS]]
        elif attribute.kind == "range":
            cuts = attribute.cuts
            batch = [term for cut in cuts[:WORDS] for term in attribute.terms(cut)]
        else:
            batch = [Term(attribute.name, word) for word in COMMON[:WORDS]]
        terms += batch
    order = rng.permutation(len(terms)).tolist()
    words = {a.name for a in interface(source).attributes if a.kind == "keyword"}
    return sorted((terms[i] for i in order), key=lambda term: term.attribute in words)


def measured_facts(store: NoteBook, source: FormConfig) -> FormFacts | None:
    """Return the last measurement of a form; None if it was never measured."""
    return FORM_FACTS.load(store, source.name)


def corrected(store: Store, source: FormConfig) -> FormSettings:
    """Return the form's settings with its measured capabilities."""
    how, measured = settings(source), measured_facts(store, source)
    if measured is None:
        return how
    return replace(how, interface=measured.interface(how.interface))


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """The outcome of probing a form.

    Attributes:
        source: The form.
        claimed: Its capabilities according to the settings.
        measured: The measured ones.
        requests: Requests that were paid for, robots.txt included.

    """

    source: str
    claimed: Interface
    measured: FormFacts
    requests: int

    @property
    def answered(self) -> bool:
        """Whether anything was learned."""
        return any(finding.what == ANSWERED for finding in self.measured.findings)

    def changes(self) -> dict[str, object]:
        """Return the capabilities that differ from the settings."""
        after = self.measured.interface(self.claimed)
        names = [
            entry.name for entry in fields(Interface) if entry.name != "attributes"
        ]
        return {
            name: getattr(after, name)
            for name in names
            if getattr(after, name) != getattr(self.claimed, name)
        }

    def row(self) -> dict[str, object]:
        """Return it as a row for programs."""
        measured = self.measured.row()
        head = {"source": self.source, "requests": self.requests}
        return {**measured, **head, "corrected": self.changes()}

    def words(self) -> list[str]:
        """Return the same in lines."""
        lines = [f"{self.source}: {count(self.requests, 'request')}"]
        lines += [f"  {finding}" for finding in self.measured.findings]
        changes = [f"{name} = {value}" for name, value in self.changes().items()]
        changes += [f"without {name}" for name in self.measured.ignored]
        lines.append(
            "  plans go by: " + (", ".join(changes) or "what the settings say")
        )
        return lines


class FormClient:
    """Lets algorithms query forms, one at a time.

    Args:
        config: The settings.
        store: The store, which records spending.
        clock: The time in days.
        gate: The gate, if it is shared with others.

    """

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock = bootstrap.clock,
        gate: Gate | None = None,
    ) -> None:
        self.store, self.clock = store, clock
        self._visitor = Visitor(config, store, clock, gate)
        self.spent = 0  # requests of the last work
        self._desk: WebForm | None = None

    def ease(self) -> None:
        """Send nothing more and wait for no answer; earlier results count."""
        if self._desk is not None:
            self._desk.cancel()

    async def run(
        self,
        source: FormConfig,
        how: FormSettings,
        work: Callable[[WebForm, Run], Result],
        *,
        most: int | None = None,
        notify: Callable[[ResultPage], None] = lambda _: None,
        write: Callable[[Result, Run], None] = lambda *_: None,
    ) -> Result:
        """Return the result of ``work``, which queries a form in its own thread.

        The lease on the source is held, and the budget pays. Raise ``BudgetSpent`` if
        nothing can be spent; ``work`` itself gets it when the budget, or ``most``, is
        spent. ``notify`` gets every answer, in that thread. ``write`` may save the
        result while the lease is still held.
        """
        async with self._visitor.visit(source.name, most) as visit:
            loop, purse = asyncio.get_running_loop(), visit.purse
            desk = WebForm(FormEngine(visit.gate, how, purse), loop, notify=notify)
            self._desk = desk
            try:
                result = await in_thread(lambda: work(desk, visit.run), desk.cancel)
            finally:
                self.spent = purse.spent
            write(result, visit.run)
            return result

    async def probe(
        self,
        source: FormConfig,
        *,
        requests: int = REQUESTS,
        notify: Callable[[ResultPage], None] = lambda _: None,
    ) -> ProbeOutcome:
        """Measure a form, and save the facts."""
        how = settings(source)

        def work(desk: WebForm, run: Run) -> FormFacts:
            rng = np.random.default_rng(run.id)
            terms = seeds(source, rng)
            ledger = Ledger(desk)
            return measure(ledger, terms, rng, requests, date=source.date)

        measured = await self.run(source, how, work, most=requests, notify=notify)
        outcome = ProbeOutcome(source.name, how.interface, measured, self.spent)
        if outcome.answered:
            FORM_FACTS.save(self.store, measured, source.name)
        return outcome
