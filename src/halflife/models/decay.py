"""The decay of a copy's quality as a time series, and autoregressions of it.

q(t0, t) = exp(sum of d(i) over t0 < i <= t), with d(t) = log q(t-1, t): the decay of
one step of the source's own grid. d follows an autoregression
d(t) = a + sum(b_j d(t - lag_j)), whose coefficients are fixed, adapt, or drift.
Papers/000, s. 4.
"""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats, Ints

FAR = 400  # steps ahead after which recent values have no effect
LONGEST = 2 * FAR  # most steps that are kept of one gap
MOST_LAGS = 3  # of a chosen autoregression, besides the season
STEEPEST = 0.98  # largest |b_1| + .. + |b_k|: the series must be stable


@dataclass(frozen=True)
class Series:
    """A decay series on the grid of a source.

    Attributes:
        step: The length of a step of the grid, in days.
        decay: d(1), d(2), ..; none above 0.
        place: How many of them were known at each snapshot.

    """

    step: float
    decay: Floats
    place: Ints

    @classmethod
    def of(cls, looks: Floats, quality: Floats, step: float) -> "Series":
        """Return the series behind the quality of each snapshot's copy at the next one.

        A gap of g steps gives each of them a g-th of its decay (papers/000, s. 4.1); of
        a longer one only ``LONGEST`` steps are kept.

        >>> Series.of(np.array([0.0, 1.0, 3.0]), np.exp([-0.3, -0.4]), 1.0).decay
        array([-0.3, -0.2, -0.2])
        """
        steps = np.maximum(1.0, np.rint(np.diff(looks) / step))
        decay = np.minimum(0.0, np.log(np.maximum(quality, 1e-12)))
        kept = np.minimum(steps, LONGEST).astype(np.intp)
        place = np.concatenate([[0], np.cumsum(kept)]).astype(np.intp)[: looks.size]
        return cls(step, np.repeat(decay / steps, kept), place)


def lagged(decay: Floats, lags: tuple[int, ...]) -> Floats:
    """Return rows (1, d(t - lag_1), ..) for every t of the series, and one after it.

    Before the series began its first value is used.
    """
    if decay.size == 0:
        return np.ones((1, 1 + len(lags))) * np.eye(1, 1 + len(lags))
    at = np.arange(decay.size + 1)
    columns = [np.ones(at.size)]
    columns += [decay[np.maximum(at - lag, 0) % decay.size] for lag in lags]
    return np.column_stack(columns)


def fit_ar(decay: Floats, lags: tuple[int, ...]) -> tuple[Floats, float]:
    """Return the coefficients (a, b_1, ..) and the AICc of an autoregression.

    Least squares given the first values, which is the conditional maximum of the
    likelihood; n log(RSS / n) + 2 p + 2 p (p + 1) / (n - p - 1), with p = k + 2.
    """
    skip = max(lags, default=0)
    rows, y = lagged(decay, lags)[skip:-1], decay[skip:]
    n, p = y.size, len(lags) + 2
    if n <= p + 1:
        return np.array([_mean(decay), *([0.0] * len(lags))]), np.inf
    coefficients = np.linalg.lstsq(rows, y, rcond=None)[0].astype(np.float64)
    residual = float(np.mean((y - rows @ coefficients) ** 2))
    aicc = n * np.log(max(residual, 1e-30)) + 2 * p + 2 * p * (p + 1) / (n - p - 1)
    return coefficients, float(aicc)


def choose_lags(decay: Floats, *, season: int = 0) -> tuple[int, ...]:
    """Return the lags 1 .. k, at most 3, and perhaps the season, of least AICc.

    All candidates are compared on the same values.
    """
    plain = [tuple(range(1, k + 1)) for k in range(MOST_LAGS + 1)]
    seasonal = [(*lags, season) for lags in plain] if season > MOST_LAGS else []
    longest = max(season if seasonal else 0, MOST_LAGS)

    def score(lags: tuple[int, ...]) -> float:
        return fit_ar(decay[longest - max(lags, default=0) :], lags)[1]

    return min([*plain, *seasonal], key=score)


def stabilise(coefficients: Floats) -> Floats:
    """Return the coefficients, shrunk if needed until the series is stable."""
    total = float(np.abs(coefficients[1:]).sum())
    if total <= STEEPEST:
        return coefficients
    shrunk = coefficients.copy()
    shrunk[1:] *= STEEPEST / total
    return shrunk


