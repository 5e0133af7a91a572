"""Belief in hints of change, as far as they have proved true.

An item last seen t days and s hints ago has not changed with probability
S(t) exp(-k s): S is the survival that another belief gives for changes that nobody
announces, and k, what a hint is worth, is learned for each group (host) and each kind
of hint; with hints of several kinds, k s is the sum over them. The view tells it
as exposure: the time e at which S(e) = S(t) exp(-k s). For a rate a known exactly
that is e = t + k s / a, the effective age of ``allocation.signals``; for a rate known
up to a Gamma(shape, b), S(t) = (1 + t / b) ** -shape, it is
e = t + (b + t) (exp(k s / shape) - 1).
"""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from halflife.belief import Belief, Piecemeal
from halflife.core.append_log import GapLog
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.hint_claims import by_kind
from halflife.core.history import Gaps
from halflife.core.observation import HINT_KINDS
from halflife.core.view import Survival, View
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.models.signals import (
    Announced,
    HintedLooks,
    HintTrust,
    silent_share,
)

FARTHEST = 1000.0  # days of exposure to which hints can bring an item
_LONGEST = 1e6  # days that an item can have been watched
_LARGEST_LOG = 50.0  # by which hints can stretch what was lived
_HALVINGS = 50
_SLOWEST = 1e-9  # changes a day
_KINDS = (np.intp, np.float64, np.bool_, np.float64)


class Hinted:
    """What another belief says, and hints as far as they have proved true.

    The other belief learns of changes that nobody announced: a change seen after
    hints counts as one by the chance that it was, given what hints are worth now
    (a step of expectation maximisation at each refit). Without hints it is the
    other belief.

    Args:
        inner: The belief in changes that nobody announces.
        worth: What a hint is worth, if that is known and need not be learned.
        plug_in: Take the mean of each rate for the truth.
        announced: Tell in the view's survival how often hints come (``Announced``),
            for policies that go by it.
        refit: Learn again when gaps with hints have grown by this factor.

    """

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
        self._silent: Silent | None = None
        self._learned = 0

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        if self._unhinted(evidence):
            self._silent = self._view = None
            return self.inner(evidence, now, since)
        silent = self._silent
        if silent is None or silent.whole is not evidence:
            silent = self._silent = Silent(evidence)
            self._learned = 0
            silent.follow(None, self.worth(evidence))
            self._view = self.inner(silent, now, since)
        view = self._view
        if view is None or len(view) < len(evidence):  # items have become known
            view = self.inner(silent, now, since)
        known = evidence.hinted().item.size
        if known > self.refit * self._learned:
            silent = self._silent = self._learn(silent, view)
            self._learned = known
        silent.follow(view, self.worth(evidence))
        self._view = self.inner(silent, now, since)
        return self._told(silent, self._view)

    def learn(self, evidence: Evidence, now: float) -> bool:
        """Take in what is new, if nobody has ever hinted: hints take a whole view."""
        if not (self._unhinted(evidence) and isinstance(self.inner, Piecemeal)):
            return False
        return self.inner.learn(evidence, now)

    def some(self, evidence: Evidence, rows: Ints, now: float, since: float) -> View:
        """Return what we believe of the items at these rows, as learned last."""
        return cast("Piecemeal", self.inner).some(evidence, rows, now, since)

    def _unhinted(self, evidence: Evidence) -> bool:
        """Say whether there is nothing to add: nobody has ever hinted."""
        if self.announced or self.plug_in:
            return False
        return not (evidence.hinted().item.size or evidence.hints.any())

    def worth(self, evidence: Evidence) -> Floats:
        """Return what a hint of each item is worth, a row for each kind."""
        if self._given is not None:
            return np.full((len(HINT_KINDS), len(evidence)), self._given)
        more = max(len(evidence.groups) - self._worth.shape[1], 0)
        pooled = np.array([[getattr(one, "pooled_", 0.0)] for one in self.trusts])
        wide = np.concatenate([self._worth, np.repeat(pooled, more, axis=1)], axis=1)
        return wide[:, evidence.group]

    def precision(self, evidence: Evidence, row: int) -> dict[str, float]:
        """Return how often hints at an item's group are right, by kinds that came."""
        gaps, mine = evidence.hinted(), evidence.group == evidence.group[row]
        came = by_kind(gaps.hints)[:, mine[gaps.item]].any(axis=1)
        came |= by_kind(evidence.hints)[:, mine].any(axis=1)
        right = -np.expm1(-self.worth(evidence)[:, row])
        return {HINT_KINDS[k]: float(right[k]) for k in np.flatnonzero(came)}

    def _learn(self, silent: "Silent", view: View) -> "Silent":
        """Learn what hints are worth; return the evidence, to be weighed anew."""
        evidence, many = silent.whole, len(silent.whole.groups)
        if self._given is None:
            hints = by_kind(evidence.hinted().hints)
            for kind in np.flatnonzero(hints.any(axis=1)).tolist():
                looks = hinted_looks(silent, view, self.worth(evidence), kind)
                self.trusts[kind].fit(looks, n_groups=many)
                known = np.zeros((len(HINT_KINDS), many))
                known[:, : self._worth.shape[1]] = self._worth[:, :many]
                known[kind] = self.trusts[kind].worth_
                self._worth = known
        return Silent(evidence)

    def _told(self, silent: "Silent", view: View) -> View:
        """Return the view with hints in its exposure, and all changes in its rate."""
        worth, told = self.worth(silent.whole), silent.told(view)
        inner = Exponential(view.rate) if self.plug_in else view.survival
        load = (worth * by_kind(silent.whole.hints)).sum(axis=0)
        announced = Announced(inner, view.rate, told.sum(axis=0), _mean(worth, told))
        return replace(
            view,
            rate=view.rate - (told * np.expm1(-worth)).sum(axis=0),
            survival=announced if self.announced else inner,
            exposure=stretched(inner, view.exposure, load),
        )


