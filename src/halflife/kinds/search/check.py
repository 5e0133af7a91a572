"""Checks of summaries, and what looks at a database tell of the one in use.

A check is a small sample of documents (``probing.rechecking``). It is passed, and that
is a look at the database at which the summary held; or it is not, and the summary is to
be made anew, and the new one tells whether the old one still held: a check that was
wrong costs requests, and nothing that is learned goes by it.
"""

import asyncio
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from halflife.config import Config
from halflife.core.errors import SourceError
from halflife.core.wording import count, span
from halflife.engine.leased_session import Visitor, in_thread
from halflife.engine.loop import LEASE, Clock
from halflife.kinds.listing import schema_drift as listing_schema_drift
from halflife.kinds.search import selection
from halflife.kinds.search.client import BlockingSearch, Engine
from halflife.kinds.search.dictionary import dictionary
from halflife.kinds.search.runner import Heard, given, settings
from halflife.kinds.search.settings import TAU, SearchConfig
from halflife.net.gate import Gate
from halflife.policies.texts.samples import DOCUMENTS as SAMPLE
from halflife.probing.query_sampling import PER_QUERY
from halflife.probing.recheck import LIMIT, Rechecked, recheck
from halflife.readers.containment import contained
from halflife.stores import Run, Store, summary_drift, summary_lifetimes
from halflife.stores.summaries import StoredSummary
from halflife.stores.summary_drift import LastCheck


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a check of a summary.

    Attributes:
        source: The database.
        requests: Requests sent.
        version: The summary that was checked.
        age: Its age, in days.
        documents: Documents that were read.
        holds: Whether it was passed; None if that could not be told.
        excess: How far they differ from those of the summary beyond chance.
        trouble: What went wrong; empty if nothing did.
        held: Nothing of a check waits for a decision.
        run: So no run has to be named.

    """

    source: str
    requests: int
    version: int
    age: float
    documents: int
    holds: bool | None
    excess: float
    trouble: str = ""
    held: str = ""
    run: int = 0

    @property
    def section(self) -> str:
        """What a program's answer calls such results."""
        return "summaries"

    @property
    def partly(self) -> bool:
        """Whether something came of it although not all did."""
        return False

    def row(self) -> dict[str, object]:
        """Return what people and programs are told."""
        return {
            "source": self.source,
            "check": True,
            "requests": self.requests,
            "version": self.version,
            "age_days": self.age,
            "documents": self.documents,
            "holds": self.holds,
            "excess": self.excess if isfinite(self.excess) else None,
            "ending": self.trouble or self._verdict(),
        }

    def words(self, *, trouble: bool = True) -> str:
        """Return the same in a line."""
        del trouble  # it is the verdict
        told = self.trouble or self._verdict()
        return (
            f"{self.source}: check of its summary, {span(self.age)} old: {told}; "
            f"{count(self.documents, 'document')} read, "
            f"{count(self.requests, 'request')}"
        )

    def _verdict(self) -> str:
        if self.holds is None:
            return "cut off before that was clear"
        if self.holds:
            return "it holds"
        return "the database is not what it was; the summary is to be made anew"


class Checker:
    """Checks summaries of databases, one after the other.

    Args:
        config: The settings.
        store: Where summaries are kept, and what is spent.
        clock: The time in days.
        gate: The way out, if it is shared with others.

    """

    def __init__(
        self, config: Config, store: Store, clock: Clock, gate: Gate | None = None
    ) -> None:
        self.store, self.clock = store, clock
        self._visitor = Visitor(config, store, clock, gate)
        self._words = dictionary(store, None)
        self._line: BlockingSearch | None = None

    def ease(self) -> None:
        """Ask nothing more and wait for no answer."""
        if self._line is not None:
            self._line.cancel()

    async def check(
        self, source: SearchConfig, kept: StoredSummary, *, most: int | None = None
    ) -> Checked:
        """Check a summary as far as the budget goes, and keep what that tells.

        Raise ``BudgetSpent`` if nothing can be spent.
        """
        snippets = selection.is_glimpsed(kept)
        how = settings(source, fetch=not snippets)
        async with self._visitor.visit(source.name, most) as visit:
            engine = Engine(visit.gate, how, visit.purse)
            heard = Heard()
            loop = asyncio.get_running_loop()
            line = BlockingSearch(engine, loop, snippets=snippets, told=heard)
            self._line = line
            shown = how.per_page if given(how, snippets=snippets) else PER_QUERY
            rng = np.random.default_rng(visit.run.id)

            def work() -> Rechecked:
                return recheck(
                    line,
                    kept.documents,
                    self._words,
                    rng,
                    shown=shown,
                    snippets=snippets,
                    requests=selection.check_requests(source, kept),
                    limit=LIMIT * source.tau / TAU,
                    over=lambda: line.over,
                )

            try:
                with contained(how.url):
                    found = await in_thread(work, line.cancel)
                    listing_schema_drift.heard(
                        self.store, source, heard.columns, self.clock()
                    )
                    return self._told(visit.run, kept, found, line)
            except SourceError as error:
                line.trouble = str(error)
                return self._told(visit.run, kept, Rechecked(None, nan, ()), line)

    def _told(
        self, run: Run, kept: StoredSummary, found: Rechecked, line: BlockingSearch
    ) -> Checked:
        """Write down what a check has told."""
        now = self.clock()
        trouble = _trouble(line) if found.holds is None else ""
        if found.holds is not None:
            self.store.renew(run, now, lease=LEASE)  # it must still be ours
            life = selection.life(self.store, kept)
            seen = life.seen(now, holds=True) if found.holds else life.suspected(now)
            summary_lifetimes.note(self.store, kept.source, seen)
            before = summary_drift.last_check(self.store, kept.source)
            told = seen_again(before, kept, found, now)
            summary_drift.note_check(self.store, kept.source, told)
        return Checked(
            kept.source,
            line.engine.requests,
            kept.version,
            max(now - kept.at, 0.0),
            len(found.documents),
            found.holds,
            found.excess,
            trouble,
        )


def seen_again(
    before: LastCheck, kept: StoredSummary, found: Rechecked, now: float
) -> LastCheck:
    """Return what a check showed of the documents that a summary was made of.

    The first ``SAMPLE`` of them that were seen again are compared word by word; one of
    which only a snippet is shown cannot be.
    """
    known = {d.key: set(d.words) for d in kept.documents if d.whole}
    again = [d for d in found.documents if d.whole and d.key in known][:SAMPLE]
    changed = sum(known[one.key] != set(one.words) for one in again)
    share = changed / len(again) if again else float(not found.holds)
    asked, passed = before.asked + 1, before.passed + bool(found.holds)
    return LastCheck(kept.version, now, share, found.excess, asked, passed)


def _trouble(line: BlockingSearch) -> str:
    """Say what the database did to end a check; nothing if we ended it."""
    if line.blind:
        return "it shows only snippets of its documents now"
    if line.spent or line.stopped or not line.trouble:
        return ""
    return f"it stopped answering: {line.trouble}"
