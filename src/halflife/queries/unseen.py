"""Estimate how many records a form has that no answer has shown, with a bound.

After a crawl some queries may have more records than were shown. Three kinds of
evidence estimate how many:

- A query that overflows was divided by an attribute that some records may lack. Its
  own answer is a sample that does not depend on the attribute: of m records in it r
  were found again by its parts (Lincoln and Petersen).
- Parts that overlap, such as keywords, show some records once and some twice: f1 and
  f2. At least f1 (f1 - 1) / (2 (f2 + 1)) were shown by none (Chao, "Estimating the
  population size for capture-recapture data with unequal catchability", Biometrics
  1987).
- A query that overflows and cannot be divided has more than the c it shows. Without
  evidence, all sizes beyond c are equally likely on a logarithmic scale: half of such
  queries have more than 2 c, one in forty more than 40 c.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import exp, log, sqrt
from typing import Any

from halflife.core import lazy_scipy
from halflife.core.wording import count

SURE = 0.975  # the quantile of a bound
Z = 1.96  # the same in standard deviations
LACKING, HAVING = 0.5, 9.5  # prior: about 5 % of records lack an attribute
UNEVEN = 2.0  # Chao's number is a lower bound where some records are harder to catch


@dataclass(frozen=True, slots=True)
class PossibleLoss:
    """A query that was divided, perhaps with loss.

    Attributes:
        sample: Records that its own answer showed.
        again: Those of them that its parts have shown, too.
        found: Records that its parts have shown.
        once: Those of them that one part has shown.
        twice: Those of them that two parts have shown.
        overlaps: Whether its parts may show the same record.

    """

    sample: int
    again: int
    found: int
    once: int = 0
    twice: int = 0
    overlaps: bool = False

    def unseen(self) -> tuple[float, float]:
        """Return how many of its records were not shown: the estimate and a bound."""
        return self._chao() if self.overlaps else self._recaptured()

    def _recaptured(self) -> tuple[float, float]:
        """Return the estimate and bound from the share of the sample not found again.

        >>> likely, most = PossibleLoss(50, 50, 400).unseen()
        >>> round(likely, 1), round(most, 1)
        (3.4, 17.3)
        """
        seen = self.sample - self.again  # lost by the parts, but shown by the query
        lost, kept = seen + LACKING, self.again + HAVING
        most = float(lazy_scipy.betaincinv(lost, kept, SURE))
        likely = self.found * lost / (kept - 1.0) - seen
        least = self.found * LACKING / (kept - 1.0)
        return max(likely, least), max(self.found * most / (1.0 - most) - seen, least)

    def _chao(self) -> tuple[float, float]:
        """Return Chao's estimate, and the upper end of its log-normal interval.

        >>> likely, most = PossibleLoss(50, 50, 400, 20, 60, overlaps=True).unseen()
        >>> round(likely, 2), round(most, 2)
        (3.11, 22.75)
        """
        f1, f2 = float(self.once), float(self.twice)
        likely = max(f1 * (f1 - 1.0) / (2.0 * (f2 + 1.0)), 0.25)
        spread = (
            likely
            + f1 * (2.0 * f1 - 1.0) ** 2 / (4.0 * (f2 + 1.0) ** 2)
            + f1**2 * f2 * (f1 - 1.0) ** 2 / (4.0 * (f2 + 1.0) ** 4)
        )
        factor = exp(Z * sqrt(log(1.0 + max(spread, 0.0) / likely**2)))
        return likely, UNEVEN * likely * factor


@dataclass(frozen=True, slots=True)
class UnseenRecords:
    """How many records there may be that no answer has shown.

    Attributes:
        likely: The estimate.
        most: An upper bound that holds in 39 of 40 cases.
        queries: The number of queries that may have more records than shown.

    """

    likely: float = 0.0
    most: float = 0.0
    queries: int = 0

    def row(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    def words(self) -> str:
        """Return in words how many may be missing; empty if none can be."""
        if not self.queries:
            return ""
        which = count(self.queries, "query", "queries")
        return f"{which} may have more than shown: at most {self.most:.0f} records"


def estimate_overflow(shown: Iterable[int]) -> tuple[float, float]:
    """Return the estimate and bound for queries that overflow and are undivided.

    >>> likely, most = estimate_overflow([50])
    >>> round(likely), round(most)
    (50, 1950)
    """
    likely = float(sum(max(size, 1) for size in shown))
    return likely, likely * (1.0 / (1.0 - SURE) - 1.0)


def estimate_unseen(
    losses: Sequence[PossibleLoss], stuck: Sequence[int]
) -> UnseenRecords:
    """Return how many records may be hidden; ``stuck``: shown by undivided queries."""
    bounds = [loss.unseen() for loss in losses]
    bounds += [estimate_overflow(stuck)] if stuck else []
    likely, most = sum(low for low, _ in bounds), sum(high for _, high in bounds)
    return UnseenRecords(likely, most, len(losses) + len(stuck))
