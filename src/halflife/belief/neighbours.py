"""Belief in pages that change together, each at a rate of its own.

Rates are pooled from the outside in (``belief.page_rates``). How busy sites and folders
were, day by day, is learned by ``models.bursts``, and how busy pages with near names
were since a page was seen by ``belief.near_pages``; the view tells both as the exposure
of each page. Long pages change more often (``belief.page_lengths``). A page that is
gone is believed to come back as seldom as others did.

How far sites and folders are to be trusted, and how far near names, is learned from how
well they foretell (``belief.trust``). Where pages change independently of each other,
both go to 0 and the exposure to the age.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from halflife.belief import days_since, view_of
from halflife.belief.earlier_changes import count_changes, earlier_changes
from halflife.belief.heard import UNHEARD, Hearsay, changed_gaps
from halflife.belief.near_pages import NearPages, NewLooks, wider
from halflife.belief.page_lengths import Classes, PageLengths
from halflife.belief.page_rates import PageRates, Rows
from halflife.belief.trust import TrustPosterior
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.evidence import LONGEST, Evidence
from halflife.core.keys import Chosen, names_at
from halflife.core.observation import Seen
from halflife.core.view import View, unfiled
from halflife.grouping.places import folder_codes
from halflife.models.bursts import BurstMemory, Bursts, at_least_one
from halflife.models.poisson import GammaSurvival

TRUST = np.linspace(0.0, 1.0, 5)  # how far neighbours may be trusted
REFIT = 1.25  # learn the shape again when looks have grown by this factor
BLOCK = 65_536  # items that are viewed at once, where there are many
_COLUMNS: dict[str, Any] = {  # of a view, that are worked out
    **dict.fromkeys(("rate", "age", "exposure", "doubt"), np.float64),
    **dict.fromkeys(("looks", "changes"), np.int32),
    **dict.fromkeys(("looked", "changed", "ready"), np.bool_),
}
KEPT_BINS = 128  # bins of which a later run is told
KEPT_PAGES = 16_384  # pages of which it is told what near pages did
GONE = 0.1, 5.0  # changes seen and expected of pages that are gone, before any is


@dataclass(frozen=True, slots=True)
class NeighbourMemory:
    """What a belief in neighbours has learned, by the names of places.

    Attributes:
        sites: Names of the sites.
        folders: Names of the folders that were told apart from their sites.
        kept: What was learned of them, in the same order.
        trust: How likely each degree of trust made what was seen, as a logarithm.
        pages: Names of pages of which near pages told most.
        near: Changes expected and seen of pages near to them, one above the other.
        near_trust: As ``trust``, for near pages.
        lengths: Classes of the lengths of pages, by their numbers in the store.

    """

    sites: tuple[str, ...]
    folders: tuple[str, ...]
    kept: BurstMemory
    trust: tuple[float, ...]
    pages: tuple[str, ...] = ()
    near: Floats = field(default_factory=lambda: np.zeros((2, 0)))
    near_trust: tuple[float, ...] = ()
    lengths: Classes = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))


class Neighbours:
    """Pages change at rates of their own, and more when their neighbours do.

    It is brought up to date by the difference between the evidence now and at the
    last call, which is exact as long as no item is looked at twice between.

    Args:
        bursts: Makes the model of busy times, with nothing learned yet.
        trust: How far neighbours may be trusted, from 0 to 1; which of these is
            right is learned.
        near: The same for pages with near names; like ``trust`` if not given.

    """

    def __init__(
        self,
        bursts: Callable[[], Bursts] = Bursts,
        *,
        trust: Floats = TRUST,
        near: Floats | None = None,
    ) -> None:
        self._make, self._degrees = bursts, trust
        self._near_degrees = trust if near is None else near
        self._memory: NeighbourMemory | None = None
        self._of: Evidence | None = None
        self._hearsay: Hearsay | None = None
        self._folders: dict[str, int] = {}
        self._moved = False
        self._lengths = PageLengths()

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        self.learn(evidence, now)
        if len(evidence) > 2 * BLOCK:
            return self._in_blocks(evidence, None, now, since)
        return self._view(evidence, None, now, since)

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Take in what is new; ``some`` can tell of it then."""
        whole = getattr(evidence, "whole", evidence)
        self._hearsay = evidence if isinstance(evidence, Hearsay) else None
        if self._of is not whole:
            self._start(whole, now)
        self._grow(whole)
        self._weigh_lengths(whole)
        self._bursts.reach(now)
        self._follow(whole)
        self._moved = self._moved or self._hearsay is not None
        self._look_around()
        self._unrest = cache(self._bursts.unrest)
        return True

    def some(self, evidence: Evidence, rows: Ints, now: float, since: float) -> View:
        """Return what we believe of the items at these rows, as learned last."""
        if rows.size > 2 * BLOCK:
            return self._in_blocks(evidence, rows, now, since)
        return self._view(evidence, rows, now, since)

    def _view(
        self, evidence: Evidence, rows: Ints | None, now: float, since: float
    ) -> View:
        whole = getattr(evidence, "whole", evidence)
        at: Rows = slice(None) if rows is None else rows
        shape, exposure, rate = self._rates(at, whole.seen[at] == Seen.ABSENT)
        law = GammaSurvival(shape, exposure)
        view = view_of(whole, now, since, rate, law, rows=rows)
        held = np.flatnonzero(view.held)
        pages = held if rows is None else rows[held]
        last = now - days_since(whole.last_at[pages], now)
        lived, doubt = view.exposure, view.doubt
        lived[held] = self._lived(pages, last, now)
        doubt[held] = self._trust.share * self._bursts.doubt(pages, last, now)
        return replace(view, unrest=self._unrest)

    def _lived(self, pages: Ints, last: Floats, now: float) -> Floats:
        """Return the time that pages have lived by now, as far as that is trusted."""
        lived = self._trust.mean(now - last, self._bursts.lived(pages, last, now))
        told = np.flatnonzero(self._near.expected[pages] > 0)
        some = lived[told]
        lived[told] = self._near_trust.mean(some, some * self._near.busy(pages[told]))
        return lived

    def _in_blocks(
        self, evidence: Evidence, rows: Ints | None, now: float, since: float
    ) -> View:
        """Return the same with no more beside it than a block needs."""
        whole = getattr(evidence, "whole", evidence)
        n = len(whole) if rows is None else rows.size
        wide = {name: np.empty(n, kind) for name, kind in _COLUMNS.items()}
        shape, exposure = np.empty(n), np.empty(n)
        for start in range(0, n, BLOCK):
            at = slice(start, min(start + BLOCK, n))
            part = self._view(
                evidence,
                np.arange(at.start, at.stop) if rows is None else rows[at],
                now,
                since,
            )
            law = part.survival
            assert isinstance(law, GammaSurvival)
            shape[at], exposure[at] = law.shape, law.exposure
            for name, column in wide.items():
                column[at] = getattr(part, name)
        some: Rows = slice(None) if rows is None else rows
        return View(
            now=now,
            keys=whole.keys if rows is None else Chosen(whole.keys, rows),
            weight=whole.weight[some],
            cost=whole.cost[some],
            group=whole.group[some],
            survival=GammaSurvival(shape, exposure),
            due=np.zeros(0),
            room=np.broadcast_to(np.inf, n),
            unrest=self._unrest,
            topics=unfiled,
            calendar=None,
            **wide,
        )

    def _start(self, evidence: Evidence, now: float) -> None:
        """Begin anew: what was seen so far counts, but not when."""
        lengths = self._known_lengths()
        self._of, self._bursts = evidence, self._make()
        begun = evidence.derived(earlier_changes)
        self._folders = dict(begun.folders)
        self._pages, self._around, self._moved = begun.pages, begun.around, False
        self._counted = begun.rows, begun.counted
        self._before = evidence.batches, evidence.hinted().item.size
        self._gone = np.array(GONE)
        self._trust = TrustPosterior(self._degrees)
        self._near, self._near_trust = NearPages(), TrustPosterior(self._near_degrees)
        n = len(evidence)
        self._last, self._absent = np.empty(n), np.empty(n, dtype=np.bool_)
        self._looks, self._changes = np.empty((2, n), dtype=np.int32)
        first = float(evidence.last_at.max(initial=-np.inf))
        self._bursts.reach(min(now, first) if np.isfinite(first) else now)
        self._bursts.place(self._pages.site, self._pages.folder)
        self._near.grow(n)
        self._fitted = int(evidence.looks.sum()) - n
        self._lengths.begin(lengths, evidence)
        self._weigh_lengths(evidence)
        self._learn_exponents()
        if self._memory is not None:
            self._recall(self._memory, evidence)
        self._note(evidence)

    def recount(self, worth: Floats, share: Floats) -> None:
        """Count the changes before the first call anew, by what hints are worth now.

        ``worth`` and ``share`` are as in ``Silent.listen``.
        """
        if self._of is not None:
            wide = np.ones(len(self._of))
            wide[: share.size] = share
            gaps = changed_gaps(self._of, worth, *self._before)
            pages, (rows, counted) = self._own_pages(), self._counted
            pages.changes[rows] -= counted
            rows, counted = count_changes(pages, gaps, wide)
            pages.changes[rows] += counted
            self._counted = rows, counted
            self._learn_spread()

    def _own_pages(self) -> PageRates:
        """Return what is counted of pages, to be written to."""
        pages = self._pages
        if not pages.changes.flags.writeable:  # others go by it, too
            changes, lived = pages.changes.copy(), pages.lived.copy()
            self._pages = replace(pages, changes=changes, lived=lived)
            self._around = replace(self._around, pages=self._pages)
        return self._pages

    def recollect(self, memory: NeighbourMemory | None) -> None:
        """Go on, when called next, from what an earlier belief had learned."""
        self._memory = memory

    def memory(self) -> NeighbourMemory | None:
        """Return what was learned, to be handed to a belief of a later run."""
        if self._of is None:
            return None
        names = tuple(self._folders)
        kept = self._bursts.kept(KEPT_BINS)
        sites, near = len(self._of.groups), self._near
        told = near.telling(KEPT_PAGES)
        return NeighbourMemory(
            self._of.groups,
            tuple(names[i] for i in kept.folder.tolist()),
            replace(kept, sites=kept.sites[:, :sites]),
            tuple(self._trust.likely.tolist()),
            names_at(self._of.keys, told),
            np.stack([near.expected[told], near.seen[told]]),
            tuple(self._near_trust.likely.tolist()),
            self._known_lengths(),
        )

    def _recall(self, memory: NeighbourMemory, evidence: Evidence) -> None:
        """Go on from what an earlier belief had learned of places still known."""
        code = {name: i for i, name in enumerate(evidence.groups)}
        bins = memory.kept.sites.shape[2]
        sites = np.zeros((2, len(evidence.groups), bins))
        for row, name in enumerate(memory.sites):
            if name in code:
                sites[:, code[name]] = memory.kept.sites[:, row]
        known = [
            row
            for row, name in enumerate(memory.folders)
            if name in self._folders
            and memory.sites[int(memory.kept.parent[row])] in code
        ]
        rows = np.array(known, dtype=np.intp)
        parent = [code[memory.sites[int(i)]] for i in memory.kept.parent[rows]]
        self._bursts.restore(
            BurstMemory(
                memory.kept.origin,
                sites,
                np.array([self._folders[memory.folders[i]] for i in known], np.intp),
                np.array(parent, dtype=np.intp),
                memory.kept.folders[:, rows],
            )
        )
        for trust, likely in (
            (self._trust, memory.trust),
            (self._near_trust, memory.near_trust),
        ):
            if len(likely) == trust.likely.size:
                trust.likely = np.array(likely)
        found = [evidence.row(name) for name in memory.pages]
        here = np.array([row is not None for row in found], dtype=np.bool_)
        told = np.array([row for row in found if row is not None], dtype=np.intp)
        self._near.expected[told], self._near.seen[told] = memory.near[:, here]

    def _fit(self, evidence: Evidence) -> None:
        """Learn how much pages differ, if much was seen since it was done last."""
        looks = int(evidence.looks.sum()) - len(evidence)
        if looks > REFIT * self._fitted:
            self._learn_spread()
            self._fitted = looks

    def _learn_spread(self) -> None:
        """Learn how much pages differ, and how much of that their lengths tell."""
        self._around, self._moved = self._pages.fit(), False
        self._learn_exponents()

    def _learn_exponents(self) -> None:
        """Learn how much the lengths of pages tell, if any are known."""
        pages = self._pages
        if pages.prone is not None:
            self._lengths.fit(pages, pages.around())
            self._pages = replace(pages, prone=self._lengths.prone(pages.site))
            self._around, self._moved = self._pages.around(), False

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Take note of how long pages are, by their names; the first length counts."""
        self._lengths.measure(lengths)

    def _known_lengths(self) -> Classes:
        """Return the lengths of pages, as they are kept."""
        if self._of is not None:
            return self._lengths.kept(self._of)
        return np.zeros(0, np.uint8) if self._memory is None else self._memory.lengths

    def _weigh_lengths(self, evidence: Evidence) -> None:
        """Take in what was measured since the last call."""
        moved, pages = self._lengths.follow(evidence), self._pages
        prone = self._lengths.prone(pages.site) if moved else None
        if prone is not None:
            self._pages, self._moved = replace(pages, prone=prone), True

    def _look_around(self) -> None:
        """Find out what is around pages, if anything was counted since."""
        if self._moved:
            pages = self._pages
            if self._hearsay is not None:
                changes, days = self._hearsay.meanwhile()
                changes, days = pages.changes + changes, pages.lived + days
                pages = replace(pages, changes=changes, lived=days)
            self._around, self._moved = pages.around(), False

    def _grow(self, evidence: Evidence) -> None:
        """Make room for items that became known."""
        known, n = self._pages.site.size, len(evidence)
        if known == n:
            return
        new = folder_codes(evidence.keys, known, self._folders)
        pages = self._pages
        self._pages = replace(
            pages,
            site=evidence.group,
            folder=np.concatenate([pages.folder, new]),
            changes=wider(pages.changes, n),
            lived=wider(pages.lived, n),
        )
        self._last = wider(self._last, n)
        self._looks = wider(self._looks, n)
        self._changes = wider(self._changes, n)
        self._absent = wider(self._absent, n)
        self._bursts.place(self._pages.site, self._pages.folder)
        self._near.grow(n)
        self._moved = True

    def _follow(self, evidence: Evidence) -> None:
        """Take in the looks made since the last call."""
        rows = np.flatnonzero((evidence.looks > self._looks) & (self._looks > 0))
        if rows.size:
            self._learn(evidence, rows)
            self._fit(evidence)
        self._note(evidence)

    def _learn(self, evidence: Evidence, rows: Ints) -> None:
        changed = evidence.changes[rows] > self._changes[rows]
        self._look_around()
        shape, exposure, rate = self._rates(rows, self._absent[rows])
        since, at, gone = self._last[rows], evidence.last_at[rows], self._absent[rows]
        # The clock may have been set, back or far ahead.
        since = np.where(at - since > LONGEST, at, np.minimum(since, at))
        here, there = rows[~gone], rows[gone]
        if there.size:
            usual = rate[gone] / self._returns
            x = usual * (at[gone] - since[gone])
            back = np.where(changed[gone], at_least_one(x), 0.0)
            self._gone += back.sum(), x.sum()
            self._near.forget(there)
        if here.size:
            since, at, changed = since[~gone], at[~gone], changed[~gone]
            shape, exposure, rate = shape[~gone], exposure[~gone], rate[~gone]
            heard = self._hearsay.heard(here) if self._hearsay else UNHEARD
            silent = rate * heard.share
            seen = self._bursts.learn(here, since, at, changed, silent, heard.load)
            survival = GammaSurvival(shape, exposure)
            self._trust.learn(survival, at - since, seen.lived, changed, heard)
            lived = self._trust.mean(at - since, seen.lived)
            near = lived * self._near.busy(here)
            self._near_trust.learn(survival, lived, near, changed, heard)
            unheard = np.where(changed, at_least_one(silent * lived, heard.load), 0.0)
            looks = NewLooks(here, since, at, silent * lived, unheard)
            place = evidence.keys, self._pages.folder
            self._near.learn(looks, place, evidence.last_at, self._bursts)
            counted = np.where(changed, heard.changes(rate * lived), 0.0)
            pages = self._own_pages()
            pages.changes[here] += counted
            pages.lived[here] += lived
            self._moved = True

    @property
    def _returns(self) -> float:
        """How often pages that are gone change, as a share of the usual."""
        return float(self._gone[0] / self._gone[1])

    def _rates(self, rows: Rows, gone: Bools) -> tuple[Floats, Floats, Floats]:
        """Return shape and exposure of each page's rate, and its mean."""
        shape, exposure = self._around.rates(rows)
        exposure = np.where(gone, exposure / self._returns, exposure)
        return shape, exposure, shape / exposure

    def _note(self, evidence: Evidence) -> None:
        self._last[:] = evidence.last_at
        self._looks[:], self._changes[:] = evidence.looks, evidence.changes
        self._absent[:] = evidence.seen == Seen.ABSENT
