"""How often a burst of changes on a site causes others, and how soon.

``python -m lab.burst_rows DIR [--pages N] [--least N]`` takes every site of recorded
histories, some pages of it drawn at random, and its bursts: moments at which so many of
these pages changed. It fits the self-exciting process of ``market.target_rule`` to all
sites, and to every second one: bursts come at a rate of each site's own, and each
causes ``followers`` others on average, after a time with the density rush exp(-rush t).
It prints JSON, with the log likelihood and that of evenly coming bursts.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng
from scipy.optimize import minimize

from halflife.core.arrays import Floats
from halflife.recordings import histories
from halflife.recordings.pages import Recording

WHOLE = 360.0  # days of the histories
TOGETHER = 1.0 / 96.0  # days between changes of one burst, at most
STEPS = 20  # of the iteration for the rate of a site
WORTH, DAYS = 0.5, 10.0  # the prior of a site's rate: bursts, and days


def bursts(recording: Recording, least: int) -> Floats:
    """Return when so many pages or more changed together."""
    item = np.repeat(np.arange(len(recording)), np.diff(recording.start))
    order = np.argsort(recording.at, kind="stable")
    at, item = recording.at[order], item[order]
    begin = np.flatnonzero(np.diff(at, prepend=-np.inf) > TOGETHER)
    parts = np.split(item, begin[1:])
    large = [np.unique(part).size >= least for part in parts]
    return np.asarray(at[begin][large]) if at.size else at


def log_likelihood(
    at: Floats, followers: float, rush: float, days: float = WHOLE
) -> float:
    """Return the log likelihood of bursts; the site's own rate is the likeliest."""
    heat = np.zeros(at.size)
    for i in range(1, at.size):
        heat[i] = np.exp(-rush * (at[i] - at[i - 1])) * (1.0 + heat[i - 1])
    caused = followers * rush * heat
    own = (at.size * (1.0 - followers) + WORTH) / (days + DAYS)
    for _ in range(STEPS):  # expectation maximisation
        own = (float(np.sum(own / (own + caused))) + WORTH) / (days + DAYS)
    expected = own * days + followers * float(np.sum(-np.expm1(-rush * (days - at))))
    return float(np.sum(np.log(own + caused))) - expected


def fit(sites: Sequence[Floats], days: float = WHOLE) -> dict[str, float]:
    """Return the numbers that are likeliest for all sites."""

    def numbers(x: Floats) -> tuple[float, float]:
        return float(1.0 / (1.0 + np.exp(-x[0]))), float(np.exp(x[1]))

    def unlikely(x: Floats) -> float:
        return -sum(log_likelihood(at, *numbers(x), days) for at in sites)

    found = minimize(unlikely, np.array([0.0, 1.0]), method="Nelder-Mead")
    followers, rush = numbers(found.x)
    even = sum(log_likelihood(at, 0.0, 1.0, days) for at in sites)
    return {
        "sites": len(sites),
        "bursts": sum(at.size for at in sites),
        "followers": followers,
        "rush": rush,
        "log_likelihood": -float(found.fun),
        "even_log_likelihood": even,
    }


def recorded(
    folder: Path, pages: int, least: int, rng: Generator
) -> Mapping[str, Floats]:
    """Return the bursts of every site that has enough pages and any burst."""
    whole = histories.load(folder / "sites", days=WHOLE).recording
    group = np.array(whole.group)
    found: dict[str, Floats] = {}
    for name in np.unique(group).tolist():
        rows = np.flatnonzero((group == name) & (whole.died > WHOLE))
        if rows.size >= pages:
            at = bursts(whole.take(np.sort(rng.permutation(rows)[:pages])), least)
            found |= {name: at} if at.size else {}
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Print the fits."""
    parser = argparse.ArgumentParser(prog="python -m lab.burst_rows")
    parser.add_argument("folder", type=Path, help="with sites/")
    parser.add_argument("--pages", type=int, default=80, help="of a site")
    parser.add_argument("--least", type=int, default=5, help="pages of a burst")
    asked = parser.parse_args(argv)
    sites = recorded(asked.folder, asked.pages, asked.least, default_rng(0))
    each = list(sites.values())
    halves = {"all": each, "even": each[::2], "odd": each[1::2]}
    told: dict[str, Any] = {name: fit(some) for name, some in halves.items()}
    told["bursts"] = {name: at.size for name, at in sites.items()}
    json.dump(told, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
