"""The present pace of sites, day by day, learned from the fetches of their pages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.bursts import Bursts, at_least_one
from halflife.models.pace import GapChanges, Pace, PaceMemory
from halflife.models.poisson import GammaSurvival

CLOCK = 2.0  # days; a clock that was set back by more was wrong before


@dataclass(slots=True)
class SitePaces:
    """How fast sites change now, compared with the rates of their pages.

    The rates that a belief counts are per day at the usual pace, so they stay as they
    were when the pace changes. A belief that starts again counts all past days alike;
    then the mean pace of these days is part of the rates, and the new unit of paces.

    Attributes:
        pace: What was learned.
        spent: The days in which the rates of each site were learned, by the calendar
            and at the usual pace.
        unit: The pace, in units of what was learned, at which rates are per day.

    """

    pace: Pace = field(default_factory=Pace)
    spent: Floats = field(default_factory=lambda: np.zeros((2, 0)))
    unit: Floats = field(default_factory=lambda: np.ones(0))
    _stepped: float = -inf

    def begin(self, site: Ints, days: Floats) -> None:
        """Count the days in which rates were learned so far."""
        lived = np.bincount(site, days)
        self.spent = np.stack([lived, lived]).astype(np.float64)

    def grow(self, sites: int) -> None:
        """Make room for new sites."""
        self.pace.grow(sites)
        new = max(sites - self.spent.shape[1], 0)
        if new:
            self.spent = np.pad(self.spent, ((0, 0), (0, new)))
        more = max(sites - self.unit.size, 0)
        self.unit = np.append(self.unit, np.ones(more))

    def reach(self, now: float, bursts: Bursts) -> None:
        """Set the paces of a new day in the model of busy times."""
        day = float(np.floor(now))
        days, known = day - self._stepped, self._stepped > -inf
        if known and -CLOCK < days <= 0.0:
            return
        self._stepped = day
        if known and days > 0.0:
            unrest = np.zeros(self.spent.shape[1])
            found = np.asarray(bursts.unrest().days)[: unrest.size]
            unrest[: found.size] = found
            bursts.set_pace(self.pace.step(days, unrest) / self.unit)

    def learn(
        self,
        site: Ints,
        survival: GammaSurvival,
        days: Floats,
        paced: Floats,
        changed: Bools,
        load: Floats | float = 0.0,
    ) -> None:
        """Count the changes expected and seen in gaps of pages of these sites.

        ``paced`` are the gaps' days at the usual pace, and ``load`` is as in
        ``at_least_one``.
        """
        expected = survival.shape * np.log1p(paced / survival.exposure)
        usual = expected * days / np.maximum(paced * self.unit[site], 1e-12)
        counted = np.where(changed, at_least_one(expected, load), 0.0)
        self.pace.add(site, GapChanges(usual, expected, counted, days))
        n = self.spent.shape[1]
        self.spent += [np.bincount(site, spent, n) for spent in (days, paced)]

    def memory(self) -> PaceMemory:
        """Return what was learned, for a belief of a later run."""
        pace, (days, paced) = self.pace, self.spent
        mean = np.where(days > 0, paced / np.maximum(days, 1e-12), 1.0)
        return PaceMemory(
            pace.sums,
            pace.level,
            pace.today,
            tuple(pace.likely.tolist()),
            (float(pace.misses[0]), float(pace.misses[1])),
            self._stepped,
            mean,
            self.unit * mean,
        )

    def restore(self, kept: PaceMemory, sites: Sequence[int | None]) -> None:
        """Continue from what was kept; ``sites`` are the present numbers of its sites.

        Rates are now those at the mean pace of the past.
        """
        if len(kept.likely) != self.pace.likely.size:
            return
        known = np.array([i is not None for i in sites], dtype=np.bool_)
        at = np.array([i for i in sites if i is not None], dtype=np.intp)
        self.pace.sums[..., at] = kept.sums[..., known]
        self.pace.level[:, at] = kept.level[:, known]
        self.pace.today[:, at] = kept.today[:, known]
        self.unit[at] = kept.unit[known]
        self.pace.likely = np.array(kept.likely)
        self.pace.misses = np.array(kept.misses)
        self._stepped = kept.stepped
