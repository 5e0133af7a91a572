"""What all stores share: evidence in use, and checks of new observations."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.errors import UsageError
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations, Seen


def run_sources(sources: Sequence[str]) -> tuple[str, ...]:
    """Return the sources of a run, sorted and without repeats; there must be one."""
    if not sources:
        raise UsageError("a run must name the sources it will write about")
    return tuple(sorted(set(sources)))


class EvidenceCache:
    """Evidence by the sources it covers; no source stands for all of them."""

    def __init__(self) -> None:
        self._kept: dict[frozenset[str], Evidence] = {}

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self._kept.values())

    def get(self, sources: Sequence[str]) -> Evidence | None:
        """Return the cached evidence on these sources, if any."""
        return self._kept.get(frozenset(sources))

    def keep(self, sources: Sequence[str], evidence: Evidence) -> None:
        """Cache the evidence on these sources."""
        self._kept[frozenset(sources)] = evidence

    def clear(self, besides: Iterable[str] = ()) -> None:
        """Drop evidence, so that it is read again, except that on these sources."""
        safe = frozenset(besides)
        self._kept = {s: e for s, e in self._kept.items() if s and s <= safe}

    def add(self, items: Iterable[Item]) -> None:
        """Add new items to the evidence on their sources."""
        new = list(items)
        for sources, evidence in self._kept.items():
            evidence.add(i for i in new if not sources or i.source in sources)

    def reweigh(self, items: Iterable[Item]) -> None:
        """Set the weights of known items."""
        changed = list(items)
        for evidence in self:
            rows = [(evidence.row(item.key), item.weight) for item in changed]
            known = {row: weight for row, weight in rows if row is not None}
            evidence.reweigh(list(known), list(known.values()))

    def take(self, batch: Observations, besides: Evidence | None = None) -> None:
        """Fold observations into all evidence with their items, except ``besides``."""
        for evidence in self:
            if evidence is not besides:
                evidence.take(evidence.weigh(of_known_items(evidence, batch)))


def of_known_items(evidence: Evidence, batch: Observations) -> Observations:
    """Return the observations of items that the evidence has."""
    if evidence.knows(batch.keys):
        return batch
    rows = [i for i, key in enumerate(batch.keys) if evidence.row(key) is not None]
    return batch.take(rows)


def rows_by_name(items: Iterable[Item], evidence: Evidence) -> dict[str, Ints]:
    """Return the rows of each source's items in evidence, ascending."""
    rows: dict[str, list[int]] = {}
    for item in items:
        row = evidence.row(item.key)
        if row is not None:
            rows.setdefault(item.source, []).append(row)
    return {name: np.sort(np.array(mine, dtype=np.intp)) for name, mine in rows.items()}


def new_items(
    batch: Observations,
    evidence: Evidence,
    sources: Sequence[str],
    is_known: Callable[[str], bool],
) -> list[Item]:
    """Return the items that these observations introduce.

    ``evidence`` is that of ``sources``, to which the observations must belong; hints
    may be of any item. Raise ``UsageError`` for an observation that cannot be stored.
    """
    if not np.isfinite(batch.at).all():
        raise UsageError(
            "an observation must have a finite time, in days since the epoch"
        )
    if evidence.knows(batch.keys):
        return []
    new: dict[str, Item] = {}
    for i, key in enumerate(batch.keys):
        if evidence.row(key) is not None:
            continue
        item = batch.details[i].item if batch.details else None
        if item is not None and not is_known(key):
            new.setdefault(key, item)
        hint = batch.seen[i] == Seen.HINT and (key in new or is_known(key))
        if not hint and (key not in new or new[key].source not in sources):
            raise UsageError(
                f"{key!r} is no item of {', '.join(sources)}; add it first"
            )
    return list(new.values())
