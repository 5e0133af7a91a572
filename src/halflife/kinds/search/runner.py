"""Summaries of databases that only answer queries: sample, size, save."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from halflife.alerts.schemas import ColumnFill
from halflife.config import Config
from halflife.core.errors import ConfigError, SourceError, UsageError
from halflife.core.search import SearchAnswer
from halflife.core.wording import count
from halflife.engine import bootstrap, network
from halflife.engine.leased_session import Visitor, in_thread
from halflife.engine.loop import LEASE, Clock
from halflife.kinds.chosen import of_kind
from halflife.kinds.listing import schema_drift as listing_schema_drift
from halflife.kinds.search import selection
from halflife.kinds.search.answers import AnswerReader
from halflife.kinds.search.client import BlockingSearch, Engine, SearchSettings
from halflife.kinds.search.dictionary import dictionary, probes
from halflife.kinds.search.settings import SearchConfig
from halflife.net.gate import Gate
from halflife.probing.count_reference import reference
from halflife.probing.focused_probe import focused_sample
from halflife.probing.frequency import frequency_summary
from halflife.probing.query_sampling import DOCUMENTS, PER_QUERY, query_based_sample
from halflife.probing.rules import TopicProbes
from halflife.probing.sample import Ending, Sample
from halflife.probing.sample_resample import WORDS
from halflife.probing.size import DatabaseSize, SearchSizeMethod, estimate_size
from halflife.probing.totals import TotalsTrust
from halflife.readers.containment import contained
from halflife.stores import (
    Run,
    Store,
    summaries,
    summary_counts,
    summary_drift,
    summary_lifetimes,
)
from halflife.stores.summaries import StoredSummary
from halflife.stores.summary_drift import Refresh
from halflife.stores.summary_lifetimes import Life
from halflife.summary import Summary
from halflife.summary.count_check import ReferenceCounts

METHODS = ("qbs", "fps")
UNSIZED = "not estimated: no request was left"
DEAR = 20  # words queried for the size if each document costs a request
RESERVE = 4  # the budget divided by this is left for the size
_TRUE = frozenset(
    {TotalsTrust.CONSISTENT, TotalsTrust.ROUNDED}
)  # totals that frequencies follow


@dataclass(frozen=True, slots=True)
class SummaryWish:
    """How databases are summarised.

    Attributes:
        method: ``qbs``, query-based sampling, or ``fps``, focused probing.
        documents: Documents that suffice for query-based sampling.
        snippets: Whether snippets suffice; else documents are read in full.
        dictionary: A file of words for the first queries.
        probes: A file of topics and queries for focused probing.

    """

    method: str = "qbs"
    documents: int = DOCUMENTS
    snippets: bool = False
    dictionary: Path | None = None
    probes: Path | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(
                f"--method must be one of {', '.join(METHODS)}, got {self.method!r}"
            )


@dataclass(frozen=True, slots=True)
class SamplingOutcome:
    """The outcome of summarising a database.

    Attributes:
        source: The database.
        requests: Requests sent.
        ending: Why sampling ended, in words.
        kept: The summary; None if there is nothing to summarise.
        in_use: Whether it is the one in use from now on.
        cut: Whether our budget ended it, and the summary before stays in use.

    """

    section: ClassVar[str] = "summaries"
    partly: ClassVar[bool] = False
    held: ClassVar[str] = ""  # nothing of a summary waits for a decision
    run: ClassVar[int] = 0

    source: str
    requests: int
    ending: str
    kept: StoredSummary | None = None
    in_use: bool = False
    cut: bool = False

    @property
    def trouble(self) -> str:
        """What went wrong; empty if there is a summary."""
        return "" if self.kept or self.cut else self.ending

    def row(self) -> dict[str, object]:
        """Return it as a row for programs."""
        row: dict[str, object] = {"source": self.source, "requests": self.requests}
        if self.kept is None:
            return {**row, "version": None, "ending": self.ending}
        kept = self.kept
        return {
            **row,
            "version": kept.version,
            "in_use": self.in_use,
            "documents": kept.summary.sampled,
            "words": len(kept.summary.words),
            "size": {"mean": kept.summary.size, "low": kept.low, "high": kept.high},
            "sized": kept.sized,
            "totals": kept.told,
            "topics": list(kept.topics),
            "ending": self.ending,
        }

    def words(self, *, trouble: bool = True) -> str:
        """Return the same in a line."""
        del trouble  # why there is no summary is the only content
        if self.kept is None:
            sent = (
                f"after {count(self.requests, 'request')}"
                if self.requests
                else "without a request"
            )
            return f"{self.source}: no summary, {sent}: {self.ending}"
        kept, high = self.kept, self.kept.high
        top = f"{high:.0f}" if high < inf else "?"
        about = f", about {', '.join(kept.topics)}" if kept.topics else ""
        cut = kept.sized == str(SearchSizeMethod.CUT_OFF)
        text = (
            f"{self.source}: {count(kept.summary.sampled, 'document')} read, "
            f"{count(len(kept.summary.words), 'word')}, "
            f"{'at least' if cut else 'about'} {kept.summary.size:.0f} documents "
            f"in all [{kept.low:.0f}, {top}], "
            f"{count(self.requests, 'request')}{about}; "
            f"{self.ending}; {kept.told}"
        )
        if cut:
            text += "; its results are cut off, so the true number is unknown"
        if not self.in_use:
            text += "; it has less evidence than the summary before, which stays in use"
        return text


def databases(config: Config, names: list[str] | None = None) -> list[SearchConfig]:
    """Return the sources that can be searched; raise ``UsageError`` if there are none.

    A named source that cannot be searched is an error too.
    """
    missing = "no source can be searched; run `halflife add NAME --search URL` first"
    return of_kind(config, SearchConfig, names, "cannot be searched", missing)


def settings(source: SearchConfig, *, fetch: bool) -> SearchSettings:
    """Return how a database is queried and its answers read; or ``ConfigError``."""
    try:
        reader = AnswerReader(
            source.engine,
            source.hits,
            source.hit_key,
            source.hit_link,
            source.hit_text,
            source.hit_snippet,
            source.total,
        )
    except ConfigError as error:
        raise ConfigError(f"source {source.name}: {error}") from None
    return SearchSettings(
        url=source.search_url,
        reader=reader,
        access=network.access(source),
        per_page=source.per_page,
        first_page=source.first_page,
        first_offset=source.first_offset,
        cap=source.cap,
        fetch=fetch,
    )


class SamplingInput(NamedTuple):
    """The input of sampling besides the database."""

    wish: SummaryWish
    words: tuple[str, ...]
    probes: TopicProbes
    room: int  # requests that may be spent
    rng: Generator


class SampledDatabase(NamedTuple):
    """A sample of a database; ``size`` is None if no request was left for it."""

    sample: Sample
    size: DatabaseSize | None
    topics: tuple[str, ...] = ()
    counts: ReferenceCounts | None = None  # by which the summary can be checked


class AnswerCounts:
    """Counts the filled columns of answers, and passes the answers on."""

    def __init__(self, notify: Callable[[SearchAnswer], None] = lambda _: None) -> None:
        self._notify = notify
        names = (
            listing_schema_drift.HITS,
            listing_schema_drift.TOTAL,
            listing_schema_drift.WORDS,
        )
        self.columns = dict.fromkeys(names, ColumnFill(0, 0))

    def __call__(self, answer: SearchAnswer) -> None:
        """Count the columns of an answer."""
        found = answer.documents
        words = sum(bool(document.words) for document in found)
        self._count(listing_schema_drift.HITS, 1, bool(found))
        self._count(listing_schema_drift.TOTAL, 1, answer.total is not None)
        self._count(listing_schema_drift.WORDS, len(found), words)
        self._notify(answer)

    def _count(self, name: str, records: int, filled: int) -> None:
        old = self.columns[name]
        self.columns[name] = ColumnFill(old.records + records, old.filled + filled)


class Summarizer:
    """Summarises databases, one after the other.

    Args:
        config: The settings.
        store: The store of summaries and spending.
        wish: How databases are summarised.
        clock: The time in days.
        gate: The gate, if it is shared with others.

    """

    def __init__(
        self,
        config: Config,
        store: Store,
        wish: SummaryWish,
        clock: Clock = bootstrap.clock,
        gate: Gate | None = None,
    ) -> None:
        self.store, self.wish, self.clock = store, wish, clock
        self._visitor = Visitor(config, store, clock, gate)
        self._words = dictionary(store, wish.dictionary)
        self._probes = probes(wish.probes)
        self._line: BlockingSearch | None = None

    def ease(self) -> None:
        """Send nothing more and wait for no answer; earlier results are kept."""
        if self._line is not None:
            self._line.cancel()

    async def summarize(
        self,
        source: SearchConfig,
        *,
        most: int | None = None,
        notify: Callable[[SearchAnswer], None] = lambda _: None,
    ) -> SamplingOutcome:
        """Sample a database as far as the budget allows, and save the summary.

        Raise ``BudgetSpent`` if nothing can be spent.
        """
        how = settings(source, fetch=not self.wish.snippets)
        async with self._visitor.visit(source.name, most) as visit:
            engine = Engine(visit.gate, how, visit.purse)
            loop = asyncio.get_running_loop()
            tally = AnswerCounts(notify)
            snippets = self.wish.snippets
            line = BlockingSearch(engine, loop, snippets=snippets, notify=tally)
            self._line = line
            rng, room = np.random.default_rng(visit.run.id), visit.purse.left
            given = SamplingInput(self.wish, self._words, self._probes, room, rng)
            try:
                with contained(how.url):
                    work = partial(sample_database, line, given)
                    sampled = await in_thread(work, line.cancel)
                    listing_schema_drift.note_answers(
                        self.store, source, tally.columns, self.clock()
                    )
                    return self._keep(visit.run, source, sampled, line)
            except SourceError as error:
                return SamplingOutcome(source.name, engine.requests, str(error))

    def _keep(
        self,
        run: Run,
        source: SearchConfig,
        sampled: SampledDatabase,
        line: BlockingSearch,
    ) -> SamplingOutcome:
        """Save a summary, if there is anything to summarise."""
        ending = end_in_words(sampled.sample, line)
        requests = line.engine.requests
        if not sampled.sample.frequency:
            before = summaries.current(self.store, source.name)
            cut = sampled.sample.ending is Ending.SPENT and before is not None
            return SamplingOutcome(source.name, requests, ending, cut=cut)
        self.store.renew(run, self.clock(), lease=LEASE)  # it must still be ours
        kept = _stored(source.name, self.clock(), self.wish.method, sampled)
        kept = replace(kept, ending=ending, requests=requests)
        before = summaries.current(self.store, source.name)
        kept = summaries.save(self.store, kept)
        compare_with_previous(self.store, before, kept, source.tau)
        used = summaries.current(self.store, source.name)
        in_use = used is not None and used.version == kept.version
        if in_use and sampled.counts is not None:
            counts = replace(sampled.counts, version=kept.version)
            summary_counts.note_counts(self.store, source.name, counts)
        return SamplingOutcome(source.name, requests, ending, kept, in_use)


def renewal_wish(kept: StoredSummary) -> SummaryWish:
    """Return how a database is summarised again."""
    return SummaryWish(kept.method, snippets=selection.is_glimpsed(kept))


def compare_with_previous(
    store: Store, old: StoredSummary | None, new: StoredSummary, tau: float
) -> None:
    """Save what a new summary shows of the one that was in use before."""
    if old is not None:
        differs, life = selection.divergence(old, new), selection.life(store, old)
        if differs is not None:
            seen = life.with_result(new.at, holds=differs <= tau)
            summary_lifetimes.note(store, old.source, seen)
            _note_refresh(store, new, Refresh(new.version, new.at - old.at, differs))
    summary_lifetimes.note(store, new.source, Life(new.version, new.at, new.at))


def _note_refresh(store: Store, new: StoredSummary, refresh: Refresh) -> None:
    """Save what a renewal showed, with earlier ones that were not saved yet."""
    before: list[Refresh] = []
    if not summary_drift.refreshes(store, new.source):
        past = [v for v in summaries.versions(store, new.source) if v.whole]
        for old, one in pairwise([v for v in past if v.version < new.version]):
            differs = selection.divergence(old, one)
            if differs is not None:
                before.append(Refresh(one.version, one.at - old.at, differs))
    summary_drift.note_refresh(store, new.source, *before, refresh)


def has_full_text(how: SearchSettings, *, snippets: bool) -> bool:
    """Say whether a page of results has all that is needed of its documents."""
    engine = how.reader.engine in selection.TEXTS
    return bool(snippets or how.reader.text or engine)


def sample_database(db: BlockingSearch, given: SamplingInput) -> SampledDatabase:
    """Sample a database and estimate its size; blocks; never raises a SourceError."""
    wish, how = given.wish, db.engine.settings
    full = has_full_text(how, snippets=wish.snippets)
    shown = how.per_page if full else None  # documents on a page cost no request
    room = max(given.room - given.room // RESERVE, 1)
    topics: tuple[str, ...] = ()
    if wish.method == "qbs":
        sample = query_based_sample(
            db,
            given.words,
            given.rng,
            documents=wish.documents,
            snippets=wish.snippets,
            shown=shown,
            requests=room,
        )
    else:
        focused = focused_sample(
            db, given.probes, snippets=wish.snippets, shown=shown, requests=room
        )
        sample, topics = focused.sample, focused.topics
    sample = replace(sample, requests=db.engine.requests)
    size = None
    if sample.frequency and not db.over:
        words, most = (WORDS, how.per_page) if full else (DEAR, PER_QUERY)
        rng, cap = given.rng, how.cap
        size = estimate_size(db, sample, rng, words=words, most=most, cap=cap)
    counts = None if size is None or db.over else reference(db, sample, size)
    return SampledDatabase(sample, size, topics, counts)


def end_in_words(sample: Sample, line: BlockingSearch) -> str:
    """Return why sampling ended, in words."""
    if line.stopped:
        return "stopped before it was done"
    if line.over and not (line.spent or line.blind):
        never = "never answered" if not line.answered else "stopped answering"
        return f"it {never}: {line.trouble}"
    if sample.documents:
        return str(sample.ending) if sample.frequency else "its documents hold no words"
    if line.engine.unread:
        return (
            f"none of its documents could be fetched by their links "
            f"({line.engine.unread} tried); allow snippets with --snippets"
        )
    failed = f", {line.failures} failed: {line.trouble}" if line.failures else ""
    return f"{sample.ending} ({count(line.answered, 'query', 'queries')}{failed})"


def _stored(
    source: str, now: float, method: str, sampled: SampledDatabase
) -> StoredSummary:
    sample, size = sampled.sample, sampled.size
    seen = float(len(sample.documents))
    return StoredSummary(
        source=source,
        at=now,
        method=method,
        ending=str(sample.ending),
        whole=sample.ending is not Ending.SPENT,
        summary=_summary(sample, size),
        low=size.low if size else seen,
        high=size.high if size else inf,
        sized=str(size.method) if size else UNSIZED,
        told=str(size.trust) if size else "totals were not judged",
        requests=sample.requests,
        documents=sample.documents,
        topics=sampled.topics,
    )


def _summary(sample: Sample, size: DatabaseSize | None) -> Summary:
    """Return the summary; frequencies follow the totals if these are credible."""
    if size is None:
        return sample.summary()
    if size.trust in _TRUE:
        try:
            return frequency_summary(sample, size.size)
        except UsageError:  # too few totals of words of different ranks
            return sample.summary(size.size)
    return sample.summary(size.size)
