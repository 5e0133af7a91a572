"""The busy times of sites and folders that a belief has learned."""

import base64
import zlib
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from halflife.belief.neighbours import NeighbourMemory
from halflife.core.arrays import Floats
from halflife.models.bursts import BurstMemory
from halflife.models.pace import PaceMemory
from halflife.stores.notes import NoteKind, finite, texts

_TABLES = "sums", "level", "today", "mean", "unit"  # of the pace


def _write(memory: NeighbourMemory) -> Mapping[str, Any]:
    row = {
        "sites": memory.sites,
        "folders": memory.folders,
        "origin": memory.kept.origin,
        "folder": memory.kept.folder.tolist(),
        "parent": memory.kept.parent.tolist(),
        "busy_sites": _packed(memory.kept.sites),
        "busy_folders": _packed(memory.kept.folders),
        "trust": memory.trust,
    }
    if not memory.near_trust:
        return row
    near = {"pages": memory.pages, "near": _packed(memory.near)}
    row |= {**near, "near_trust": memory.near_trust}
    if memory.lengths.size:
        row["lengths"] = _text(memory.lengths.tobytes())
    if memory.pace is not None:
        row |= {"paces": _packed(memory.kept.pace), "pace": _pace_row(memory.pace)}
    return row


def _read(row: Mapping[str, Any]) -> NeighbourMemory:
    busy = BurstMemory(
        finite(row["origin"]),
        _unpacked(row["busy_sites"]),
        np.array(row["folder"], dtype=np.intp),
        np.array(row["parent"], dtype=np.intp),
        _unpacked(row["busy_folders"]),
    )
    trust, near = (
        tuple(float(value) for value in row.get(name, ()))
        for name in ("trust", "near_trust")
    )
    memory = NeighbourMemory(texts(row["sites"]), texts(row["folders"]), busy, trust)
    if (
        not near
    ):  # written before pages with neighbouring names had a trust of their own
        return memory
    pages, counts = texts(row["pages"]), _unpacked(row["near"])
    lengths = np.frombuffer(_bytes(row.get("lengths", _text(b""))), dtype=np.uint8)
    memory = replace(memory, pages=pages, near=counts, near_trust=near, lengths=lengths)
    if "pace" not in row:  # written before sites had a pace
        return memory
    kept = replace(memory.kept, pace=_unpacked(row["paces"]))
    return replace(memory, kept=kept, pace=_read_pace(row["pace"]))


def _pace_row(pace: PaceMemory) -> Mapping[str, Any]:
    tables = {name: _packed(getattr(pace, name)) for name in _TABLES}
    stepped = None if pace.stepped == -inf else pace.stepped
    lists = {"likely": pace.likely, "misses": pace.misses, "stepped": stepped}
    return {**tables, **lists}


def _read_pace(row: Mapping[str, Any]) -> PaceMemory:
    tables = {name: _unpacked(row[name]) for name in _TABLES}
    squared, size = (finite(value) for value in row["misses"])
    return PaceMemory(
        **tables,
        likely=tuple(finite(value) for value in row["likely"]),
        misses=(squared, size),
        stepped=-inf if row["stepped"] is None else finite(row["stepped"]),
    )


def _packed(table: Floats) -> Mapping[str, Any]:
    """Return numbers as text; most are 0, so they compress well."""
    return {"shape": table.shape, "data": _text(table.astype("<f4").tobytes())}


def _unpacked(kept: Mapping[str, Any]) -> Floats:
    flat = np.frombuffer(_bytes(kept["data"]), dtype="<f4").astype(np.float64)
    return flat.reshape([int(size) for size in kept["shape"]])


def _text(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode("ascii")


def _bytes(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text, validate=True))


BUSY_TIMES = NoteKind("busy_times", 1, _write, _read)
