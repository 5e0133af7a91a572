"""Belief in hints of change, as far as they proved right.

An item last seen t days and s hints ago has not changed with probability S(t)
exp(-k s): S is the survival that another belief gives for unannounced changes, and k,
the worth of a hint, is learned for each group (host) and each kind of hint; with hints
of several kinds, k s is the sum over them. The view holds it as exposure: the time e at
which S(e) = S(t) exp(-k s). For a rate a known exactly that is e = t + k s / a, the
effective age of ``allocation.signals``; for a rate known up to a Gamma(shape, b),
S(t) = (1 + t / b) ** -shape, it is e = t + (b + t) (exp(k s / shape) - 1).

Silence is evidence too (``models.silence``). A belief whose rates count all changes, as
that of ``Neighbours``, would count announced changes as silent ones too. So if a share
q of a page's changes goes unannounced, and maps cover a share c of the time since its
fetch, its exposure is q c + 1 - c of that belief's; a page without dates in any map has
q = 1.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from halflife.belief import Belief, LengthAware, PartialBelief
from halflife.belief.gap_hints import GapHints, changed_gaps
from halflife.belief.neighbours import Neighbours
from halflife.core.append_log import GapLog
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import CLAIMED, Evidence
from halflife.core.hint_claims import by_kind
from halflife.core.history import Gaps
from halflife.core.observation import HINT_KINDS
from halflife.core.view import Survival, View
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.models.signals import (
    Announced,
    HintedObservations,
    HintTrust,
    silent_share,
)
from halflife.models.silence import ChangedObservations, SilentShares

FARTHEST = 1000.0  # days of exposure to which hints can bring an item
_LONGEST = 1e6  # days that an item can have been observed
_LARGEST_LOG = 50.0  # by which hints can stretch the time lived
_HALVINGS = 50
_SLOWEST = 1e-9  # changes a day
PACES = 0.1, 0.5  # changes a day; bounds between classes of dated pages
_MORE_LOOKS = 1.1  # weigh silence again when observations have grown by this factor
_KINDS = (np.intp, np.float64, np.bool_, np.float64)


class HintedBelief:
    """Another belief, and hints as far as they proved right.

    The other belief learns from unannounced changes: a change seen after hints counts
    as one with the probability that it was, given the current worth of hints (a step of
    expectation maximisation at each refit). ``Neighbours`` counts all changes,
    announced or not; the worth of silence corrects for that. Without hints this is the
    other belief.

    Args:
        inner: The belief in changes that no hint announces.
        worth: The worth of a hint, if it is known and need not be learned.
        plug_in: Treat the mean of each rate as its true value.
        announced: Include the rates of hints in the view's survival (``Announced``),
            for policies that use them.
        refit: Learn again when gaps with hints have grown by this factor.

    Attributes:
        maps: The keys of maps; each reading of a map announces all that it knows.

    """

    maps: Collection[str] = ()

    def __init__(
        self,
        inner: Belief,
        *,
        worth: float | None = None,
        plug_in: bool = False,
        announced: bool = True,
        refit: float = 1.5,
    ) -> None:
        self.inner = inner
        self.refit = refit
        self.plug_in = plug_in
        self.announced = announced
        self.trusts = tuple(HintTrust() for _ in HINT_KINDS)
        self._given = worth
        self._worth = np.zeros((len(HINT_KINDS), 0))
        self._view: View | None = None
        self._silent: SilentEvidence | None = None
        self._learned = self._weighed = 0
        self._share = np.ones(0)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        if self._unhinted(evidence):
            self._silent = self._view = None
            return self.inner(evidence, now, since)
        silent = self._silent
        if silent is None or silent.whole is not evidence:
            silent = self._silent = SilentEvidence(evidence)
            self._learned = self._weighed = 0
            silent.follow(None, self.worth(evidence))
            self._note_hints(silent, now)
            self._view = self.inner(silent, now, since)
        self._note_hints(silent, now)
        view = self._view
        if view is None or len(view) < len(evidence):  # there are new items
            view = self.inner(silent, now, since)
        n_hinted = evidence.hinted().item.size
        if n_hinted > self.refit * self._learned:
            silent = self._silent = self._learn(silent, view)
            self._learned = n_hinted
        silent.follow(view, self.worth(evidence))
        self._view = self.inner(silent, now, since)
        if self._counts_all:
            self._weigh_silence(evidence, self._view)
        return self._with_hints(silent, self._view)

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Pass the lengths of pages, by key, to the other belief."""
        if isinstance(self.inner, LengthAware):
            self.inner.measure(lengths)

    @property
    def _counts_all(self) -> bool:
        """Whether the rates of the other belief count all changes."""
        return isinstance(self.inner, Neighbours)

    def _weigh_silence(self, evidence: Evidence, view: View) -> None:
        """Learn the share of unannounced changes, if there is enough new evidence."""
        observed = int(evidence.looks.sum())
        if len(evidence) > self._share.size or observed > _MORE_LOOKS * self._weighed:
            self._share = self._unannounced(evidence, view)
            self._weighed = observed

    def _unannounced(self, evidence: Evidence, view: View) -> Floats:
        """Return the share of each item's changes that no hint announces."""
        worth, gaps, hinted = self.worth(evidence), evidence.gaps(), evidence.hinted()
        load = (worth[:, hinted.item] * by_kind(hinted.hints)).sum(axis=0)
        hidden = -np.expm1(-load) * hinted.length * hinted.tally
        days = np.bincount(gaps.item, gaps.length * gaps.tally, len(evidence))
        days = days - np.bincount(hinted.item, hidden, len(evidence))
        ended = changed_gaps(evidence, worth)
        expected = view.rate[ended.item] * ended.length
        seen = ChangedObservations(
            ended.item, expected, np.exp(-ended.load) * ended.tally
        )
        place = dating_groups(evidence, view.rate)
        return SilentShares().fit(seen, view.rate * days, place).share_

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Learn from new evidence, unless there were hints: they need a whole view."""
        if not (self._unhinted(evidence) and isinstance(self.inner, PartialBelief)):
            return False
        return self.inner.learn(evidence, now)

    def view_rows(
        self, evidence: Evidence, rows: Ints, now: float, since: float
    ) -> View:
        """Return the view of the items at these rows, as of the last ``learn``."""
        return cast("PartialBelief", self.inner).view_rows(evidence, rows, now, since)

    def _unhinted(self, evidence: Evidence) -> bool:
        """Return whether there is nothing to add: there was never a hint."""
        if self.announced or self.plug_in:
            return False
        return not (evidence.hinted().item.size or evidence.hints.any())

    def worth(self, evidence: Evidence) -> Floats:
        """Return the worth of a hint for each item, a row for each kind of hint."""
        if self._given is not None:
            return np.full((len(HINT_KINDS), len(evidence)), self._given)
        n_new = max(len(evidence.groups) - self._worth.shape[1], 0)
        pooled = np.array([[getattr(trust, "pooled_", 0.0)] for trust in self.trusts])
        worths = np.concatenate([self._worth, np.repeat(pooled, n_new, axis=1)], axis=1)
        return worths[:, evidence.group]

    def precision(self, evidence: Evidence, row: int) -> dict[str, float]:
        """Return how often hints in an item's group are right, for the kinds seen."""
        gaps, in_group = evidence.hinted(), evidence.group == evidence.group[row]
        arrived = by_kind(gaps.hints)[:, in_group[gaps.item]].any(axis=1)
        arrived |= by_kind(evidence.hints)[:, in_group].any(axis=1)
        precision = -np.expm1(-self.worth(evidence)[:, row])
        return {HINT_KINDS[k]: float(precision[k]) for k in np.flatnonzero(arrived)}

    def _learn(self, silent: "SilentEvidence", view: View) -> "SilentEvidence":
        """Learn the worth of hints; return the evidence, to be weighed again."""
        evidence, n_groups = silent.whole, len(silent.whole.groups)
        if self._given is None:
            hints = by_kind(evidence.hinted().hints)
            for kind in np.flatnonzero(hints.any(axis=1)).tolist():
                batch = hinted_looks(
                    silent,
                    view,
                    self.worth(evidence),
                    kind,
                    counts_all=self._counts_all,
                )
                self.trusts[kind].fit(batch, n_groups=n_groups)
                worth = np.zeros((len(HINT_KINDS), n_groups))
                worth[:, : self._worth.shape[1]] = self._worth[:, :n_groups]
                worth[kind] = self.trusts[kind].worth_
                self._worth = worth
        renewed = SilentEvidence(evidence, silent.noted_before)
        if isinstance(self.inner, Neighbours):
            self._share = self._unannounced(evidence, view)
            self.inner.recount(self.worth(evidence), self._share)
        self._note_hints(renewed, view.now)
        return renewed

    def _note_hints(self, silent: "SilentEvidence", now: float) -> None:
        until = announced_until(silent.whole, now, self.maps)
        silent.note_hints(self.worth(silent.whole), self._share, until)

    def _with_hints(self, silent: "SilentEvidence", view: View) -> View:
        """Return the view with hints in its exposure and all changes in its rate."""
        worth, rates = self.worth(silent.whole), silent.hint_rates(view)
        inner = Exponential(view.rate) if self.plug_in else view.survival
        load = (worth * by_kind(silent.whole.hints)).sum(axis=0)
        silence, rate, quiet = np.ones(len(view)), view.rate, view.rate
        unsettled = view.unsettled
        if self._counts_all:
            silence = self._silence(silent.whole, view)
            quiet = self._share * rate
            unsettled = silence**2 * view.unsettled_age
        else:
            rate = rate - (rates * np.expm1(-worth)).sum(axis=0)
        announced = Announced(inner, quiet, rates.sum(axis=0), _mean(worth, rates))
        return replace(
            view,
            rate=rate,
            survival=announced if self.announced else inner,
            exposure=stretched_exposure(inner, silence * view.exposure, load),
            doubt=silence * view.doubt,
            unsettled=unsettled,
        )

    def _silence(self, evidence: Evidence, view: View) -> Floats:
        """Return the factor by which the silence of maps shortens exposures."""
        age = np.where(view.held, np.maximum(view.age, 1e-12), 1.0)
        uncovered = view.now - announced_until(evidence, view.now, self.maps)
        covered = np.clip(1.0 - uncovered / age, 0.0, 1.0)
        factor: Floats = 1.0 - (1.0 - self._share) * covered
        return factor


