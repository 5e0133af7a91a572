"""Audits of pages: fetches of random samples, and outcomes of earlier forecasts.

A policy fetches pages because they are likely stale, so its fetches are a biased
sample. An audit draws its pages at random before the turn's other fetches, so its
results hold for the whole copy. Its fetches also refresh the copy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from halflife.belief import Belief, PartialBelief
from halflife.core.arrays import Floats, Ints
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.observation import Observations, Seen
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
AHEAD = (1.0 / 24.0, 1.0, 7.0)  # forecast horizons, in days
APART = 8.0  # most pending forecasts of one horizon
LATE = 0.1  # most delay at which an outcome still counts, as a share of the horizon
BRIEF = 1e-6  # days


@dataclass(frozen=True, slots=True)
class AuditSample:
    """A random sample of a source's pages, each drawn with the same chance.

    Attributes:
        source: The source.
        rows: The rows of the sampled pages in the evidence.
        held: The rows of the pages with a copy, or a sample of them.
        many: The number of pages with a copy.
        chance: The chance of each of them to be drawn.

    """

    source: str
    rows: Ints
    held: Ints
    many: int
    chance: float


def part(share: float, requests: int, rng: Generator) -> int:
    """Return the requests of a turn's audit: on average ``share`` of its requests."""
    return min(int(share * requests + rng.random()), requests)


def spare(evidence: Evidence, requests: int) -> int:
    """Return the requests left after one fetch of every page never tried."""
    untried = np.flatnonzero((evidence.looks == 0) & (evidence.failures == 0))
    hosts = np.unique(evidence.group[untried]).size
    return max(requests - untried.size - hosts, 0)


def draw(
    evidence: Evidence, rows: Mapping[str, Ints], requests: int, rng: Generator
) -> list[AuditSample]:
    """Draw pages that have a copy, the same number from each source.

    A source gets requests / sources, at most its held pages, rounded up or down at
    random so that the mean is exact and the sum is not exceeded: each page of a source
    has the chance number / held.
    """
    held = {name: mine[evidence.looks[mine] > 0] for name, mine in rows.items()}
    held = {name: mine for name, mine in held.items() if mine.size}
    wanted = [min(requests / len(held), mine.size) for mine in held.values()]
    upto = np.floor(np.cumsum([0.0, *wanted]) + rng.random() + 1e-9).astype(np.intp)
    return [
        AuditSample(
            name, rng.choice(mine, n, replace=False), mine, mine.size, want / mine.size
        )
        for (name, mine), n, want in zip(
            held.items(), np.diff(upto).tolist(), wanted, strict=True
        )
    ]


async def audit(keeper: Keeper, requests: int, rng: Generator) -> int:
    """Fetch a random sample of pages; return the requests it cost.

    Store the forecasts of each source for now and the horizons ``AHEAD``, the results
    of the sampled pages, and the outcomes of earlier forecasts.
    """
    store = keeper.wallet.store
    if requests <= 0 or keeper.eased:
        return 0
    evidence = store.evidence(keeper.run.sources)
    drawn = draw(evidence, rows_of(store, keeper.run.sources, evidence), requests, rng)
    if not drawn:
        return 0
    now = keeper.clock()
    # With very many pages only a sample of them stays in memory during the fetches.
    view, drawn = _viewed(keeper.loop.belief, evidence, drawn, now)
    view = replace(view, calendar=keeper.hours.calendar(now))
    fresh, spent = await _fetch(keeper, view, _order(drawn, rng), requests)
    issued = {sample.source: _forecasts(view, sample) for sample in drawn}
    log = store.forecasts
    with store.together():
        for sample in drawn:
            checks = _checks(view, sample, fresh)
            log.note(sample.source, checks)
            issue(log, sample.source, issued[sample.source])
            _settle_pages(log, sample, checks, now, rng)
    return spent


async def check(keeper: Keeper, requests: int) -> int:
    """Audit with random numbers seeded by the run and the time; see ``audit``."""
    return await audit(keeper, requests, chance(keeper))


async def check_share(keeper: Keeper, share: float, requests: int) -> int:
    """Audit with a share of the requests that pages never seen leave in a turn."""
    rng = chance(keeper)
    evidence = keeper.wallet.store.evidence(keeper.run.sources)
    return await audit(keeper, part(share, spare(evidence, requests), rng), rng)


def chance(keeper: Keeper) -> Generator:
    """Return the random numbers of a turn: the same state draws the same pages.

    The seed depends on the age of the run, not on the date.
    """
    lasted = max(round((keeper.clock() - keeper.run.began) * 86400.0), 0)
    return np.random.default_rng([keeper.run.id, lasted])


def _viewed(
    belief: Belief, evidence: Evidence, drawn: list[AuditSample], now: float
) -> tuple[View, list[AuditSample]]:
    """Return a view of the pages, and the samples with the rows of that view.

    With very many pages the view has only the sampled pages and a sample of the rest.
    """
    subsets = [sampled(sample.held) for sample in drawn]
    is_reduced = any(
        s.size < sample.held.size for s, sample in zip(subsets, drawn, strict=True)
    )
    if not (
        is_reduced and isinstance(belief, PartialBelief) and belief.learn(evidence, now)
    ):
        return belief(evidence, now, now), drawn
    rows = np.unique(np.concatenate([*subsets, *(sample.rows for sample in drawn)]))
    placed = [
        replace(
            sample,
            rows=np.searchsorted(rows, sample.rows),
            held=np.searchsorted(rows, held),
        )
        for sample, held in zip(drawn, subsets, strict=True)
    ]
    return belief.view_rows(evidence, rows, now, now), placed