def forecast_decay(
    coefficients: Floats, lags: tuple[int, ...], recent: Floats, steps: Floats
) -> Floats:
    """Return the expected decay over the next ``steps`` steps, one row a reference.

    ``recent`` holds the last max(lags) values before each reference, oldest first. A
    last, partial step counts by its share; far ahead the last decay continues.
    """
    whole = int(np.ceil(min(steps.max(initial=0.0), FAR)))
    first, *others = coefficients.T.copy()
    past, ahead = list(recent.T.copy()), np.zeros(steps.size)
    total = np.zeros(steps.size)
    for share in np.clip(steps - np.arange(whole)[:, None], 0.0, 1.0):
        ahead = first
        for coefficient, lag in zip(others, lags, strict=True):
            ahead = ahead + coefficient * past[-lag]
        ahead = np.minimum(ahead, 0.0)
        total += ahead * share
        past.append(ahead)
    return total + ahead * np.maximum(steps - whole, 0.0)


def recent_values(series: Series, length: int) -> Floats:
    """Return the last ``length`` values known at each snapshot, oldest first.

    Where the series is shorter its first value is used.
    """
    if series.decay.size == 0:
        return np.zeros((series.place.size, length))
    at = series.place[:, None] + np.arange(-length, 0)
    known = series.decay[np.maximum(at, 0)]
    return np.where(series.place[:, None] > 0, known, 0.0)


def static_coefficients(series: Series, lags: tuple[int, ...], trained: int) -> Floats:
    """Return for every snapshot the coefficients learned from the first values."""
    coefficients = stabilise(fit_ar(series.decay[:trained], lags)[0])
    return np.tile(coefficients, (series.place.size, 1))


def adaptive_coefficients(
    series: Series, lags: tuple[int, ...], trained: int, *, rate: float = 0.2
) -> Floats:
    """Return the coefficients after adapting to the decay shown by each snapshot.

    Papers/000, eqs. 6 and 7, as reconstructed: with D the observed less the expected
    decay over the cycle and A(c) the slope of the expected decay in coefficient c,
    every coefficient in turn takes the share ``rate`` of what is still unexplained: c
    += rate D / A(c), D -= A(c) (c1 - c0). A coefficient with nearly no slope stays, and
    none moves by more than ``rate`` of its own unit.
    """
    now = stabilise(fit_ar(series.decay[:trained], lags)[0])
    unit = np.array([_scale(series.decay[:trained]), *([1.0] * len(lags))])
    out = np.tile(now, (series.place.size, 1))
    recent = recent_values(series, max([*lags, 1]))
    for i in range(1, series.place.size):
        begin, end = int(series.place[i - 1]), int(series.place[i])
        if begin >= trained:
            expected, slope = slopes(now, lags, recent[i - 1], end - begin)
            surprise = float(series.decay[begin:end].sum()) - expected
            now = stabilise(_adapt(now, slope, surprise, rate, unit))
        out[i] = now
    return out


def _adapt(
    now: Floats, slope: Floats, surprise: float, rate: float, unit: Floats
) -> Floats:
    out = now.copy()
    for c in range(now.size):
        if abs(slope[c]) * unit[c] < 1e-2 * unit[0]:
            continue
        move = float(np.clip(rate * surprise / slope[c], -unit[c], unit[c]))
        out[c] += move
        surprise -= slope[c] * move
    return out


def slopes(
    coefficients: Floats, lags: tuple[int, ...], recent: Floats, steps: int
) -> tuple[float, Floats]:
    """Return the expected decay over a cycle and its slope in each coefficient.

    Both follow the recursion: d' = e_c + sum(b_j d'(t - lag_j)), with e_0 = 1 and
    e_j = d(t - lag_j).
    """
    window = recent.tolist()
    bend = [np.zeros(coefficients.size) for _ in window]
    total, slope = 0.0, np.zeros(coefficients.size)
    for _ in range(steps):
        row = np.array([1.0, *(window[-lag] for lag in lags)])
        d = float(coefficients @ row)
        for j, lag in enumerate(lags, start=1):
            row = row + coefficients[j] * bend[-lag]
        window, bend = [*window[1:], d], [*bend[1:], row]
        total, slope = total + d, slope + row
    return total, slope


DRIFTS = (0.0, 1e-4, 1e-3, 1e-2)