class SilentEvidence(Evidence):
    """Evidence on changes that no hint announced.

    All columns are those of the ``whole`` evidence; only the gaps differ.

    Args:
        whole: All evidence.
        noted: How many of its gaps with hints were noted before (see ``note_hints``).

    Attributes:
        noted_before: How many had been noted before the last call of ``note_hints``.

    """

    def __init__(self, whole: Evidence, noted: int = 0) -> None:
        self.whole = whole
        self.log: GapLog[Gaps] = GapLog(Gaps._make, _KINDS)
        self._batches = self._rows = 0
        self._days = np.zeros((1, len(whole)))
        self._hints = np.zeros((len(HINT_KINDS), len(whole)))
        self._noted = self.noted_before = noted
        self._share = self._load = self._true = np.zeros(0)
        self._meanwhile = np.zeros(0), np.zeros(0)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever evidence has)
        return getattr(self.whole, name)

    def gaps(self, since: int = 0) -> Gaps:
        """Return the gaps added after ``batches`` was ``since``."""
        return self.log.since(since)

    @property
    def batches(self) -> int:
        """The number of gaps so far; a mark to pass to ``gaps`` later."""
        return len(self.log)

    def follow(self, view: View | None, worth: Floats) -> None:
        """Add new gaps; part of each change after hints is attributed to the hints."""
        gaps, hinted = self.whole.gaps(self._batches), self.whole.hinted(self._rows)
        self._batches = self.whole.batches
        self._rows += hinted.item.size
        lengths, counts = gaps.length * gaps.tally, by_kind(hinted.hints)
        self._days = _with_added(self._days, gaps.item, lengths[None], self.whole)
        self._hints = _with_added(
            self._hints, hinted.item, counts * hinted.tally, self.whole
        )
        self.log.add(gaps)
        if view is None or not hinted.item.size:
            return
        share = silent_share(
            expected_changes(view, hinted.item, hinted.length),
            (worth[:, hinted.item] * counts).sum(axis=0),
        )
        attributed = np.where(hinted.changed, hinted.tally * (1.0 - share), 0.0)
        rows = np.flatnonzero(attributed > 0)
        item, length, amount = hinted.item[rows], hinted.length[rows], attributed[rows]
        changed = np.ones(rows.size, dtype=np.bool_)
        self.log.add(Gaps(item, length, changed, -amount))
        self.log.add(Gaps(item, length, ~changed, amount))

    def note_hints(self, worth: Floats, share: Floats, until: Floats) -> None:
        """Note the hints before the observations made since the last call.

        ``worth`` is the worth of hints, and ``share`` the share of each item's changes
        that no hint announces, 1 for items beyond its end. Until ``until`` hints have
        announced all they know.
        """
        whole, n = self.whole, len(self.whole)
        hinted = whole.hinted(self._noted)
        self.noted_before, self._noted = self._noted, self._noted + hinted.item.size
        counts, worths = by_kind(hinted.hints), worth[:, hinted.item]
        self._load, self._true, self._share = np.zeros(n), np.zeros(n), np.ones(n)
        self._load[hinted.item] = (worths * counts).sum(axis=0)
        self._true[hinted.item] = (-np.expm1(-worths) * counts).sum(axis=0)
        self._share[: share.size] = share
        true = (-np.expm1(-worth) * by_kind(whole.hints)).sum(axis=0)
        last = np.where(whole.looks > 0, whole.last_at, np.inf)
        days = np.clip(until - last, 0.0, _LONGEST)
        self._meanwhile = true, (1.0 - self._share) * days

    def announced_since(self) -> tuple[Floats, Floats]:
        """Return the announced changes and days; see ``HintedEvidence``."""
        return self._meanwhile

    def gap_hints(self, rows: Ints) -> GapHints:
        """Return the hints that arrived before the latest observation of each item."""
        return GapHints(self._share[rows], self._load[rows], self._true[rows])

    def hint_rates(self, view: View) -> Floats:
        """Return the rate of hints of each item, per day; a row for each kind.

        An item with few hints borrows from its group, in proportion to its rate: as if
        it had been observed until the group would have seen one more hint.
        """
        whole, n = self.whole, len(self.whole.groups)
        (days,) = _with_room(self._days, whole)
        days = days + np.where(view.held, np.minimum(view.age, _LONGEST), 0.0)
        hints = _with_room(self._hints, whole) + by_kind(whole.hints)
        rate = np.maximum(view.rate, _SLOWEST)
        changes = np.bincount(whole.group, days * rate, n)
        by_group = np.stack([np.bincount(whole.group, counts, n) for counts in hints])
        usual = (by_group / np.maximum(changes, 1e-12))[:, whole.group] * rate
        hint_rates: Floats = (hints + 1.0) * usual / (days * usual + 1.0)
        return hint_rates


