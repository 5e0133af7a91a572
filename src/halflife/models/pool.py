"""A pool of models of a set source, weighted by their past errors.

A forecast is a weighted mean of several models and of the same models corrected by
their past bias, at one horizon; weights, corrections and bounds come from past
forecasts at that horizon whose outcome is known (``quantile_mixture``).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halflife.core.arrays import Floats
from halflife.models.census import METRICS, MOST, RECALL, Census, CopyOutcome
from halflife.models.conformal import (
    DISPERSION,
    Calibrated,
    Scored,
    dispersion,
    running_sums,
)
from halflife.models.experts import LAST, POOL, Experts
from halflife.models.quantile_mixture import Mixture

DEFAULT = "pooled"  # the name of such a forecast
AVERAGED = 0.5  # of the squared over-dispersion of a quarter of a horizon
FIRST = 14  # snapshots before the first forecast that is scored
CORRECTED = 5.0  # prior cycles without bias, which a correction must outweigh
GROWTH = 5.0  # log of the largest growth of a source within one horizon
NEWCOMERS = len(METRICS)
MEASURES = range(NEWCOMERS + 1)
SHARPNESS, HALF = 8.0, 10.0  # of the weights, and the cycles at which it is half


@dataclass(frozen=True)
class Study:
    """The forecasts of one source from every snapshot, for several horizons."""

    census: Census

    @cached_property
    def experts(self) -> Experts:
        """The models that forecast."""
        return Experts(self.census)

    @cached_property
    def _horizons(self) -> dict[float, "Horizon"]:
        return {}

    def at(self, days: float) -> "Horizon":
        """Return the forecasts ``days`` ahead."""
        return self._horizons.setdefault(days, Horizon(self, days))


@dataclass(frozen=True)
class Horizon:
    """All forecasts of a source at one horizon, from every snapshot."""

    study: Study
    days: float

    @property
    def experts(self) -> Experts:
        """The models that forecast."""
        return self.study.experts

    @cached_property
    def outcome(self) -> CopyOutcome:
        """The outcome of every snapshot's copy."""
        return self.study.census.outcome(self.days)

    @property
    def cycle(self) -> float:
        """The number of snapshots in one horizon, at least 1."""
        return max(1.0, self.days / self.study.census.step)

    @property
    def first(self) -> int:
        """The first snapshot whose forecast is scored."""
        return min(FIRST, self.study.census.looks.size // 2)

    def scored(self, metric: int, guess: Floats) -> Scored:
        """Return a forecast with its outcomes."""
        size = np.maximum(self.study.census.size, 1).astype(np.float64)
        outcome = self.outcome
        return Scored(
            guess, outcome.loss[metric], size, outcome.later, self.cycle, self.first
        )

    @cached_property
    def pooled(self) -> Floats:
        """The default forecast of the loss of precision and recall, two rows."""
        ahead = self.outcome.ahead
        raw = np.stack([self.experts.expected(n, self.days, ahead) for n in POOL])
        return np.stack([self._mix(m, raw[:, m]) for m in range(len(METRICS))])

    def expected(self, days: Floats) -> Floats:
        """Return the mean forecast of the models ``days`` after the last snapshot.

        The losses of precision and recall, and newcomers for each object held: three
        rows.
        """
        losses = [self.experts.expected(n, self.days, days, LAST) for n in POOL]
        lost, missed = np.mean(losses, axis=0)
        new = np.exp(np.minimum(missed - lost, GROWTH)) - np.exp(-lost)
        return np.stack([lost, missed, np.maximum(new, 1e-9)])

    @cached_property
    def own(self) -> Floats:
        """The mean forecast at this horizon, one column."""
        return self.expected(np.array([self.days]))

    def _mix(self, metric: int, raw: Floats) -> Floats:
        ready = self.scored(metric, raw[0])
        guesses = np.concatenate([raw, correct_bias(raw, ready)])
        mixed: Floats = (error_weights(guesses, ready) * guesses).sum(axis=0)
        return mixed

    @cached_property
    def quarter(self) -> "Horizon | None":
        """The forecasts of a quarter of the horizon; None below two usual steps."""
        short = self.days <= 2.0 * self.study.census.step
        return None if short else self.study.at(self.days / 4.0)

    @cached_property
    def spread(self) -> Floats:
        """The over-dispersion c of the default forecast at each snapshot, two rows.

        Before there are outcomes at this horizon, that of a quarter of it is used.
        The error of a sum of four quarters has c^2 / 4 if they err independently and
        c^2 if they err alike; half way, c^2 / 2.
        """
        begin = None if self.quarter is None else self.quarter.spread
        return self._dispersion(begin, usual=False)

    @cached_property
    def usual_spread(self) -> Floats:
        """The same, with no outcome counted as more than the largest c^2."""
        begin = None if self.quarter is None else self.quarter.usual_spread
        return self._dispersion(begin, usual=True)

    def _dispersion(self, begin: Floats | None, *, usual: bool) -> Floats:
        if begin is None:
            prior = np.full_like(self.pooled, DISPERSION**2)
        else:
            prior = AVERAGED * begin**2
        return np.stack(
            [
                dispersion(self.scored(m, guess), prior[m], usual=usual)
                for m, guess in enumerate(self.pooled)
            ]
        )

    def mixture(self, metric: int) -> Mixture:
        """Return the default forecast of a quality, with bounds."""
        scored = self.scored(metric, self.pooled[metric])
        ready = Calibrated(scored, self.spread[metric])
        usual = Calibrated(scored, self.usual_spread[metric])
        steps = self.study.census.turnover.loss[metric]
        return self._mixture(metric, ready, usual, steps)

    def newcomers(self) -> Mixture:
        """Return the same for the objects that the copy lacks, as a share of its size.

        With p and r the expected precision and recall, p / r - p.
        """
        lost, missed = self.pooled
        guess = np.exp(np.minimum(missed - lost, GROWTH)) - np.exp(-lost)
        scored = self.scored(RECALL, np.maximum(guess, 1e-9))
        scored = replace(scored, found=self.outcome.new / scored.size)
        prior = np.full(guess.size, DISPERSION**2)
        ready, usual = (
            Calibrated(scored, dispersion(scored, prior, usual=usual))
            for usual in (False, True)
        )
        steps = self.study.census.turnover.new / scored.size[:-1]
        return self._mixture(NEWCOMERS, ready, usual, steps)

    def _mixture(
        self, measure: int, ready: Calibrated, usual: Calibrated, steps: Floats
    ) -> Mixture:
        shorter = None if self.quarter is None else self.quarter.measure(measure)
        return Mixture(ready, steps, self._steps, usual=usual, shorter=shorter)

    @property
    def _steps(self) -> Floats:
        """How many median steps between snapshots each forecast reaches."""
        return self.outcome.ahead / self.study.census.step

    @property
    def ready(self) -> tuple[Mixture, ...]:
        """The forecasts of precision, recall and newcomers."""
        return tuple(self.measure(m) for m in MEASURES)

    def measure(self, measure: int) -> Mixture:
        """Return one of these forecasts, cached."""
        cache = self._measures
        if measure not in cache:
            new = measure >= NEWCOMERS
            cache[measure] = self.newcomers() if new else self.mixture(measure)
        return cache[measure]

    @cached_property
    def _measures(self) -> dict[int, Mixture]:
        return {}


def correct_bias(raw: Floats, ready: Scored) -> Floats:
    """Return the forecasts times the past ratio of outcomes to forecasts.

    Several cycles without bias are added to both.
    """
    prior = CORRECTED * (ready.cycle + 1.0) * raw
    outcomes = running_sums(ready.found[ready.order])[ready.settled]
    forecasts = running_sums(raw[:, ready.order])[:, ready.settled]
    ratio = np.clip((outcomes + prior) / (forecasts + prior), 0.2, 5.0)
    return np.minimum(raw * ratio, MOST)


def error_weights(guesses: Floats, ready: Scored) -> Floats:
    """Return the weight of each forecast at each snapshot: (past mean error)^-p.

    Errors are of the quality itself, e^-loss. p = 8 n / (n + 10) with n past
    cycles: equal weights at first, nearly the best one alone in the end.
    """
    order = ready.order
    errors = np.abs(np.exp(-guesses[:, order]) - np.exp(-ready.found[order]))
    mean = running_sums(errors)[:, ready.settled] / np.maximum(ready.settled, 1)
    mean = mean + 1e-9 + 0.02 * mean.mean(axis=0)
    power = SHARPNESS * ready.cycles / (ready.cycles + HALF)
    share = (mean / mean.min(axis=0)) ** -power
    out: Floats = share / share.sum(axis=0)
    return out