def kalman_coefficients(
    series: Series,
    lags: tuple[int, ...],
    trained: int,
    *,
    drifts: tuple[float, ...] = DRIFTS,
) -> Floats:
    """Return the coefficients of a Kalman filter at each snapshot.

    With d in units of its mean size while training, the coefficients follow a random
    walk, c(t) = c(t-1) + w, w ~ N(0, s drift I), observed through d(t) = row(t)
    c(t) + v, v ~ N(0, s). A filter runs for every drift; the most likely one so far is
    used, with the variance s at its maximum likelihood.
    """
    unit = _scale(series.decay[:trained])
    path = kalman(series.decay / unit, lags, np.array(drifts))
    path[:, 0] *= unit
    held = [stabilise(c) for c in path[series.place]]
    return np.reshape(held, (len(held), 1 + len(lags)))


def kalman(decay: Floats, lags: tuple[int, ...], drifts: Floats) -> Floats:
    """Return the mean of the coefficients before each value, and after the last.

    They begin at (-1, 0, ..) with covariance s I.
    """
    rows, width = lagged(decay, lags), 1 + len(lags)
    mean = np.tile(np.eye(1, width) * -1.0, (drifts.size, 1))
    spread = np.tile(np.eye(width), (drifts.size, 1, 1))
    walk = drifts[:, None, None] * np.eye(width)
    log_noise, squares = np.zeros(drifts.size), np.zeros(drifts.size)
    out = np.tile(mean[0], (decay.size + 1, 1))
    for t, value in enumerate(decay.tolist()):
        spread += walk
        gain = spread @ rows[t]
        noise = gain @ rows[t] + 1.0
        error = value - mean @ rows[t]
        mean += gain * (error / noise)[:, None]
        spread -= gain[:, :, None] * gain[:, None, :] / noise[:, None, None]
        log_noise += np.log(noise)
        squares += error**2 / noise
        best = np.argmin(log_noise + (t + 1) * np.log(squares + 1e-30))
        out[t + 1] = mean[best]
    return out


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _scale(values: Floats) -> float:
    return max(float(np.abs(values).mean()) if values.size else 0.0, 1e-6)


def one_step_errors(
    series: Series, lags: tuple[int, ...], coefficients: Floats
) -> Floats:
    """Return the error of each value's forecast from the snapshot before it."""
    snapshot = (
        np.searchsorted(series.place, np.arange(series.decay.size), side="right") - 1
    )
    rows = lagged(series.decay, lags)[:-1]
    expected: Floats = np.minimum(0.0, (rows * coefficients[snapshot]).sum(axis=1))
    return series.decay - expected


def error_variance(
    series: Series, lags: tuple[int, ...], coefficients: Floats
) -> Floats:
    """Return the mean squared one-step error known at each snapshot."""
    squares = one_step_errors(series, lags, coefficients) ** 2
    total: Floats = np.concatenate([[0.0], np.cumsum(squares)])
    mean: Floats = total[series.place] / np.maximum(series.place, 1)
    return mean


def best_coefficients(
    series: Series, lags: tuple[int, ...], rivals: list[Floats]
) -> Floats:
    """Return for each snapshot the coefficients of least one-step error so far."""
    errors = np.stack([error_variance(series, lags, c) for c in rivals])
    best = np.argmin(errors, axis=0)
    out: Floats = np.stack(rivals)[best, np.arange(best.size)]
    return out


def sum_variance(coefficients: Floats, lags: tuple[int, ...], steps: Floats) -> Floats:
    """Return the variance of the decay summed over ``steps`` steps, per unit noise.

    The noise of step i stays in the sum with weight sum(psi_0 .. psi_(n-i)), psi the
    response of the autoregression to one unit of noise.
    """
    whole = int(np.ceil(min(steps.max(initial=0.0), FAR)))
    window = np.zeros((steps.size, max([*lags, 1])))
    summed, variance = np.zeros(steps.size), np.zeros(steps.size)
    for i in range(whole):
        value = np.ones(steps.size) if i == 0 else np.zeros(steps.size)
        for j, lag in enumerate(lags, start=1):
            value = value + coefficients[:, j] * window[:, -lag]
        window = np.concatenate([window[:, 1:], value[:, None]], axis=1)
        summed = summed + value
        variance += summed**2 * np.clip(steps - i, 0.0, 1.0)
    return variance + summed**2 * np.maximum(steps - whole, 0.0)
