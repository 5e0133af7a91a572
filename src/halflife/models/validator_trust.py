"""Whether a server's "not modified" can be believed, learned from checks.

A check asks with a validator that nobody ever issued, so that a server which compares
must send the page: "not modified" is a lie. A page that comes and has changed although
its validator has not shows that the validator lies. A page whose validator changed with
it, or that came because the validator no longer held, speaks for the server. With t
truths and l lies, each fading with a half-life of 30 days, the chance that "not
modified" hides a change is (l + a) / (l + t + 1), a = 1/50.
"""

from dataclasses import dataclass, replace

HALF_LIFE = 30.0  # days after which what was seen counts half
PRIOR = 0.02  # of servers unknown to us: one in fifty lies
BELIEVED = 0.05  # the largest chance of a lie with which "not modified" is believed
# A check costs bytes, not requests, and a liar that is found late costs freshness.
FIRST_CHECKS = 1.0  # of requests to a server that has proved nothing yet: all
PASSED = 0.05  # of a truth: a page came that had to come, but it was as before
LEAST_CHECKS = 0.01  # of requests to any server
DOUBTED_CHECKS = 0.1  # of requests to a server that is not believed


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """What speaks for and against one kind of validator of one host.

    Attributes:
        truths: Changes that it told of; fractions are what has faded.
        lies: Changes that it hid, and made-up validators that it took for its own.
        at: When these were last counted, in days.

    """

    truths: float = 0.0
    lies: float = 0.0
    at: float = 0.0

    def faded(self, now: float) -> "TrustRecord":
        """Return what is left of it at a later time.

        >>> TrustRecord(4.0, 2.0, 0.0).faded(30.0)
        TrustRecord(truths=2.0, lies=1.0, at=30.0)
        """
        if now <= self.at:
            return self
        left = 0.5 ** ((now - self.at) / HALF_LIFE)
        return TrustRecord(self.truths * left, self.lies * left, now)

    def told(self, now: float) -> "TrustRecord":
        """Return it with a change that the server told of.

        >>> TrustRecord(4.0, 2.0, 0.0).told(30.0)
        TrustRecord(truths=3.0, lies=1.0, at=30.0)
        """
        old = self.faded(now)
        return replace(old, truths=old.truths + 1.0)

    def passed(self, now: float) -> "TrustRecord":
        """Return it with a check that the server passed although nothing changed."""
        old = self.faded(now)
        return replace(old, truths=old.truths + PASSED)

    def lied(self, now: float) -> "TrustRecord":
        """Return it with a change that the server hid, or would have.

        >>> TrustRecord(4.0, 2.0, 0.0).lied(30.0)
        TrustRecord(truths=2.0, lies=2.0, at=30.0)
        """
        old = self.faded(now)
        return replace(old, lies=old.lies + 1.0)

    def lie_chance(self, now: float) -> float:
        """Return the chance that "not modified" hides a change.

        >>> round(TrustRecord().lie_chance(0.0), 3)
        0.02
        >>> round(TrustRecord(lies=1.0).lie_chance(0.0), 3)
        0.51
        """
        old = self.faded(now)
        return (old.lies + PRIOR) / (old.lies + old.truths + 1.0)

    def is_believed(self, now: float) -> bool:
        """Say whether "not modified" is believed."""
        return self.lie_chance(now) <= BELIEVED

    def check_share(self, now: float) -> float:
        """Return the share of requests that check the server.

        >>> TrustRecord().check_share(0.0), TrustRecord(truths=2.0).check_share(0.0)
        (1.0, 0.333333333)
        """
        if not self.is_believed(now):
            return DOUBTED_CHECKS
        share = FIRST_CHECKS / (1.0 + self.faded(now).truths)
        return max(round(share, 9), LEAST_CHECKS)
