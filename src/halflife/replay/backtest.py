"""How good the forecasts would have been: made again at past looks, held to account."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.metrics.intervals import mean_interval
from halflife.models import decay
from halflife.models.census import METRICS, Census
from halflife.models.conformal import inside
from halflife.models.experts import RIVALS, season, trained_values
from halflife.models.parametric import model_bounds
from halflife.models.pool import DEFAULT, Horizon, Study
from halflife.models.setquality import Band, quality_bounds

REFERENCES = 600
BURN_IN_DAYS, BURN_IN_SHARE = 30.0, 0.2


@dataclass(frozen=True, slots=True)
class BacktestRow:
    """How one model did at one horizon.

    Attributes:
        source: The collection's name.
        model: The model's name.
        default: Whether it is what ``forecast`` uses.
        metric: ``precision`` or ``recall``.
        horizon: Days ahead.
        n: Forecasts that were held to account.
        mae: Mean absolute error.
        coverage: The share of truths within the bounds.
        width: The mean distance of the bounds.
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
    confidence: float


def backtest(
    collection: Collection,
    horizons: Sequence[float],
    confidence: float = 0.95,
    models: Iterable[str] | None = None,
) -> list[dict[str, object]]:
    """Return how models would have forecast precision and recall, one row each.

    Forecasts are made from looks after the first 30 days (a fifth of a shorter
    history), evenly spread if there are very many; each uses only what had been seen
    by then, its calibration too. Horizons that no look tells of give no row.
    """
    study = Study(Census.of(collection))
    names = [*RIVALS, DEFAULT] if models is None else list(models)
    rows: list[dict[str, object]] = []
    for days in horizons:
        horizon = study.at(float(days))
        at = references(study.census, horizon.outcome.known)
        if at.size == 0:
            continue
        for name in names:
            bands = forecasts(horizon, name, at, confidence)
            for metric, band in zip(METRICS, bands, strict=True):
                truth = horizon.outcome.quality[METRICS.index(metric)][at]
                row = BacktestRow(
                    collection.name, name, name == DEFAULT, metric, float(days),
                    *account(band, truth), confidence,
                )  # fmt: skip
                rows.append(asdict(row))
    return rows


def backtest_new(
    collection: Collection, horizons: Sequence[float], confidence: float = 0.95
) -> list[dict[str, object]]:
    """Return how well the default foresees how many new objects a copy lacks."""
    study = Study(Census.of(collection))
    rows: list[dict[str, object]] = []
    for days in horizons:
        horizon = study.at(float(days))
        at = references(study.census, horizon.outcome.known)
        if at.size == 0:
            continue
        ready, truth = horizon.newcomers(confidence), horizon.outcome.new[at]
        size, guess = ready.scored.size[at], ready.scored.guess[at]
        three = zip(at.tolist(), guess, size, strict=True)
        low, middle, high = np.array([s * ready.bounds(i, g, s) for i, g, s in three]).T
        n, mae, coverage, width = account(Band(middle, low, high), truth)
        rows.append(
            {"source": collection.name, "horizon": float(days), "n": n, "mae": mae,
             "coverage": coverage, "width": width, "truth": float(truth.mean()),
             "confidence": confidence}
        )  # fmt: skip
    return rows


def account(band: Band, truth: Floats) -> tuple[int, float, float, float]:
    """Return the count, mean absolute error, coverage and mean width of forecasts."""
    return (
        truth.size,
        float(np.abs(band.mean - truth).mean()),
        float(inside(band.low, band.high, truth).mean()),
        float((band.high - band.low).mean()),
    )


def references(census: Census, known: Bools) -> Ints:
    """Return the looks to forecast from."""
    if census.looks.size == 0:
        return np.empty(0, np.intp)
    span = float(np.ptp(census.looks))
    begin = census.looks[0] + min(BURN_IN_DAYS, BURN_IN_SHARE * span)
    at = np.flatnonzero(known & (census.looks >= begin))
    spread = np.linspace(0, at.size - 1, min(at.size, REFERENCES))
    return at[np.rint(spread).astype(np.intp)]


def forecasts(horizon: Horizon, name: str, at: Ints, confidence: float) -> list[Band]:
    """Return a model's forecasts of precision and recall from some looks."""
    if name == DEFAULT:
        return [
            quality_bounds(horizon.calibrated(m, confidence), at)
            for m in range(len(METRICS))
        ]
    ahead = horizon.outcome.ahead
    loss = horizon.experts.expected(name, horizon.days, ahead)
    bounds = model_bounds(horizon.experts, name, loss, ahead, confidence)
    return [
        Band(np.exp(-loss[m][at]), bounds[m, 0][at], bounds[m, 1][at])
        for m in range(len(METRICS))
    ]


