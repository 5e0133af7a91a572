"""Whether a server keeps its word that a page stays as it is for a while.

``max-age`` and the like promise that a page does not change for so long. Were that
meaningless, pages would change within their promises as often as else: a fetch that
comes d days after the last one, within the promise, would find a change with the
chance 1 - exp(-r d), r the rate of change of the host's pages. With e the sum of these
chances and b the changes that were found within promises, the share of promises that
do not hold is (b + 1/4) / (e + 1); a promise is believed while that is 5 % at most. So
a new host is not believed, nor one whose pages change within their promises.

Pages of a host change together, so one day tells little however many they are: e grows
by 1 a day at most. All of it fades with a half-life of 30 days.
"""

from dataclasses import dataclass, replace
from math import exp, floor

HALF_LIFE = 30.0  # days after which what was seen counts half
BROKEN = 0.25  # changes within promises that are held against a new host
BELIEVED = 0.05  # the largest share of broken promises with which they are believed
MOST_A_DAY = 1.0  # changes that can be expected in vain in one day


@dataclass(frozen=True, slots=True)
class PromiseRecord:
    """What was seen of one host's pages that promise to stay as they are.

    Attributes:
        days: Days between fetches of the same page, in all.
        changes: How many of these fetches found a change.
        expected: Changes that would have been found within promises.
        broken: Changes that were found within promises.
        today: What of ``expected`` came in the latest day.
        at: When these were last counted, in days.

    """

    days: float = 0.0
    changes: float = 0.0
    expected: float = 0.0
    broken: float = 0.0
    today: float = 0.0
    at: float = 0.0

    def faded(self, now: float) -> "PromiseRecord":
        """Return what is left of it at a later time.

        >>> left = PromiseRecord(8.0, 4.0, 2.0, 1.0, 0.5, 0.0).faded(30.0)
        >>> left.days, left.changes, left.expected, left.broken, left.today
        (4.0, 2.0, 1.0, 0.5, 0.0)
        """
        if now <= self.at:
            return self
        left = 0.5 ** ((now - self.at) / HALF_LIFE)
        return PromiseRecord(
            self.days * left,
            self.changes * left,
            self.expected * left,
            self.broken * left,
            self.today if floor(now) == floor(self.at) else 0.0,
            now,
        )

    def after(
        self, now: float, days: float, *, changed: bool, within: bool
    ) -> "PromiseRecord":
        """Return it after a fetch so many days after the last one of the same page.

        ``within`` says whether the page had promised to be as it was.

        >>> seen = PromiseRecord(days=10.0, changes=5.0)
        >>> round(seen.after(0.0, 1.0, changed=False, within=True).expected, 4)
        0.3935
        """
        old = self.faded(now)
        more = 0.0
        if within and old.days > 0:
            chance = 1.0 - exp(-old.changes / old.days * days)
            more = max(min(chance, MOST_A_DAY - old.today), 0.0)
        return replace(
            old,
            days=old.days + days,
            changes=old.changes + changed,
            expected=old.expected + more,
            broken=old.broken + (changed and within),
            today=old.today + more,
        )

    def broken_share(self, now: float) -> float:
        """Return the share of promises that do not hold.

        >>> PromiseRecord().broken_share(0.0)
        0.25
        >>> PromiseRecord(expected=4.0).broken_share(0.0)
        0.05
        """
        old = self.faded(now)
        return (old.broken + BROKEN) / (old.expected + 1.0)

    def is_believed(self, now: float) -> bool:
        """Say whether promises are believed."""
        return self.broken_share(now) <= BELIEVED
