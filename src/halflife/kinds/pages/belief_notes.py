"""What a belief learned, kept between runs."""

import base64
import json
import zlib
from collections.abc import Mapping

import numpy as np

from halflife.belief.hints import Hinted
from halflife.belief.neighbours import Memory, Neighbours
from halflife.belief.poisson import PoissonBelief, Prior
from halflife.core.arrays import Floats
from halflife.models.bursts import Kept
from halflife.stores import Store

PRIOR = "prior of change rates"
BUSY = "busy times of sites and folders"


def recall(store: Store) -> Prior | None:
    """Return the spread of rates that was learned last, if any."""
    memo = store.memo(PRIOR)
    if memo is None:
        return None
    kept = json.loads(memo)
    return Prior(tuple(kept["mass"]), int(kept["looks"]))


def recall_busy(store: Store) -> Memory | None:
    """Return what was learned last of busy times, if anything was."""
    memo = store.memo(BUSY)
    if memo is None:
        return None
    kept = json.loads(memo)
    busy = Kept(
        float(kept["origin"]),
        _unpacked(kept["busy_sites"]),
        np.array(kept["folder"], dtype=np.intp),
        np.array(kept["parent"], dtype=np.intp),
        _unpacked(kept["busy_folders"]),
    )
    names = tuple(kept["sites"]), tuple(kept["folders"])
    return Memory(*names, busy, tuple(kept["trust"]))


def remember(store: Store, belief: object) -> None:
    """Keep what a belief has learned and could not learn from the evidence again."""
    belief = belief.inner if isinstance(belief, Hinted) else belief
    if isinstance(belief, PoissonBelief) and belief.prior is not None:
        kept = {"mass": belief.prior.mass, "looks": belief.prior.looks}
        store.save_memo(PRIOR, json.dumps(kept))
    if isinstance(belief, Neighbours):
        memory = belief.memory()
        if memory is not None:
            store.save_memo(BUSY, json.dumps(_memo(memory)))


def _memo(memory: Memory) -> Mapping[str, object]:
    return {
        "sites": memory.sites,
        "folders": memory.folders,
        "origin": memory.kept.origin,
        "folder": memory.kept.folder.tolist(),
        "parent": memory.kept.parent.tolist(),
        "busy_sites": _packed(memory.kept.sites),
        "busy_folders": _packed(memory.kept.folders),
        "trust": memory.trust,
    }


def _packed(table: Floats) -> Mapping[str, object]:
    """Return numbers as text; most are 0, so they pack well."""
    small = zlib.compress(table.astype("<f4").tobytes())
    return {"shape": table.shape, "data": base64.b64encode(small).decode("ascii")}


def _unpacked(kept: Mapping[str, object]) -> Floats:
    data = zlib.decompress(base64.b64decode(str(kept["data"])))
    flat = np.frombuffer(data, dtype="<f4").astype(np.float64)
    shape: tuple[int, ...] = tuple(np.asarray(kept["shape"]).tolist())
    return flat.reshape(shape)
