"""What was written about items later, laid over what columns say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.evidence import FOLDED, Evidence
from halflife.stores.column_codec import Array, crossed


@dataclass(frozen=True, slots=True)
class Layer:
    """Evidence on some items, as columns.

    Attributes:
        columns: As they are kept; gaps name items by their place among these.
        groups: Names of the groups.
        texts: Fingerprints that are no 128 bits.
        keys: The items' names, if some of them may be new.

    """

    columns: Mapping[str, Array]
    groups: Sequence[str]
    texts: Sequence[str]
    keys: Sequence[str] = ()


@dataclass(slots=True)
class Stack:
    """Evidence, and the layers that were laid over it.

    Attributes:
        found: The evidence.
        gaps: Columns of its gaps, before anything was laid over it.

    """

    found: Evidence
    gaps: Mapping[str, Array]
    _over: list[tuple[Ints, Mapping[str, Array]]] = field(default_factory=list)

    def lay(self, layer: Layer) -> bool:
        """Let a layer stand in place of what was known of its items.

        False if an item is neither known nor new: then all has to be read anew.
        """
        found, number = self.found, layer.columns["number"]
        rows = np.searchsorted(found.number, number)
        new = rows == len(found)
        if (found.number[rows[~new]] != number[~new]).any():
            return False
        columns = dict(layer.columns)
        if new.any():
            self._extend(layer, int(new.sum()))
        rows = np.searchsorted(found.number, number)
        groups = columns["group"], layer.groups
        found.settle(rows, columns["weight"], columns["cost"], groups)
        columns["tried_at"] = crossed(columns["tried_at"], columns["last_at"])
        found.digest.pack(list(layer.texts))
        found.put(rows, {name: columns[name] for name in FOLDED})
        self._over.append((rows, columns))
        return True

    def _extend(self, layer: Layer, many: int) -> None:
        """Make the last so many items of a layer known."""
        columns = {n: c[-many:] for n, c in layer.columns.items()}
        self.found.extend(
            layer.keys[-many:],
            weight=columns["weight"].tolist(),
            cost=columns["cost"].tolist(),
            group=[layer.groups[code] for code in columns["group"].tolist()],
        )
        self.found.number[-many:] = columns["number"]

    def restore_gaps(self) -> None:
        """Set the tallies of gaps: each item's as the last layer has them."""
        top: Ints = np.zeros(len(self.found), np.int32)
        for place, (rows, _) in enumerate(self._over, 1):
            top[rows] = place
        item, number, tally = self._joined("gap", ("class", "tally"), top)
        self.found.restore_gaps(item, number, tally)
        names = ("class", "changed", "tally", "hints")
        self.found.restore_hinted(*self._joined("hinted", names, top))

    def _joined(self, kind: str, names: Sequence[str], top: Ints) -> list[Array]:
        """Return gaps of one kind: the row of each one's item, and these columns."""
        parts: list[list[Array]] = []
        for place, (rows, columns) in enumerate([(None, self.gaps), *self._over]):
            item = columns[f"{kind}_item"]
            item = item if rows is None else rows[item]
            some = top[item] == place
            wanted = (item, *(columns[f"{kind}_{name}"] for name in names))
            parts.append([column[some] for column in wanted])
        return [np.concatenate(columns) for columns in zip(*parts, strict=True)]
