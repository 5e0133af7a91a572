"""Checks of summaries, and what looks at a database tell of the one in use.

Where a database tells how many documents match a word, and its counts can be believed,
a check first asks for those of three words that were known when the summary was made.
If they show that the summary holds (``summary.count_check``), the check is over. Rules
that go by counts alone (``policies.texts.checked``) ask for five, and decide by them.

If counts do not tell, a summary that takes no more requests than a check by
documents is made anew. Else a check is a small sample of documents
(``probing.recheck``). It is passed, and that is a look at the database at which the
summary held; or it is not, and the summary is to be made anew, and the new one tells
whether the old one still held: a check that was wrong costs requests, and nothing that
is learned goes by it.
"""

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite, nan
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from halflife.config import Config
from halflife.core.errors import SourceError
from halflife.core.wording import count, number, span
from halflife.engine.leased_session import Visitor, in_thread
from halflife.engine.loop import LEASE, Clock
from halflife.kinds.listing import schema_drift as listing_schema_drift
from halflife.kinds.search import selection
from halflife.kinds.search.client import BlockingSearch, Engine
from halflife.kinds.search.dictionary import dictionary
from halflife.kinds.search.runner import AnswerCounts, given, settings
from halflife.kinds.search.settings import TAU, SearchConfig
from halflife.net.gate import Gate
from halflife.policies.texts.samples import DOCUMENTS as SAMPLE
from halflife.probing.count_reference import check_counts
from halflife.probing.query_sampling import PER_QUERY
from halflife.probing.recheck import LIMIT, Rechecked, recheck
from halflife.readers.containment import contained
from halflife.stores import (
    Run,
    Store,
    summary_counts,
    summary_drift,
    summary_lifetimes,
)
from halflife.stores.summaries import StoredSummary
from halflife.stores.summary_counts import CountCheck
from halflife.stores.summary_drift import LastCheck
from halflife.summary.count_check import FEW, WORDS, ReferenceCounts, clear


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
        counts: How far the summary is off by match counts; NaN if none were told.
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
    counts: float = nan
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
            "counts": self.counts if isfinite(self.counts) else None,
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
        if self.holds is None and isfinite(self.counts):
            return f"by match counts it is off by {number(self.counts, 2)}"
        if self.holds is None:
            return "cut off before that was clear"
        if self.holds:
            return "it holds"
        return "the database is not what it was; the summary is to be made anew"


class CheckEvidence(NamedTuple):
    """What a check showed.

    Attributes:
        counts: How far the summary is off by match counts; NaN if that is not known.
        found: What documents told.
        silent: Whether counts were asked for, and too few were told.

    """

    counts: float
    found: Rechecked
    silent: bool = False


