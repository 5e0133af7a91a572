"""The refresh frequencies of survival regression, and the databases it gives up."""

from typing import Any

import numpy as np

from halflife.bench.textreplay import TextWorld
from halflife.bench.textscores import HISTORY
from halflife.bench.textviews import TextView
from halflife.core.arrays import Floats
from halflife.policies.texts.lessons import FULL, LOGS, Lessons
from halflife.policies.texts.survival import by_lives

RULES = {"survival": FULL, "survival-log": LOGS}
LEVELS = (0.05, 0.5, 0.95)
AGE = 10  # weeks after which drift is compared
NEVER = 1 / 120  # refreshes a week below which a database is given up


def plans(
    view: TextView, everies: tuple[float, ...] = (20, 40)
) -> list[dict[str, Any]]:
    """Return predicted lifetimes and intervals in weeks, by rule and T.

    ``half_life`` and ``interval`` are quantiles over databases (5, 50 and 95 %), an
    interval being infinite if a database is never refreshed; ``given_up`` is the share
    of databases that are refreshed less than once in 120 weeks, and
    ``drift_given_up`` their share of the drift of all after ten weeks.
    """
    world = TextWorld.of(view.weekly, view.found)
    lessons = Lessons(world.found, HISTORY, view.tau)
    drift = _drift(lessons.kl)
    rows = []
    for name, features in RULES.items():
        lives = lessons.survival(features)
        half = (np.log(2.0) / lives.rate) ** (1.0 / lives.shape)
        for every in everies:
            frequency = by_lives(lives, every).frequency
            out = frequency < NEVER
            with np.errstate(divide="ignore"):
                between = 1.0 / np.quantile(frequency, LEVELS[::-1])
            rows.append(
                {
                    "view": view.name,
                    "policy": name,
                    "every": every,
                    "half_life": np.quantile(half, LEVELS).tolist(),
                    "interval": between.tolist(),
                    "given_up": float(out.mean()),
                    "drift_given_up": float(drift[out].sum() / drift.sum()),
                    "largest_share": float(drift.max() / drift.sum()),
                }
            )
    return rows


def _drift(kl: Floats) -> Floats:
    """Return the mean divergence of each database after ten weeks."""
    made = np.arange(kl.shape[1] - AGE)
    return np.asarray(kl[:, made, made + AGE].mean(axis=1))
