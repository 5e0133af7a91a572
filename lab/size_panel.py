"""The same drill-downs again and again, to see how a database changes.

Sizes that two sets of drill-downs estimate differ by chance even if nothing changed.
The same drill-downs, re-issued, differ only where the database did. Liu,
Thirumuruganathan, Zhang, Das, "Aggregate Estimation Over Dynamic Hidden Web
Databases", VLDB 2014 (REISSUE).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.forms import Query
from halflife.core.object_store import Attributes
from halflife.probing.size import LEVEL, SizeInterval
from halflife.queries.completeness import QueryReader
from halflife.queries.drill_down import (
    Drill,
    DrillStep,
    DrillWalk,
    count_paths,
    finish_walk,
    skips_level,
)
from halflife.queries.ledger import Ledger
from halflife.queries.levels import Guide, LocalChances
from lab.relation_size import averaged


@dataclass(frozen=True, slots=True)
class Member:
    """One drill-down of a panel.

    Attributes:
        steps: All conditions that it would add, drawn once and for all.
        depth: How many of them it needed.
        walk: What it found last.

    """

    steps: tuple[DrillStep, ...]
    depth: int
    walk: DrillWalk


@dataclass(frozen=True, slots=True)
class Panel:
    """Drill-downs that are made again each round.

    Attributes:
        members: The drill-downs.
        most: Records that a query at the end may have.
        requests: Requests that the last round took.

    """

    members: tuple[Member, ...]
    most: float
    requests: int

    @property
    def walks(self) -> tuple[DrillWalk, ...]:
        """What was found last."""
        return tuple(member.walk for member in self.members)


@dataclass(frozen=True, slots=True)
class PanelChange:
    """How a database changed between two rounds.

    A record that changed a value it is asked for by has both come and gone.

    Attributes:
        net: Growth of the number of records.
        came: Records that came.
        went: Records that went.
        requests: Requests that the second round took.

    """

    net: SizeInterval
    came: SizeInterval
    went: SizeInterval
    requests: int


def start(
    ledger: Ledger,
    walks: int,
    rng: Generator,
    *,
    known: Iterable[Attributes] | LocalChances = (),
    guide: Guide = "known",
    most: int | None = None,
) -> Panel:
    """Return a panel after its first round.

    The chances are fixed when it starts: nothing is passed over for want of hits, for
    what has none now may have some later.
    """
    before = ledger.requests
    drill = Drill(ledger, known, guide=guide, most=most)
    paths = [_drawn(drill, rng) for _ in range(walks)]
    members = tuple(_followed(drill.reader, path, 0) for path in paths)
    return Panel(members, drill.reader.most, ledger.requests - before)


def _drawn(drill: Drill, rng: Generator) -> tuple[DrillStep, ...]:
    steps: tuple[DrillStep, ...] = ()
    rows = drill.local.rows
    for level in drill.order_levels(rng):
        if skips_level(level, steps):
            continue
        here = drill.guide_level(level, _query(steps), rows)
        step = DrillStep(here, *here.draw(rng))
        steps = (*steps, step)
        rows = drill.local.among(level, step.term, rows)
    return steps


def _followed(reader: QueryReader, steps: tuple[DrillStep, ...], depth: int) -> Member:
    """Return a drill-down from a depth on: it goes further where queries overflow.

    It never goes back. The ends of the first round stay ends, or are divided, so that
    they make up the whole database in every round.
    """
    before = reader.ledger.requests
    query = _query(steps[:depth])
    read = reader.read(query)
    while not read.whole and depth < len(steps):
        longer = _query(steps[: depth + 1])
        if not reader.answers(longer) and len(longer) > len(query):
            break
        query, depth = longer, depth + 1
        read = reader.read(query)
    walk = finish_walk(read, query, steps[:depth], reader.ledger.requests - before)
    return Member(steps, depth, walk)


def _query(steps: Sequence[DrillStep]) -> Query:
    return Query.of(*(step.term for step in steps if step.term is not None))


def reissue(
    ledger: Ledger, panel: Panel, *, level: float = LEVEL
) -> tuple[Panel, PanelChange]:
    """Return the panel after another round, and what changed since the last.

    came = mean of sum(w(r)) over the records at the end of a drill-down now that were
    not there before; went likewise, over those of before that would be at that end.
    Both are unbiased, for the chances are those of the same path. Of a drill-down that
    did not see everything at its end, in either round, nothing is said.
    """
    before, reader = ledger.requests, QueryReader(ledger, panel.most)
    members = tuple(_followed(reader, m.steps, m.depth) for m in panel.members)
    pairs = list(zip(panel.walks, (m.walk for m in members), strict=True))
    good = np.array([old.whole and new.whole for old, new in pairs], dtype=np.float64)
    came = good * np.array([_came(old, new) for old, new in pairs])
    went = good * np.array([_went(old, new, ledger) for old, new in pairs])
    spent = ledger.requests - before
    net, more, less = (averaged(v, level) for v in (came - went, came, went))
    return Panel(members, panel.most, spent), PanelChange(net, more, less, spent)


def _came(old: DrillWalk, new: DrillWalk) -> float:
    fresh = [key not in old.records for key in new.records]
    return float(new.weight[fresh].sum())


def _went(old: DrillWalk, new: DrillWalk, ledger: Ledger) -> float:
    gone = [r for key, r in old.records.items() if key not in new.records]
    here = [
        count_paths(r, new.steps) for r in gone if ledger.interface.meets(r, new.query)
    ]
    return sum(1.0 / (new.probability * n) for n in here if n)


def restarted(before: Sequence[DrillWalk], after: Sequence[DrillWalk]) -> SizeInterval:
    """Return the growth between two sets of drill-downs that share nothing.

    The difference of the means; its variance is the sum of theirs.
    """
    one, two = (_sizes(walks) for walks in (before, after))
    n = min(one.size, two.size)
    return averaged(two[:n] - one[:n])


def _sizes(walks: Sequence[DrillWalk]) -> Floats:
    return np.array([walk.size for walk in walks], dtype=np.float64)
