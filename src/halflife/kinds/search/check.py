"""Checks of summaries, and the evidence they give on the summary in use.

Where a database reports how many documents match a word, and its totals are credible,
a check first requests those of three words that were known when the summary was made.
If they show that the summary holds (``summary.count_check``), the check is over. Rules
that use totals alone (``policies.texts.checked``) request five, and decide by them.

If the totals do not decide, a summary that costs no more requests than a check by
documents is renewed. Otherwise a check is a small sample of documents
(``probing.recheck``). If it is passed, the summary held at that time; if not, the
summary is to be renewed, and the new one shows whether the old one still held: a false
alarm costs requests, but nothing is learned from it.
"""

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite, nan
from typing import ClassVar, NamedTuple

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
from halflife.kinds.search.runner import AnswerCounts, has_full_text, settings
from halflife.kinds.search.settings import TAU, SearchConfig
from halflife.net.gate import Gate
from halflife.policies.texts.samples import DOCUMENTS as SAMPLE
from halflife.probing.count_reference import check_counts
from halflife.probing.query_sampling import PER_QUERY
from halflife.probing.recheck import LIMIT, RecheckResult, recheck
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
from halflife.summary.count_check import FEW, WORDS, ReferenceCounts, safe_share


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The outcome of a check of a summary.

    Attributes:
        source: The database.
        requests: Requests sent.
        version: The summary that was checked.
        age: Its age, in days.
        documents: Documents that were read.
        holds: Whether it was passed; None if undecided.
        excess: How far they differ from those of the summary beyond chance.
        counts: How far the summary is off by match counts; NaN if there were none.
        trouble: What went wrong; empty if nothing did.

    """

    section: ClassVar[str] = "summaries"
    partly: ClassVar[bool] = False
    held: ClassVar[str] = ""  # nothing of a check waits for a decision
    run: ClassVar[int] = 0

    source: str
    requests: int
    version: int
    age: float
    documents: int
    holds: bool | None
    excess: float
    counts: float = nan
    trouble: str = ""

    def row(self) -> dict[str, object]:
        """Return it as a row for programs."""
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
        ending = self.trouble or self._verdict()
        return (
            f"{self.source}: check of its summary, {span(self.age)} old: {ending}; "
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
        return "the database is not what it was; the summary is to be renewed"


class CheckEvidence(NamedTuple):
    """The evidence of a check.

    Attributes:
        counts: How far the summary is off by match counts; NaN if unknown.
        found: The result of the check by documents.
        silent: Whether counts were requested, and too few were reported.

    """

    counts: float
    found: RecheckResult
    silent: bool = False


NOTHING = RecheckResult(None, nan, ())


class Checker:
    """Checks summaries of databases, one after the other.

    Args:
        config: The settings.
        store: The store of summaries and spending.
        clock: The time in days.
        gate: The gate, if it is shared with others.

    """

    def __init__(
        self, config: Config, store: Store, clock: Clock, gate: Gate | None = None
    ) -> None:
        self.store, self.clock = store, clock
        self._visitor = Visitor(config, store, clock, gate)
        self._words = dictionary(store, None)
        self._lines: tuple[BlockingSearch, ...] = ()

    def ease(self) -> None:
        """Send nothing more and wait for no answer."""
        for line in self._lines:
            line.cancel()

    async def check(
        self,
        source: SearchConfig,
        kept: StoredSummary,
        *,
        most: int | None = None,
        counts: bool = True,
    ) -> CheckOutcome:
        """Check a summary as far as the budget allows, and save the evidence.

        With ``counts``, match counts are requested before any document. Raise
        ``BudgetSpent`` if nothing can be spent.
        """
        snippets = selection.is_glimpsed(kept)
        how = settings(source, fetch=not snippets)
        async with self._visitor.visit(source.name, most) as visit:
            tally, loop = AnswerCounts(), asyncio.get_running_loop()
            engine = Engine(visit.gate, how, visit.purse)
            line = BlockingSearch(engine, loop, snippets=snippets, notify=tally)
            # Totals are on the page of results: no document is read for them.
            plain = Engine(visit.gate, replace(how, fetch=False), visit.purse)
            counter = BlockingSearch(plain, loop)
            self._lines = counter, line
            rng = np.random.default_rng(visit.run.id)
            reference = summary_counts.counts(self.store, source.name, kept.version)
            work = partial(
                self._gather, source, kept, reference if counts else None, rng, most
            )
            try:
                with contained(how.url):
                    evidence = await in_thread(work, self.ease)
                    listing_schema_drift.note_answers(
                        self.store, source, tally.columns, self.clock()
                    )
                    return self._save(visit.run, kept, evidence)
            except SourceError as error:
                line.trouble = str(error)
                return self._save(visit.run, kept, CheckEvidence(nan, NOTHING))

    def _gather(
        self,
        source: SearchConfig,
        kept: StoredSummary,
        reference: ReferenceCounts | None,
        rng: Generator,
        most: int | None,
    ) -> CheckEvidence:
        """Request match counts, if there are reference counts, or documents; block."""
        counter, line = self._lines
        grant = selection.check_requests(source, kept) if most is None else most
        alone = grant < selection.check_requests(source, kept)
        rule = alone and grant > selection.COUNTS_ALONE  # it decides by five words
        words = WORDS if rule else FEW
        off = nan if reference is None else check_counts(counter, reference, rng, words)
        off = nan if counter.over else off  # it was cut off
        result = by_counts(off, safe_share(words) * source.tau, alone=alone, rule=rule)
        if result is None and not counter.over:
            result = self._recheck(source, kept, line, rng)
        silent = reference is not None and not isfinite(off) and not counter.over
        return CheckEvidence(off, result or NOTHING, silent)

    def _recheck(
        self,
        source: SearchConfig,
        kept: StoredSummary,
        line: BlockingSearch,
        rng: Generator,
    ) -> RecheckResult:
        """Check by documents whether a summary holds."""
        how, snippets = line.engine.settings, selection.is_glimpsed(kept)
        spent = self._lines[0].engine.requests  # a grant is for both
        return recheck(
            line,
            kept.documents,
            self._words,
            rng,
            shown=how.per_page if has_full_text(how, snippets=snippets) else PER_QUERY,
            snippets=snippets,
            requests=selection.check_requests(source, kept) - spent,
            limit=LIMIT * source.tau / TAU,
            over=lambda: line.over,
        )

    def _save(
        self, run: Run, kept: StoredSummary, evidence: CheckEvidence
    ) -> CheckOutcome:
        """Save the evidence of a check, and return its outcome."""
        now, found = self.clock(), evidence.found
        counted = isfinite(evidence.counts)
        decided = found.holds is not None
        if decided or counted:
            self.store.renew(run, now, lease=LEASE)  # it must still be ours
            self._note_life(kept, found, now)
        if evidence.silent:
            summary_counts.forget(self.store, kept.source)
        if counted:
            check = CountCheck(kept.version, now, evidence.counts)
            summary_counts.note_check(self.store, kept.source, check)
        if decided:
            before = summary_drift.last_check(self.store, kept.source)
            last = updated_check(before, kept, found, now)
            summary_drift.note_check(self.store, kept.source, last)
        return CheckOutcome(
            kept.source,
            sum(line.engine.requests for line in self._lines),
            kept.version,
            max(now - kept.at, 0.0),
            len(found.documents),
            found.holds,
            found.excess,
            evidence.counts,
            "" if decided or counted else self._trouble(),
        )

    def _note_life(self, kept: StoredSummary, found: RecheckResult, now: float) -> None:
        """Save what the check shows of the lifetime of the summary."""
        life = selection.life(self.store, kept)
        if found.holds is None:
            seen = replace(life, looked=now)  # only the rule can interpret that
        elif found.holds:
            seen = life.with_result(now, holds=True)
        else:
            seen = life.with_doubt(now)
        summary_lifetimes.note(self.store, kept.source, seen)

    def _trouble(self) -> str:
        """Return how the database ended a check; empty if we ended it."""
        counter, line = self._lines
        return _trouble(counter if counter.over else line)


def by_counts(
    off: float, limit: float, *, alone: bool, rule: bool
) -> RecheckResult | None:
    """Return the result by match counts; None if documents are needed.

    Up to the limit a summary holds. Beyond it, if no more than counts were to be
    requested (``alone``), it is to be renewed, unless a ``rule`` decides that.

    >>> by_counts(0.01, 0.1, alone=False, rule=False).holds
    True
    >>> by_counts(0.3, 0.1, alone=True, rule=False).holds
    False
    >>> by_counts(0.3, 0.1, alone=True, rule=True).holds
    >>> by_counts(0.3, 0.1, alone=False, rule=False)
    """
    if off <= limit:
        return RecheckResult(holds=True, excess=nan, documents=())
    if not (alone and isfinite(off)):
        return None
    return NOTHING if rule else RecheckResult(holds=False, excess=nan, documents=())


def updated_check(
    before: LastCheck, kept: StoredSummary, found: RecheckResult, now: float
) -> LastCheck:
    """Return the note of the last check, with the changes of resampled documents.

    The first ``SAMPLE`` documents of the summary that were seen again are compared word
    by word; one with only a snippet cannot be.
    """
    known = {d.key: set(d.words) for d in kept.documents if d.whole}
    again = [d for d in found.documents if d.whole and d.key in known][:SAMPLE]
    changed = sum(known[one.key] != set(one.words) for one in again)
    share = changed / len(again) if again else float(not found.holds)
    checks, passed = before.asked + 1, before.passed + bool(found.holds)
    return LastCheck(kept.version, now, share, found.excess, checks, passed)


def _trouble(line: BlockingSearch) -> str:
    """Return how the database ended a check; empty if we ended it."""
    if line.blind:
        return "it shows only snippets of its documents now"
    if line.spent or line.stopped or not line.trouble:
        return ""
    return f"it stopped answering: {line.trouble}"
