"""Make a world: folders of recorded histories that never were."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.random import Generator

from halflife import __version__
from halflife.core.errors import UsageError
from halflife.worlds.calibration import calibration
from halflife.worlds.object_files import write_listing
from halflife.worlds.objects import listing
from halflife.worlds.site_files import write_sites
from halflife.worlds.sites import sites
from halflife.worlds.texts import write_texts

SITES, TEXTS = "sites", "texts"
LABEL = "world.json"


def kinds() -> tuple[str, ...]:
    """Return what can be made."""
    return (SITES, TEXTS, *calibration()["objects"])


def make(folder: Path, wanted: Sequence[str], seed: int, size: float) -> list[Path]:
    """Write the histories of a world, and return their folders.

    ``size`` is the share of the sites, or of the objects, that the recorded histories
    have. The same seed makes the same histories, whatever else is made beside them.
    """
    chosen = list(dict.fromkeys(wanted)) or list(kinds())
    for kind in chosen:
        if kind not in kinds():
            raise UsageError(f"no kind {kind!r}; a world has {', '.join(kinds())}")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; name a new folder with --out")
    told = calibration()
    written: list[Path] = []
    if {SITES, TEXTS} & set(chosen):
        rng = _chance(seed, SITES)
        count = max(round(told[SITES]["sites"] * size), 1)
        made = sites(rng, told[SITES], count)
        write_sites(folder / SITES, made)
        if TEXTS in chosen:
            write_texts(folder / SITES, made, told[TEXTS], _chance(seed, TEXTS))
        written.append(folder / SITES)
    for kind in chosen:
        if kind in told["objects"]:
            rng = _chance(seed, kind)
            place = folder / "objects" / kind
            history = listing(rng, told["objects"][kind], size)
            write_listing(place, history, kind, rng)
            written.append(place)
    _label(folder, chosen, seed, size)
    return written


def _chance(seed: int, kind: str) -> Generator:
    """Return where chance comes from for one kind of history."""
    return np.random.default_rng([seed, crc32(kind.encode())])


def _label(folder: Path, chosen: Iterable[str], seed: int, size: float) -> None:
    told = {"made_by": f"halflife {__version__}", "seed": seed, "size": size,
            "kinds": list(chosen)}  # fmt: skip
    text = json.dumps(told, indent=1) + "\n"
    (folder / LABEL).write_text(text, encoding="utf-8")
