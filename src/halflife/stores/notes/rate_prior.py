"""The distribution of change rates over all pages."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from halflife.belief.poisson import RatePrior
from halflife.stores.notes import NoteKind, finite


def _read(row: Mapping[str, Any]) -> RatePrior:
    return RatePrior(tuple(map(finite, row["mass"])), int(row["looks"]))


RATE_PRIOR = NoteKind("rate_prior", 1, asdict, _read)