NOTHING = Rechecked(None, nan, ())


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
        self._lines: tuple[BlockingSearch, ...] = ()

    def ease(self) -> None:
        """Ask nothing more and wait for no answer."""
        for line in self._lines:
            line.cancel()

    async def check(
        self,
        source: SearchConfig,
        kept: StoredSummary,
        *,
        most: int | None = None,
        counts: bool = True,
    ) -> Checked:
        """Check a summary as far as the budget goes, and keep what that tells.

        With ``counts``, match counts are asked for before any document. Raise
        ``BudgetSpent`` if nothing can be spent.
        """
        snippets = selection.is_glimpsed(kept)
        how = settings(source, fetch=not snippets)
        async with self._visitor.visit(source.name, most) as visit:
            heard, loop = AnswerCounts(), asyncio.get_running_loop()
            engine = Engine(visit.gate, how, visit.purse)
            line = BlockingSearch(engine, loop, snippets=snippets, told=heard)
            # Counts stand on the page of results: no document is read for them.
            plain = Engine(visit.gate, replace(how, fetch=False), visit.purse)
            counter = BlockingSearch(plain, loop)
            self._lines = counter, line
            rng = np.random.default_rng(visit.run.id)
            known = summary_counts.counts(self.store, source.name, kept.version)
            work = partial(
                self._look, source, kept, known if counts else None, rng, most
            )
            try:
                with contained(how.url):
                    looked = await in_thread(work, self.ease)
                    listing_schema_drift.note_answers(
                        self.store, source, heard.columns, self.clock()
                    )
                    return self._told(visit.run, kept, looked)
            except SourceError as error:
                line.trouble = str(error)
                return self._told(visit.run, kept, CheckEvidence(nan, NOTHING))

    def _look(
        self,
        source: SearchConfig,
        kept: StoredSummary,
        known: ReferenceCounts | None,
        rng: Generator,
        most: int | None,
    ) -> CheckEvidence:
        """Ask for match counts, if some are known, and else for documents; blocks."""
        counter, line = self._lines
        grant = selection.check_requests(source, kept) if most is None else most
        alone = grant < selection.check_requests(source, kept)
        rule = alone and grant > selection.COUNTS_ALONE  # it decides by five words
        words = WORDS if rule else FEW
        off = nan if known is None else check_counts(counter, known, rng, words)
        off = nan if counter.over else off  # it was cut off
        told = by_counts(off, clear(words) * source.tau, alone=alone, rule=rule)
        if told is None and not counter.over:
            told = self._recheck(source, kept, line, rng)
        silent = known is not None and not isfinite(off) and not counter.over
        return CheckEvidence(off, told or NOTHING, silent)

    def _recheck(
        self,
        source: SearchConfig,
        kept: StoredSummary,
        line: BlockingSearch,
        rng: Generator,
    ) -> Rechecked:
        """Say by documents whether a summary holds."""
        how, snippets = line.engine.settings, selection.is_glimpsed(kept)
        spent = self._lines[0].engine.requests  # a grant is for both
        return recheck(
            line,
            kept.documents,
            self._words,
            rng,
            shown=how.per_page if given(how, snippets=snippets) else PER_QUERY,
            snippets=snippets,
            requests=selection.check_requests(source, kept) - spent,
            limit=LIMIT * source.tau / TAU,
            over=lambda: line.over,
        )

    def _told(self, run: Run, kept: StoredSummary, looked: CheckEvidence) -> Checked:
        """Write down what a check has told."""
        now, found = self.clock(), looked.found
        counted = isfinite(looked.counts)
        told = found.holds is not None
        if told or counted:
            self.store.renew(run, now, lease=LEASE)  # it must still be ours
            self._note_life(kept, found, now)
        if looked.silent:
            summary_counts.forget(self.store, kept.source)
        if counted:
            one = CountCheck(kept.version, now, looked.counts)
            summary_counts.note_check(self.store, kept.source, one)
        if told:
            before = summary_drift.last_check(self.store, kept.source)
            told_now = seen_again(before, kept, found, now)
            summary_drift.note_check(self.store, kept.source, told_now)
        return Checked(
            kept.source,
            sum(line.engine.requests for line in self._lines),
            kept.version,
            max(now - kept.at, 0.0),
            len(found.documents),
            found.holds,
            found.excess,
            looked.counts,
            "" if told or counted else self._trouble(),
        )

    def _note_life(self, kept: StoredSummary, found: Rechecked, now: float) -> None:
        """Keep what the check tells of how long the summary holds."""
        life = selection.life(self.store, kept)
        if found.holds is None:
            seen = replace(life, looked=now)  # only the rule knows what that means
        elif found.holds:
            seen = life.seen(now, holds=True)
        else:
            seen = life.suspected(now)
        summary_lifetimes.note(self.store, kept.source, seen)

    def _trouble(self) -> str:
        """Say what the database did to end a check; nothing if we ended it."""
        counter, line = self._lines
        return _trouble(counter if counter.over else line)


def by_counts(off: float, limit: float, *, alone: bool, rule: bool) -> Rechecked | None:
    """Return what match counts settle; None if documents are to be looked at.

    Up to the limit a summary holds. Beyond it, if counts ``alone`` were to be asked
    for, it is to be made anew, unless a ``rule`` decides that.

    >>> by_counts(0.01, 0.1, alone=False, rule=False).holds
    True
    >>> by_counts(0.3, 0.1, alone=True, rule=False).holds
    False
    >>> by_counts(0.3, 0.1, alone=True, rule=True).holds
    >>> by_counts(0.3, 0.1, alone=False, rule=False)
    """
    if off <= limit:
        return Rechecked(holds=True, excess=nan, documents=())
    if not (alone and isfinite(off)):
        return None
    return NOTHING if rule else Rechecked(holds=False, excess=nan, documents=())


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