def _order(drawn: Iterable[AuditSample], rng: Generator) -> Ints:
    """Return all sampled rows, shuffled: if requests run out, the cut is random."""
    rows = np.concatenate([sample.rows for sample in drawn])
    return rng.permutation(rows)


@dataclass(slots=True)
class _Once:
    """A policy that plans the given rows once."""

    rows: Ints
    is_planned: bool = field(default=False, init=False)

    def __call__(self, view: View, budget: Budget, rng: Generator) -> Plan:
        del rng
        if self.is_planned:
            return no_plan()
        self.is_planned = True
        rows = self.rows[view.ready[self.rows]][: budget.requests]
        keys = tuple(view.keys[row] for row in rows.tolist())
        return Plan(
            keys, rows, np.zeros(rows.size), lambda _: "drawn to check the copy"
        )


async def _fetch(
    keeper: Keeper, view: View, rows: Ints, requests: int
) -> tuple[dict[str, bool], int]:
    """Fetch these pages; return whether each copy was fresh, and the requests sent."""
    evidence = keeper.wallet.store.evidence(keeper.run.sources)
    purse = keeper.purse(requests)
    drawn = {view.keys[row] for row in rows.tolist()}
    fresh: dict[str, bool] = {}

    def compare(batch: Observations) -> None:
        keeper.note_checks(batch)
        for key, seen in zip(batch.keys, batch.seen.tolist(), strict=True):
            row = evidence.row(key)
            if seen <= Seen.ABSENT and key in drawn and row is not None:
                fresh[key] = not evidence.changed[row]
        if keeper.eased:
            purse.stop()

    loop = keeper.loop
    once = Loop(loop.source, loop.store, lambda *_: view, _Once(rows))
    try:
        await once.turn(
            keeper.run,
            purse,
            np.random.default_rng(0),
            clock=keeper.clock,
            on_batch=compare,
        )
    finally:
        purse.close()
    return fresh, purse.spent


def _checks(
    view: View, sample: AuditSample, fresh: Mapping[str, bool]
) -> list[ForecastCheck]:
    alive = _alive(view, sample.rows)
    return [
        ForecastCheck(
            key := view.keys[row],
            view.now,
            sample.chance,
            float(view.weight[row]),
            p,
            fresh.get(key),
        )
        for row, p in zip(sample.rows.tolist(), alive.tolist(), strict=True)
    ]


def _alive(view: View, rows: Ints) -> Floats:
    """Return the believed chance that the copies at these rows are fresh."""
    age = np.where(view.held, exposure_after(view, slice(None), 0.0), 0.0)
    return np.clip(view.survival.alive(age)[rows], 0.0, 1.0)


def _forecasts(view: View, sample: AuditSample) -> list[IssuedForecast]:
    """Return the freshness forecasts of a source's copies, for now and ``AHEAD``."""
    weight = np.zeros(len(view))
    weight[sample.held] = view.weight[sample.held]
    ahead = np.array([NOW, *AHEAD])
    cast = freshness_forecast(replace(view, weight=weight), ahead)
    return issued_at(
        sample.source, "freshness", view.now, ahead, (cast.mean, cast.low, cast.high)
    )


def issued_at(
    source: str, measure: str, now: float, ahead: Floats, bands: Sequence[Floats]
) -> list[IssuedForecast]:
    """Return the forecasts made now; ``bands`` are mean, low and high."""
    return [
        IssuedForecast(
            source, measure, now, float(days), float(m), float(low), float(high)
        )
        for days, m, low, high in zip(ahead, *bands, strict=True)
    ]


def issue(log: ForecastLog, source: str, forecasts: Sequence[IssuedForecast]) -> None:
    """Store forecasts, except those with a recent one of the same horizon."""
    last: dict[float, float] = {}
    for old in log.made(source, forecasts[0].made - max(AHEAD)):
        last[old.ahead] = max(last.get(old.ahead, -np.inf), old.made)
    log.issue(
        cast
        for cast in forecasts
        if cast.made - last.get(cast.ahead, -np.inf) >= cast.ahead / APART - BRIEF
    )


def _settle_pages(
    log: ForecastLog,
    sample: AuditSample,
    checks: Sequence[ForecastCheck],
    now: float,
    rng: Generator,
) -> None:
    """Store the outcomes of due forecasts, as the sampled pages show them."""
    answered = [check for check in checks if check.fresh is not None]
    due, missed = due_at(log, sample.source, now)
    outcomes = []
    for cast in due if answered else ():
        then = log.still([check.key for check in answered], cast.made)
        if cast.ahead == NOW:
            then = [check.fresh for check in answered]
        pairs = [
            (c.weight, y) for c, y in zip(answered, then, strict=True) if y is not None
        ]
        if pairs:
            weight, right = np.array(pairs, dtype=np.float64).T
            batch = effective_size(weight, sample.many)
            outcomes.append(
                outcome(cast, now, float(weight @ right / weight.sum()), batch, rng)
            )
    log.settle(outcomes)
    log.drop(missed)


def outcome(
    cast: IssuedForecast, now: float, found: float, batch: float, rng: Generator
) -> IssuedForecast:
    """Return a forecast with its outcome ``found``, from so many observations."""
    sample = None if np.isinf(batch) else batch
    return replace(cast, told=now, found=found, looks=sample, draw=float(rng.random()))


def due_at(
    log: ForecastLog, source: str, now: float
) -> tuple[list[IssuedForecast], list[IssuedForecast]]:
    """Return the forecasts that are due, and those whose outcome would be too late."""
    waiting = [f for f in log.waiting(source) if f.due <= now + BRIEF]
    late = [f for f in waiting if now - f.due > LATE * f.ahead + BRIEF]
    return [f for f in waiting if f not in late], late
