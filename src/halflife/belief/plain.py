"""Rates that take no learning: told by an oracle, or counted."""

from dataclasses import dataclass

from halflife.belief import view_of
from halflife.core.arrays import Floats
from halflife.core.evidence import Evidence
from halflife.core.view import View
from halflife.models.poisson import Exponential


@dataclass(frozen=True, slots=True)
class KnownRates:
    """An oracle told us every item's rate; for replays and simulations."""

    rate: Floats

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        return view_of(evidence, now, since, self.rate, Exponential(self.rate))


@dataclass(frozen=True, slots=True)
class PlainRates:
    """Changes seen over quiet days watched, half a change in half a day added.

    The cheap estimate; enough for policies that do not go by the rate.
    """

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        rate = (evidence.changes + 0.5) / (evidence.quiet + 0.5)
        return view_of(evidence, now, since, rate, Exponential(rate))
