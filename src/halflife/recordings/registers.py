"""The objects of a store as a relation: their values at each observation."""

import numpy as np

from halflife.core.errors import UsageError
from halflife.core.lifetimes import Values
from halflife.core.object_store import Attributes, Register
from halflife.recordings.relations import Relation


def relation_of(register: Register, name: str) -> Relation:
    """Return the objects of a set source as a relation, as if complete."""
    observed = np.array([s.at for s in register.snapshots if s.valid])
    if not observed.size:
        raise UsageError(
            f"{name}: nothing was observed yet, so nothing can be replayed"
        )
    spells = register.spells
    rows = [(i, spell.first_seen, spell.attributes) for i, spell in enumerate(spells)]
    place = {(s.key, s.spell): i for i, s in enumerate(spells)}
    rows += [
        (place[v.key, v.spell], v.seen_from, v.attributes)
        for v in register.versions
        if v.attributes is not None and (v.key, v.spell) in place
    ]
    rows.sort(key=lambda row: row[:2])
    names = list(dict.fromkeys(name for row in rows for name in row[2]))
    columns = {column: _column(rows, column) for column in names}
    return Relation(
        looks=observed,
        keys=tuple(spell.key for spell in spells),
        first_seen=np.array([spell.first_seen for spell in spells]),
        # An object that was not listed counts as present until it is known to be gone.
        last_seen=np.nextafter([spell.gone_by for spell in spells], -np.inf),
        spell=np.array([row[0] for row in rows], dtype=np.intp),
        since=np.array([row[1] for row in rows], dtype=np.float64),
        columns=columns,
    )


def _column(rows: list[tuple[int, float, Attributes]], name: str) -> Values:
    values = np.empty(len(rows), dtype=object)
    values[:] = [attributes.get(name) for _, _, attributes in rows]
    return values
