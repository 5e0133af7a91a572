"""How long it takes to learn lifetimes and arrivals of a large set source."""

from collections.abc import Callable
from time import process_time

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection, Lives
from halflife.models.arrival import fit_arrivals
from halflife.models.lifetime import ExponentialLifetime, WeibullLifetime
from halflife.models.spells import spells
from halflife.models.survival_curves import KaplanMeier
from lab.arrival_counts import arrivals
from lab.turnbull import Turnbull

_DAYS = 365
_MEAN = 60.0  # days that an object of shape 1 lasts


def run(items: int = 50_000, seed: int = 0) -> dict[str, float]:
    """Return the processor seconds that each fit takes, and how far off the Weibull is.

    The source is looked at once a day for a year, with the odd gap of up to 18 days;
    lives are Weibull of shape 1.3.
    """
    source = made_up(items, 1.3, seed)
    lives = source.lives
    weibull = WeibullLifetime()
    fits: dict[str, Callable[[], object]] = {
        "spells": lambda: spells(lives, source.looks),
        "exponential": lambda: ExponentialLifetime().fit(lives),
        "weibull": lambda: weibull.fit(lives),
        "kaplan_meier": lambda: KaplanMeier().fit(lives),
        "turnbull": lambda: Turnbull().fit(lives),
        "arrivals": lambda: fit_arrivals(*arrivals(source)),
    }
    took = {f"{name}_seconds": _seconds(fit) for name, fit in fits.items()}
    return {
        "lives": len(lives),
        "looks": source.looks.size,
        **took,
        "shape_error": weibull.shape_ - 1.3,
        "rate_error": weibull.rate_ * _MEAN - 1.0,
    }


def foreseen(source: Collection, days: float, samples: int = 60) -> dict[str, float]:
    """Return the precision of copies ``days`` old in the second half of a history.

    Beside the mean over copies, what fits to the first half expected: exponential, and
    Weibull for objects of any age. Copies for which there is no look about ``days``
    later (within 15 %) are left out.
    """
    middle = float(source.looks[source.looks.size // 2])
    past, looks = source.until(middle), source.looks
    start = looks[looks >= middle][:: max(1, looks.size // 2 // samples)]
    end = looks[np.minimum(np.searchsorted(looks, start + days), looks.size - 1)]
    near = np.abs(end - start - days) < 0.15 * days
    pairs = zip(start[near].tolist(), end[near].tolist(), strict=True)
    truth = [source.quality(a, b)[0] for a, b in pairs]
    t = np.array([days])
    return {
        "copies": len(truth),
        "precision": float(np.mean(truth)) if truth else 1.0,
        "exponential": float(ExponentialLifetime().fit(past.lives).survival(t)[0]),
        "weibull": float(WeibullLifetime().fit(past.lives).of_unknown_age(t)[0]),
    }


def made_up(items: int, shape: float, seed: int) -> Collection:
    """Return a source in equilibrium of which about ``items`` lives are seen."""
    rng = np.random.default_rng(seed)
    gap = np.where(rng.random(_DAYS) < 0.05, rng.integers(2, 19, _DAYS), 1)
    looks = np.cumsum(gap).astype(np.float64)
    looks = looks[looks <= _DAYS]
    past = 10 * _MEAN
    came = int(items * (_DAYS + past) / (_DAYS + _MEAN))
    birth = rng.uniform(-past, _DAYS, came)
    return _seen(looks, birth, birth + _MEAN * rng.weibull(shape, came))


def _seen(looks: Floats, birth: Floats, death: Floats) -> Collection:
    first, after = np.searchsorted(looks, birth), np.searchsorted(looks, death)
    some = first < after
    first, after = first[some], after[some]
    padded = np.concatenate(([-np.inf], looks, [np.inf]))
    lives = Lives(
        tuple(map(str, range(first.size))),
        padded[first],
        looks[first],
        looks[after - 1],
        padded[after + 1],
        {},
    )
    return Collection("made up", looks, lives, np.zeros(0, np.intp), np.zeros(0))


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start
