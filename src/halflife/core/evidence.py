"""The sufficient statistics of all observations so far.

Planning must not read the whole log again at every turn, so each observation is folded
into a few numbers for each item. They suffice for the Poisson likelihood: the quiet
gaps enter it only by their sum, and the gaps that saw a change are tallied by length,
eight classes to the octave.

Observations are folded in the order in which they were made. A time before the previous
one means that the clock was set back: then nothing is known about the time between the
two, and the later observation's time is used from there on.

A hint counts when it claims a change that no observation has seen: a later moment than
any earlier claim, and after the latest successful observation. Claims less than an hour
apart, with no observation between them, are one hint: edits come in bursts, and some
maps give the current time as the time of change. A claim of a whole day may mean any
moment of it. A hint without columns of its own (``Observations.details`` empty) claims
the moment at which it was made; one whose source names no moment claims nothing.

Hints of different kinds (``HINT_KINDS``) are counted apart, and each kind is compared
with its own claims: a sitemap that always says "now" does not hide a feed that is
right. The counts of an item are the bytes of one number, those of the first kind
lowest.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from halflife.core.append_log import GapLog, Kinds
from halflife.core.arrays import Bools, Bytes, Floats, Ints
from halflife.core.fingerprints import KIND, Fingerprints, Packed
from halflife.core.gap_bins import class_length, tally_by_class
from halflife.core.hint_claims import by_kind, claimed_times, hint_kinds
from halflife.core.history import Gaps
from halflife.core.item import Item
from halflife.core.keys import KeyIndex, Keys
from halflife.core.observation import Observations, Seen, rounds

Derived = TypeVar("Derived")

APART = 1.0 / 24.0  # days between claims that count as two hints
MOST_HINTS = 32  # of one kind since an observation; more do not matter
LONGEST = 3650.0  # days; a longer gap was made by a clock that was wrong
_ABSENT, _HINT = int(Seen.ABSENT), int(Seen.HINT)  # reading an enum member is slow
NEVER: int = -1  # the ``seen`` of an item that was never observed

_BLANK: dict[str, tuple[type[np.generic], object]] = {
    "number": (np.intp, -1),
    "weight": (np.float64, 1.0),
    "cost": (np.float64, 1.0),
    "group": (np.int32, 0),
    "last_at": (np.float64, -np.inf),
    "tried_at": (np.float64, -np.inf),
    "failures": (np.int32, 0),
    "looks": (np.int32, 0),
    "changes": (np.int32, 0),
    "quiet": (np.float64, 0.0),
    "seen": (np.int8, NEVER),
    "changed": (np.bool_, False),
    "hints": (np.int32, 0),
    "claimed": (np.float64, -np.inf),
    "claimed_feed": (np.float64, -np.inf),
    "claimed_hub": (np.float64, -np.inf),
    "claimed_push": (np.float64, -np.inf),
    "digest": (np.bytes_, b""),
}
FOLDED = tuple(_BLANK)[4:]  # the columns that observations change
CLAIMED = ("claimed", "claimed_feed", "claimed_hub", "claimed_push")
_OWN = frozenset({"number", "group", "digest"})  # columns that are written to directly
_LISTED = (
    "gap_class",
    "gap_tally",
    "hinted_class",
    "hinted_changed",
    "hinted_tally",
    "hinted_hints",
)


class HintedGaps(NamedTuple):
    """Gaps in which hints arrived, as ``Gaps``, and the number of hints in each.

    ``by_kind`` has the counts of each kind.
    """

    item: Ints
    length: Floats
    changed: Bools
    tally: Floats
    hints: Ints


_PLAIN: Kinds = (np.intp, np.float64, np.bool_, np.float64)
_HINTED: Kinds = (*_PLAIN, np.intp)


@dataclass(frozen=True, slots=True)
class Fold:
    """What a batch of observations changes in the evidence, ready to be saved.

    ``rows`` are the items touched, each once; the next columns are their new values.
    ``quiet_gap`` is what the batch added to ``quiet``. ``gap_item``, ``gap_class``,
    ``gap_tally`` tally the gaps that saw a change; the ``hinted`` columns those with
    hints, whether they saw a change or not.
    """

    rows: Ints
    last_at: Floats
    tried_at: Floats
    failures: Ints
    looks: Ints
    changes: Ints
    quiet: Floats
    seen: Bytes
    changed: Bools
    hints: Ints
    claimed: Floats
    claimed_feed: Floats
    claimed_hub: Floats
    claimed_push: Floats
    digest: Fingerprints
    quiet_gap: Floats
    gap_item: Ints
    gap_class: Ints
    gap_tally: Floats
    hinted_item: Ints
    hinted_class: Ints
    hinted_changed: Bools
    hinted_tally: Floats
    hinted_hints: Ints


class Evidence:
    """The fold of all observations of items; row ``i`` of each column is item ``i``.

    With ``columns`` it begins as it was saved: all of them, each of its own dtype. A
    column with the same value everywhere may be a broadcast of one value.

    Attributes:
        number: The items' numbers in the store that keeps them; -1 if it has none.
        weight: How much each item matters.
        cost: Requests that one fetch costs.
        group: The item's group, an index into ``groups``.
        last_at: Time of the latest successful observation; ``-inf`` if none.
        tried_at: Time of the latest attempt, successful or failed; ``-inf`` if none.
        failures: Failed attempts since the latest successful one.
        looks: Successful observations.
        changes: Successful observations that found a change since the one before.
        quiet: Sum of the gaps that saw no change, in days.
        seen: The answer at the latest successful observation; ``NEVER`` if none.
        changed: Whether the latest successful observation found a change.
        hints: Hints of a change since the latest successful observation; ``by_kind``
            counts them.
        claimed: The latest moment at which a sitemap claimed a change; ``-inf`` if
            none did.
        claimed_feed: The same of a feed.
        claimed_hub: The same of a hub.
        claimed_push: The same of a push.
        digest: The content's fingerprint at the latest successful observation.

    """

    number: Ints
    weight: Floats
    cost: Floats
    group: Ints
    last_at: Floats
    tried_at: Floats
    failures: Ints
    looks: Ints
    changes: Ints
    quiet: Floats
    seen: Bytes
    changed: Bools
    hints: Ints
    claimed: Floats
    claimed_feed: Floats
    claimed_hub: Floats
    claimed_push: Floats
    digest: Fingerprints

    def __init__(
        self,
        keys: Keys | None = None,
        columns: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.groups: tuple[str, ...] = ()
        self._places = KeyIndex(keys or Keys())
        self._code: dict[str, int] = {}
        self._gaps: GapLog[Gaps] = GapLog(Gaps._make, _PLAIN)
        self._hinted: GapLog[HintedGaps] = GapLog(HintedGaps._make, _HINTED)
        self._room = {
            name: np.require(room, requirements="W") if name in _OWN else room
            for name, room in (columns or {}).items()
        }
        self._long: dict[bytes, str] = {}
        self._derived: dict[Callable[[Evidence], Any], Any] = {}
        self._resize(len(self))

    @classmethod
    def of(cls, items: Iterable[Item]) -> Self:
        """Return the evidence on items that were never observed."""
        evidence = cls()
        evidence.add(items)
        return evidence

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def keys(self) -> Keys:
        """The items' names."""
        return self._places.keys

    def row(self, key: str) -> int | None:
        """Return the row of an item, or None if it is not known."""
        return self._places.row(key)

    def knows(self, keys: Iterable[str]) -> bool:
        """Return whether all these items are known."""
        return self._places.knows(keys)

    def add(self, items: Iterable[Item]) -> None:
        """Make room for new items; items already known stay as they are."""
        fresh: dict[str, Item] = {}
        for item in items:
            if self.row(item.key) is None:
                fresh.setdefault(item.key, item)
        if fresh:
            self.extend(
                tuple(fresh),
                weight=[i.weight for i in fresh.values()],
                cost=[i.cost for i in fresh.values()],
                group=[i.group for i in fresh.values()],
            )

    def extend(
        self,
        keys: Sequence[str],
        *,
        weight: Sequence[float],
        cost: Sequence[float],
        group: Sequence[str],
    ) -> None:
        """Make room for items as columns; none of them may be known."""
        old, code = len(self), self._code
        self._resize(old + len(keys))
        self.weight[old:] = weight
        self.cost[old:] = cost
        self.group[old:] = [code.setdefault(name, len(code)) for name in group]
        self.groups = tuple(code)
        self._places.extend(keys)

    def reweigh(self, rows: Sequence[int], weight: Sequence[float]) -> None:
        """Set the weight of items; views made before keep the one they saw."""
        if not np.array_equal(self.weight[rows], weight):
            self._derived.clear()
            self._room["weight"] = self._room["weight"].copy()
            self.weight = self._room["weight"][: len(self)]
            self.weight[rows] = weight

    def settle(
        self,
        rows: Ints,
        weight: Floats,
        cost: Floats,
        group: tuple[Ints, Sequence[str]],
    ) -> None:
        """Set weight, cost and group of items; groups as positions among names."""
        position, names = group
        code = self._code
        codes = [code.setdefault(name, len(code)) for name in names]
        self.groups = tuple(code) if len(code) > len(self.groups) else self.groups
        self.group[rows] = np.array(codes, dtype=np.int32)[position]
        self.put(rows, {"weight": weight, "cost": cost})

    def restore(self, **columns: Sequence[Any] | NDArray[Any]) -> None:
        """Set columns as they were saved; arrays of the right kind are not copied."""
        for name, given in columns.items():
            texts = name == "digest" and np.asarray(given).dtype != KIND
            values = self.digest.pack(list(given)) if texts else given
            kind = _dtype(_BLANK[name][0])
            self._room[name] = np.require(values, kind, ["C", "W"])
        self._resize(len(self))

    def put(self, rows: Ints, columns: Mapping[str, Any]) -> None:
        """Set columns at these rows, as they are saved or folded."""
        self._derived.clear()
        for name, values in columns.items():
            if not self._room[name].flags.writeable:
                if (self._room[name][rows] == values).all():
                    continue
                self._room[name] = self._room[name].copy()
                setattr(self, name, self._room[name][: len(self)])
            getattr(self, name)[rows] = values

    def restore_groups(self, names: Sequence[str]) -> None:
        """Set the names of the groups as they were saved."""
        self._derived.clear()
        self.groups = tuple(names)
        self._code = {name: i for i, name in enumerate(names)}

    def restore_gaps(self, item: Ints, number: Ints, tally: Floats) -> None:
        """Set the tally of changed gaps as it was saved; the quiet sums are kept."""
        self._derived.clear()
        self._gaps = GapLog(Gaps._make, _PLAIN)
        changed = np.ones(item.size, np.bool_)
        self._gaps.add(Gaps(item, class_length(number), changed, tally))
        rows: Ints = np.arange(len(self), dtype=np.int32)
        self._gaps.add(_quiet(rows, self.quiet))

    def restore_hinted(
        self, item: Ints, number: Ints, changed: Bools, tally: Floats, hints: Ints
    ) -> None:
        """Set the tally of gaps with hints as it was saved."""
        self._derived.clear()
        self._hinted = GapLog(HintedGaps._make, _HINTED)
        self._hinted.add(HintedGaps(item, class_length(number), changed, tally, hints))

    def gaps(self, since: int = 0) -> Gaps:
        """Return the gaps added after ``batches`` was ``since``.

        Gaps that saw no change may come as sums: an item's row then stands for
        several quiet gaps, as long as all of them together.
        """
        return self._gaps.since(since)

    def hinted(self, since: int = 0) -> HintedGaps:
        """Return the gaps with hints in them, added after there were ``since`` rows.

        They are among ``gaps`` too.
        """
        return self._hinted.since(since)

    @property
    def batches(self) -> int:
        """The number of gaps so far; a mark to pass to ``gaps`` later."""
        return len(self._gaps)

    def derived(self, make: "Callable[[Evidence], Derived]") -> "Derived":
        """Return what a function derives from the evidence, cached until it changes.

        All callers share the result, so it must not be written to.
        """
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("Derived", self._derived[make])

    def weigh(self, batch: Observations) -> Fold:
        """Return what the observations add, in their order, and change nothing yet.

        Hints are not observations: they only add to the counts. Every item must be
            known.
        """
        rows = self._places.rows(batch.keys)
        if rows.min(initial=0) < 0:
            raise KeyError(batch.keys[int(np.argmin(rows))])
        news = batch.seen != _HINT
        if not news.all():
            before = self._claimed(rows)[hint_kinds(batch), np.arange(rows.size)]
            news |= claimed_times(batch) > before
        if not news.all():
            batch, rows = batch.take(np.flatnonzero(news).tolist()), rows[news]
        if rows.size > 1 and len(set(batch.keys)) < rows.size:
            return self._weigh_in_turns(batch, np.unique(rows))
        return self._weigh_once(batch, rows)

    def take(self, fold: Fold) -> None:
        """Make a fold part of the evidence."""
        self.put(fold.rows, {name: getattr(fold, name) for name in FOLDED})
        if fold.gap_item.size:
            length = class_length(fold.gap_class)
            changed = np.ones(length.size, np.bool_)
            self._gaps.add(Gaps(fold.gap_item, length, changed, fold.gap_tally))
        self._gaps.add(_quiet(fold.rows, fold.quiet_gap))
        if fold.hinted_item.size:
            length = class_length(fold.hinted_class)
            hinted = fold.hinted_changed, fold.hinted_tally, fold.hinted_hints
            self._hinted.add(HintedGaps(fold.hinted_item, length, *hinted))

    def _weigh_once(self, batch: Observations, rows: Ints) -> Fold:
        """Weigh observations of different items, at these ``rows``."""
        good, hint = batch.seen <= _ABSENT, batch.seen == _HINT
        last, at, last_seen = self.last_at[rows], batch.at, self.seen[rows]
        digest, seen_digest = self.digest.data[rows], self.digest.pack(batch.digest)
        differs = (digest != seen_digest) | (last_seen != batch.seen)
        # After the clock was set the time between observations is unknown.
        is_gap = good & (at > last) & (at - last <= LONGEST)
        gap = np.where(is_gap, at - last, 0.0)
        changed = good & (last_seen != NEVER) & differs
        timed = changed & (gap > 0)
        row, number, tally = tally_by_class(np.flatnonzero(timed), gap[timed])
        quiet = np.where(changed, 0.0, gap)
        hints, claimed = self._claims(batch, rows)
        had = self.hints[rows]
        after = np.flatnonzero((had > 0) & (gap > 0))
        hinted, hinted_number, hinted_tally = tally_by_class(after, gap[after])
        return Fold(
            rows=rows,
            last_at=np.where(good, at, last),
            tried_at=np.where(hint, self.tried_at[rows], at),
            failures=np.where(good, 0, self.failures[rows] + ~hint),
            looks=self.looks[rows] + good,
            changes=self.changes[rows] + changed,
            quiet=self.quiet[rows] + quiet,
            seen=np.where(good, batch.seen, last_seen),
            changed=np.where(good, changed, self.changed[rows]),
            hints=hints,
            **claimed,
            digest=self._fingerprints(np.where(good, seen_digest, digest)),
            quiet_gap=quiet,
            gap_item=rows[row],
            gap_class=number,
            gap_tally=tally,
            hinted_item=rows[hinted],
            hinted_class=hinted_number,
            hinted_changed=changed[hinted],
            hinted_tally=hinted_tally,
            hinted_hints=had[hinted],
        )

    def _claimed(self, rows: Ints) -> Floats:
        """Return the latest claims on items, a row for each kind of hint."""
        return np.stack([getattr(self, name)[rows] for name in CLAIMED])

    def _claims(
        self, batch: Observations, rows: Ints
    ) -> tuple[Ints, dict[str, Floats]]:
        """Return the hints that count after observations, and the latest claims."""
        good = batch.seen <= _ABSENT
        claim, kind = claimed_times(batch), hint_kinds(batch)
        all_before, every = self._claimed(rows), np.arange(rows.size)
        before, had = all_before[kind, every], by_kind(self.hints[rows])[kind, every]
        until = np.where(claim == np.floor(claim), claim + 1.0, claim)
        unseen = (self.looks[rows] > 0) & (until > self.last_at[rows])
        counts = unseen & (claim > before) & ((had == 0) | (claim >= before + APART))
        moved = counts | ((claim > before) & (had == 0))
        more = (counts & (had < MOST_HINTS)).astype(np.int32) << (8 * kind)
        all_before[kind, every] = np.where(moved, claim, before)
        hints = np.where(good, 0, self.hints[rows] + more)
        return hints, dict(zip(CLAIMED, all_before, strict=True))

    def _weigh_in_turns(self, batch: Observations, touched: Ints) -> Fold:
        """Weigh observations that may repeat items, on a copy of the items touched."""
        copy = Evidence.of(Item(self.keys[row]) for row in touched)
        for name in FOLDED:
            copy._room[name][:] = self._room[name][touched]  # noqa: SLF001
        copy._long = copy.digest.long = self._long  # noqa: SLF001
        folds = []
        for turn in rounds(batch):
            folds.append(copy.weigh(turn))
            copy.take(folds[-1])
        quiet = np.zeros(touched.size)
        for fold in folds:
            quiet[fold.rows] += fold.quiet_gap
        return Fold(
            rows=touched,
            **{name: getattr(copy, name) for name in FOLDED[:-1]},
            digest=copy.digest,
            quiet_gap=quiet,
            gap_item=touched[_gathered(folds, "gap_item")],
            hinted_item=touched[_gathered(folds, "hinted_item")],
            **{name: _gathered(folds, name) for name in _LISTED},
        )

    def _resize(self, size: int) -> None:
        """Give every column ``size`` rows, with spare room when it grows."""
        self._derived.clear()
        for name, (kind, blank) in _BLANK.items():
            room = self._room.get(name, np.zeros(0, dtype=_dtype(kind)))
            if room.size < size:
                wide = max(size, room.size * 3 // 2)
                more = np.full(wide, blank, dtype=_dtype(kind))
                more[: room.size] = room
                room = more
            self._room[name] = room
            if name != "digest":
                setattr(self, name, room[:size])
        self.digest = self._fingerprints(self._room["digest"][:size])

    def _fingerprints(self, packed: Packed) -> Fingerprints:
        return Fingerprints(packed, self._long)


def _dtype(kind: type[np.generic]) -> np.dtype[Any]:
    return KIND if kind is np.bytes_ else np.dtype(kind)


def _quiet(item: Ints, length: Floats) -> Gaps:
    positive = length > 0
    n = int(positive.sum())
    return Gaps(item[positive], length[positive], np.zeros(n, np.bool_), np.ones(n))


def _gathered(folds: list[Fold], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(fold, name) for fold in folds])
