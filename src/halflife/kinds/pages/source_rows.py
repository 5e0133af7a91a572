"""Which rows of evidence are of which source."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.stores import Store
from halflife.stores.sqlite import SqliteStore


def rows_of(
    store: Store,
    sources: Sequence[str],
    evidence: Evidence,
    named: Callable[[], Iterable[Item]] = tuple,
) -> dict[str, Ints]:
    """Return the rows of each source's items, ascending.

    The evidence is that of the sources; items that are in it but not in the store yet
    are among those ``named``, which is asked only if there are any.
    """
    if len(sources) == 1:
        return {sources[0]: np.arange(len(evidence))}
    rows = {name: np.zeros(0, dtype=np.intp) for name in sources}
    if isinstance(store, SqliteStore):
        rows |= _by_number(store.numbers(sources), evidence)
    else:
        rows |= _by_name(store.items(sources), evidence)
    known = np.zeros(len(evidence), dtype=np.bool_)
    for mine in rows.values():
        known[mine] = True
    if not known.all():
        for name, mine in _by_name(named(), evidence).items():
            rows[name] = np.union1d(rows[name], mine[~known[mine]])
    return rows


def _by_number(numbers: dict[str, Ints], evidence: Evidence) -> dict[str, Ints]:
    """Return the rows of each source by the numbers of its items."""
    order = np.argsort(evidence.number, kind="stable")
    have = evidence.number[order]
    found = {}
    for name, mine in numbers.items():
        at = np.minimum(np.searchsorted(have, mine), max(have.size - 1, 0))
        found[name] = np.sort(order[at[have[at] == mine]]) if have.size else at[:0]
    return found


def _by_name(items: Iterable[Item], evidence: Evidence) -> dict[str, Ints]:
    rows: dict[str, list[int]] = {}
    for item in items:
        row = evidence.row(item.key)
        if row is not None:
            rows.setdefault(item.source, []).append(row)
    return {name: np.sort(np.array(mine, dtype=np.intp)) for name, mine in rows.items()}
