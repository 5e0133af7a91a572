"""How long Cox's regression takes, and the best frequencies for many databases.

``python -m lab.cox`` prints the time for 200 000 spells, three covariates
and five strata, in weeks (many ties) and in moments (none), and, where lifelines is
there, how many times as long it takes on fewer spells. ``--allocate`` prints the time
for Eq. 4 of Ipeirotis et al., TODS 2007, for a million databases with the paper's five
shapes, beside a root finder within a root finder on a thousand. Ratios are of
processor seconds. ``--sites FOLDER`` fits models of drift to the weekly recordings of
text databases in a folder; see ``left_out`` and ``halflife.bench.cox_sites``.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halflife.allocation import allocate, kkt_residual
from halflife.bench import cox_sites
from halflife.bench.allocate import cost, nested_weibull
from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.cox import CoxModel
from halflife.models.drift import PAPER, features
from halflife.models.spells import Spells
from halflife.models.weibull_ph import WeibullPH
from halflife.recordings.textdb import load

TRUE = (0.5, -1.0, 0.1)
_STRATA, _FEW = 5, 5000
_WEEKS = (10.0, 40.0)  # between two looks at a database, on average


class Made(NamedTuple):
    """Spells of Weibull lives with known coefficients, ``TRUE``."""

    x: Floats
    time: Floats
    ended: Bools
    stratum: Ints


def spells(n: int, rng: np.random.Generator, *, weekly: bool) -> Made:
    """Return spells watched for up to 30 weeks, about half of them to the end."""
    x = rng.normal(size=(n, 3)) * (1.0, 0.3, 5.0)
    stratum = rng.integers(0, _STRATA, n)
    life = 10.0 * (1 + stratum) * (rng.exponential(size=n) / np.exp(x @ TRUE)) ** 0.8
    watched = rng.uniform(1.0, 30.0, n)
    time = np.minimum(life, watched)
    return Made(x, np.ceil(time) if weekly else time, life < watched, stratum)


def regression(n: int, *, weekly: bool, seed: int = 0) -> dict[str, Any]:
    """Return what a fit takes, with errors robust to clusters of 100 spells."""
    made = spells(n, np.random.default_rng(seed), weekly=weekly)
    x, time, ended, stratum = made
    work = partial(CoxModel().fit, x, time, ended, strata=stratum)
    robust = partial(work, cluster=np.arange(n) // 100)
    took, found = cost(work), work()
    row = {
        "spells": n,
        "times": "weeks" if weekly else "moments",
        "seconds": took.wall,
        "processor_seconds": took.processor,
        "robust_processor_seconds": cost(robust).processor,
        "weibull_processor_seconds": _weibull(made),
        "coefficients": found.coefficient_.round(4).tolist(),
        "status": found.status_.name,
        "load": os.getloadavg()[0],
    }
    return row | _lifelines(min(_FEW, n), seed, weekly=weekly)


def _weibull(made: Made) -> float:
    gone = np.where(made.ended, made.time, np.inf)
    data = Spells.of(np.zeros(made.time.size), made.time, gone)
    return cost(partial(WeibullPH().fit, data, made.x, strata=made.stratum)).processor


def _lifelines(n: int, seed: int, *, weekly: bool) -> dict[str, Any]:
    """Return how many times as long lifelines takes, and how far apart we are."""
    if importlib.util.find_spec("lifelines") is None:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lifelines = importlib.import_module("lifelines")
        pandas = importlib.import_module("pandas")
        x, time, ended, stratum = spells(n, np.random.default_rng(seed), weekly=weekly)
        frame = pandas.DataFrame(x, columns=["a", "b", "c"])
        frame = frame.assign(time=time, ended=ended, stratum=stratum)
        rival = lifelines.CoxPHFitter()
        theirs = partial(rival.fit, frame, "time", "ended", strata=["stratum"])
        ours = partial(CoxModel().fit, x, time, ended, strata=stratum)
        ratio = cost(theirs, 1).processor / cost(ours).processor
        apart = np.abs(ours().coefficient_ - theirs().params_.to_numpy()).max()
    return {
        "lifelines_spells": n,
        "lifelines_ratio": ratio,
        "lifelines_apart": float(apart),
    }


def databases(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return rates and shapes of made-up databases under the paper's model, weeks."""
    domain = rng.choice(PAPER.domains, n)
    size = np.exp(rng.normal(7.0, 2.0, n))
    x = features(size, rng.gamma(1.5, 0.08, n), 0.5)
    return PAPER.rates(domain.tolist(), x)


def schedule(n: int, weeks: float, seed: int = 0) -> dict[str, Any]:
    """Return what the best frequencies take, and how near to the optimum they are."""
    rate, shape = databases(n, np.random.default_rng(seed))
    work = partial(allocate, rate, n / weeks, shape=shape)
    took, plan = cost(work), work()
    few = min(n, 1000)
    nested = partial(nested_weibull, rate[:few], np.ones(few), shape[:few], few / weeks)
    each = cost(nested, 1).processor / few
    return {
        "databases": n,
        "weeks": weeks,
        "seconds": took.wall,
        "processor_seconds": took.processor,
        "kkt_residual": kkt_residual(plan, rate, n / weeks, shape=shape),
        "left_out": int((plan.frequency == 0).sum()),
        "value": plan.value,
        "nested_databases": few,
        "nested_ratio": each * n / took.processor,
        "load": os.getloadavg()[0],
    }


def left_out(folder: Path, sites: int | None = None) -> list[dict[str, Any]]:
    """Return how well databases are predicted, on all sites or the first few."""
    whole = load(folder)
    weekly = whole if sites is None else whole.select(whole.sites[:sites])
    views = {"all": weekly, "recent": weekly.recent()}
    return [
        {"view": name}
        | cox_sites.study(cox_sites.summary_spells(view, cox_sites.TAUS[name]))
        for name, view in views.items()
    ]


def main(given: list[str]) -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m lab.cox")
    parser.add_argument("--allocate", action="store_true")
    parser.add_argument("--size", type=int)
    parser.add_argument("--sites", type=Path)
    told = parser.parse_args(given)
    if told.sites:
        rows = left_out(told.sites, told.size)
    elif told.allocate:
        rows = [schedule(told.size or 1_000_000, weeks) for weeks in _WEEKS]
    else:
        n = told.size or 200_000
        rows = [regression(n, weekly=weekly) for weekly in (True, False)]
    sys.stdout.write(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
