"""Trust in a server's promises that a page stays unchanged for a while.

``max-age`` and the like promise that a page does not change for so long. If promises
meant nothing, pages would change within them as often as otherwise: a fetch d days
after the previous one, within the promise, would find a change with probability
1 - exp(-r d), r the change rate of the host's pages. With e the sum of these
probabilities and b the changes found within promises, the share of broken promises is
(b + 1/4) / (e + 1); promises are trusted while it is at most 5 %. So a new host is not
trusted, nor one whose pages change within their promises.

Pages of a host change together, so one day is little evidence for any number of pages:
e grows by at most 1 a day. All counts fade with a half-life of 30 days.
"""

from dataclasses import dataclass, replace
from math import exp, floor

HALF_LIFE = 30.0  # days after which counts have half their weight
BROKEN = 0.25  # prior changes within promises, of a new host
BELIEVED = 0.05  # largest share of broken promises of a trusted host
MOST_A_DAY = 1.0  # largest increase of ``expected`` in one day


@dataclass(frozen=True, slots=True)
class PromiseRecord:
    """The record of one host's pages that promise to stay unchanged.

    Attributes:
        days: The total of days between fetches of the same page.
        changes: The number of these fetches that found a change.
        expected: Changes expected within promises if promises meant nothing.
        broken: Changes found within promises.
        today: The part of ``expected`` from the latest day.
        at: When these were last updated, in days.

    """

    days: float = 0.0
    changes: float = 0.0
    expected: float = 0.0
    broken: float = 0.0
    today: float = 0.0
    at: float = 0.0

    def faded(self, now: float) -> "PromiseRecord":
        """Return the record faded to a later time.

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
        """Return the record after a fetch ``days`` after the previous one of the page.

        ``within`` says whether the fetch was within the page's promise.

        >>> seen = PromiseRecord(days=10.0, changes=5.0)
        >>> round(seen.after(0.0, 1.0, changed=False, within=True).expected, 4)
        0.3935
        """
        faded = self.faded(now)
        more = 0.0
        if within and faded.days > 0:
            chance = 1.0 - exp(-faded.changes / faded.days * days)
            more = max(min(chance, MOST_A_DAY - faded.today), 0.0)
        return replace(
            faded,
            days=faded.days + days,
            changes=faded.changes + changed,
            expected=faded.expected + more,
            broken=faded.broken + (changed and within),
            today=faded.today + more,
        )

    def broken_share(self, now: float) -> float:
        """Return the share of broken promises.

        >>> PromiseRecord().broken_share(0.0)
        0.25
        >>> PromiseRecord(expected=4.0).broken_share(0.0)
        0.05
        """
        faded = self.faded(now)
        return (faded.broken + BROKEN) / (faded.expected + 1.0)

    def is_believed(self, now: float) -> bool:
        """Return whether promises are trusted."""
        return self.broken_share(now) <= BELIEVED
