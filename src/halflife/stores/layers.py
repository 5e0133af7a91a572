"""Later evidence on items, laid over the columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.evidence import FOLDED, Evidence
from halflife.stores.column_codec import Array, xor_bits


@dataclass(frozen=True, slots=True)
class Layer:
    """Evidence on some items, as columns.

    Attributes:
        columns: As stored; gaps refer to items by their row in these.
        groups: Names of the groups.
        texts: Fingerprints that are no 128 bits.
        keys: The keys of the items, if some of them may be new.

    """

    columns: Mapping[str, Array]
    groups: Sequence[str]
    texts: Sequence[str]
    keys: Sequence[str] = ()


@dataclass(slots=True)
class Stack:
    """Evidence, and the layers laid over it.

    Attributes:
        found: The evidence.
        gaps: Columns of its gaps, without the layers.

    """

    evidence: Evidence
    gaps: Mapping[str, Array]
    _layers: list[tuple[Ints, Mapping[str, Array]]] = field(default_factory=list)

    def lay(self, layer: Layer) -> bool:
        """Replace the evidence on a layer's items with that of the layer.

        Return False if an item is neither known nor new: everything must be read again.
        """
        evidence, number = self.evidence, layer.columns["number"]
        rows = np.searchsorted(evidence.number, number)
        new = rows == len(evidence)
        if (evidence.number[rows[~new]] != number[~new]).any():
            return False
        columns = dict(layer.columns)
        if new.any():
            self._extend(layer, int(new.sum()))
        rows = np.searchsorted(evidence.number, number)
        groups = columns["group"], layer.groups
        evidence.settle(rows, columns["weight"], columns["cost"], groups)
        columns["tried_at"] = xor_bits(columns["tried_at"], columns["last_at"])
        evidence.digest.pack(list(layer.texts))
        evidence.put(rows, {name: columns[name] for name in FOLDED})
        self._layers.append((rows, columns))
        return True

    def _extend(self, layer: Layer, many: int) -> None:
        """Add the last ``many`` items of a layer."""
        columns = {n: c[-many:] for n, c in layer.columns.items()}
        self.evidence.extend(
            layer.keys[-many:],
            weight=columns["weight"].tolist(),
            cost=columns["cost"].tolist(),
            group=[layer.groups[code] for code in columns["group"].tolist()],
        )
        self.evidence.number[-many:] = columns["number"]

    def restore_gaps(self) -> None:
        """Set the tallies of gaps: each item's from the last layer that has it."""
        top: Ints = np.zeros(len(self.evidence), np.int32)
        for place, (rows, _) in enumerate(self._layers, 1):
            top[rows] = place
        item, number, tally = self._joined("gap", ("class", "tally"), top)
        self.evidence.restore_gaps(item, number, tally)
        names = ("class", "changed", "tally", "hints")
        self.evidence.restore_hinted(*self._joined("hinted", names, top))

    def _joined(self, kind: str, names: Sequence[str], top: Ints) -> list[Array]:
        """Return gaps of one kind: the rows of their items, and the named columns."""
        parts: list[list[Array]] = []
        for place, (rows, columns) in enumerate([(None, self.gaps), *self._layers]):
            item = columns[f"{kind}_item"]
            item = item if rows is None else rows[item]
            chosen = top[item] == place
            wanted = (item, *(columns[f"{kind}_{name}"] for name in names))
            parts.append([column[chosen] for column in wanted])
        return [np.concatenate(columns) for columns in zip(*parts, strict=True)]
