"""Belief in hints of change, as far as they have proved true.

An item last seen t days and s hints ago has not changed with probability
S(t) exp(-k s): S is the survival that another belief gives for changes that nobody
announces, and k, what a hint is worth, is learned for each group (host) and each kind
of hint; with hints of several kinds, k s is the sum over them. The view tells it
as exposure: the time e at which S(e) = S(t) exp(-k s). For a rate a known exactly
that is e = t + k s / a, the effective age of ``allocation.signals``; for a rate known
up to a Gamma(shape, b), S(t) = (1 + t / b) ** -shape, it is
e = t + (b + t) (exp(k s / shape) - 1).

Silence is evidence too (``models.silence``). A belief whose rates count all changes, as
``Neighbours`` does, would take what maps announce for silent changes as well. So if a
share q of a page's changes goes unannounced, and maps cover a share c of the time
since it was fetched, its exposure is q c + 1 - c of what that belief says; a page
without dates in any map has q = 1.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from halflife.belief import Belief, LengthAware, Piecemeal
from halflife.belief.heard import Heard, changed_gaps
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
    HintedLooks,
    HintTrust,
    silent_share,
)
from halflife.models.silence import ChangedLooks, SilentShares

FARTHEST = 1000.0  # days of exposure to which hints can bring an item
_LONGEST = 1e6  # days that an item can have been watched
_LARGEST_LOG = 50.0  # by which hints can stretch what was lived
_HALVINGS = 50
_SLOWEST = 1e-9  # changes a day
PACES = 0.1, 0.5  # changes a day that tell pages apart whose changes are announced
_MORE_LOOKS = 1.1  # learn what silence is worth again when looks have grown so far
_KINDS = (np.intp, np.float64, np.bool_, np.float64)


class Hinted:
    """What another belief says, and hints as far as they have proved true.

    The other belief learns of changes that nobody announced: a change seen after
    hints counts as one by the chance that it was, given what hints are worth now
    (a step of expectation maximisation at each refit). ``Neighbours`` counts all
    changes, announced or not; that is made up for by what silence is worth. Without
    hints it is the other belief.

    Args:
        inner: The belief in changes that nobody announces.
        worth: What a hint is worth, if that is known and need not be learned.
        plug_in: Take the mean of each rate for the truth.
        announced: Tell in the view's survival how often hints come (``Announced``),
            for policies that go by it.
        refit: Learn again when gaps with hints have grown by this factor.

    Attributes:
        maps: The keys of maps: when they were read last, they had told all they know.

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
        self._silent: Silent | None = None
        self._learned = self._weighed = 0
        self._share = np.ones(0)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        if self._unhinted(evidence):
            self._silent = self._view = None
            return self.inner(evidence, now, since)
        silent = self._silent
        if silent is None or silent.whole is not evidence:
            silent = self._silent = Silent(evidence)
            self._learned = self._weighed = 0
            silent.follow(None, self.worth(evidence))
            self._listen(silent, now)
            self._view = self.inner(silent, now, since)
        self._listen(silent, now)
        view = self._view
        if view is None or len(view) < len(evidence):  # items have become known
            view = self.inner(silent, now, since)
        known = evidence.hinted().item.size
        if known > self.refit * self._learned:
            silent = self._silent = self._learn(silent, view)
            self._learned = known
        silent.follow(view, self.worth(evidence))
        self._view = self.inner(silent, now, since)
        if self._counts_all:
            self._weigh_silence(evidence, self._view)
        return self._told(silent, self._view)

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Let the other belief know how long pages are, by their names."""
        if isinstance(self.inner, LengthAware):
            self.inner.measure(lengths)

    @property
    def _counts_all(self) -> bool:
        """Whether the rates of the other belief are those of all changes."""
        return isinstance(self.inner, Neighbours)

    def _weigh_silence(self, evidence: Evidence, view: View) -> None:
        """Learn which share of changes goes unannounced, if much was seen since."""
        looks = int(evidence.looks.sum())
        if len(evidence) > self._share.size or looks > _MORE_LOOKS * self._weighed:
            self._share = self._unannounced(evidence, view)
            self._weighed = looks

    def _unannounced(self, evidence: Evidence, view: View) -> Floats:
        """Return the share of each item's changes that goes unannounced."""
        worth, gaps, told = self.worth(evidence), evidence.gaps(), evidence.hinted()
        load = (worth[:, told.item] * by_kind(told.hints)).sum(axis=0)
        hidden = -np.expm1(-load) * told.length * told.tally
        days = np.bincount(gaps.item, gaps.length * gaps.tally, len(evidence))
        days = days - np.bincount(told.item, hidden, len(evidence))
        some = changed_gaps(evidence, worth)
        expected = view.rate[some.item] * some.length
        seen = ChangedLooks(some.item, expected, np.exp(-some.load) * some.tally)
        place = dated_by(evidence, view.rate)
        return SilentShares().fit(seen, view.rate * days, place).share_

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
                looks = hinted_looks(
                    silent,
                    view,
                    self.worth(evidence),
                    kind,
                    counts_all=self._counts_all,
                )
                self.trusts[kind].fit(looks, n_groups=many)
                known = np.zeros((len(HINT_KINDS), many))
                known[:, : self._worth.shape[1]] = self._worth[:, :many]
                known[kind] = self.trusts[kind].worth_
                self._worth = known
        anew = Silent(evidence, silent.heard_before)
        if isinstance(self.inner, Neighbours):
            self._share = self._unannounced(evidence, view)
            self.inner.recount(self.worth(evidence), self._share)
        self._listen(anew, view.now)
        return anew

    def _listen(self, silent: "Silent", now: float) -> None:
        until = told_until(silent.whole, now, self.maps)
        silent.listen(self.worth(silent.whole), self._share, until)

    def _told(self, silent: "Silent", view: View) -> View:
        """Return the view with hints in its exposure, and all changes in its rate."""
        worth, told = self.worth(silent.whole), silent.told(view)
        inner = Exponential(view.rate) if self.plug_in else view.survival
        load = (worth * by_kind(silent.whole.hints)).sum(axis=0)
        silence, rate, quiet = np.ones(len(view)), view.rate, view.rate
        unsettled = view.unsettled
        if self._counts_all:
            silence = self._silence(silent.whole, view)
            quiet, unsettled = self._share * rate, silence**2 * view.age
        else:
            rate = rate - (told * np.expm1(-worth)).sum(axis=0)
        announced = Announced(inner, quiet, told.sum(axis=0), _mean(worth, told))
        return replace(
            view,
            rate=rate,
            survival=announced if self.announced else inner,
            exposure=stretched(inner, silence * view.exposure, load),
            doubt=silence * view.doubt,
            unsettled=unsettled,
        )

    def _silence(self, evidence: Evidence, view: View) -> Floats:
        """Return by how much the silence of maps shortens the exposure of items."""
        age = np.where(view.held, np.maximum(view.age, 1e-12), 1.0)
        untold = view.now - told_until(evidence, view.now, self.maps)
        covered = np.clip(1.0 - untold / age, 0.0, 1.0)
        share: Floats = 1.0 - (1.0 - self._share) * covered
        return share


