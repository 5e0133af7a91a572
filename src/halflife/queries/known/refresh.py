"""Keep known tuples fresh through a form: RefreshLocal (Algorithm 1), turn by turn.

In each turn a rule chooses queries, the answers refresh the copy, and the rule chooses
again until the requests are spent. All tuples of an answer are refreshed, also those
that the query was not sent for; Algorithm 1 does not mention that.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.forms import Interface, Query
from halflife.queries.known.copies import Copy
from halflife.queries.known.coverage import ReportedCoverage
from halflife.queries.known.gains import Gains
from halflife.queries.known.keywords import Pool, pool_for
from halflife.queries.known.rules import KnownChoice, KnownEstimates, KnownRule
from halflife.queries.ledger import Ledger

DOUBTED = "was missing from an answer"  # why a tuple is looked up first
_DEARER = 2.0  # a query that takes so many times the pages expected is reconsidered
_DOUBT = 0.1  # share of a turn's requests for tuples missing from answers


class Probe(NamedTuple):
    """A query or look-up to send.

    Attributes:
        number: Its place in the pool.
        query: The query; None for a look-up.
        key: The tuple to look up; empty for a query.
        pages: Requests that it is expected to take.
        gain: The expected reduction of staleness, times days for index rules.
        why: Why it was chosen.
        firm: Whether it is carried out even if it costs more than expected.
        most: Pages to read at most; all if None.

    """

    number: int
    query: Query | None
    key: str
    pages: int
    gain: float
    why: str
    firm: bool = False
    most: int | None = None


class Refresher:
    """A rule at work on a copy.

    Args:
        pool: The candidates; its records are those of the copy, in order.
        interface: What the form can do.
        rule: The rule that chooses.

    """

    def __init__(self, pool: Pool, interface: Interface, rule: KnownRule) -> None:
        self.pool = pool
        self.interface = interface
        self.rule = rule
        self.gains = Gains(pool)
        self.reported = ReportedCoverage(pool)
        self._doubts = (
            np.nan,
            0,
        )  # the last turn, and the doubted tuples looked up in it
        self._read = np.full(len(pool), -np.inf)  # when each was last read whole

    def next(
        self,
        copy: Copy,
        now: float,
        budget: float,
        rng: Generator,
        *,
        truth: Floats | None = None,
    ) -> tuple[Probe, ...]:
        """Return the next probes for ``budget`` requests; empty if none is worth it.

        Tuples that were missing from a complete answer are looked up first.
        """
        doubted = self._doubted(copy, now, budget)
        if doubted:
            return doubted
        standing = self.standing(copy, now, budget, truth=truth)
        return tuple(self._probe(choice) for choice in self.rule(standing, rng))

    def _doubted(self, copy: Copy, now: float, budget: float) -> tuple[Probe, ...]:
        """Return look-ups of doubted tuples, for a share of a turn's requests."""
        turn, done = self._doubts
        done = done if turn == now else 0
        most = np.ceil(_DOUBT * (budget + done)) - done  # infinite without a limit
        rows = np.flatnonzero(copy.doubted).tolist()
        rows = rows[: int(np.clip(most, 0, len(rows)))]
        first = np.flatnonzero(self.pool.lookup)
        if not rows or not first.size:
            return ()
        self._doubts = now, done + len(rows)
        return tuple(
            self._probe(KnownChoice(int(first[row]), 1, 0.0, DOUBTED)) for row in rows
        )

    def standing(
        self, copy: Copy, now: float, budget: float, *, truth: Floats | None = None
    ) -> KnownEstimates:
        """Return the state that the rule decides on."""
        growth, age = copy.growth(), copy.age(now)
        here = ~copy.gone & ~copy.doubted
        return KnownEstimates(
            now=now,
            budget=budget,
            gains=self.gains,
            weight=np.where(here, copy.weight, 0.0),
            age=age,
            rate=copy.pace.rate(),
            learned=copy.pace.learned,
            stale=growth.mean(age),
            worth=growth.worth(age),
            hits=self.reported.hits().count,
            open=self._read < now,
            page_size=self.interface.page_size,
            cap=self.interface.cap,
            power=2.0 if copy.measure.kind == "ages" else 1.0,
            truth=truth,
        )

    def _probe(self, choice: KnownChoice) -> Probe:
        query = self.pool.query(choice.number)
        key = self.pool.key(choice.number) if query is None else ""
        return Probe(choice.number, query, key, *choice[1:])

    def carry_out(self, probe: Probe, copy: Copy, ledger: Ledger, now: float) -> int:
        """Send a probe, note its records, and return how many tuples it refreshed."""
        if probe.query is None:
            return self._look_up(probe.key, copy, ledger, now)
        refreshed = 0
        shown: set[str] = set()
        for found in ledger.pages(probe.query, probe.most):
            refreshed += copy.take(found.records, now)
            shown.update(found.records)
            if found.total is not None:
                self.reported.note_hits(probe.number, found.total)
                needs = self.interface.pages(found.total)
                if not probe.firm and needs > _DEARER * probe.pages + 1:
                    return refreshed
        self._read[probe.number] = now
        if not found.more and len(shown) < (self.interface.cap or np.inf):
            self._miss(probe, copy, shown)
        return refreshed

    def _look_up(self, key: str, copy: Copy, ledger: Ledger, now: float) -> int:
        found = ledger.fetch(key)
        if key not in found.records:
            copy.lose(key)
        return copy.take(found.records, now)

    def _miss(self, probe: Probe, copy: Copy, shown: set[str]) -> None:
        """Doubt tuples that a whole answer lacks; without look-ups they are gone."""
        self.reported.note_hits(probe.number, len(shown))
        rows = self.gains.tuples_of(probe.number)
        there = np.array([copy.keys[row] in shown for row in rows.tolist()], dtype=bool)
        missing = rows[~there] if rows.size else rows
        self.gains.drop(probe.number, missing)
        for row in missing[~copy.gone[missing] & ~copy.strayed[missing]].tolist():
            if self.interface.lookup:
                copy.doubted[row] = True
            else:
                copy.lose(copy.keys[row])


def make_refresher(copy: Copy, interface: Interface, rule: KnownRule) -> Refresher:
    """Return a refresher of a copy by a rule."""
    pool = pool_for(interface, dict(zip(copy.keys, copy.held, strict=True)))
    return Refresher(pool, interface, rule)