def compare(
    collection: Collection, horizons: Sequence[float], *, blocks: int = 10
) -> list[dict[str, object]]:
    """Return by how much the default errs more than each rival, with 95 % bounds.

    Absolute errors of the same forecasts, differenced, averaged over horizons, with
    batch means over ``blocks`` stretches of time: neighbours share their outcome.
    Where the bounds hold 0 the two are tied.
    """
    study = Study(Census.of(collection))
    errors: dict[tuple[str, str], list[Floats]] = {}
    for days in horizons:
        horizon = study.at(float(days))
        at = references(study.census, horizon.outcome.known)
        if at.size < blocks:
            continue
        for name in (*RIVALS, DEFAULT):
            bands = forecasts(horizon, name, at, 0.95)
            for m, metric in enumerate(METRICS):
                wrong = np.abs(bands[m].mean - horizon.outcome.quality[m][at])
                means = [part.mean() for part in np.array_split(wrong, blocks)]
                errors.setdefault((metric, name), []).append(np.array(means))
    rows: list[dict[str, object]] = []
    for (metric, name), parts in errors.items():
        own = np.mean(errors[metric, DEFAULT], axis=0)
        more = mean_interval(own - np.mean(parts, axis=0))
        rows.append(
            {"source": collection.name, "metric": metric, "rival": name,
             "default_mae": float(own.mean()), "rival_mae": float(np.mean(parts)),
             "more": more.mean, "low": more.low, "high": more.high}
        )  # fmt: skip
    return [row for row in rows if row["rival"] != DEFAULT]


def adaptive_gain(
    collection: Collection, cycle: float, metric: str = "recall"
) -> dict[str, float]:
    """Return how much less the adapted autoregression errs than the static one.

    As in papers/000, s. 6.1: trained on the first 30 days, synchronised every
    ``cycle`` days after, quality forecast for the end of each cycle. ``gain`` is
    1 - SSE(adapted) / SSE(static); ``low`` and ``high`` bound it by batch means over
    blocks of cycles. The sum of squares of a Kalman filter stands beside them.
    """
    census = Census.of(collection)
    series, lags, trained, truth = _cycles(census, cycle, METRICS.index(metric))
    if truth.size == 0:
        names = ("cycles", "static", "adaptive", "kalman", "gain", "low", "high")
        return dict.fromkeys(names, 0.0)
    squares = []
    for coefficients in (
        decay.static(series, lags, trained),
        decay.adapted(series, lags, trained),
        decay.filtered(series, lags, trained),
    ):
        recent = decay.recent_values(series, max([*lags, 1]))[:-1]
        steps = np.diff(series.place).astype(np.float64)
        loss = decay.roll(coefficients[:-1], lags, recent, steps)
        squares.append((np.exp(loss)[-truth.size :] - truth) ** 2)
    static, adapted, kalman = squares
    scale = max(float(static.mean()), 1e-30)
    parts = np.array_split((static - adapted) / scale, min(10, truth.size))
    less = mean_interval(np.array([part.mean() for part in parts]))
    gain = float((static - adapted).mean()) / scale
    return {
        "cycles": truth.size,
        "static": float(static.sum()),
        "adaptive": float(adapted.sum()),
        "kalman": float(kalman.sum()),
        "gain": gain,
        "low": gain - (less.mean - less.low),
        "high": gain + (less.high - less.mean),
    }


def _cycles(
    census: Census, cycle: float, metric: int
) -> tuple[decay.Series, tuple[int, ...], int, Floats]:
    """Return the decay known to one who looks at all first, then once a cycle."""
    looks = census.looks
    daily = decay.Series.of(looks, census.turnover.quality[metric], census.step)
    trained = trained_values(daily, looks)
    begin = int(np.searchsorted(daily.place, trained))
    sync = [begin] if begin < looks.size else []
    while sync:
        later = int(np.searchsorted(looks, looks[sync[-1]] + cycle - 1e-6))
        if later >= looks.size:
            break
        sync.append(later)
    lags = decay.choose_lags(daily.decay[:trained], season=season(census.step))
    if len(sync) < 2:
        return daily, lags, trained, np.empty(0)
    truth = _synced_quality(census, np.array(sync), metric)
    rest = decay.Series.of(looks[sync], truth, census.step)
    place = np.concatenate([daily.place[:begin], daily.place[begin] + rest.place])
    known = np.concatenate([daily.decay[: daily.place[begin]], rest.decay])
    return decay.Series(census.step, known, place), lags, trained, truth


def _synced_quality(census: Census, sync: Ints, metric: int) -> Floats:
    """Return the quality at each sync of the copy made at the sync before."""
    here = np.arange(census.looks.size)
    following = np.searchsorted(sync, here, side="right")
    later = sync[np.minimum(following, sync.size - 1)]
    kept = census.kept(np.maximum(later, here))[sync[:-1]]
    held = census.size[sync[:-1]] if metric == 0 else census.size[sync[1:]]
    return np.where(held > 0, kept / np.maximum(held, 1), 1.0)
