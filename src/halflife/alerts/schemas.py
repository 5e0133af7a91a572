"""The usual schema of records, and differences from it.

A column is filled in some share of the records, with values of mostly one kind. A
difference either loses data (a column that is empty or gone, text in place of numbers,
records without a key) or does not (a new column).
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from halflife.core import lazy_scipy
from halflife.core.object_store import Attributes, Scalar

SAMPLED = 2000  # records that are examined
WATCHED = 200  # columns that are remembered
MOSTLY = 0.9  # the share of values of one kind that makes it the column's
USED = 0.5  # columns filled in a smaller share may well be empty for a while
UNLIKELY = 1e-4  # a probability below which a difference is not put down to chance
KEYLESS = 0.05  # the share of records without a key that is accepted
RECENT = 10  # fetches over which a share is averaged
KEY = "its key"
_FEW = 3  # values that determine a kind
_MANY = 10  # values that must be of another kind for data to be lost
_DIGITS = re.compile(r"[-+]?\d+(?:[.,]\d+)*%?")
_FIRM = frozenset({"numbers", "numbers as text", "yes or no"})
_LOOSE = frozenset({"text", "lists or objects"})


class ColumnFill(NamedTuple):
    """A column in one fetch: records, those that fill it, and their usual kind."""

    records: int
    filled: int
    kind: str = ""  # empty if it is mixed

    @property
    def share(self) -> float:
        """The share of records that fill it."""
        return self.filled / self.records if self.records else 0.0


class Usual(NamedTuple):
    """The usual column: the share filled, the kind of values, the records."""

    share: float
    kind: str
    records: int
    fetches: int = 1


class SchemaDifference(NamedTuple):
    """A difference of records from their usual schema.

    Attributes:
        column: The column.
        what: The difference in a word.
        text: The difference in a sentence.
        loses: Whether data is lost.
        holds: Whether so much is lost that a person has to decide.

    """

    column: str
    what: str
    text: str
    loses: bool = True
    holds: bool = True


def columns(
    records: Mapping[str, Attributes], keyless: int = 0
) -> dict[str, ColumnFill]:
    """Return the columns of records, from a sample if there are very many.

    ``keyless`` is the number of records without a key, which are not among these.

    >>> columns({"a": {"n": 1}, "b": {"n": None}})["n"]
    ColumnFill(records=2, filled=1, kind='')
    """
    step = max(len(records) // SAMPLED, 1)
    sample = list(islice(records.values(), 0, None, step))
    names = dict.fromkeys(name for record in sample for name in record)
    fills = {name: column([row.get(name) for row in sample]) for name in names}
    if records or keyless:
        fills[KEY] = ColumnFill(len(records) + keyless, len(records))
    return fills


def column(values: Sequence[Scalar]) -> ColumnFill:
    """Return the fill of a column from its values."""
    filled = [value for value in values if value not in {None, ""}]
    kinds = Counter(kind_of(value) for value in filled)
    enough = max(MOSTLY * len(filled), _FEW)
    kind = next((kind for kind, many in kinds.items() if many >= enough), "")
    return ColumnFill(len(values), len(filled), kind)


def kind_of(value: Scalar) -> str:
    """Return the kind of a value.

    >>> [kind_of(value) for value in (True, 1.5, "12,50", "[1]", "a")]
    ['yes or no', 'numbers', 'numbers as text', 'lists or objects', 'text']
    """
    if isinstance(value, bool):
        return "yes or no"
    if not isinstance(value, str):
        return "numbers"
    text = value.strip()
    if _DIGITS.fullmatch(text):
        return "numbers as text"
    return "lists or objects" if text[:1] in {"[", "{"} else "text"


def differences(
    usual: Mapping[str, Usual], seen: Mapping[str, ColumnFill], unit: str = "records"
) -> list[SchemaDifference]:
    """Return the differences between the columns seen and the usual ones.

    ``unit`` names what is counted.
    """
    if not usual or not any(fill.records for fill in seen.values()):
        return []
    records = max(
        fill.records for name, fill in seen.items() if name != KEY or len(seen) < 2
    )
    found = [
        _change(name, before, seen.get(name, ColumnFill(records, 0)), unit)
        for name, before in usual.items()
    ]
    if len(usual) < WATCHED:
        found += [_new(name, now) for name, now in seen.items() if name not in usual]
    return [difference for difference in found if difference is not None]


def _new(name: str, now: ColumnFill) -> SchemaDifference | None:
    if now.share < USED or now.filled < _FEW:
        return None
    return SchemaDifference(
        name, "new", f"a new column {name!r}", loses=False, holds=False
    )


def _change(
    name: str, before: Usual, now: ColumnFill, unit: str
) -> SchemaDifference | None:
    """Return how a column differs; the number filled is taken to be binomial."""
    few = chance(now, before) < UNLIKELY
    if name == KEY:
        missing = now.records - now.filled
        if not few or missing <= KEYLESS * now.records:
            return None
        text = f"{missing} of {now.records} records have no usable key"
        return SchemaDifference(name, "gone", text, holds=2 * missing >= now.records)
    if few and now.share < before.share / 2.0 and before.share >= USED:
        text = (
            f"{name!r} is empty or gone in {now.records - now.filled} of {now.records} "
            f"{unit}; it was filled in {before.share:.0%}"
        )
        return SchemaDifference(name, "gone", text)
    if few and not now.filled:
        text = f"{name!r} is in no {unit} now; it was in {before.share:.0%}"
        return SchemaDifference(name, "rare", text, loses=False, holds=False)
    if before.kind and now.kind and before.kind != now.kind:
        text = f"{name!r} holds {now.kind} in place of {before.kind}"
        many = min(now.filled, round(before.share * before.records)) >= _MANY
        loses = many and before.kind in _FIRM and now.kind in _LOOSE
        return SchemaDifference(name, f"kind {now.kind}", text, loses, loses)
    return None


def chance(now: ColumnFill, before: Usual) -> float:
    """Return the probability that this few records fill a column, or fewer.

    P(K <= k) of a binomial law with the usual share, which is at most
    (n + 1) / (n + 2) because n records make nothing certain.

    >>> round(chance(ColumnFill(3, 0), Usual(1.0, "text", 40)), 6)
    1.3e-05
    """
    if now.filled >= now.records:
        return 1.0
    share = min(before.share, (before.records + 1.0) / (before.records + 2.0))
    return float(lazy_scipy.bdtr(now.filled, now.records, share))


def learn(
    usual: Mapping[str, Usual],
    seen: Mapping[str, ColumnFill],
    unchanged: Iterable[str] = (),
) -> dict[str, Usual]:
    """Return the usual columns after one more fetch, some of them ``unchanged``."""
    after, left = dict(usual), {*unchanged}
    records = max((fill.records for fill in seen.values()), default=0)
    for name in (*usual, *(n for n in seen if n not in usual)):
        now = seen.get(name, ColumnFill(records, 0))
        if name not in left and now.records:
            after[name] = _learn(after.get(name), now)
    return dict(islice(after.items(), WATCHED))


def _learn(before: Usual | None, now: ColumnFill) -> Usual:
    if before is None:
        return Usual(now.share, now.kind, now.records)
    fetches = min(before.fetches + 1, RECENT)
    share = before.share + (now.share - before.share) / fetches
    kind = now.kind or before.kind
    return Usual(share, kind, max(before.records, now.records), fetches)
