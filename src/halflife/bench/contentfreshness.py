"""Replay of rules that keep known tuples fresh through keyword search.

Each day every rule may send the same number of requests, answers show the recorded
relation of that day, and the remaining difference between copy and relation is the
content staleness. A rule plans as for a live form (``KnownPlan``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.random import Generator, default_rng

from halflife import plugins
from halflife.bench.knownworld import Differences, ServedRelation, topical
from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.object_store import Attributes
from halflife.metrics.intervals import Interval, mean_interval
from halflife.queries.incidence import Incidence
from halflife.queries.known.content import Measure, Weigh, measure, weigher
from halflife.queries.known.copies import Copy
from halflife.queries.known.keywords import Pool, pool_for
from halflife.queries.known.query_loop import ALPHA
from halflife.queries.known.refresh import Refresher
from halflife.queries.known.rules import KnownOracle
from halflife.queries.known_rounds import KnownPlan, refresh
from halflife.queries.ledger import Ledger
from halflife.queries.policies import ALIASES, GROUP, KNOWN, KnownPolicy
from halflife.recordings.relations import KEY, Relation, column

if TYPE_CHECKING:
    from halflife.queries.known.guess import Guess

Row: TypeAlias = dict[str, Any]
POLICIES = (
    "naive1", "naive2", "greedy", "method-2", "page-greedy", "cube-root", "index",
    "lookup-index", "oracle",
)  # fmt: skip
ORACLE = KnownPolicy(
    "oracle",
    "knows the truth and takes the largest difference",
    lambda _: KnownOracle(),
)
PAPER = "greedy"  # the rule that the others are compared with
BLOCKS = 5  # periods whose means are taken as independent
FEWEST = 3  # days that a replay needs


@dataclass(frozen=True)
class ContentStudy:
    """The setting of a replay.

    Attributes:
        keywords: The columns that can be searched.
        measure: How versions differ; ``changed`` compares all columns.
        weight: How much tuples matter; see ``weigher``.
        page_size: Records on a page.
        share: The share of the tuples that is known at the start.
        begin: The first day; the middle of the history if None.
        end: The last day; that of the history if None.

    """

    keywords: tuple[str, ...]
    measure: str = "changed"
    weight: str | None = None
    page_size: int = 20
    share: float = 1.0
    begin: float | None = None
    end: float | None = None


@dataclass(frozen=True)
class _World:
    """One random draw of the served relation and of the tuples known at the start."""

    served: ServedRelation
    differences: Differences
    pool: Pool
    local: Mapping[str, Attributes]
    places: Ints
    days: Floats
    measure: Measure
    weigh: Weigh

    def versions(self, day: float) -> Ints:
        """Turn to a day and return the versions of the known tuples, -1 if gone."""
        self.served.turn_to(day)
        return self.served.version[self.places]


def days_of(relation: Relation, begin: float | None, end: float | None) -> Floats:
    """Return the last snapshot of each day from ``begin`` until ``end``."""
    at = relation.looks
    last = np.r_[np.floor(at[1:]) != np.floor(at[:-1]), True]
    daily = at[last[: at.size]]
    since = daily[daily.size // 2] if begin is None and daily.size else begin
    daily = daily[
        (daily >= (since or 0.0)) & (daily <= (np.inf if end is None else end))
    ]
    if daily.size < FEWEST:
        raise UsageError(
            f"the history has {daily.size} days between begin and end; "
            f"at least {FEWEST} are needed"
        )
    return np.asarray(daily, dtype=np.float64)


def _world(relation: Relation, setting: ContentStudy, rng: Generator) -> _World:
    keywords = [column(relation, name) for name in setting.keywords]
    served = ServedRelation(relation, keywords, page_size=setting.page_size, rng=rng)
    columns = tuple(relation.columns)
    differs = measure(_named(relation, setting.measure), columns)
    weight = setting.weight and _named(relation, setting.weight)
    days = days_of(relation, setting.begin, setting.end)
    served.turn_to(float(days[0]))
    there = served.version[served.version >= 0]
    records = {str(r[KEY]): r for r in map(served.record, there.tolist())}
    incidence = Incidence.of(served.interface, records)
    known = topical(incidence, setting.share, rng).tolist()
    local = {
        k: r for (k, r), is_in in zip(records.items(), known, strict=True) if is_in
    }
    places = np.array([served.place[key] for key in local], dtype=np.intp)
    return _World(
        served=served,
        differences=Differences(served, differs),
        pool=pool_for(served.interface, local),
        local=local,
        places=places,
        days=days,
        measure=differs,
        weigh=weigher(weight, columns),
    )


def _named(relation: Relation, name: str) -> str:
    """Return the name of a measure or weight with its column resolved."""
    plain = ":" not in name and name != "changed"
    return column(relation, name) if plain else name


@dataclass(frozen=True)
class _Run:
    """The result of one rule in one world.

    Attributes:
        curve: Content staleness from each day to the next.
        coverage: The share of existing tuples that was ever refreshed.
        refreshed: Known tuples refreshed, each once a day.
        requests: Requests sent.

    """

    curve: Floats
    coverage: float
    refreshed: int
    requests: int


def _played(world: _World, policy: str, budget: float, seed: int) -> _Run:
    copy = Copy(
        world.local, measure=world.measure, weight=world.weigh, now=float(world.days[0])
    )
    weight = copy.weight.copy()  # the same for all rules
    chosen = _policy(policy)
    worker = Refresher(world.pool, world.served.interface, chosen.make(ALPHA))
    guess: Guess | None = None
    rng = default_rng([seed, 1])
    held = world.versions(float(world.days[0])).copy()
    met = np.zeros(held.size, dtype=bool)
    before, after, refreshed, requests, allowed = [], [], 0, 0, 0.0
    for last, day in zip(
        world.days[:-1].tolist(), world.days[1:].tolist(), strict=True
    ):
        there = world.versions(day)
        off = world.differences(held, there)
        before.append(_mean(off, weight, there))
        allowed += budget * (day - last)
        ledger = Ledger(world.served, int(allowed))
        plan = KnownPlan(chosen, copy, day, off if chosen is ORACLE else None)
        plan.believe(worker, guess)
        refresh(plan, worker, ledger, rng)
        guess = plan.guess
        allowed -= ledger.requests
        requests += ledger.requests
        seen = copy.seen >= day
        held[seen] = there[seen]
        met |= seen
        refreshed += int(seen.sum())
        after.append(_mean(world.differences(held, there), weight, there))
    curve = (np.array(after[:-1]) + np.array(before[1:])) / 2.0
    here = there >= 0
    coverage = float(met[here].mean()) if here.any() else 1.0
    return _Run(curve, coverage, refreshed, requests)


def _mean(off: Floats, weight: Floats, there: Ints) -> float:
    """Return the content staleness of the tuples that still exist."""
    here = there >= 0
    return float(np.mean((weight * off)[here])) if here.any() else 0.0


def replay(  # noqa: PLR0913  (all settings of an experiment)
    relation: Relation,
    keywords: Sequence[str],
    *,
    budget: float,
    policies: Sequence[str] = POLICIES,
    page_size: int = 20,
    begin: float | None = None,
    end: float | None = None,
    measure: str = "changed",
    weight: str | None = None,
    share: float = 1.0,
    seeds: Sequence[int] = (0,),
) -> list[Row]:
    """Return the result of each rule with ``budget`` requests a day, in a row each.

    ``policies`` are names of rules and ``keywords`` of columns (see ``column``);
    the rest is as in ``ContentStudy``. Each of the ``seeds`` draws the known tuples,
    the order of results and the random choices of rules.
    """
    _check(policies)
    setting = ContentStudy(
        tuple(keywords), measure, weight, page_size, share, begin=begin, end=end
    )
    runs: dict[str, list[_Run]] = {name: [] for name in policies}
    days: Floats = np.zeros(0)
    for seed in seeds:
        world = _world(relation, setting, default_rng(seed))
        days = world.days
        for name in policies:
            runs[name].append(_played(world, name, budget, seed))
    return [_row(name, found, runs.get(PAPER), days) for name, found in runs.items()]


def _check(policies: Sequence[str]) -> None:
    for name in policies:
        _policy(name)


def _policy(name: str) -> KnownPolicy:
    """Return a registered policy, or the oracle, which needs the truth."""
    if name == ORACLE.name:
        return ORACLE
    try:
        return plugins.load(GROUP, ALIASES.get(name, name), KnownPolicy)
    except UsageError:
        names = ", ".join([*POLICIES, *KNOWN])
        raise UsageError(f"there is no rule {name!r}; choose one of {names}") from None


def _row(name: str, runs: list[_Run], paper: list[_Run] | None, days: Floats) -> Row:
    means = np.concatenate([_blocks(run.curve) for run in runs])
    requests = sum(run.requests for run in runs)
    row: Row = {
        "policy": name,
        "coverage": float(np.mean([run.coverage for run in runs])),
        "tuples_per_request": sum(run.refreshed for run in runs) / max(requests, 1),
        "staleness": _not_negative(mean_interval(means)),
        "requests": requests / len(runs),
        "curve": [
            [float(day), float(value)]
            for day, value in zip(
                days[1:-1], np.mean([run.curve for run in runs], axis=0), strict=True
            )
        ],
    }
    if paper:
        rival = np.concatenate([_blocks(run.curve) for run in paper])
        row["less_" + PAPER] = mean_interval(means - rival)._asdict()
        positive = rival > 0
        if positive.any():
            ratio = mean_interval(means[positive] / rival[positive])
            row["over_" + PAPER] = ratio._asdict()
    return row


def _not_negative(found: Interval) -> Row:
    """Return the interval of a quantity that cannot be negative."""
    return {**found._asdict(), "low": max(found.low, 0.0)}


def _blocks(curve: Floats) -> Floats:
    """Return the means of periods, which are nearly independent."""
    return np.array(
        [part.mean() for part in np.array_split(curve, BLOCKS) if part.size]
    )
