"""Rival forecasts of the losses of a set source's copy, for every snapshot at once.

Each gives, for the copy of each snapshot, the loss expected ``ahead`` days on: -log of
precision and of recall, two rows. The forecast of a snapshot uses nothing seen later.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.models import decay
from halflife.models.ages import (
    Hazard,
    LifeTable,
    life_table_hazard,
    survivors,
    weibull_hazard,
)
from halflife.models.census import METRICS, MOST, Census

TRAINING_DAYS, TRAINING_STEPS = 30.0, 400
EVERY, LAST = slice(None), slice(-1, None)  # snapshots whose copies are forecast
RIVALS = (
    "exponential", "weibull", "static-ar", "adaptive-ar", "kalman-ar",
    "last-cycle", "average",
)  # fmt: skip
POOL = (
    "exponential-short", "exponential-long", "exponential", "life-table", "weibull",
    "kalman-ar",
)  # fmt: skip


@dataclass(frozen=True)
class Experts:
    """The forecasts of one source."""

    census: Census

    def expected(
        self, name: str, horizon: float, ahead: Floats, rows: slice = EVERY
    ) -> Floats:
        """Return the expected loss of precision and recall of each snapshot's copy.

        ``horizon`` is the nominal horizon, ``ahead`` the days to the snapshot that
        shows the outcome. With the rows ``LAST`` it is that of the last snapshot's copy
        alone, so many days ahead.
        """
        makers: dict[str, Callable[[Floats, slice], Floats]] = {
            "exponential": partial(self._by_rate, np.inf),
            "exponential-short": partial(self._by_rate, self._window(horizon, 1, 7)),
            "exponential-long": partial(self._by_rate, self._window(horizon, 4, 30)),
            "last-cycle": partial(self._by_rate, 1.01 * self.census.step),
            "weibull": partial(self._by_age, "weibull"),
            "life-table": partial(self._by_age, "life-table"),
            "average": self._average,
            "static-ar": partial(self._autoregression, "static"),
            "adaptive-ar": partial(self._autoregression, "adaptive"),
            "kalman-ar": partial(self._autoregression, "kalman"),
            "chosen-ar": partial(self._autoregression, "chosen"),
        }
        loss = makers[name](ahead, rows)
        return np.clip(np.nan_to_num(loss, nan=MOST, posinf=MOST), 1e-9, MOST)

    def _window(self, horizon: float, horizons: float, steps: float) -> float:
        return max(horizons * horizon, steps * self.census.step)

    def rates(self, window: float) -> tuple[Floats, Floats, Floats]:
        """Return deaths per object-day, arrivals per day, and deaths counted.

        As known at each snapshot, from the last ``window`` days: a = deaths / exposure
        and m = arrivals / time (papers/000, s. 3); half an event is added to both.
        """
        if window not in self._rates:
            self._rates[window] = self._count_rates(window)
        return self._rates[window]

    @cached_property
    def _rates(self) -> dict[float, tuple[Floats, Floats, Floats]]:
        return {}

    def _count_rates(self, window: float) -> tuple[Floats, Floats, Floats]:
        observed, turn = self.census.looks, self.census.turnover
        here = np.arange(observed.size)
        begin = np.searchsorted(observed, observed - window)
        begin = np.minimum(begin, np.maximum(here - 1, 0))
        gone, new, lived, time = (
            _between(x, begin, here)
            for x in (turn.gone, turn.new, turn.exposure, turn.gap)
        )
        least = np.maximum(self.census.size, 1) * self.census.step
        rate = (gone + 0.5) / np.maximum(lived, least)
        return rate, (new + 0.5) / np.maximum(time, self.census.step), gone

    def _by_rate(self, window: float, ahead: Floats, rows: slice) -> Floats:
        """Papers/000, s. 3: e^(-a t) kept, m (1 - e^(-a t)) / a new."""
        rate, arrivals, _ = (x[rows] for x in self.rates(window))
        fresh = -np.expm1(-rate * ahead) / rate
        return self._losses(np.exp(-rate * ahead), arrivals * fresh, rows)

    def _by_age(self, law: str, ahead: Floats, rows: slice) -> Floats:
        table, hazards = self._aging if rows == EVERY else self._last_aging
        kept, share = survivors(table, hazards[law], ahead)
        return self._losses(kept, self.rates(np.inf)[1][rows] * ahead * share, rows)

    def _losses(self, kept: Floats, new: Floats, rows: slice) -> Floats:
        """Return -log of precision and recall, with ``kept`` a share, ``new`` a count.

        recall = |L| S / (|L| S + new).
        """
        left = np.maximum(kept, np.exp(-MOST))
        size = np.maximum(self.census.size[rows], 1)
        return np.stack([-np.log(left), np.log1p(new / (size * left))])

    def _average(self, ahead: Floats, rows: slice) -> Floats:
        """Extrapolate the mean decay per day of all gaps so far."""
        turn, here = self.census.turnover, np.arange(self.census.looks.size)
        time = np.maximum(_between(turn.gap, 0 * here, here), self.census.step)
        pace = [_between(x, 0 * here, here) / time for x in turn.loss]
        return np.stack([x[rows] * ahead for x in pace])

    def _autoregression(self, kind: str, ahead: Floats, rows: slice) -> Floats:
        return -np.stack([self._path(m, kind, rows)(ahead) for m in METRICS])

    def paths(
        self, metric: str, kind: str
    ) -> tuple[Callable[[Floats], Floats], Floats]:
        """Return the forecast function of an autoregression, and its error variance."""
        series, lags, _ = self._series[metric]
        noise = decay.error_variance(series, lags, self._coefficients(metric, kind))
        return self._path(metric, kind), noise

    def _path(
        self, metric: str, kind: str, rows: slice = EVERY
    ) -> Callable[[Floats], Floats]:
        series, lags, _ = self._series[metric]
        coefficients = self._coefficients(metric, kind)[rows]
        recent = decay.recent_values(series, max([*lags, 1]))[rows]

        def rolled(ahead: Floats) -> Floats:
            return decay.forecast_decay(coefficients, lags, recent, ahead / series.step)

        return rolled

    def after_last(
        self, metric: str, kind: str, ahead: Floats
    ) -> tuple[Floats, Floats]:
        """Return the decay so many days after the last snapshot, and its variance."""
        series, lags, _ = self._series[metric]
        coefficients = self._coefficients(metric, kind)
        recent = decay.recent_values(series, max([*lags, 1]))
        last, recent = (
            np.repeat(x[-1:], ahead.size, 0) for x in (coefficients, recent)
        )
        steps = ahead / series.step
        noise = float(decay.error_variance(series, lags, coefficients)[-1])
        total = decay.forecast_decay(last, lags, recent, steps)
        return total, noise * decay.sum_variance(last, lags, steps)

    def coefficients(self, metric: str, kind: str) -> tuple[tuple[int, ...], Floats]:
        """Return an autoregression's lags, and its coefficients at each snapshot."""
        return self._series[metric][1], self._coefficients(metric, kind)

    def _coefficients(self, metric: str, kind: str) -> Floats:
        cache = self._cache
        if (metric, kind) not in cache:
            series, lags, trained = self._series[metric]
            if kind == "static":
                cache[metric, kind] = decay.static_coefficients(series, lags, trained)
            elif kind == "adaptive":
                cache[metric, kind] = decay.adaptive_coefficients(series, lags, trained)
            elif kind == "kalman":
                cache[metric, kind] = decay.kalman_coefficients(series, lags, trained)
            else:
                kinds = ("static", "adaptive", "kalman")
                rivals = [self._coefficients(metric, k) for k in kinds]
                cache[metric, kind] = decay.best_coefficients(series, lags, rivals)
        return cache[metric, kind]

    @cached_property
    def _cache(self) -> dict[tuple[str, str], Floats]:
        return {}

    @cached_property
    def _series(self) -> dict[str, tuple[decay.Series, tuple[int, ...], int]]:
        observed, step = self.census.looks, self.census.step
        series_of = {}
        for metric, quality in zip(METRICS, self.census.turnover.quality, strict=True):
            series = decay.Series.of(observed, quality, step)
            trained = trained_values(series, observed)
            lags = decay.choose_lags(series.decay[:trained], season=season(step))
            series_of[metric] = (series, lags, trained)
        return series_of

    @cached_property
    def _aging(self) -> "Aging":
        return Aging.by(LifeTable.of(self.census))

    @cached_property
    def _last_aging(self) -> "Aging":
        return Aging.by(self._aging.table.last)


