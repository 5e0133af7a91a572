"""The page guard: answers that seem to come from an outage are held back.

``GuardedPages`` stands between a source of pages and the log. A doubtful answer is
logged as a failed observation: it is neither a change nor an absence, the copy stays,
and the page is fetched again after a pause. The answer itself waits in the state file
(``stores.held_pages``) until other pages show that the site works, the page itself
works again, or a person decides.

Where one page is not enough evidence, for example because it has little text, its
answer waits until the end of the sync. If nothing confirms it by then, it is believed,
but the copy that it replaces is kept (``replaced_copies``) and restored if other pages
become the same.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from halflife.core.budget import Purse
from halflife.core.errors import HeldForDecision
from halflife.core.evidence import Evidence
from halflife.core.observation import Observation, Observations, Outgoing, Seen
from halflife.core.request import Request
from halflife.engine.loop import LEASE, Clock
from halflife.kinds.pages.replaced_copies import ReplacedCopies
from halflife.models.page_guard import (
    UNSURE,
    AnswerVerdict,
    Doubt,
    SiteEvidence,
    Sketch,
    WaitingAnswer,
    doubt,
    doubt_unsure,
    is_outage,
    judge_unsure,
    judge_waiting,
)
from halflife.stores import Run, Store, held_pages
from halflife.stores.held_pages import HELD, KEPT, WAITS, HeldFetch, HeldPage
from halflife.stores.notes.accepted_texts import ACCEPTED_TEXTS

NOTE = "not believed yet: "  # prefix of the note of a failed observation
MOST_ACCEPTED = 50  # accepted texts stored of a source
RECENT = 1000  # changes of this process with which later ones are compared
CHUNK = 100  # answers accepted in one transaction
MOST_UNSURE = 200  # answers that wait for the end of a sync; more are settled earlier
EXAMPLES = 3  # pages named as examples
SAME_TEXT = "three or more pages that differed have the same text now"
SAME_AS_HELD = "its text is that of other pages which are held"
MOVED = "moved for good"  # a permanent redirect is believed


class PageSource(Protocol):
    """Fetches pages."""

    def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Observations]:
        """Fetch pages; yield observations as they arrive."""
        ...


@dataclass(slots=True)
class _Before:
    """A replaced text: its digest, and the pages that had it."""

    digest: str
    keys: set[str] = field(default_factory=set)


class GuardedPages:
    """A source of pages whose doubtful answers are held back."""

    def __init__(self, inner: PageSource, store: Store, run: Run, clock: Clock) -> None:
        self._inner, self._store, self._run, self._clock = inner, store, run, clock
        self._held = store.held_answers
        self._rows: dict[str, HeldPage] = {}
        self._accepted: dict[str, frozenset[str]] = {}
        # By source and shape of a text: the texts that it replaced.
        self._became: dict[tuple[str, str], dict[str, _Before]] = {}
        self._shared: set[tuple[str, str]] = set()  # texts that many pages share anyway
        self._state: dict[tuple[str, str], str] = {}  # of texts that are held back
        self._replaced = ReplacedCopies(store, run, clock)
        # Links of pages whose answers wait; the rows do not have them.
        self._links: dict[str, Outgoing] = {}
        self._unsure = 0  # answers postponed since the last settlement

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Observations]:
        """Fetch pages; yield credible observations, and failures for doubtful ones."""
        self._load()
        async with aclosing(self._inner.perform(requests, now, purse)) as batches:
            async for batch in batches:
                yield self._sifted(batch)
                if self._unsure >= MOST_UNSURE:
                    believed = self._settled(ends=False)
                    if believed:
                        yield Observations.of(believed)
        believed = self._settled()
        if believed:
            yield Observations.of(believed)

    def _load(self) -> None:
        rows = self._store.held_answers.rows(self._run.sources)
        self._rows, self._state, self._shared = {}, {}, set()
        if len(self._became) > RECENT:
            self._became = {}
        for row in rows:
            self._note(row)
        for copy in self._replaced.read():
            became = self._became.setdefault((copy.source, copy.shape), {})
            became.setdefault(copy.was, _Before(copy.digest)).keys.add(copy.key)
        self._accepted = {
            name: accepted(self._store, name) for name in self._run.sources
        }

    def _sifted(self, batch: Observations) -> Observations:
        """Return observations with failures in place of doubtful ones."""
        evidence = self._store.evidence(self._run.sources)
        sifted, failed = list(batch), {}
        aside: list[HeldFetch] = []
        for i, new in enumerate(sifted):
            if not _is_changed(evidence, new):
                if self._is_held_still(new):
                    failed[i] = self._rows[new.key].why
            elif answer := self._doubted(new):
                aside.append(answer)
                failed[i] = answer.why
        if not failed:
            return batch
        if aside:
            self._put_all_aside(aside)
        for i, why in failed.items():
            new = sifted[i]
            sifted[i] = Observation(new.key, new.at, Seen.FAILED, note=NOTE + why)
        return Observations.of(sifted)

    def _is_held_still(self, new: Observation) -> bool:
        """Return whether a page with a restored copy still shows the held answer."""
        row = self._rows.get(new.key)
        if row is None or row.state == WAITS or new.seen is not Seen.PRESENT:
            return False
        return row.digest == new.digest

    def _put_all_aside(self, answers: Iterable[HeldFetch]) -> None:
        with self._store.together():
            self._store.fence(self._run)
            for answer in answers:
                self._put_aside(answer)

    def _note(self, row: HeldPage) -> None:
        """Index an answer that is held back."""
        self._rows[row.key] = row
        place = row.source, row.shape
        became = self._became.setdefault(place, {})
        became.setdefault(row.was, _Before(self._digest(row.key))).keys.add(row.key)
        if row.state != WAITS:
            self._state[place] = row.state

    def _doubted(self, new: Observation) -> HeldFetch | None:
        """Return a doubtful answer with the reason; None if it is credible."""
        from halflife.readers.page_sketch import (  # noqa: PLC0415  (slow)
            sketch,
            sketch_of,
        )

        source = self._store.source_of(new.key) or ""
        (held,) = self._store.held([new.key])
        if held is None and not self._state:
            return None  # the first answer of a page on a site without trouble
        after = sketch_of(new)
        if after.shape in self._accepted.get(source, ()):
            return None
        content = self._store.content(new.key)
        before = Sketch(held.digest if held is not None else "")
        if content is not None:
            before = sketch(new.key, content)
        place = source, after.shape
        became = self._became.setdefault(place, {})
        if before.shape and held is not None:
            became.setdefault(before.shape, _Before(held.digest)).keys.add(new.key)
        concern = self._against(place, before, after)
        if concern is None or (
            concern.verdict is AnswerVerdict.WAIT and MOVED in new.note
        ):
            return None
        if concern.why == UNSURE and self._is_lively(new.key, place):
            return None
        state = HELD if concern.verdict is AnswerVerdict.HOLD else WAITS
        # A person may have decided already that such an answer is broken.
        state = KEPT if self._state.get(place) == KEPT else state
        return HeldFetch(new, state, concern.why, before.shape, after.shape)

    def _is_lively(self, key: str, place: tuple[str, str]) -> bool:
        """Return whether a page changes its text often, or shares it with many."""
        row = self._rows.get(key)
        is_other = row is not None and row.why == UNSURE and row.shape != place[1]
        return is_other or place in self._shared

    def _against(
        self, place: tuple[str, str], before: Sketch, after: Sketch
    ) -> Doubt | None:
        """Return the doubt about an answer, by itself and among the others."""
        if not before.shape:
            return (
                Doubt(AnswerVerdict.HOLD, SAME_AS_HELD)
                if place in self._state
                else None
            )
        if before.shape != after.shape and self._is_outage(place):
            return Doubt(AnswerVerdict.HOLD, SAME_TEXT)
        return doubt(before, after) or doubt_unsure(before, after)

    def _is_outage(self, place: tuple[str, str]) -> bool:
        """Return whether pages with texts of their own became the same."""
        shape, became = place[1], self._became[place]
        if place in self._shared or not is_outage(shape, _pairs(became, shape)):
            return False
        if place in self._state:
            return True
        own = [was for was, text in became.items() if self._is_own(text)]
        if is_outage(shape, _pairs(own, shape)):
            return True
        self._shared.add(place)
        return False

    def _digest(self, key: str) -> str:
        """Return the digest of the copy of a page; empty if there is none."""
        evidence = self._store.evidence(self._run.sources)
        row = evidence.row(key)
        return "" if row is None else str(evidence.digest[row])

    def _is_own(self, before: "_Before") -> bool:
        """Return whether only one page had a text."""
        evidence = self._store.evidence(self._run.sources)
        texts = evidence.digest
        rows = np.flatnonzero(texts.data == texts.pack([before.digest]))
        if rows.size > 1:
            return False
        return len(before.keys | {evidence.keys[row] for row in rows.tolist()}) <= 1

    def _put_aside(self, answer: HeldFetch) -> None:
        held = self._held
        room = answer.observation.key in self._rows or len(self._rows) < held_pages.MOST
        held.save(self._run.id, answer, room=room)
        row = held.row(answer.observation.key)
        if row is None:
            return
        first = answer.state == HELD and (row.source, row.shape) not in self._state
        self._note(row)
        self._unsure += row.why == UNSURE
        if row.state == WAITS and answer.observation.links is not None:
            self._links[row.key] = answer.observation.links
        if first:
            self._hold_alike(row)

    def _hold_alike(self, held: HeldPage) -> None:
        """Hold back waiting answers with the same text: the evidence counts for all.

        Answers that are no evidence by themselves are decided at the end of the sync.
        """
        mine = held.source, held.shape
        same = [r for r in self._rows.values() if (r.source, r.shape) == mine]
        same = [row for row in same if row.state == WAITS and row.why != UNSURE]
        self._held.set_state(same, HELD, held.why)
        for row in same:
            self._rows[row.key] = replace(row, state=HELD, why=held.why)

    def _settled(self, *, ends: bool = True) -> list[Observation]:
        """Return postponed answers that are credible now; hold back those to decide.

        Unless the sync ``ends``, only answers confirmed by other pages are believed.
        """
        waits = any(row.state == WAITS for row in self._rows.values())
        if not (waits or (ends and self._replaced)):
            return []
        credible: list[HeldPage] = []
        with self._store.together():
            self._store.fence(self._run)
            for rows in _by_site(self._held.rows(self._run.sources)):
                credible += self._settle_site(rows, ends=ends)
            if ends:
                self._replaced.forget_proven()
            batch = [self._postponed(row) for row in credible]
        for row in credible:
            self._rows.pop(row.key, None)
        self._unsure = 0
        self._links = {k: v for k, v in self._links.items() if k in self._rows}
        return [new for new in batch if new is not None]

    def _postponed(self, row: HeldPage) -> Observation | None:
        new = self._held.observation(row)
        links = self._links.get(row.key)
        return new if new is None or links is None else replace(new, links=links)

    def _settle_site(self, rows: Sequence[HeldPage], *, ends: bool) -> list[HeldPage]:
        """Return the rows of a site that are credible now; hold back the others."""
        unsure = [row for row in rows if row.state == WAITS and row.why == UNSURE]
        rest = [row for row in rows if row.state == WAITS and row.why != UNSURE]
        credible: list[HeldPage] = []
        for shape in dict.fromkeys(row.shape for row in unsure):
            same = [row for row in unsure if row.shape == shape]
            more = len(unsure) - len(same)  # pages that show other texts
            around = self._neighbours(rows, same[0].since, shape=shape, more=more)
            verdict = judge_unsure(self._waiting(same), around)
            if verdict is AnswerVerdict.BELIEVE or (
                ends and self._accept_for_now(verdict, same)
            ):
                credible += same
            elif ends and verdict is AnswerVerdict.HOLD:
                state = self._state.get((same[0].source, shape), HELD)
                self._held.set_state(same, state, SAME_TEXT)
        if ends:
            self._put_back(rows)
            credible += self._settle(rest, len(credible))
        return credible

    def _accept_for_now(self, verdict: AnswerVerdict, rows: Sequence[HeldPage]) -> bool:
        """Return whether a row is believed for now, with its copy kept to restore."""
        return verdict is AnswerVerdict.PROVISIONAL and self._replaced.keep(rows[0])

    def _put_back(self, rows: Sequence[HeldPage]) -> None:
        """Restore copies of a site that were replaced by a text which is held now."""
        held = {row.shape: row for row in rows if row.state != WAITS}
        for shape, row in held.items():
            for copy in self._replaced.like(row.source, shape):
                around = self._neighbours(rows, copy.since, shape=shape)
                if judge_unsure([], around) is AnswerVerdict.HOLD:
                    self._replaced.put_back(copy, row)

    def _settle(self, rows: Sequence[HeldPage], more: int) -> Sequence[HeldPage]:
        """Return the rows of a site if they are credible; ``more`` pages work."""
        if not rows:
            return []
        source, host, first = rows[0].source, rows[0].host, rows[0].since
        working = self._held.well_since(source, host, first) + more
        others = self._held.others(source, host) + more
        verdict = judge_waiting(self._waiting(rows), working, others)
        if verdict is AnswerVerdict.HOLD:
            why = f"{len(rows)} pages changed beyond recognition at once"
            self._held.set_state(rows, HELD, why)
        return rows if verdict is AnswerVerdict.BELIEVE else []

    def _neighbours(
        self,
        rows: Sequence[HeldPage],
        since: float,
        *,
        shape: str,
        more: int = 0,
    ) -> SiteEvidence:
        """Return the evidence of a site about a text; ``more`` showed other texts."""
        source, host = rows[0].source, rows[0].host
        replaced = len(self._replaced.like(source, shape))
        held = sum(row.shape == shape and row.state != WAITS for row in rows)
        # A page whose copy was replaced is no evidence for the replacement.
        working = max(self._held.well_since(source, host, since) - replaced, 0)
        others = max(self._held.others(source, host) - replaced, 0)
        return SiteEvidence(held, replaced, working + more, others + more)

    def _waiting(self, rows: Iterable[HeldPage]) -> list[WaitingAnswer]:
        now = self._clock()
        return [WaitingAnswer(row.shape, now - row.since, row.seen) for row in rows]


def _pairs(before: Iterable[str], shape: str) -> list[tuple[str, str]]:
    return [(was, shape) for was in before]


def _is_changed(evidence: Evidence, new: Observation) -> bool:
    """Return whether an observation shows another text than the copy."""
    if new.seen is not Seen.PRESENT:
        return False
    row = evidence.row(new.key)
    return row is None or str(evidence.digest[row]) != new.digest


def _by_site(rows: Iterable[HeldPage]) -> Iterator[list[HeldPage]]:
    sites: dict[tuple[str, str], list[HeldPage]] = {}
    for row in rows:
        sites.setdefault((row.source, row.host), []).append(row)
    yield from sites.values()


def accepted(store: Store, source: str) -> frozenset[str]:
    """Return the texts of a source that a person has accepted."""
    return frozenset(ACCEPTED_TEXTS.load(store, source) or ())


@dataclass(frozen=True, slots=True)
class HeldSource:
    """The pages of a source whose answers wait for a decision.

    Attributes:
        source: The source.
        run: The run of the first answer; its name in ``sync --accept``.
        why: The reason for the doubt, in words.
        pages: The number of pages.
        since: When the first answer came, in days.
        examples: Some of the pages.

    """

    source: str
    run: int
    why: str
    pages: int
    since: float
    examples: tuple[str, ...]


def held(store: Store, sources: Iterable[str] = ()) -> list[HeldSource]:
    """Return the sources with pages whose answers wait for a decision."""
    rows = [row for row in store.held_answers.rows(sources) if row.state == HELD]
    names = dict.fromkeys(row.source for row in rows)
    return [_summarise([row for row in rows if row.source == name]) for name in names]


def _summarise(rows: Sequence[HeldPage]) -> HeldSource:
    first = rows[0]
    reason = Counter(row.why for row in rows).most_common(1)[0][0]
    pages = "1 page" if len(rows) == 1 else f"{len(rows)} pages"
    why = f"the new answers of {pages} are not believed: {reason}"
    examples = tuple(row.key for row in rows[:EXAMPLES])
    run = min(row.run for row in rows)
    return HeldSource(first.source, run, why, len(rows), first.since, examples)


def held_error(waiting: Sequence[HeldSource]) -> HeldForDecision:
    """Return the error that lists the waiting answers and how to decide."""
    reasons = "; ".join(f"{source.source}: {source.why}" for source in waiting)
    runs = ", ".join(f"`halflife sync --accept {source.run}`" for source in waiting)
    return HeldForDecision(
        f"the copies stay as they were, a decision is needed: {reasons}; if the "
        f"answers are right run {runs}, otherwise do nothing: pages that recover are "
        "updated"
    )


def accept(store: Store, source: HeldSource, clock: Clock) -> int:
    """Accept the held answers of a source; return how many.

    Such texts are accepted from then on. After a crash the rest still waits.
    """
    run = store.begin([source.source], clock(), lease=LEASE)
    try:
        rows = store.held_answers.rows([source.source])
        shapes = {**dict.fromkeys(r.shape for r in rows)}
        shapes |= dict.fromkeys(accepted(store, source.source))
        ACCEPTED_TEXTS.save(store, tuple(shapes)[:MOST_ACCEPTED], source.source)
        for first in range(0, len(rows), CHUNK):
            chunk = rows[first : first + CHUNK]
            batch = [store.held_answers.observation(row) for row in chunk]
            store.append(run, Observations.of(new for new in batch if new is not None))
    finally:
        store.finish(run, clock())
    return len(rows)


def keep(store: Store, source: HeldSource, clock: Clock) -> int:
    """Reject the held answers of a source and keep its copies; return how many.

    The answers stay held but are not reported any more.
    """
    run = store.begin([source.source], clock(), lease=LEASE)
    try:
        with store.together():
            store.fence(run)
            rows = store.held_answers.rows([source.source])
            store.held_answers.set_state(rows, KEPT)
    finally:
        store.finish(run, clock())
    return len(rows)