class Silent(Evidence):
    """Evidence on changes that nobody announced.

    All columns are those of the ``whole`` evidence; only the gaps differ.

    Args:
        whole: All evidence.
        heard: How many of its gaps with hints are not news (see ``listen``).

    Attributes:
        heard_before: How many were not, when it listened last.

    """

    def __init__(self, whole: Evidence, heard: int = 0) -> None:
        self.whole = whole
        self.log: GapLog[Gaps] = GapLog(Gaps._make, _KINDS)
        self._batches = self._rows = 0
        self._days = np.zeros((1, len(whole)))
        self._hints = np.zeros((len(HINT_KINDS), len(whole)))
        self._heard = self.heard_before = heard
        self._share = self._load = self._true = np.zeros(0)
        self._meanwhile = np.zeros(0), np.zeros(0)

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

    def listen(self, worth: Floats, share: Floats, until: Floats) -> None:
        """Note what hints had said before the looks made since the last call.

        ``worth`` is what hints are worth, and ``share`` of the changes of items nobody
        announces; an item that it lacks has 1. They have told all they know ``until``
        then.
        """
        whole, n = self.whole, len(self.whole)
        hinted = whole.hinted(self._heard)
        self.heard_before, self._heard = self._heard, self._heard + hinted.item.size
        counts, each = by_kind(hinted.hints), worth[:, hinted.item]
        self._load, self._true, self._share = np.zeros(n), np.zeros(n), np.ones(n)
        self._load[hinted.item] = (each * counts).sum(axis=0)
        self._true[hinted.item] = (-np.expm1(-each) * counts).sum(axis=0)
        self._share[: share.size] = share
        true = (-np.expm1(-worth) * by_kind(whole.hints)).sum(axis=0)
        last = np.where(whole.looks > 0, whole.last_at, np.inf)
        days = np.clip(until - last, 0.0, _LONGEST)
        self._meanwhile = true, (1.0 - self._share) * days

    def meanwhile(self) -> tuple[Floats, Floats]:
        """Return the changes announced since the latest look at each item.

        And the days in which all changes would have been seen: the days since that look
        that maps cover, times the share of changes that maps announce.
        """
        return self._meanwhile

    def heard(self, rows: Ints) -> Heard:
        """Return what hints had said of items before the latest look at each."""
        return Heard(self._share[rows], self._load[rows], self._true[rows])

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