class Aging(NamedTuple):
    """A life table, and the hazards of survival laws fitted to it."""

    table: LifeTable
    hazards: dict[str, tuple[Hazard, Floats]]

    @classmethod
    def by(cls, table: LifeTable) -> "Aging":
        """Return the laws fitted to a table."""
        return cls(
            table,
            {"weibull": weibull_hazard(table), "life-table": life_table_hazard(table)},
        )


def season(step: float) -> int:
    """Return the steps in a week if a step is a day, in a day if it is less.

    >>> season(1.0), season(1 / 24), season(2.0)
    (7, 24, 0)
    """
    if step < 0.5:
        return round(1.0 / step)
    return 7 if step <= 1.5 else 0


def trained_values(series: decay.Series, observed: Floats) -> int:
    """Return the number of values in the training period: 30 days, 400 steps."""
    if observed.size == 0:
        return 0
    last = int(np.searchsorted(observed, observed[0] + TRAINING_DAYS, side="right")) - 1
    return min(int(series.place[last]), TRAINING_STEPS)


def _between(values: Floats, begin: Ints, end: Ints) -> Floats:
    """Return sums of values[begin:end]."""
    total: Floats = np.concatenate([[0.0], np.cumsum(values)])
    out: Floats = total[end] - total[begin]
    return out
