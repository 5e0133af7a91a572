"""The terms on which the engine grants requests to a kind of source.

They are plain values, so that a plug-in cannot fail in them. The defaults suit a source
that is read whole; items that are fetched one by one have terms of their own.
"""

from dataclasses import dataclass

LEAST_GAIN = 1e-9  # quality-days: enough to be fetched at all, and less than any gain


@dataclass(frozen=True, slots=True)
class GrantTerms:
    """How requests are granted, and what happens to unused ones.

    Attributes:
        is_weighed: Whether the value of a fetch is weighed against saving requests for
            later, even while no other source wants any.
        first_fetch_is_all: Whether a group gets nothing more in the turn in which
            something of it is fetched for the first time.
        refunds: Whether granted requests that were not sent are paid back.
        holds_lease: Whether the lease is held between two pieces of work; a worker that
            loses such a lease has to stop.
        least_gain: Least gain of a fetch, in quality-days, if a target asks for it.

    """

    is_weighed: bool = True
    first_fetch_is_all: bool = True
    refunds: bool = True
    holds_lease: bool = False
    least_gain: float = LEAST_GAIN

    def refund(self, paid: float, sent: int, *, offline: bool) -> float:
        """Return the refund of a grant; less than 0 if more was sent than paid for.

        Requests that our own network kept from being sent are always paid back.

        >>> GrantTerms().refund(10.0, 4, offline=False)
        6.0
        >>> BY_ITEM.refund(10.0, 4, offline=False)
        0.0
        """
        return paid - sent if self.refunds or offline else 0.0


WHOLE = GrantTerms()
# A policy chooses among very many items: all incoming requests are spent on the best
# ones, new items do not delay known ones, and no item must be fetched.
BY_ITEM = GrantTerms(
    is_weighed=False,
    first_fetch_is_all=False,
    refunds=False,
    holds_lease=True,
    least_gain=0.0,
)
