"""How often a burst of changes causes others, and how soon.

Each burst causes some others on average, after times with the density RUSH exp(-RUSH t)
(Hawkes, "Spectra of some self-exciting and mutually exciting point processes",
Biometrika 1971). ``python -m lab.burst_rows`` fits the numbers to recorded sites.
"""

from dataclasses import dataclass
from math import exp, expm1

RUSH = 4.0  # a day: how soon a burst causes others
FOLLOWERS, KNOWN = 0.17, 3.0  # how many it causes; bursts that this counts for
MOST = 0.9  # most of them: with one each, a row of bursts would never end
HALF = 60.0  # days after which what was learned counts half
_TIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class BurstRows:
    """The bursts of a source so far; one that is uncertain counts in part.

    Attributes:
        bursts: How many there were, discounted by age.
        followed: How many of them others had caused.
        heat: How many there were lately: the sum of exp(-RUSH t) over their ages t.

    """

    bursts: float = 0.0
    followed: float = 0.0
    heat: float = 0.0

    @property
    def followers(self) -> float:
        """How many bursts one causes, on average.

        A recent burst counts only in part: some of those that it causes are still to
        come.

        >>> round(BurstRows(bursts=2.5, followed=1.0, heat=1.5).followers, 4)
        0.3775
        """
        past = max(self.bursts - self.heat, 0.0)
        return min((self.followed + FOLLOWERS * KNOWN) / (past + KNOWN), MOST)

    def expected(self, days: float) -> float:
        """Return how many bursts those so far will cause in so many days."""
        return self.followers * self.heat * -expm1(-RUSH * days)

    def after(self, chance: float, days: float, usual: float) -> "BurstRows":
        """Return the same after some days that had a burst with this chance.

        ``usual`` are the bursts a day that no others cause.
        """
        caused, fade = self.expected(days), 0.5 ** (days / HALF)
        part = caused / max(caused + usual * days, _TIGHT)
        return BurstRows(
            self.bursts * fade + chance,
            self.followed * fade + chance * part,
            self.heat * exp(-RUSH * days) + chance,
        )