def dated_by(evidence: Evidence, rate: Floats) -> Ints:
    """Return a number for items of a group that the same kinds of hints have dated.

    -1 if none has. Items that change every day, every week or more rarely are told
    apart: many maps tell the day only, and hide what changes twice on one.
    """
    kinds = np.zeros(len(evidence), dtype=np.intp)
    for kind, name in enumerate(CLAIMED):
        kinds |= np.isfinite(getattr(evidence, name)).astype(np.intp) << kind
    pace = np.searchsorted(PACES, rate)
    place = (evidence.group * (len(PACES) + 1) + pace << len(CLAIMED)) + kinds
    return np.where(kinds > 0, place, -1)


def told_until(evidence: Evidence, now: float, maps: Collection[str]) -> Floats:
    """Return until when hints have told all they know of each item's group.

    That is the latest moment at which one of its maps was read, or that anything
    was said to have changed at.
    """
    until: Floats = np.full(len(evidence.groups), -np.inf)
    for name in CLAIMED:
        np.maximum.at(until, evidence.group, getattr(evidence, name))
    rows = [row for row in map(evidence.row, maps) if row is not None]
    np.maximum.at(until, evidence.group[rows], evidence.last_at[rows])
    return np.asarray(np.minimum(until, now)[evidence.group])


def hinted_looks(
    silent: "Silent",
    view: View,
    worth: Floats,
    kind: int,
    *,
    counts_all: bool = False,
) -> HintedLooks:
    """Return all gaps of groups that are hinted at, and the hints of a kind in each.

    The log tallies all gaps without their hints, and those with hints again, so
    these are taken back once. What hints of other kinds say counts as expected: in

        y = a t + (g (1 - exp(-k')) - g (1 - exp(-k))) t + k s + (k s of the others)

    k of this kind is sought, and k' is what it was taken for. A view that
    ``counts_all`` changes has the whole of a + g (1 - exp(-k')) for its rate.
    """
    whole, told = silent.whole, silent.told(view)[kind]
    gaps, some = whole.gaps(), whole.hinted()
    item = np.concatenate([gaps.item, some.item, some.item])
    length = np.concatenate([gaps.length, some.length, some.length])
    none = np.zeros(gaps.item.size + some.item.size)
    usual = told[item] * length
    announced = 0.0 if counts_all else -np.expm1(-worth[kind, item]) * usual
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