class Silent(Evidence):
    """Evidence on changes that nobody announced.

    All columns are those of the ``whole`` evidence; only the gaps differ.
    """

    def __init__(self, whole: Evidence) -> None:
        self.whole = whole
        self.log: GapLog[Gaps] = GapLog(Gaps._make, _KINDS)
        self._batches = self._rows = 0
        self._days = np.zeros((1, len(whole)))
        self._hints = np.zeros((len(HINT_KINDS), len(whole)))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (whatever evidence has)
        return getattr(self.whole, name)

    def gaps(self, since: int = 0) -> Gaps:
        """Return the gaps added after ``batches`` was ``since``."""
        return self.log.since(since)

    @property
    def batches(self) -> int:
        """How far the gaps go so far; a mark to hand to ``gaps`` later."""
        return len(self.log)

    def follow(self, view: View | None, worth: Floats) -> None:
        """Take in what was added since; a change after hints is part theirs."""
        gaps, hinted = self.whole.gaps(self._batches), self.whole.hinted(self._rows)
        self._batches = self.whole.batches
        self._rows += hinted.item.size
        lengths, counts = gaps.length * gaps.tally, by_kind(hinted.hints)
        self._days = _added(self._days, gaps.item, lengths[None], self.whole)
        self._hints = _added(
            self._hints, hinted.item, counts * hinted.tally, self.whole
        )
        self.log.add(gaps)
        if view is None or not hinted.item.size:
            return
        share = silent_share(
            expected(view, hinted.item, hinted.length),
            (worth[:, hinted.item] * counts).sum(axis=0),
        )
        theirs = np.where(hinted.changed, hinted.tally * (1.0 - share), 0.0)
        some = np.flatnonzero(theirs > 0)
        item, length, part = hinted.item[some], hinted.length[some], theirs[some]
        yes = np.ones(some.size, dtype=np.bool_)
        self.log.add(Gaps(item, length, yes, -part))
        self.log.add(Gaps(item, length, ~yes, part))

    def told(self, view: View) -> Floats:
        """Return how often hints come, a day; a row for each kind.

        An item with few hints borrows from its group, in proportion to its rate: it
        is as if it had been watched until the group would have seen one more hint.
        """
        whole, n = self.whole, len(self.whole.groups)
        (days,) = _wider(self._days, whole)
        days = days + np.where(view.held, np.minimum(view.age, _LONGEST), 0.0)
        hints = _wider(self._hints, whole) + by_kind(whole.hints)
        rate = np.maximum(view.rate, _SLOWEST)
        changes = np.bincount(whole.group, days * rate, n)
        came = np.stack([np.bincount(whole.group, one, n) for one in hints])
        usual = (came / np.maximum(changes, 1e-12))[:, whole.group] * rate
        told: Floats = (hints + 1.0) * usual / (days * usual + 1.0)
        return told


