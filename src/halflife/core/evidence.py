"""What all looks so far add up to.

Planning must not read the whole log again at every turn, so each look is folded
into a few numbers an item. The numbers suffice for the Poisson likelihood: the
quiet gaps enter it only by their sum, and the gaps that saw a change are tallied
by length, eight classes to the octave.

Looks are folded in the order in which they were made. A time that lies before
the one folded last means that the clock was set back: nothing is known then about
the time between the two, and the later look's time is believed from there on.

A hint counts when it claims a change that no look has seen: it names a later moment
than any claim before, and one after the latest good look. Claims less than an hour
apart, with no look between them, are one hint: edits come in bursts, and some maps
tell the time of day as the time of change. A claim that names a whole day may mean
any moment of it. A hint without columns of its own (``Looks.details`` empty) claims
the moment at which it was made; one whose source names no moment claims nothing.

Hints of different kinds (``HINT_KINDS``) are counted apart, and each kind is compared
with its own claims: a sitemap that always says "now" does not drown a feed that says
the truth. The counts of an item are the bytes of one number, those of the first kind
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
from halflife.core.gap_bins import class_length, tallied
from halflife.core.hint_claims import by_kind, claims, kinds_of
from halflife.core.history import Gaps
from halflife.core.item import Item
from halflife.core.keys import Keys, Places
from halflife.core.observation import Looks, Seen, rounds

Made = TypeVar("Made")

APART = 1.0 / 24.0  # days between claims that count as two
MOST_HINTS = 32  # more of one kind since one look say no more
LONGEST = 3650.0  # days; a longer gap was made by a clock that was wrong
_ABSENT, _HINT = int(Seen.ABSENT), int(Seen.HINT)  # enums are slow to look up
NEVER: int = -1  # the ``seen`` of an item that was never looked at

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
FOLDED = tuple(_BLANK)[4:]  # the columns that looks change
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
    """Gaps in which hints came, as ``Gaps``, and how many hints came in each.

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
    """What a batch of looks adds to the evidence, ready to be written down.

    ``rows`` are the items touched, each once; the next columns are their new
    values. ``quiet_gap`` is what the batch added to ``quiet``. ``gap_item``,
    ``gap_class``, ``gap_tally`` tally the gaps that saw a change; the ``hinted``
    columns those in which hints came, whether they saw a change or not.
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
    """The fold of all looks at a set of items; row ``i`` of each column is item ``i``.

    With ``columns`` it begins as it was saved: all of them, each of its own kind. One
    that has the same value everywhere may take the room of one value.

    Attributes:
        number: The items' numbers in the store that keeps them; -1 if it has none.
        weight: How much each item matters.
        cost: Requests that one look takes.
        group: The item's group, an index into ``groups``.
        last_at: Time of the latest good look; ``-inf`` if none.
        tried_at: Time of the latest look, good or failed; ``-inf`` if none.
        failures: Failed looks since the latest good one.
        looks: Good looks.
        changes: Good looks that found a change since the one before.
        quiet: Sum of the gaps that saw no change, in days.
        seen: What the latest good look saw; ``NEVER`` if there was none.
        changed: Whether the latest good look found a change.
        hints: Hints of a change since the latest good look; ``by_kind`` counts them.
        claimed: The latest moment at which a sitemap claimed a change; ``-inf`` if
            none did.
        claimed_feed: The same of a feed.
        claimed_hub: The same of a hub.
        claimed_push: The same of a push.
        digest: The content's fingerprint at the latest good look.

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
        self._places = Places(keys or Keys())
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
        """Return the evidence on items at which nobody has looked yet."""
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
        """Set what was said of items, not seen; groups as places among names."""
        place, names = group
        code = self._code
        codes = [code.setdefault(name, len(code)) for name in names]
        self.groups = tuple(code) if len(code) > len(self.groups) else self.groups
        self.group[rows] = np.array(codes, dtype=np.int32)[place]
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
        """Set columns at some rows, as they are saved or folded."""
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
        """Set the tally of changed gaps as it was saved; the quiet sums are known."""
        self._derived.clear()
        self._gaps = GapLog(Gaps._make, _PLAIN)
        found = np.ones(item.size, np.bool_)
        self._gaps.add(Gaps(item, class_length(number), found, tally))
        rows: Ints = np.arange(len(self), dtype=np.int32)
        self._gaps.add(_quiet(rows, self.quiet))

    def restore_hinted(
        self, item: Ints, number: Ints, changed: Bools, tally: Floats, hints: Ints
    ) -> None:
        """Set the tally of gaps in which hints came as it was saved."""
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
        """How far the gaps go so far; a mark to hand to ``gaps`` later."""
        return len(self._gaps)

    def derived(self, make: "Callable[[Evidence], Made]") -> "Made":
        """Return what a function makes of the evidence, made anew after it has changed.

        Whoever asks for it gets the same, so nobody may write to it.
        """
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("Made", self._derived[make])

    def weigh(self, looks: Looks) -> Fold:
        """Return what the looks add, in their order, and change nothing yet.

        Hints are not looks: all they add is their number. Every item must be known.
        """
        rows = self._places.rows(looks.keys)
        if rows.min(initial=0) < 0:
            raise KeyError(looks.keys[int(np.argmin(rows))])
        news = looks.seen != _HINT
        if not news.all():
            before = self._claimed(rows)[kinds_of(looks), np.arange(rows.size)]
            news |= claims(looks) > before
        if not news.all():
            looks, rows = looks.take(np.flatnonzero(news).tolist()), rows[news]
        if rows.size > 1 and len(set(looks.keys)) < rows.size:
            return self._weigh_in_turns(looks, np.unique(rows))
        return self._weigh_once(looks, rows)

    def take(self, fold: Fold) -> None:
        """Make a fold part of the evidence."""
        self.put(fold.rows, {name: getattr(fold, name) for name in FOLDED})
        if fold.gap_item.size:
            length = class_length(fold.gap_class)
            found = np.ones(length.size, np.bool_)
            self._gaps.add(Gaps(fold.gap_item, length, found, fold.gap_tally))
        self._gaps.add(_quiet(fold.rows, fold.quiet_gap))
        if fold.hinted_item.size:
            length = class_length(fold.hinted_class)
            found, tally, hints = (
                fold.hinted_changed,
                fold.hinted_tally,
                fold.hinted_hints,
            )
            rows = HintedGaps(fold.hinted_item, length, found, tally, hints)
            self._hinted.add(rows)

    def _weigh_once(self, looks: Looks, rows: Ints) -> Fold:
        """Weigh looks at different items; ``rows`` says which."""
        good, hint = looks.seen <= _ABSENT, looks.seen == _HINT
        last, at, known = self.last_at[rows], looks.at, self.seen[rows]
        digest, seen_digest = self.digest.data[rows], self.digest.pack(looks.digest)
        differs = (digest != seen_digest) | (known != looks.seen)
        # A clock that was set says nothing about the time between looks.
        told = good & (at > last) & (at - last <= LONGEST)
        gap = np.where(told, at - last, 0.0)
        changed = good & (known != NEVER) & differs
        timed = changed & (gap > 0)
        row, number, tally = tallied(np.flatnonzero(timed), gap[timed])
        quiet = np.where(changed, 0.0, gap)
        hints, claimed = self._claims(looks, rows)
        had = self.hints[rows]
        some = np.flatnonzero((had > 0) & (gap > 0))
        hinted, hinted_number, hinted_tally = tallied(some, gap[some])
        return Fold(
            rows=rows,
            last_at=np.where(good, at, last),
            tried_at=np.where(hint, self.tried_at[rows], at),
            failures=np.where(good, 0, self.failures[rows] + ~hint),
            looks=self.looks[rows] + good,
            changes=self.changes[rows] + changed,
            quiet=self.quiet[rows] + quiet,
            seen=np.where(good, looks.seen, known),
            changed=np.where(good, changed, self.changed[rows]),
            hints=hints,
            **claimed,
            digest=self._texts(np.where(good, seen_digest, digest)),
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

    def _claims(self, looks: Looks, rows: Ints) -> tuple[Ints, dict[str, Floats]]:
        """Return the hints that stand after these looks, and the latest claims."""
        good, claim, kind = looks.seen <= _ABSENT, claims(looks), kinds_of(looks)
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

    def _weigh_in_turns(self, looks: Looks, touched: Ints) -> Fold:
        """Weigh looks that may come back to an item, on a copy of what they touch."""
        copy = Evidence.of(Item(self.keys[row]) for row in touched)
        for name in FOLDED:
            copy._room[name][:] = self._room[name][touched]  # noqa: SLF001
        copy._long = copy.digest.long = self._long  # noqa: SLF001
        folds = []
        for turn in rounds(looks):
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
            gap_item=touched[_all(folds, "gap_item")],
            hinted_item=touched[_all(folds, "hinted_item")],
            **{name: _all(folds, name) for name in _LISTED},
        )

    def _resize(self, size: int) -> None:
        """Let every column have ``size`` rows, with room to spare when it grows."""
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
        self.digest = self._texts(self._room["digest"][:size])

    def _texts(self, packed: Packed) -> Fingerprints:
        return Fingerprints(packed, self._long)


def _dtype(kind: type[np.generic]) -> np.dtype[Any]:
    return KIND if kind is np.bytes_ else np.dtype(kind)


def _quiet(item: Ints, length: Floats) -> Gaps:
    some = length > 0
    n = int(some.sum())
    return Gaps(item[some], length[some], np.zeros(n, np.bool_), np.ones(n))


def _all(folds: list[Fold], name: str) -> NDArray[Any]:
    return np.concatenate([getattr(fold, name) for fold in folds])
