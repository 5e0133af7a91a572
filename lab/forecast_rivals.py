"""How the forecasts of objects compare with rivals, and what adapting them gains."""

from collections.abc import Sequence

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.metrics.intervals import mean_interval
from halflife.models import decay
from halflife.models.census import METRICS, Census
from halflife.models.experts import RIVALS, season, trained_values
from halflife.models.pool import DEFAULT
from halflife.models.setquality import Band
from halflife.replay.backtest import account, forecasts, past_horizons


def backtest_new(
    collection: Collection, horizons: Sequence[float], confidence: float = 0.95
) -> list[dict[str, object]]:
    """Return how well the default foresees how many new objects a copy lacks."""
    rows: list[dict[str, object]] = []
    for days, horizon, at in past_horizons(collection, horizons):
        ready, truth = horizon.newcomers(), horizon.outcome.new[at]
        size, guess = ready.scored.size[at], ready.scored.guess[at]
        low, middle, high = size * ready.bounds(at, guess, confidence)
        n, mae, coverage, width = account(Band(middle, low, high), truth)
        rows.append(
            {"source": collection.name, "horizon": days, "n": n, "mae": mae,
             "coverage": coverage, "width": width, "truth": float(truth.mean()),
             "confidence": confidence}
        )  # fmt: skip
    return rows


def compare(
    collection: Collection, horizons: Sequence[float], *, blocks: int = 10
) -> list[dict[str, object]]:
    """Return by how much the default errs more than each rival, with 95 % bounds.

    Absolute errors of the same forecasts, differenced, averaged over horizons, with
    batch means over ``blocks`` stretches of time: neighbours share their outcome.
    Where the bounds hold 0 the two are tied.
    """
    errors: dict[tuple[str, str], list[Floats]] = {}
    for _, horizon, at in past_horizons(collection, horizons, blocks):
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
        decay.static_coefficients(series, lags, trained),
        decay.adaptive_coefficients(series, lags, trained),
        decay.kalman_coefficients(series, lags, trained),
    ):
        recent = decay.recent_values(series, max([*lags, 1]))[:-1]
        steps = np.diff(series.place).astype(np.float64)
        loss = decay.forecast_decay(coefficients[:-1], lags, recent, steps)
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