def _with_room(total: Floats, whole: Evidence) -> Floats:
    """Return totals with room for items that are new."""
    wider = np.zeros((len(total), len(whole)))
    wider[:, : total.shape[1]] = total
    return wider


def _with_added(total: Floats, item: Ints, amount: Floats, whole: Evidence) -> Floats:
    """Return the totals with amounts added, with room for items that are new."""
    sums = [np.bincount(item, column, len(whole)) for column in amount]
    return _with_room(total, whole) + np.stack(sums)


def _mean(worth: Floats, hint_rates: Floats) -> Floats:
    """Return the worth of a hint of any kind, at which as many come true as of all."""
    true = -(hint_rates * np.expm1(-worth)).sum(axis=0)
    most = -np.expm1(-worth.max(axis=0))
    share = true / np.maximum(hint_rates.sum(axis=0), 1e-300)
    mean: Floats = -np.log1p(-np.minimum(share, most))
    return mean


def dating_groups(evidence: Evidence, rate: Floats) -> Ints:
    """Return a number for the items of a group dated by the same kinds of hints.

    -1 if none has. Items that change daily, weekly or less often get different numbers:
    many maps give only the day, and hide a second change on it.
    """
    kinds = np.zeros(len(evidence), dtype=np.intp)
    for kind, name in enumerate(CLAIMED):
        kinds |= np.isfinite(getattr(evidence, name)).astype(np.intp) << kind
    pace = np.searchsorted(PACES, rate)
    place = (evidence.group * (len(PACES) + 1) + pace << len(CLAIMED)) + kinds
    return np.where(kinds > 0, place, -1)


