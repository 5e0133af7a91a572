"""Trust in a server's "not modified", learned from checks.

A check sends a made-up validator, so that a server which compares must send the page:
"not modified" is a lie. A page that has changed although its validator has not shows
that the validator lies. A page whose validator changed with it, or that was sent
because the validator no longer held, is evidence for the server. With t truths and l
lies, each fading with a half-life of 30 days, the probability that "not modified" hides
a change is (l + a) / (l + t + 1), a = 1/50.
"""

from dataclasses import dataclass, replace

HALF_LIFE = 30.0  # days after which counts have half their weight
PRIOR = 0.02  # prior of an unknown server: one in fifty lies
BELIEVED = 0.05  # largest probability of a lie of a trusted server
# A check costs bytes, not requests; a late discovery of lies costs freshness.
FIRST_CHECKS = 1.0  # share of requests to an unproved server: all
PASSED = 0.05  # of a truth: a page was sent as required, but it was unchanged
LEAST_CHECKS = 0.01  # least share of requests to any server
DOUBTED_CHECKS = 0.1  # share of requests to a server that is not trusted


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """The evidence for and against one kind of validator of one host.

    Attributes:
        truths: Changes that it reported; fractions after fading.
        lies: Changes that it hid, and made-up validators that it accepted.
        at: When these were last updated, in days.

    """

    truths: float = 0.0
    lies: float = 0.0
    at: float = 0.0

    def faded(self, now: float) -> "TrustRecord":
        """Return the record faded to a later time.

        >>> TrustRecord(4.0, 2.0, 0.0).faded(30.0)
        TrustRecord(truths=2.0, lies=1.0, at=30.0)
        """
        if now <= self.at:
            return self
        left = 0.5 ** ((now - self.at) / HALF_LIFE)
        return TrustRecord(self.truths * left, self.lies * left, now)

    def with_truth(self, now: float) -> "TrustRecord":
        """Return the record with a change that the server reported.

        >>> TrustRecord(4.0, 2.0, 0.0).with_truth(30.0)
        TrustRecord(truths=3.0, lies=1.0, at=30.0)
        """
        faded = self.faded(now)
        return replace(faded, truths=faded.truths + 1.0)

    def with_pass(self, now: float) -> "TrustRecord":
        """Return the record with a check passed although nothing had changed."""
        faded = self.faded(now)
        return replace(faded, truths=faded.truths + PASSED)

    def with_lie(self, now: float) -> "TrustRecord":
        """Return the record with a change that the server hid, or would have hidden.

        >>> TrustRecord(4.0, 2.0, 0.0).with_lie(30.0)
        TrustRecord(truths=2.0, lies=2.0, at=30.0)
        """
        faded = self.faded(now)
        return replace(faded, lies=faded.lies + 1.0)

    def lie_chance(self, now: float) -> float:
        """Return the probability that "not modified" hides a change.

        >>> round(TrustRecord().lie_chance(0.0), 3)
        0.02
        >>> round(TrustRecord(lies=1.0).lie_chance(0.0), 3)
        0.51
        """
        faded = self.faded(now)
        return (faded.lies + PRIOR) / (faded.lies + faded.truths + 1.0)

    def is_believed(self, now: float) -> bool:
        """Return whether "not modified" is trusted."""
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
