"""Checking ourselves: looks at pages drawn at random, and forecasts that come due.

What a policy looks at is chosen for being stale, so it says nothing of the rest. The
pages of an audit are drawn by chance alone, before the turn's own looks: what they
show holds for the whole copy. They are looks like any other, too, and refresh it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from halflife.belief import Belief, PartialBelief
from halflife.core.arrays import Floats, Ints
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.observation import Looks, Seen
from halflife.core.plan import Plan, no_plan
from halflife.core.view import View
from halflife.engine.loop import Loop
from halflife.kinds.pages.runner import Keeper
from halflife.kinds.pages.source_rows import rows_of
from halflife.kinds.pages.state import sampled
from halflife.models.calibration import effective_size
from halflife.models.quality import exposure_after, freshness_forecast
from halflife.stores.forecasts import ForecastCheck, IssuedForecast
from halflife.stores.parts import ForecastLog

NOW = 0.0
AHEAD = (1.0 / 24.0, 1.0, 7.0)  # days of which forecasts are made
APART = 8.0  # forecasts of one horizon that wait at the same time, at most
LATE = 0.1  # how much later than due an outcome still counts, as a share of the horizon
BRIEF = 1e-6  # days


@dataclass(frozen=True, slots=True)
class Drawn:
    """Pages of a source that were drawn, each with the same chance.

    Attributes:
        source: The source.
        rows: Their rows in the evidence.
        held: The rows that there were to draw from, or some that stand for them.
        many: How many there were.
        chance: The chance of each of those.

    """

    source: str
    rows: Ints
    held: Ints
    many: int
    chance: float


def part(share: float, requests: int, rng: Generator) -> int:
    """Return how many requests of a turn go to its audit: the share, in the mean."""
    return min(int(share * requests + rng.random()), requests)


def spare(evidence: Evidence, requests: int) -> int:
    """Return the requests left when each page never tried has had its look."""
    untried = np.flatnonzero((evidence.looks == 0) & (evidence.failures == 0))
    hosts = np.unique(evidence.group[untried]).size
    return max(requests - untried.size - hosts, 0)


def draw(
    evidence: Evidence, rows: Mapping[str, Ints], requests: int, rng: Generator
) -> list[Drawn]:
    """Draw pages of which copies are held; each source gets the same number.

    A source gets requests / sources, at most all it holds, rounded up or down by
    chance so that the mean is right and the sum not exceeded: each page of a source
    has the chance number / held.
    """
    held = {name: mine[evidence.looks[mine] > 0] for name, mine in rows.items()}
    held = {name: mine for name, mine in held.items() if mine.size}
    wanted = [min(requests / len(held), mine.size) for mine in held.values()]
    upto = np.floor(np.cumsum([0.0, *wanted]) + rng.random() + 1e-9).astype(np.intp)
    return [
        Drawn(
            name, rng.choice(mine, n, replace=False), mine, mine.size, want / mine.size
        )
        for (name, mine), n, want in zip(
            held.items(), np.diff(upto).tolist(), wanted, strict=True
        )
    ]


async def audit(keeper: Keeper, requests: int, rng: Generator) -> int:
    """Check as many pages as requests allow; return how many requests it took.

    What is believed of each source now and some time from now is written down, with
    what the pages drawn tell of it; forecasts made earlier get their outcomes.
    """
    store = keeper.wallet.store
    if requests <= 0 or keeper.eased:
        return 0
    evidence = store.evidence(keeper.run.sources)
    drawn = draw(evidence, rows_of(store, keeper.run.sources, evidence), requests, rng)
    if not drawn:
        return 0
    now = keeper.clock()
    # Of very many pages only some stay in memory while others are looked at.
    view, drawn = _viewed(keeper.loop.belief, evidence, drawn, now)
    view = replace(view, calendar=keeper.hours.calendar(now))
    found, spent = await _look(keeper, view, _order(drawn, rng), requests)
    issued = {one.source: _believed(view, one) for one in drawn}  # before the looks
    kept = store.forecasts
    with store.together():
        for one in drawn:
            checks = _checks(view, one, found)
            kept.note(one.source, checks)
            issue(kept, one.source, issued[one.source])
            _settle_pages(kept, one, checks, now, rng)
    return spent


async def check(keeper: Keeper, requests: int) -> int:
    """Audit with chance that follows from the run and the time; see ``audit``."""
    return await audit(keeper, requests, chance(keeper))


async def check_share(keeper: Keeper, share: float, requests: int) -> int:
    """Audit with a share of the requests of a turn that pages never seen leave."""
    rng = chance(keeper)
    evidence = keeper.wallet.store.evidence(keeper.run.sources)
    return await audit(keeper, part(share, spare(evidence, requests), rng), rng)


def chance(keeper: Keeper) -> Generator:
    """Return a source of chance for a turn: the same state draws the same pages.

    The date does not matter, only how long the run has lasted.
    """
    lasted = max(round((keeper.clock() - keeper.run.began) * 86400.0), 0)
    return np.random.default_rng([keeper.run.id, lasted])


def _viewed(
    belief: Belief, evidence: Evidence, drawn: list[Drawn], now: float
) -> tuple[View, list[Drawn]]:
    """Return what is believed of the pages, and what was drawn as rows of that view.

    Of very many pages, those drawn are viewed, and some that stand for all.
    """
    some = [sampled(one.held) for one in drawn]
    few = any(s.size < one.held.size for s, one in zip(some, drawn, strict=True))
    if not (few and isinstance(belief, PartialBelief) and belief.learn(evidence, now)):
        return belief(evidence, now, now), drawn
    rows = np.unique(np.concatenate([*some, *(one.rows for one in drawn)]))
    placed = [
        replace(
            one,
            rows=np.searchsorted(rows, one.rows),
            held=np.searchsorted(rows, held),
        )
        for one, held in zip(drawn, some, strict=True)
    ]
    return belief.view_rows(evidence, rows, now, now), placed


def _order(drawn: Iterable[Drawn], rng: Generator) -> Ints:
    """Return all rows drawn, shuffled: if requests run out, chance says where."""
    rows = np.concatenate([one.rows for one in drawn])
    return rng.permutation(rows)


@dataclass(slots=True)
class _Once:
    """A policy that asks for what it was given, once."""

    rows: Ints
    asked: bool = field(default=False, init=False)

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        del rng
        if self.asked:
            return no_plan()
        self.asked = True
        rows = self.rows[view.ready[self.rows]][: budget.requests]
        keys = tuple(view.keys[row] for row in rows.tolist())
        return Plan(
            keys, rows, np.zeros(rows.size), lambda _: "drawn to check the copy"
        )


async def _look(
    keeper: Keeper, view: View, rows: Ints, requests: int
) -> tuple[dict[str, bool], int]:
    """Look at these pages; return whether each copy was right, and requests sent."""
    evidence = keeper.wallet.store.evidence(keeper.run.sources)
    purse = keeper.purse(requests)
    drawn = {view.keys[row] for row in rows.tolist()}
    fresh: dict[str, bool] = {}

    def told(looks: Looks) -> None:
        for key, seen in zip(looks.keys, looks.seen.tolist(), strict=True):
            row = evidence.row(key)
            if seen <= Seen.ABSENT and key in drawn and row is not None:
                fresh[key] = not evidence.changed[row]
        if keeper.eased:
            purse.stop()

    loop = keeper.loop
    once = Loop(loop.source, loop.store, lambda *_: view, _Once(rows))
    try:
        await once.turn(
            keeper.run, purse, np.random.default_rng(0), clock=keeper.clock, told=told
        )
    finally:
        purse.close()
    return fresh, purse.spent


def _checks(view: View, one: Drawn, found: Mapping[str, bool]) -> list[ForecastCheck]:
    alive = _alive(view, one.rows)
    return [
        ForecastCheck(
            key := view.keys[row],
            view.now,
            one.chance,
            float(view.weight[row]),
            p,
            found.get(key),
        )
        for row, p in zip(one.rows.tolist(), alive.tolist(), strict=True)
    ]


def _alive(view: View, rows: Ints) -> Floats:
    """Return the believed chance that the copies at these rows are right."""
    age = np.where(view.held, exposure_after(view, slice(None), 0.0), 0.0)
    return np.clip(view.survival.alive(age)[rows], 0.0, 1.0)


def _believed(view: View, one: Drawn) -> list[IssuedForecast]:
    """Return what is believed of what is held of a source, now and later."""
    weight = np.zeros(len(view))
    weight[one.held] = view.weight[one.held]
    ahead = np.array([NOW, *AHEAD])
    cast = freshness_forecast(replace(view, weight=weight), ahead)
    return issued_at(
        one.source, "freshness", view.now, ahead, (cast.mean, cast.low, cast.high)
    )


def issued_at(
    source: str, measure: str, now: float, ahead: Floats, bands: Sequence[Floats]
) -> list[IssuedForecast]:
    """Return forecasts made now, of so many days later: mean, low and high of each."""
    return [
        IssuedForecast(
            source, measure, now, float(days), float(m), float(low), float(high)
        )
        for days, m, low, high in zip(ahead, *bands, strict=True)
    ]


def issue(kept: ForecastLog, source: str, made: Sequence[IssuedForecast]) -> None:
    """Write forecasts down, unless there is a recent one of the same horizon."""
    last: dict[float, float] = {}
    for old in kept.made(source, made[0].made - max(AHEAD)):
        last[old.ahead] = max(last.get(old.ahead, -np.inf), old.made)
    kept.issue(
        one
        for one in made
        if one.made - last.get(one.ahead, -np.inf) >= one.ahead / APART - BRIEF
    )


def _settle_pages(
    kept: ForecastLog,
    one: Drawn,
    checks: Sequence[ForecastCheck],
    now: float,
    rng: Generator,
) -> None:
    """Write down what the pages drawn tell of forecasts that are due."""
    answered = [check for check in checks if check.fresh is not None]
    due, missed = due_at(kept, one.source, now)
    told = []
    for cast in due if answered else ():
        then = kept.still([check.key for check in answered], cast.made)
        if cast.ahead == NOW:
            then = [check.fresh for check in answered]
        pairs = [
            (c.weight, y) for c, y in zip(answered, then, strict=True) if y is not None
        ]
        if pairs:
            weight, right = np.array(pairs, dtype=np.float64).T
            looks = effective_size(weight, one.many)
            told.append(
                outcome(cast, now, float(weight @ right / weight.sum()), looks, rng)
            )
    kept.settle(told)
    kept.drop(missed)


def outcome(
    cast: IssuedForecast, now: float, found: float, looks: float, rng: Generator
) -> IssuedForecast:
    """Return a forecast with what came of it, by so many looks."""
    some = None if np.isinf(looks) else looks
    return replace(cast, told=now, found=found, looks=some, draw=float(rng.random()))


def due_at(
    kept: ForecastLog, source: str, now: float
) -> tuple[list[IssuedForecast], list[IssuedForecast]]:
    """Return the forecasts that are due, and those that were and are no longer."""
    waiting = [f for f in kept.waiting(source) if f.due <= now + BRIEF]
    late = [f for f in waiting if now - f.due > LATE * f.ahead + BRIEF]
    return [f for f in waiting if f not in late], late