def _wider(total: Floats, whole: Evidence) -> Floats:
    """Return totals with room for items that are new."""
    wider = np.zeros((len(total), len(whole)))
    wider[:, : total.shape[1]] = total
    return wider


def _added(total: Floats, item: Ints, amount: Floats, whole: Evidence) -> Floats:
    """Return the totals with amounts added, with room for items that are new."""
    added = [np.bincount(item, some, len(whole)) for some in amount]
    return _wider(total, whole) + np.stack(added)


def _mean(worth: Floats, told: Floats) -> Floats:
    """Return what a hint of any kind is worth: as many come true as of all kinds."""
    true = -(told * np.expm1(-worth)).sum(axis=0)
    most = -np.expm1(-worth.max(axis=0))
    share = true / np.maximum(told.sum(axis=0), 1e-300)
    mean: Floats = -np.log1p(-np.minimum(share, most))
    return mean


def hinted_looks(silent: "Silent", view: View, worth: Floats, kind: int) -> HintedLooks:
    """Return all gaps of groups that are hinted at, and the hints of a kind in each.

    The log tallies all gaps without their hints, and those with hints again, so
    these are taken back once. What hints of other kinds say counts as expected: in

        y = a t + (g (1 - exp(-k')) - g (1 - exp(-k))) t + k s + (k s of the others)

    k of this kind is sought, and k' is what it was taken for.
    """
    whole, told = silent.whole, silent.told(view)[kind]
    gaps, some = whole.gaps(), whole.hinted()
    item = np.concatenate([gaps.item, some.item, some.item])
    length = np.concatenate([gaps.length, some.length, some.length])
    none = np.zeros(gaps.item.size + some.item.size)
    usual = told[item] * length
    announced = -np.expm1(-worth[kind, item]) * usual
    counts = by_kind(some.hints)
    loads = worth[:, some.item] * counts
    others = np.concatenate([none, loads.sum(axis=0) - loads[kind]])
    looks = HintedLooks(
        whole.group[item],
        expected(view, item, length) + announced + others,
        usual,
        np.concatenate([none, counts[kind]]),
        np.concatenate([gaps.changed, some.changed, some.changed]),
        np.concatenate([gaps.tally, -some.tally, some.tally]),
    )
    kept = np.flatnonzero(told[item] > 0)
    return HintedLooks._make(column[kept] for column in looks)


def expected(view: View, gap_item: Ints, gap_length: Floats) -> Floats:
    """Return how many silent changes each gap should have seen, -ln S(length)."""
    n, survival = len(view), view.survival
    found = np.zeros(gap_item.size)
    known = np.flatnonzero(gap_item < n)
    item, length = gap_item[known], gap_length[known]
    if isinstance(survival, GammaSurvival):
        spread = np.log1p(length / survival.exposure[item])
        found[known] = survival.shape[item] * spread
        return found
    order = np.argsort(item, kind="stable")
    first = np.searchsorted(item[order], item[order])
    turn = np.arange(order.size) - first
    for i in range(int(turn.max(initial=-1)) + 1):
        rows = order[turn == i]
        t = np.zeros(n)
        t[item[rows]] = length[rows]
        alive = np.maximum(survival.alive(t)[item[rows]], 1e-300)
        found[known[rows]] = -np.log(alive)
    return found


def stretched(survival: Survival, exposure: Floats, load: Floats) -> Floats:
    """Return the exposure e' at which S(e') = S(e) exp(-load).

    It is never more than a thousand days, unless it was without hints: a page that
    hardly ever changes would else count as unseen for ages.
    """
    some = load > 0
    if not some.any():
        return exposure
    if isinstance(survival, GammaSurvival):
        grown = np.expm1(np.minimum(load / survival.shape, _LARGEST_LOG))
        lived = np.where(some, survival.exposure + exposure, 0.0)
        after = exposure + lived * grown
    elif isinstance(survival, Exponential):
        after = exposure + load / np.maximum(survival.rate, _SLOWEST)
    else:
        after = _inverse(survival, exposure, load)
    return np.where(some, np.minimum(after, np.maximum(exposure, FARTHEST)), exposure)


def _inverse(survival: Survival, exposure: Floats, load: Floats) -> Floats:
    """Find by halving where survival has fallen so far; at most ``FARTHEST``."""
    low, high = exposure.copy(), np.maximum(exposure, FARTHEST)
    finite = np.isfinite(low)
    low, high = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
    target = survival.alive(low) * np.exp(-load)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = survival.alive(middle) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(finite, high, exposure)
