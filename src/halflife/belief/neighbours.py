"""Belief in pages that change together, each at a rate of its own.

Rates are pooled from the outside in (``belief.page_rates``). How busy sites and folders
were, day by day, is learned by ``models.bursts``, and how busy pages with near names
were since a page was fetched by ``belief.near_pages``; both enter the exposure of each
page in the view. Long pages change more often (``belief.page_lengths``). The changes of
a page are counted anew whenever it is fetched (``belief.own_changes``). A page that is
gone is expected to return as rarely as others did.

The trust in sites and folders, and in near names, is learned from how well they predict
(``belief.trust``). Where pages change independently of each other, both go to 0 and the
exposure to the age.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from halflife.belief import days_since, view_of
from halflife.belief.earlier_changes import count_changes, earlier_changes
from halflife.belief.gap_hints import NO_HINTS, HintedEvidence, changed_gaps
from halflife.belief.near_pages import NearPages, NewObservations, with_room
from halflife.belief.own_changes import OwnChanges
from halflife.belief.page_lengths import Classes, PageLengths
from halflife.belief.page_rates import PageRates, Rows
from halflife.belief.site_paces import SitePaces
from halflife.belief.trust import TrustPosterior
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.evidence import LONGEST, Evidence
from halflife.core.keys import KeySubset, names_at
from halflife.core.observation import Seen
from halflife.core.view import Unrest, View, unfiled
from halflife.grouping.places import folder_codes
from halflife.models.bursts import BurstMemory, Bursts, at_least_one
from halflife.models.pace import PaceMemory
from halflife.models.poisson import GammaSurvival

TRUST = np.linspace(0.0, 1.0, 5)  # how far neighbours may be trusted
DOUBT = 4.0  # nats: few observations of independent pages do not earn trust by chance
REFIT = 1.25  # learn the shape again when observations have grown by this factor
BLOCK = 65_536  # items that are viewed at once, where there are many
_COLUMNS: dict[str, Any] = {  # of a view, that are computed
    **dict.fromkeys(("rate", "age", "exposure", "doubt", "unsettled"), np.float64),
    **dict.fromkeys(("looks", "changes"), np.int32),
    **dict.fromkeys(("looked", "changed", "ready"), np.bool_),
}
KEPT_BINS = 128  # bins that are saved for a later run
KEPT_PAGES = 16_384  # pages for which the changes of near pages are saved
GONE = 0.1, 5.0  # prior changes, seen and expected, of pages that are gone


@dataclass(frozen=True, slots=True)
class NeighbourMemory:
    """What a belief in neighbours has learned, by the names of sites and folders.

    Attributes:
        sites: Names of the sites.
        folders: Names of the folders that differ from their sites.
        kept: The model of their busy times, in the same order.
        trust: The log-likelihood of each degree of trust.
        pages: Names of the pages with the most informative near pages.
        near: Changes expected and seen of pages near to them, one above the other.
        near_trust: As ``trust``, for near pages.
        lengths: Classes of the lengths of pages, by their numbers in the store.
        pace: The paces of the sites; None if not learned.

    """

    sites: tuple[str, ...]
    folders: tuple[str, ...]
    kept: BurstMemory
    trust: tuple[float, ...]
    pages: tuple[str, ...] = ()
    near: Floats = field(default_factory=lambda: np.zeros((2, 0)))
    near_trust: tuple[float, ...] = ()
    lengths: Classes = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    pace: PaceMemory | None = None


class Neighbours:
    """Pages change at rates of their own, and more when their neighbours do.

    It is updated by the difference between the evidence now and at the last call, which
    is exact as long as no item is fetched twice in between.

    Args:
        bursts: Makes the model of busy times, with nothing learned yet.
        trust: The possible degrees of trust in neighbours, from 0 to 1; the right one
            is learned.
        near: The same for pages with near names; ``trust`` if not given.

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
        self._hinted: HintedEvidence | None = None
        self._folders: dict[str, int] = {}
        self._moved = False
        self._lengths = PageLengths()

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        self.learn(evidence, now)
        if len(evidence) > 2 * BLOCK:
            return self._in_blocks(evidence, None, now, since)
        return self._view(evidence, None, now, since)

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Learn from new evidence; ``view_rows`` can be called with it then."""
        whole = getattr(evidence, "whole", evidence)
        self._hinted = evidence if isinstance(evidence, HintedEvidence) else None
        if self._of is not whole:
            self._start(whole, now)
        self._grow(whole)
        self._weigh_lengths(whole)
        self._bursts.reach(now)
        self._paces.reach(now, self._bursts)
        self._follow(whole)
        self._moved = self._moved or self._hinted is not None
        self._update_around()
        self._unrest = cache(self._learned_unrest)
        return True

    def view_rows(
        self, evidence: Evidence, rows: Ints, now: float, since: float
    ) -> View:
        """Return the view of the items at these rows, as of the last ``learn``."""
        if rows.size > 2 * BLOCK:
            return self._in_blocks(evidence, rows, now, since)
        return self._view(evidence, rows, now, since)

    def _view(
        self, evidence: Evidence, rows: Ints | None, now: float, since: float
    ) -> View:
        whole = getattr(evidence, "whole", evidence)
        at: Rows = slice(None) if rows is None else rows
        shape, exposure, rate = self._rates(at, whole.seen[at] == Seen.ABSENT)
        pace = self._bursts.pace(np.arange(len(whole)) if rows is None else rows)
        # Days of a view are days at the present pace.
        rate, law = rate * pace, GammaSurvival(shape, exposure / pace)
        view = view_of(whole, now, since, rate, law, rows=rows)
        held = np.flatnonzero(view.held)
        pages = held if rows is None else rows[held]
        last = now - days_since(whole.last_at[pages], now)
        lived, doubt = view.exposure, view.doubt
        lived[held] = self._lived(pages, last, now) / pace[held]
        doubt[held] = self._trust.share * self._bursts.doubt(pages, last, now)
        doubt[held] /= pace[held]
        unsettled = view.age.copy()
        unsettled[held] *= self._trust.share
        return replace(view, unrest=self._unrest, unsettled=unsettled)

    def _lived(self, pages: Ints, last: Floats, now: float) -> Floats:
        """Return the time that pages have lived by now, weighed by trust."""
        age = self._bursts.paced(pages, last, now)
        lived = self._trust.mean(age, self._bursts.lived(pages, last, now))
        rows = np.flatnonzero(self._near.expected[pages] > 0)
        by_bursts = lived[rows]
        lived[rows] = self._near_trust.mean(
            by_bursts, by_bursts * self._near.busy(pages[rows])
        )
        return lived

    def _learned_unrest(self) -> Unrest:
        return self._bursts.unrest()._replace(doubt=self._paces.pace.doubt)

    def _in_blocks(
        self, evidence: Evidence, rows: Ints | None, now: float, since: float
    ) -> View:
        """Return the same view, with temporary arrays of one block at a time."""
        whole = getattr(evidence, "whole", evidence)
        n = len(whole) if rows is None else rows.size
        columns = {name: np.empty(n, kind) for name, kind in _COLUMNS.items()}
        shape, exposure = np.empty(n), np.empty(n)
        for start in range(0, n, BLOCK):
            at = slice(start, min(start + BLOCK, n))
            block = self._view(
                evidence,
                np.arange(at.start, at.stop) if rows is None else rows[at],
                now,
                since,
            )
            law = block.survival
            assert isinstance(law, GammaSurvival)
            shape[at], exposure[at] = law.shape, law.exposure
            for name, column in columns.items():
                column[at] = getattr(block, name)
        chosen: Rows = slice(None) if rows is None else rows
        return View(
            now=now,
            keys=whole.keys if rows is None else KeySubset(whole.keys, rows),
            weight=whole.weight[chosen],
            cost=whole.cost[chosen],
            group=whole.group[chosen],
            survival=GammaSurvival(shape, exposure),
            due=np.zeros(0),
            room=np.broadcast_to(np.inf, n),
            unrest=self._unrest,
            topics=unfiled,
            calendar=None,
            **columns,
        )

    def _start(self, evidence: Evidence, now: float) -> None:
        """Start again: past observations count, but not their times."""
        lengths = self._known_lengths()
        self._of, self._bursts = evidence, self._make()
        earlier = evidence.derived(earlier_changes)
        self._folders = dict(earlier.folders)
        self._pages, self._around, self._moved = earlier.pages, earlier.around, False
        self._counted = earlier.rows, earlier.counted
        self._before = evidence.batches, evidence.hinted().item.size
        self._gone = np.array(GONE)
        self._trust = TrustPosterior(self._degrees, DOUBT)
        self._near, self._near_trust = (
            NearPages(),
            TrustPosterior(self._near_degrees, DOUBT),
        )
        self._own, n = OwnChanges(), len(evidence)
        self._own.grow(n)
        self._last, self._absent = np.empty(n), np.empty(n, dtype=np.bool_)
        self._looks, self._changes = np.empty((2, n), dtype=np.int32)
        first = float(evidence.last_at.max(initial=-np.inf))
        self._bursts.reach(min(now, first) if np.isfinite(first) else now)
        self._bursts.place(self._pages.site, self._pages.folder)
        self._paces = SitePaces()
        self._paces.begin(self._pages.site, self._pages.lived)
        self._paces.grow(len(evidence.groups))
        self._near.grow(n)
        self._fitted = int(evidence.looks.sum()) - n
        self._lengths.begin(lengths, evidence)
        self._weigh_lengths(evidence)
        self._learn_exponents()
        if self._memory is not None:
            self._restore(self._memory, evidence)
        self._note(evidence)

    def recount(self, worth: Floats, share: Floats) -> None:
        """Count the changes before the first call again, by the current worth of hints.

        ``worth`` and ``share`` are as in ``SilentEvidence.note_hints``.
        """
        if self._of is not None:
            shares = np.ones(len(self._of))
            shares[: share.size] = share
            gaps = changed_gaps(self._of, worth, *self._before)
            pages, (rows, counted) = self._own_pages(), self._counted
            pages.changes[rows] -= counted
            rows, counted = count_changes(pages, gaps, shares)
            pages.changes[rows] += counted
            self._counted = rows, counted
            self._learn_spread()

    def _own_pages(self) -> PageRates:
        """Return the counts of pages as arrays that may be written to."""
        pages = self._pages
        if not pages.changes.flags.writeable:  # shared with other beliefs
            changes, lived = pages.changes.copy(), pages.lived.copy()
            self._pages = replace(pages, changes=changes, lived=lived)
            self._around = replace(self._around, pages=self._pages)
        return self._pages

    def resume(self, memory: NeighbourMemory | None) -> None:
        """Continue, at the next call, from what an earlier belief had learned."""
        self._memory = memory

    def memory(self) -> NeighbourMemory | None:
        """Return what was learned, for a belief of a later run."""
        if self._of is None:
            return None
        names = tuple(self._folders)
        kept = self._bursts.kept(KEPT_BINS)
        sites, near = len(self._of.groups), self._near
        pages = near.most_informative(KEPT_PAGES)
        return NeighbourMemory(
            self._of.groups,
            tuple(names[i] for i in kept.folder.tolist()),
            replace(kept, sites=kept.sites[:, :sites], pace=kept.pace[:sites]),
            tuple(self._trust.likely.tolist()),
            names_at(self._of.keys, pages),
            np.stack([near.expected[pages], near.seen[pages]]),
            tuple(self._near_trust.likely.tolist()),
            self._known_lengths(),
            self._paces.memory(),
        )

    def _restore(self, memory: NeighbourMemory, evidence: Evidence) -> None:
        """Continue from what an earlier belief had learned of sites and folders."""
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
                self._restored_paces(memory, code),
            )
        )
        for trust, likely in (
            (self._trust, memory.trust),
            (self._near_trust, memory.near_trust),
        ):
            if len(likely) == trust.likely.size:
                trust.likely = np.array(likely)
        page_rows = [evidence.row(name) for name in memory.pages]
        is_known = np.array([row is not None for row in page_rows], dtype=np.bool_)
        near_rows = np.array(
            [row for row in page_rows if row is not None], dtype=np.intp
        )
        self._near.expected[near_rows], self._near.seen[near_rows] = memory.near[
            :, is_known
        ]

    def _restored_paces(self, memory: NeighbourMemory, code: dict[str, int]) -> Floats:
        """Return the pace of each site in each bin, compared with the rates now."""
        paces, kept = np.ones((len(code), memory.kept.sites.shape[2])), memory.pace
        if kept is not None:
            rows = [code.get(name) for name in memory.sites]
            self._paces.restore(kept, rows)
            for row, pace, mean in zip(rows, memory.kept.pace, kept.mean, strict=False):
                if row is not None:
                    paces[row] = pace / mean
        return paces

    def _fit(self, evidence: Evidence) -> None:
        """Learn how much pages differ, if there are enough new observations."""
        looks = int(evidence.looks.sum()) - len(evidence)
        if looks > REFIT * self._fitted:
            self._learn_spread()
            self._fitted = looks

    def _learn_spread(self) -> None:
        """Learn how much pages differ, and how much of that their lengths explain."""
        self._around, self._moved = self._pages.fit(), False
        self._learn_exponents()

    def _learn_exponents(self) -> None:
        """Learn how much the lengths of pages explain, if any are known."""
        pages = self._pages
        if pages.prone is not None:
            self._lengths.fit(pages, pages.around())
            self._pages = replace(pages, prone=self._lengths.prone(pages.site))
            self._around, self._moved = self._pages.around(), False

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Note the lengths of pages by key; the first length of a page is kept."""
        self._lengths.measure(lengths)

    def _known_lengths(self) -> Classes:
        """Return the lengths of pages, as they are saved."""
        if self._of is not None:
            return self._lengths.kept(self._of)
        return np.zeros(0, np.uint8) if self._memory is None else self._memory.lengths

    def _weigh_lengths(self, evidence: Evidence) -> None:
        """Use the lengths measured since the last call."""
        moved, pages = self._lengths.follow(evidence), self._pages
        prone = self._lengths.prone(pages.site) if moved else None
        if prone is not None:
            self._pages, self._moved = replace(pages, prone=prone), True

    def _update_around(self) -> None:
        """Update the rates around pages, if anything was counted since."""
        if self._moved:
            pages = self._pages
            if self._hinted is not None:
                changes, days = self._hinted.announced_since()
                changes, days = pages.changes + changes, pages.lived + days
                pages = replace(pages, changes=changes, lived=days)
            self._around, self._moved = pages.around(), False

    def _grow(self, evidence: Evidence) -> None:
        """Make room for new items."""
        known, n = self._pages.site.size, len(evidence)
        if known == n:
            return
        new = folder_codes(evidence.keys, known, self._folders)
        pages = self._pages
        self._pages = replace(
            pages,
            site=evidence.group,
            folder=np.concatenate([pages.folder, new]),
            changes=with_room(pages.changes, n),
            lived=with_room(pages.lived, n),
        )
        self._last = with_room(self._last, n)
        self._looks = with_room(self._looks, n)
        self._changes = with_room(self._changes, n)
        self._absent = with_room(self._absent, n)
        self._bursts.place(self._pages.site, self._pages.folder)
        self._paces.grow(len(evidence.groups))
        self._near.grow(n)
        self._own.grow(n)
        self._moved = True

    def _follow(self, evidence: Evidence) -> None:
        """Learn from the observations made since the last call."""
        rows = np.flatnonzero((evidence.looks > self._looks) & (self._looks > 0))
        if rows.size:
            self._learn(evidence, rows)
            self._fit(evidence)
        self._note(evidence)

    def _learn(self, evidence: Evidence, rows: Ints) -> None:
        changed = evidence.changes[rows] > self._changes[rows]
        self._update_around()
        shape, exposure, rate = self._rates(rows, self._absent[rows])
        since, at, gone = self._last[rows], evidence.last_at[rows], self._absent[rows]
        # The clock may have been set back or far ahead.
        since = np.where(at - since > LONGEST, at, np.minimum(since, at))
        here, gone_rows = rows[~gone], rows[gone]
        if gone_rows.size:
            usual = rate[gone] / self._return_rate
            x = usual * (at[gone] - since[gone])
            returned = np.where(changed[gone], at_least_one(x), 0.0)
            self._gone += returned.sum(), x.sum()
            self._near.forget(gone_rows)
        if here.size:
            since, at, changed = since[~gone], at[~gone], changed[~gone]
            shape, exposure, rate = shape[~gone], exposure[~gone], rate[~gone]
            hints = self._hinted.gap_hints(here) if self._hinted else NO_HINTS
            silent = rate * hints.share
            survival, age = GammaSurvival(shape, exposure), at - since
            paced = self._bursts.paced(here, since, at)
            site = self._pages.site[here]
            self._paces.learn(site, survival, age, paced, changed, hints.load)
            seen = self._bursts.learn(here, since, at, changed, silent, hints.load)
            self._trust.learn(survival, paced, seen.lived, changed, hints)
            lived = self._trust.mean(paced, seen.lived)
            near = lived * self._near.busy(here)
            self._near_trust.learn(survival, lived, near, changed, hints)
            unannounced = np.where(
                changed, at_least_one(silent * lived, hints.load), 0.0
            )
            looks = NewObservations(here, since, at, silent * lived, unannounced)
            place = evidence.keys, self._pages.folder, self._pages.site
            self._near.learn(looks, place, evidence.last_at, self._bursts)
            counted = np.where(changed, hints.changes(rate * lived), 0.0)
            apart = changed & (hints.load == 0)  # hints explain some of the others
            self._count(here, lived, counted, np.where(apart, lived * hints.share, 0.0))

    def _count(self, here: Ints, lived: Floats, counted: Floats, apart: Floats) -> None:
        """Count the time and the changes of gaps that ended now, one for each page.

        ``apart`` is the time in which changes without hints were found, 0 for none.
        """
        pages, found = self._own_pages(), apart > 0
        pages.changes[here] += counted
        pages.lived[here] += lived
        self._own.add(here[found], apart[found], counted[found])
        self._own.count(here, pages, self._around.at(here))
        self._moved = True

    @property
    def _return_rate(self) -> float:
        """The rate at which gone pages return, as a share of their usual rate."""
        return float(self._gone[0] / self._gone[1])

    def _rates(self, rows: Rows, gone: Bools) -> tuple[Floats, Floats, Floats]:
        """Return shape and exposure of each page's rate, and its mean."""
        shape, exposure = self._around.rates(rows)
        shape = shape + self._own.more[rows]
        exposure = np.where(gone, exposure / self._return_rate, exposure)
        return shape, exposure, shape / exposure

    def _note(self, evidence: Evidence) -> None:
        self._last[:] = evidence.last_at
        self._looks[:], self._changes[:] = evidence.looks, evidence.changes
        self._absent[:] = evidence.seen == Seen.ABSENT