def announced_until(evidence: Evidence, now: float, maps: Collection[str]) -> Floats:
    """Return until when hints have announced all they know of each item's group.

    That is the latest moment at which one of its maps was read, or at which a change
    was claimed.
    """
    until: Floats = np.full(len(evidence.groups), -np.inf)
    for name in CLAIMED:
        np.maximum.at(until, evidence.group, getattr(evidence, name))
    rows = [row for row in map(evidence.row, maps) if row is not None]
    np.maximum.at(until, evidence.group[rows], evidence.last_at[rows])
    return np.asarray(np.minimum(until, now)[evidence.group])


def hinted_looks(
    silent: "SilentEvidence",
    view: View,
    worth: Floats,
    kind: int,
    *,
    counts_all: bool = False,
) -> HintedObservations:
    """Return all gaps of groups with hints, and the hints of a kind in each gap.

    The log tallies all gaps without their hints, and those with hints again, so
    these are subtracted once. Hints of other kinds count as expected changes: in

        y = a t + (g (1 - exp(-k')) - g (1 - exp(-k))) t + k s + (k s of the others)

    k of this kind is sought, and k' is its previous value. The rate of a view that
    ``counts_all`` changes is the whole of a + g (1 - exp(-k')).
    """
    whole, hint_rate = silent.whole, silent.hint_rates(view)[kind]
    gaps, hinted = whole.gaps(), whole.hinted()
    item = np.concatenate([gaps.item, hinted.item, hinted.item])
    length = np.concatenate([gaps.length, hinted.length, hinted.length])
    zeros = np.zeros(gaps.item.size + hinted.item.size)
    usual = hint_rate[item] * length
    announced = 0.0 if counts_all else -np.expm1(-worth[kind, item]) * usual
    counts = by_kind(hinted.hints)
    loads = worth[:, hinted.item] * counts
    others = np.concatenate([zeros, loads.sum(axis=0) - loads[kind]])
    batch = HintedObservations(
        whole.group[item],
        expected_changes(view, item, length) + announced + others,
        usual,
        np.concatenate([zeros, counts[kind]]),
        np.concatenate([gaps.changed, hinted.changed, hinted.changed]),
        np.concatenate([gaps.tally, -hinted.tally, hinted.tally]),
    )
    kept = np.flatnonzero(hint_rate[item] > 0)
    return HintedObservations._make(column[kept] for column in batch)


