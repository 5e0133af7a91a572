"""What rules learn before they start: from other databases, and from a few weeks.

Models are fitted to the recorded histories of all *other* databases (one database is
left out after another, as in Ipeirotis et al., TODS 2007, s. 4.3.2 and 5.2) and are
asked about the database left out with what was known of it in the week ``begin``: its
size, domain, and kappa, the mean divergence of summaries a week apart so far. Nothing
that a database did after ``begin`` is used for that database.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.errors import UsageError
from halflife.models.drift import DriftModel, DriftPrediction as Model, WeibullSurvival
from halflife.models.spells import Spells
from halflife.summary.drift import SummaryDrift
from halflife.summary.features import Features, features
from halflife.summary.survival import Lifetimes, lifetimes

LADDER = (0.2, 0.5, 1.0, 2.0)  # thresholds learned from, over the one in use
FULL = ("ln_size", "kl_1", "tau")
SIZE = ("ln_size", "tau")
KAPPA = ("kl_1", "tau")
LOGS = ("ln_size", "ln_kl_1", "ln_tau")  # ours: kappa spans orders of magnitude
TINY = 1e-6  # of divergence, so that none at all has a logarithm


class FittedDrift(NamedTuple):
    """A model of drift, and the domains in which it saw nothing end."""

    drift: Model
    idle: tuple[str, ...]


@dataclass(frozen=True)
class Lessons:
    """Recorded databases, and the week up to which their own past may be used.

    Attributes:
        found: Their summaries, compared.
        history: Weekly summaries that are made before the start; 2 at least.
        tau: The divergence from which a summary counts as changed.
        start: The place of the first week of the history.
        fitted: Models that were fitted before, by features; they do not depend on
            ``start``.

    """

    found: tuple[SummaryDrift, ...]
    history: int
    tau: float
    start: int = 0
    fitted: dict[tuple[str, ...], tuple[FittedDrift, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not self.found:
            raise UsageError("no database to learn from")
        weeks = self.found[0].week.size
        if self.history < 2 or self.start < 0:
            raise UsageError(f"history must be 2 weeks or more: {self.history}")
        if self.begin >= weeks - 1:
            raise UsageError(
                f"{weeks} weeks were recorded; {self.begin + 2} are needed"
            )

    def since(self, start: int) -> "Lessons":
        """Return the same with a history that starts in another week."""
        return replace(self, start=start)

    @property
    def begin(self) -> int:
        """Return the place of the week in which the last summary of all is made."""
        return self.start + self.history - 1

    @property
    def cost(self) -> None:
        """Every refresh costs the same."""

    @property
    def weight(self) -> None:
        """Every database counts the same."""

    @cached_property
    def kl(self) -> Floats:
        """Return the divergences (databases x made x week)."""
        return np.array([one.change.kl for one in self.found])

    @cached_property
    def stratum(self) -> Ints:
        """Return the domain of each database, as a number."""
        names = [one.stratum for one in self.found]
        return np.unique(names, return_inverse=True)[1].astype(np.intp)

    @cached_property
    def lives(self) -> Lifetimes:
        """Return the lifetimes of all summaries, at the thresholds of the ladder."""
        return lifetimes(self.found, [self.tau * step for step in LADDER])

    @cached_property
    def covariates(self) -> Features:
        """Return the features of all lifetimes."""
        return features(self.found, self.lives, training=self.history)

    def now(self, names: Sequence[str]) -> Floats:
        """Return the features of each database when the replay begins."""
        start = self.found[0].week[self.begin]
        n = len(self.found)
        length, gone = np.ones(n), np.zeros(n, np.bool_)  # no feature goes by them
        here = Lifetimes(
            np.arange(n), np.full(n, start), np.full(n, self.tau), length, gone
        )
        known = features(self.found, here, training=self.history)
        x = _columns(known, names)
        for one, row in zip(self.found, x, strict=True):
            if not np.isfinite(row).all():
                raise UsageError(f"{one.name}: no {', '.join(names)} in week {start}")
        return x

    def survival(self, names: Sequence[str] = FULL) -> WeibullSurvival:
        """Return each database's survival as predicted from the others, in weeks.

        Cox's regression stratified by domain, then Weibull curves (``DriftModel``).
        A domain in which no other database has an ended lifetime takes the mean
        rate and shape of the domains that have.
        """
        key = tuple(names)
        if key not in self.fitted:
            self.fitted[key] = self._fit(key)
        x = self.now(names)
        rows = zip(self.found, self.fitted[key], x, strict=True)
        rates = [rate_of(fitted, one.stratum, row) for one, fitted, row in rows]
        rate, shape = np.array(rates).T
        return WeibullSurvival(rate, shape)

    def odds(self) -> Floats:
        """Return the log odds of a change as predicted from the others, by age."""
        from halflife.policies.texts.bayes import odds_of  # noqa: PLC0415  (a cycle)

        return odds_of(self)

    def _fit(self, names: tuple[str, ...]) -> tuple[FittedDrift, ...]:
        """Return a model for each database, fitted to all the others."""
        x = _columns(self.covariates, names)
        known: Bools = np.asarray(np.isfinite(x).all(axis=1))
        given = x[known]
        spells = _spells(self.lives, known)
        domain = np.array(self.covariates.stratum, np.str_)[known]
        owner = self.lives.database[known]
        start, found = None, []
        for i in range(len(self.found)):
            rest = owner != i
            model = DriftModel().fit(
                spells.take(rest),
                given[rest],
                domain=domain[rest],
                names=names,
                start=start,
            )
            start = model.drift_.coefficient
            found.append(FittedDrift(model.drift_, model.idle_))
        return tuple(found)


def _columns(known: Features, names: Sequence[str]) -> Floats:
    """Return features; those that begin with ln_ and are none are logarithms."""
    return np.column_stack(
        [
            known.column(name)
            if name in known.names
            else np.log(known.column(name.removeprefix("ln_")) + TINY)
            for name in names
        ]
    )


def _spells(lives: Lifetimes, known: Bools) -> Spells:
    length, gone = lives.length[known], lives.event[known]
    lower = np.where(gone, length - 1.0, length)
    return Spells.of(np.zeros(length.size), lower, np.where(gone, length, np.inf))


def rate_of(fitted: FittedDrift, stratum: str, x: Floats) -> tuple[float, float]:
    """Return rate and shape, per week, of a database with these features."""
    drift = fitted.drift
    some = [d for d in drift.domains if d not in fitted.idle]
    asked = [stratum] if stratum in some else some or list(drift.domains)
    rate, shape = drift.rates(asked, np.tile(x, (len(asked), 1)))
    return float(np.exp(np.log(rate).mean())), float(shape.mean())
