"""The rows of evidence that belong to each source."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.store import Items
from halflife.stores.store_base import rows_by_name


def rows_of(
    store: Items,
    sources: Sequence[str],
    evidence: Evidence,
    named: Callable[[], Iterable[Item]] = tuple,
) -> dict[str, Ints]:
    """Return the rows of each source's items, ascending.

    The evidence is that of the sources. Items that are in it but not in the store yet
    are among those of ``named``, which is called only if there are any.
    """
    if len(sources) == 1:
        return {sources[0]: np.arange(len(evidence), dtype=np.int32)}
    rows = {name: np.zeros(0, dtype=np.intp) for name in sources}
    rows |= store.rows_by_source(sources, evidence)
    known = np.zeros(len(evidence), dtype=np.bool_)
    for own in rows.values():
        known[own] = True
    if not known.all():
        for name, own in rows_by_name(named(), evidence).items():
            rows[name] = np.union1d(rows[name], own[~known[own]])
    return rows
