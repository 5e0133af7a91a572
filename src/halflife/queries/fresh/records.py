"""Choose a record, then the best of its values: Liu, Xiao and Yang, section IV."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.random import Generator

from halflife.core.forms import Query
from halflife.queries.fresh import Choice
from halflife.queries.graph import selection
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords, Origin

PATIENCE = 10  # issued queries in a row without a new record
RENEWED = 0.05  # growth of the copy after which Eq. 4 is computed again
TRIES = 200  # draws that may hit records without unsettled queries


class SampleGuidedRule:
    """Draw a record, probe its one-term queries, read the most effective one.

    The effectiveness of a query is r = (c - h) / c, with c the hits that the form
    reports and h those that the copy has: Eq. 5, (c - h) / h, is r / (1 - r), so the
    order is the same, and r is finite where the copy has nothing. A query with
    c <= h is useless. The probe is the query's first page, and its records are kept.

    Args:
        sharp: Draw records in proportion to this power of Eq. 4: 1 is the paper's
            draw, 0 an even one. Sel is almost equal for all records, so only a high
            power makes use of their order.
        patience: Issued queries in a row without new records that end it.
        renewed: Growth of the copy after which Eq. 4 is computed again.

    """

    samples = True

    def __init__(
        self, *, sharp: float = 1.0, patience: int = PATIENCE, renewed: float = RENEWED
    ) -> None:
        self.sharp = sharp
        self.patience = patience
        self.renewed = renewed
        self._chance = np.zeros(0)
        self._probes: list[Query] = []
        self._rivals: list[Query] = []
        self._resumed = False  # if True, the rivals still to be probed are unknown
        self._issued: list[Query] = []
        self._settled: set[Query] = set()

    def so_far(self) -> dict[str, list[Query]]:
        """Return the settled, the recently issued and the rival queries."""
        recent = self._issued[-self.patience :]
        return {
            "settled": sorted(self._settled, key=str),
            "issued": recent,
            "rivals": self._rivals,
        }

    def go_on(self, queries: Mapping[str, Sequence[Query]]) -> None:
        """Restore the stored state."""
        self._settled = set(queries.get("settled", ()))
        self._issued = list(queries.get("issued", ()))
        self._rivals = list(queries.get("rivals", ()))
        self._resumed = True

    def next(
        self, local: LocalRecords, _ledger: Ledger, rng: Generator
    ) -> Choice | None:
        """Return the next probe, or the best of those that were probed."""
        while not self._exhausted(local):
            if not self._rivals:
                self._draw(local, rng)
            if not self._rivals:
                return None
            if self._resumed:
                self._resumed = False
                self._probes = [q for q in self._rivals if q not in local.reads]
            if self._probes:
                query = self._probes.pop()
                return Choice(query, why=f"how many match {query}?")
            best = self._best(local)
            if best is not None:
                return best
        return None

    def _exhausted(self, local: LocalRecords) -> bool:
        recent = self._issued[-self.patience :]
        barren = [q in local.reads and not local.reads[q].gained for q in recent]
        return len(barren) == self.patience and all(barren)

    def _draw(self, local: LocalRecords, rng: Generator) -> None:
        """Draw a record that has queries left."""
        for _ in range(TRIES if len(local) else 0):
            row = self._row(local, rng)
            terms = [local.terms[i] for i in sorted(local.of(local.keys[row]))]
            left = [Query.of(term) for term in terms]
            self._rivals = [query for query in left if query not in self._settled]
            if self._rivals:
                self._probes = [q for q in self._rivals if q not in local.reads]
                return

    def _row(self, local: LocalRecords, rng: Generator) -> int:
        if not self.sharp:
            return int(rng.integers(len(local)))
        if len(local) > (1.0 + self.renewed) * self._chance.size:
            sampled = np.array([key in local.sampled for key in local.keys])
            past = ~local.are(Origin.SAMPLED)
            sel = selection(local.incidence(), past, sampled).sel ** self.sharp
            self._chance = np.cumsum(sel / sel.sum())
        place = int(np.searchsorted(self._chance, rng.random(), side="right"))
        return min(place, self._chance.size - 1)

    def _best(self, local: LocalRecords) -> Choice | None:
        """Return the most effective rival; None if it is useless or read whole."""
        rivals, self._rivals = self._rivals, []
        best = max(rivals, key=lambda query: effectiveness(local, query))
        value, missing = effectiveness(local, best)
        if missing <= 0:
            self._settled.update(rivals)
            return None
        reading = local.reads[best]
        self._settled.add(best)
        self._issued.append(best)
        if reading.done:
            return None
        why = f"{value:.0%} of what matches is not held"
        return Choice(best, reading.pages, None, missing, why)


def effectiveness(local: LocalRecords, query: Query) -> tuple[float, float]:
    """Return r = (c - h) / c of a probed query, and c - h to break ties.

    Without a count c it is the share of new records on the first page.
    """
    reading = local.reads[query]
    if reading.total is None:
        return reading.gained / max(len(reading.keys), 1), float(reading.gained)
    missing = reading.total - len(local.matching(query))
    return missing / max(reading.total, 1), float(missing)
