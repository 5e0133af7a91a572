"""Rates that need no learning: given by an oracle, or counted."""

from dataclasses import dataclass

from halflife.belief import view_of
from halflife.core.arrays import Floats
from halflife.core.evidence import Evidence
from halflife.core.view import View
from halflife.models.poisson import Exponential


@dataclass(frozen=True, slots=True)
class KnownRates:
    """The true rate of every item, from an oracle; for replays and simulations."""

    rate: Floats

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        return view_of(evidence, now, since, self.rate, Exponential(self.rate))


@dataclass(frozen=True, slots=True)
class PlainRates:
    """Changes seen divided by quiet days, plus half a change in half a day.

    The cheap estimate; enough for policies that do not use the rate.
    """

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        rate = (evidence.changes + 0.5) / (evidence.quiet + 0.5)
        return view_of(evidence, now, since, rate, Exponential(rate))
