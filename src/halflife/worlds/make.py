"""Make a world: folders of made-up histories in the layout of recorded ones."""

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
    """Return the kinds of histories that can be made."""
    return (SITES, TEXTS, *calibration()["objects"])


def make(folder: Path, wanted: Sequence[str], seed: int, size: float) -> list[Path]:
    """Write the histories of a world, and return their folders.

    ``size`` is the number of sites, or of objects, as a share of that of the recorded
    histories. The same seed makes the same histories, whatever else is made with them.
    """
    chosen = list(dict.fromkeys(wanted)) or list(kinds())
    known = kinds()
    for kind in chosen:
        if kind not in known:
            raise UsageError(f"no kind {kind!r}; a world has {', '.join(known)}")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; name a new folder with --out")
    statistics = calibration()
    written: list[Path] = []
    if {SITES, TEXTS} & set(chosen):
        rng = _chance(seed, SITES)
        count = max(round(statistics[SITES]["sites"] * size), 1)
        histories = sites(rng, statistics[SITES], count)
        write_sites(folder / SITES, histories)
        if TEXTS in chosen:
            rng = _chance(seed, TEXTS)
            write_texts(folder / SITES, histories, statistics[TEXTS], rng)
        written.append(folder / SITES)
    for kind in chosen:
        if kind in statistics["objects"]:
            rng = _chance(seed, kind)
            place = folder / "objects" / kind
            history = listing(rng, statistics["objects"][kind], size)
            write_listing(place, history, kind, rng)
            written.append(place)
    _label(folder, chosen, seed, size)
    return written


def _chance(seed: int, kind: str) -> Generator:
    """Return the random generator of one kind of history."""
    return np.random.default_rng([seed, crc32(kind.encode())])


def _label(folder: Path, chosen: Iterable[str], seed: int, size: float) -> None:
    label = {"made_by": f"halflife {__version__}", "seed": seed, "size": size,
             "kinds": list(chosen)}  # fmt: skip
    text = json.dumps(label, indent=1) + "\n"
    (folder / LABEL).write_text(text, encoding="utf-8")
