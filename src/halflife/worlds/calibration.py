"""The summary statistics of real histories that made-up worlds are drawn from."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats

Statistics: TypeAlias = Mapping[str, Any]


@cache
def calibration() -> Statistics:
    """Return the published statistics of ``sites``, ``texts`` and ``objects``."""
    text = files("halflife.worlds").joinpath("calibration.json").read_text("utf-8")
    statistics: Statistics = json.loads(text)
    return statistics


def draw(
    rng: Generator, levels: Sequence[float], values: Sequence[float], count: int
) -> Floats:
    """Return random numbers with these quantiles, log-linear in between.

    >>> draw(np.random.default_rng(1), (0.0, 1.0), (3.0, 3.0), 2).round(6)
    array([3., 3.])
    """
    return spread(rng.random(count), levels, values)


def spread(chance: Floats, levels: Sequence[float], values: Sequence[float]) -> Floats:
    """Return the quantiles at ``chance`` of a distribution known at some levels."""
    logs = np.log1p(np.asarray(values, dtype=np.float64))
    return np.asarray(np.expm1(np.interp(chance, levels, logs)))
