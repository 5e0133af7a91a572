"""Backtests: forecasts made at past observations, compared with what happened."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.models.calibration import LEVELS, crps, interval_score
from halflife.models.census import METRICS, Census
from halflife.models.conformal import inside
from halflife.models.experts import RIVALS
from halflife.models.parametric import model_bounds
from halflife.models.pool import DEFAULT, Horizon, Study
from halflife.models.setquality import Band, quality_bounds, quality_quantiles

REFERENCES = 600
BURN_IN_DAYS, BURN_IN_SHARE = 30.0, 0.2


@dataclass(frozen=True, slots=True)
class BacktestRow:
    """The score of one model at one horizon.

    Attributes:
        source: The collection's name.
        model: The model's name.
        default: Whether it is the model that ``forecast`` uses.
        metric: ``precision`` or ``recall``.
        horizon: Days ahead.
        n: Forecasts that were compared with an outcome.
        mae: Mean absolute error.
        coverage: The share of truths within the bounds.
        width: The mean distance of the bounds.
        winkler: The mean interval score of the bounds: their width, and what they
            missed by times 2 / (1 - confidence).
        crps: The mean continuous ranked probability score.
        confidence: The coverage meant.

    """

    source: str
    model: str
    default: bool
    metric: str
    horizon: float
    n: int
    mae: float
    coverage: float
    width: float
    winkler: float
    crps: float
    confidence: float


def backtest(
    collection: Collection,
    horizons: Sequence[float],
    confidence: float = 0.95,
    models: Iterable[str] | None = None,
) -> list[dict[str, object]]:
    """Return how models would have forecast precision and recall, one row each.

    Forecasts are made at the observations after the first 30 days (a fifth of a
    shorter history), evenly spread if there are very many. Each uses only what had
    been seen by then, for its calibration too. Horizons without an outcome give no row.
    """
    names = [*RIVALS, DEFAULT] if models is None else list(models)
    rows: list[dict[str, object]] = []
    for days, horizon, at in past_horizons(collection, horizons):
        for name in names:
            bands = forecasts(horizon, name, at, confidence)
            spread = quantiles(horizon, name, at)
            for m, (metric, band) in enumerate(zip(METRICS, bands, strict=True)):
                truth = horizon.outcome.quality[m][at]
                score = interval_score(
                    band.low, band.high, truth, confidence=confidence
                )
                row = BacktestRow(
                    collection.name, name, name == DEFAULT, metric, days,
                    *account(band, truth), float(score.mean()),
                    float(crps(spread[m], truth).mean()), confidence,
                )  # fmt: skip
                rows.append(asdict(row))
    return rows


def past_horizons(
    collection: Collection, horizons: Sequence[float], fewest: int = 1
) -> Iterator[tuple[float, Horizon, Ints]]:
    """Yield each horizon in days, with the observations to forecast from, if any."""
    study = Study(Census.of(collection))
    for days in horizons:
        horizon = study.at(float(days))
        at = references(study.census, horizon.outcome.known)
        if at.size >= fewest:
            yield float(days), horizon, at


def account(band: Band, truth: Floats) -> tuple[int, float, float, float]:
    """Return the count, mean absolute error, coverage and mean width of forecasts."""
    return (
        truth.size,
        float(np.abs(band.mean - truth).mean()),
        float(inside(band.low, band.high, truth).mean()),
        float((band.high - band.low).mean()),
    )


def references(census: Census, known: Bools) -> Ints:
    """Return the observations to forecast from."""
    if census.looks.size == 0:
        return np.empty(0, np.intp)
    span = float(np.ptp(census.looks))
    begin = census.looks[0] + min(BURN_IN_DAYS, BURN_IN_SHARE * span)
    at = np.flatnonzero(known & (census.looks >= begin))
    spread = np.linspace(0, at.size - 1, min(at.size, REFERENCES))
    return at[np.rint(spread).astype(np.intp)]


def forecasts(horizon: Horizon, name: str, at: Ints, confidence: float) -> list[Band]:
    """Return a model's forecasts of precision and recall at some observations."""
    if name == DEFAULT:
        return [
            quality_bounds(horizon.ready[m], at, confidence)
            for m in range(len(METRICS))
        ]
    return _modelled(horizon, name, at, confidence)


def _modelled(horizon: Horizon, name: str, at: Ints, confidence: float) -> list[Band]:
    """Return the forecasts of a rival model, by its own assumptions."""
    ahead = horizon.outcome.ahead
    loss = horizon.experts.expected(name, horizon.days, ahead)
    bounds = model_bounds(horizon.experts, name, loss, ahead, confidence)
    return [
        Band(np.exp(-loss[m][at]), bounds[m, 0][at], bounds[m, 1][at])
        for m in range(len(METRICS))
    ]


def quantiles(horizon: Horizon, name: str, at: Ints) -> list[Floats]:
    """Return the quantiles of the same forecasts at ``LEVELS``, one row per forecast.

    Those of a rival are the bounds of its intervals at each confidence; its median
    lies between the two narrowest.
    """
    if name == DEFAULT:
        return [
            quality_quantiles(horizon.ready[m], at, LEVELS) for m in range(len(METRICS))
        ]
    confidences = (1.0 - 2.0 * LEVELS[: LEVELS.size // 2]).tolist()  # widest first
    bands = [_modelled(horizon, name, at, confidence) for confidence in confidences]
    return [
        np.stack(
            [*(band[m].low for band in bands), *(band[m].high for band in bands[::-1])],
            axis=1,
        )
        for m in range(len(METRICS))
    ]