def expected_changes(view: View, gap_item: Ints, gap_length: Floats) -> Floats:
    """Return the silent changes expected in each gap, -ln S(length)."""
    n, survival = len(view), view.survival
    changes = np.zeros(gap_item.size)
    rows = np.flatnonzero(gap_item < n)
    item, length = gap_item[rows], gap_length[rows]
    if isinstance(survival, GammaSurvival):
        spread = np.log1p(length / survival.exposure[item])
        changes[rows] = survival.shape[item] * spread
        return changes
    order = np.argsort(item, kind="stable")
    first = np.searchsorted(item[order], item[order])
    turn = np.arange(order.size) - first
    for i in range(int(turn.max(initial=-1)) + 1):
        same_turn = order[turn == i]
        t = np.zeros(n)
        t[item[same_turn]] = length[same_turn]
        alive = np.maximum(survival.alive(t)[item[same_turn]], 1e-300)
        changes[rows[same_turn]] = -np.log(alive)
    return changes


def stretched_exposure(survival: Survival, exposure: Floats, load: Floats) -> Floats:
    """Return the exposure e' at which S(e') = S(e) exp(-load).

    It is at most a thousand days, unless it was longer without hints: otherwise a page
    that hardly ever changes would count as unobserved for ages.
    """
    hinted = load > 0
    if not hinted.any():
        return exposure
    if isinstance(survival, GammaSurvival):
        grown = np.expm1(np.minimum(load / survival.shape, _LARGEST_LOG))
        lived = np.where(hinted, survival.exposure + exposure, 0.0)
        after = exposure + lived * grown
    elif isinstance(survival, Exponential):
        after = exposure + load / np.maximum(survival.rate, _SLOWEST)
    else:
        after = _inverse(survival, exposure, load)
    return np.where(hinted, np.minimum(after, np.maximum(exposure, FARTHEST)), exposure)


def _inverse(survival: Survival, exposure: Floats, load: Floats) -> Floats:
    """Return the same by bisection; at most ``FARTHEST``."""
    low, high = exposure.copy(), np.maximum(exposure, FARTHEST)
    finite = np.isfinite(low)
    low, high = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
    target = survival.alive(low) * np.exp(-load)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = survival.alive(middle) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(finite, high, exposure)
