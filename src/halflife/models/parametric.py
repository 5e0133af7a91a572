"""Bounds from the models' own assumptions, as in the paper.

Independent objects, independent gamma arrivals, Gaussian noise: too narrow where
objects come and go together, which is why they are not the default.
"""

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import LARGEST_LOG, Floats
from halflife.models import decay
from halflife.models.census import METRICS
from halflife.models.experts import Experts

_SERIES = {"static-ar": "static", "adaptive-ar": "adaptive", "kalman-ar": "kalman",
           "chosen-ar": "chosen"}  # fmt: skip


def paper_interval(share: Floats, size: Floats, confidence: float) -> Floats:
    """Return p -/+ z sqrt(p (1 - p) / |L|), two rows. Papers/000, s. 3.3.

    >>> paper_interval(np.array([0.5]), np.array([100.0]), 0.95).round(3).ravel()
    array([0.402, 0.598])
    """
    half = _normal(confidence) * np.sqrt(share * (1.0 - share) / np.maximum(size, 1.0))
    return np.clip(np.stack([share - half, share + half]), 0.0, 1.0)


def model_bounds(
    experts: Experts, name: str, loss: Floats, ahead: Floats, confidence: float
) -> Floats:
    """Return bounds for each snapshot, as an array metric x (low, high) x snapshot.

    ``loss`` is the loss that the model ``name`` expects ``ahead`` days on.
    """
    if name in _SERIES:
        return np.stack(
            [
                _series_bounds(experts, (m, _SERIES[name]), loss[i], ahead, confidence)
                for i, m in enumerate(METRICS)
            ]
        )
    return _counted_bounds(experts, name, loss, ahead, confidence)


def lower_bounds(
    experts: Experts, name: str, ahead: Floats, metric: str, confidence: float
) -> Floats:
    """Return one-sided lower bounds of a quality so many days after the last snapshot.

    These are the lower bounds of ``model_bounds`` for the copy of the last snapshot, at
    several moments.
    """
    sided = 2.0 * confidence - 1.0
    if name in _SERIES:
        total, variance = experts.after_last(metric, _SERIES[name], ahead)
        loss = _normal(sided) * np.sqrt(variance) - total
        return np.asarray(np.exp(-np.clip(loss, 0.0, LARGEST_LOG)))
    snapshots, row = experts.census.looks.size, METRICS.index(metric)
    low = np.empty(ahead.size)
    for i, days in enumerate(ahead.tolist()):
        days_ahead = np.full(snapshots, days)
        loss = experts.expected(name, days, days_ahead)
        low[i] = model_bounds(experts, name, loss, days_ahead, sided)[row, 0, -1]
    return low


def _series_bounds(
    experts: Experts,
    which: tuple[str, str],
    loss: Floats,
    ahead: Floats,
    confidence: float,
) -> Floats:
    """Return exp of normal bounds on the summed decay, by the delta method."""
    lags, coefficients = experts.coefficients(*which)
    noise = experts.paths(*which)[1]
    steps = ahead / experts.census.step
    variance = noise * decay.sum_variance(coefficients, lags, steps)
    half = _normal(confidence) * np.sqrt(variance)
    return np.exp(-np.clip(np.stack([loss + half, loss - half]), 0.0, LARGEST_LOG))


def _counted_bounds(
    experts: Experts, name: str, loss: Floats, ahead: Floats, confidence: float
) -> Floats:
    """Return normal bounds from binomial deaths, gamma arrivals and fitted rates.

    With K = |L| p kept and M new, var K = |L| p (1 - p) + (|L| p a t)^2 / deaths and
    var M = M theta + M^2 / arrivals, theta the scale of the gamma law of arrivals;
    recall K / (K + M) has variance r^2 (1 - r)^2 (var K / K^2 + var M / M^2).
    """
    window = 1.01 * experts.census.step if name == "last-cycle" else np.inf
    rate, arrivals, deaths = experts.rates(window)
    size = np.maximum(experts.census.size, 1).astype(np.float64)
    kept, recall = np.exp(-loss)
    rate_variance = (rate * ahead) ** 2 / np.maximum(deaths, 1.0)
    kept_variance = (1.0 - kept) / (size * np.maximum(kept, 1e-9)) + rate_variance
    new = np.maximum(size * kept * np.expm1(loss[1]), 1e-9)
    time = np.minimum(
        window, np.maximum(experts.census.looks - experts.census.looks[0], 1e-9)
    )
    new_variance = arrival_scale(experts) / new + 1.0 / np.maximum(arrivals * time, 1.0)
    spread = np.stack(
        [
            kept * np.sqrt(kept_variance),
            recall * (1 - recall) * np.sqrt(kept_variance + new_variance),
        ]
    )
    half = _normal(confidence) * spread
    mean = np.stack([kept, recall])
    return np.clip(np.stack([mean - half, mean + half], axis=1), 0.0, 1.0)


def arrival_scale(experts: Experts) -> Floats:
    """Return theta = variance / mean of the arrivals per gap known at each snapshot."""
    new = experts.census.turnover.new
    count = np.arange(new.size + 1)
    first = np.concatenate([[0.0], np.cumsum(new)]) / np.maximum(count, 1)
    second = np.concatenate([[0.0], np.cumsum(new**2)]) / np.maximum(count, 1)
    return np.maximum(second - first**2, 0.0) / np.maximum(first, 1e-9)


def _normal(confidence: float) -> float:
    return float(lazy_scipy.ndtri(0.5 + confidence / 2.0))
