"""The kind ``pages``: sources whose pages are copied."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from halflife.belief import FIRST_PAUSE, LONGEST_PAUSE
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.forecast import Forecast
from halflife.core.observation import Seen
from halflife.core.value_curve import Offers, Worth
from halflife.core.view import View
from halflife.engine.bootstrap import Outlook, strategy
from halflife.engine.breakers import Breaker
from halflife.engine.renewals import POINTS, spread
from halflife.kinds.pages import map_discovery, target_warmup
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.state import BeliefGroups, PagesState, sampled
from halflife.kinds.pages.target import PageSnapshot
from halflife.kinds.pages.worker import opened
from halflife.kinds.protocol import (
    OVERDUE,
    Description,
    Desk,
    Kind,
    Known,
    Prospects,
    Reading,
    Report,
    Step,
    Worker,
)
from halflife.kinds.terms import BY_ITEM
from halflife.market import price
from halflife.market.target_rule import Goal
from halflife.market.target_status import TURN, TargetMemory, TargetStatus
from halflife.models.quality import beta_bounds, freshness_forecast
from halflife.policies.rehearsal import long_run, some_rows
from halflife.policies.view_rows import take_rows
from halflife.readers.containment import is_mishandled
from halflife.stores import Store
from halflife.stores.forecasts import IssuedForecast

if TYPE_CHECKING:
    from pathlib import Path

    from halflife.kinds.page_view import PageRequest, PageView
    from halflife.kinds.pages.panorama import PagesPanorama
    from halflife.recognition.guess import SourceGuess, TrialAnswer
    from halflife.replay.recorded_source import RecordedHistory, RecordedSource

NODES = 24  # of the quadrature over random fetch times
RARE = 1000.0  # days between two fetches of all pages at the lowest rate considered
FAILING = 1000  # failing pages of a source whose reasons are read
LONGER = 8  # times as many requests where a plan holds too few of a source's pages
SOME = 2000  # pages of the sample by which requests are priced


class PagesKind(Kind[PagesConfig, PagesState]):
    """Pages, named one by one or found by following links."""

    terms = BY_ITEM
    known_as = "pages"
    checked_by = "pages drawn at random"

    def recognise(self, answer: "TrialAnswer") -> "Sequence[SourceGuess]":
        """Return guesses how an answer could be a source of this kind."""
        from halflife.kinds.pages import recognition  # noqa: PLC0415  (only `add`)

        return recognition.recognise(answer)

    def states(
        self, reading: Reading, sources: Sequence[PagesConfig]
    ) -> Mapping[str, PagesState]:
        """Return the states of sources; all pages are read at once."""
        around = BeliefGroups(reading, sources)
        return {source.name: PagesState(source, reading, around) for source in sources}

    def quality(
        self, state: PagesState, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the forecast of the share of pages that are fresh."""
        view, rows = state.sampled
        weight = np.zeros(len(view))
        weight[rows] = view.weight[rows]
        if not weight.any() or not view.held[rows].any():
            return None  # no page was ever fetched
        view, two_sided = replace(view, weight=weight), max(2.0 * sure - 1.0, 0.01)
        if not looks or ahead.size < 2:
            return freshness_forecast(view, ahead, confidence=two_sided)
        gap = np.full(len(view), inf)
        gap[rows] = self.gaps(state)
        casts = [
            freshness_forecast(_later(view, gap, t), np.zeros(1), confidence=two_sided)
            for t in ahead.tolist()
        ]
        mean, low, high = (
            np.concatenate([getattr(cast, name) for cast in casts])
            for name in ("mean", "low", "high")
        )
        return Forecast("freshness", view.now + ahead, mean, low, high, two_sided)

    def worth(self, state: PagesState, confidence: float) -> Known:
        """Return the value curve of requests in the long run."""
        source = state.source
        evidence, mine = state.evidence
        cost = float(evidence.cost[mine].sum())
        if not evidence.looks[mine].any():
            return Known(source, max(cost, 1.0), None, "no page was fetched yet")
        most = max(cost / state.reading.shortest(source, cost), cost)
        requests = np.concatenate([[0.0], spread(cost / RARE, most, POINTS)])
        chosen, (view, rows) = strategy(state.reading.config, [source]), state.sampled
        sample = take_rows(view, some_rows(chosen, rows))
        part = float(sample.cost.sum()) / cost
        often = long_run(chosen, sample, part * requests)
        mean, variance = fresh(sample, often, at_random=chosen.at_random)
        mean = np.maximum.accumulate(np.clip(mean, 0.0, 1.0))
        variance = (
            variance * len(sample) / rows.size
        )  # pages outside the sample are as independent
        variance = np.minimum(variance, mean * (1.0 - mean))
        low, high = beta_bounds(mean, variance, 2.0 * confidence - 1.0)
        low = np.maximum.accumulate(low)
        worth = Worth(
            source.name, "freshness", source.weight, requests, mean, low, high
        )
        return Known(source, cost, worth)

    def offers(self, state: PagesState) -> Offers:
        """Return the value of the next requests to each page, under its policy."""
        view, rows = state.pages
        none, buys = np.zeros(rows.size, dtype=np.intp), state.near.buys
        if rows.size == len(view):  # columns of all pages need not be copied
            return Offers((state.source.name,), none, view.cost, buys)
        return Offers((state.source.name,), none, view.cost[rows], buys[rows])

    def together(self, source: PagesConfig, usual: str) -> str:
        """Return the policy of a source; those with the same one are kept together."""
        return next(iter(source.policies), usual)

    def measure(self, source: PagesConfig) -> str:
        """Return the name of the quality of pages."""
        del source
        return "freshness"

    def recorded(self, store: Store, source: PagesConfig) -> "RecordedSource | None":
        """Return the observations of pages as a recording."""
        from halflife.kinds.pages.recorded_source import RecordedPages, recording_of  # noqa: PLC0415  (slow)

        history = store.history((source.name,))
        if not history.at.size:
            return None
        span = float(history.at.min()), float(history.at.max())
        return RecordedPages(source.name, recording_of(history), span)

    def recordings(self, folder: "Path") -> "Sequence[RecordedHistory]":
        """Return the sites whose page histories lie in a folder."""
        from halflife.kinds.pages.recorded_source import site_histories  # noqa: PLC0415  (slow)

        return site_histories(folder)

    def describe(self, state: PagesState) -> Description:
        """Return the number of pages, their changes a day and other totals."""
        evidence, rows = state.evidence
        if not evidence.looks[rows].any():
            why = "no page was fetched yet"
            return Description("freshness", int(rows.size), why=why)
        view, mine = state.pages
        gone = (evidence.looks[rows] > 0) & (evidence.seen[rows] == Seen.ABSENT)
        return Description(
            "freshness",
            int(rows.size),
            float(evidence.last_at[rows].max(initial=-inf)),
            float(np.where(view.held, view.rate, 0.0)[mine].sum()),
            int(np.count_nonzero(gone)),
        )

    def steps(self, state: PagesState, most: int) -> list[Step]:
        """Return the pages that would be fetched next, best first."""
        seen, of = state.near.seen
        mine = {seen.evidence.keys[row] for row in of[state.source.name].tolist()}
        found, requests = _own_steps(seen, most, mine), most
        # Other sources of its policy may take all of a short plan.
        while len(found) < min(most, len(mine)) and requests < len(seen.evidence):
            requests = max(requests, 1) * LONGER
            found = _own_steps(seen, requests, mine)
        return found[:most]

    def ages(self, state: PagesState, *, some: bool = False) -> Floats:
        """Return the days since the last fetch of each page."""
        view, rows = state.sampled if some else state.pages
        return view.age if rows.size == len(view) else view.age[rows]

    def gaps(self, state: PagesState) -> Floats:
        """Return the usual days between two fetches of each page.

        ``inf`` where that is unknown, or where the next fetch is overdue.
        """
        view, rows = state.sampled
        evidence, mine = state.evidence
        gap = _gaps(evidence, sampled(mine))
        return np.where(view.age[rows] > OVERDUE * gap + TURN, inf, gap)

    def prospects(self, state: PagesState) -> Prospects | None:
        """Return the value of fetches of pages by the age of their copies."""
        view, mine = state.pages
        rows = mine[:: max(mine.size // SOME, 1)]
        if not view.held[rows].any():
            return None
        share = view.weight[rows] / max(float(view.weight[mine].sum()), 1e-12)
        gain = price.gains(take_rows(view, rows).survival, rows.size)
        multiplicity = np.full(rows.size, mine.size / rows.size)
        weighted = state.source.weight * share[:, None] * gain
        return Prospects(weighted, view.cost[rows], multiplicity)

    def stand(
        self,
        state: PagesState,
        goal: Goal,
        memory: TargetMemory,
        settled: Sequence[IssuedForecast],
    ) -> tuple[TargetStatus, TargetMemory] | None:
        """Return the status of a target; also learn from fetches before it was set."""
        del settled  # rounds have the same information as forecasts
        pages = PageSnapshot(state, goal)
        if not pages.known:
            return None
        if memory.began == -inf:
            past = target_warmup.past(state.reading.store, pages)
            memory = replace(memory, past=past)
        return pages.stand(memory)

    def read_with(
        self, source: PagesConfig, alike: Sequence[PagesConfig]
    ) -> Sequence[PagesConfig]:
        """Return all sources of pages: the belief is learned from all of them."""
        del source
        return alike

    def settled(
        self, store: Store, source: PagesConfig, since: float
    ) -> Sequence[IssuedForecast]:
        """Return no forecast: rounds have the same information."""
        del store, source, since
        return ()

    def was_seen(self, reading: Reading, source: PagesConfig) -> bool:
        """Return whether any page was ever fetched successfully."""
        evidence = reading.store.evidence((source.name,))
        return bool((evidence.looks > 0).any())

    def first_cost(
        self, reading: Reading, group: Sequence[PagesConfig], room: int
    ) -> float:
        """Return the requests of the first fetches of pages never tried."""
        del room
        evidence = reading.store.evidence(tuple(source.name for source in group))
        return float(
            map_discovery.first_requests(
                reading.config, reading.store, group, evidence, reading.now
            )
        )

    def count(self, store: Store, source: PagesConfig) -> int:
        """Return the number of pages."""
        return len(store.evidence((source.name,)))

    def covers(self, source: PagesConfig, address: str) -> bool | None:
        """Return whether an address belongs to the site; None for any other source."""
        if source.start is None:
            return None
        from halflife.kinds.pages.links import Scope, spelled  # noqa: PLC0415  (slow)

        return spelled(address) in Scope.of(source.start, source.scope)

    def breaker(
        self, source: PagesConfig, old: Breaker, report: Report, now: float
    ) -> Breaker:
        """Return the breaker unchanged: each failing page pauses by itself."""
        del source, report, now
        return old

    def faults(self, store: Store, source: PagesConfig) -> Sequence[str]:
        """Return the notes of pages whose last answer our own code failed to handle."""
        evidence = store.evidence((source.name,))
        failing = np.flatnonzero(evidence.failures > 0)[:FAILING].tolist()
        tried = ((evidence.keys[row], float(evidence.tried_at[row])) for row in failing)
        return tuple(filter(is_mishandled, store.failure_notes(tried)))

    def advice(self, store: Store, source: PagesConfig) -> Sequence[tuple[str, str]]:
        """Return advice on pages that need JavaScript and on false validators."""
        from halflife.kinds.pages.reading_advice import advice  # noqa: PLC0415

        return advice(store, source)

    def keep_faults(
        self, store: Store, group: Sequence[PagesConfig], faults: Mapping[str, str]
    ) -> None:
        """Store nothing: the failed observations of pages have the reasons."""

    def silence(
        self, state: PagesState, breaker: Breaker, now: float
    ) -> tuple[int, float]:
        """Return the failures since the last good fetch, and the days since then."""
        del breaker
        evidence, rows = state.evidence
        failures, tried_at = evidence.failures[rows], evidence.tried_at[rows]
        tried = failures > 0
        last = float(evidence.last_at[rows].max(initial=-inf))
        if not tried.any():
            return 0, 0.0
        later = tried & (tried_at > last)
        waited = _waited(int(failures.max()))
        silent = now - last if isfinite(last) else waited
        return int(failures[later].sum()), max(silent, 0.0)

    def gone(self, store: Store, source: PagesConfig) -> Mapping[str, float]:
        """Return the pages that were missing at their last fetch, with its time."""
        evidence = store.evidence((source.name,))
        gone = (evidence.looks > 0) & (evidence.seen == Seen.ABSENT)
        rows = np.flatnonzero(gone).tolist()
        return {evidence.keys[row]: float(evidence.last_at[row]) for row in rows}

    def panorama(
        self, reading: Reading, sources: Sequence[PagesConfig], ahead: Floats
    ) -> "PagesPanorama":
        """Return all sources of pages, computed in one pass over all pages."""
        from halflife.kinds.pages.panorama import PagesPanorama  # noqa: PLC0415

        return PagesPanorama(reading, sources, ahead)

    def page(self, asked: "PageRequest[PagesConfig]") -> "PageView":
        """Return the pages that are most likely out of date."""
        from halflife.kinds.pages.page import page  # noqa: PLC0415

        return page(asked)

    def open(
        self, desk: Desk, group: Sequence[PagesConfig]
    ) -> AbstractAsyncContextManager[Worker]:
        """Hold the lease on sources and what is needed to fetch their pages."""
        return opened(desk, group)


def _own_steps(seen: Outlook, requests: int, mine: AbstractSet[str]) -> list[Step]:
    """Return the steps to some pages in the plan of all, for so many requests."""
    return [
        Step(step.request.key, 1, step.gain, step.why)
        for step in seen.plan(requests)[:requests]
        if step.request.key in mine
    ]


def fresh(
    view: View, often: Floats, *, at_random: bool = False
) -> tuple[Floats, Floats]:
    """Return mean and variance of the share of fresh pages, for each row of ``often``.

    A page fetched every T days is fresh with the chance F = (integral of S over
    0..T) / T at a random moment, uncertainty about its rate included. If fetches come
    at random, the last one was t days ago with the density exp(-t / T) / T, and F =
    integral of exp(-x) S(x T). The variance is sum(share^2 F (1 - F)): pages change
    independently.
    """
    share = view.weight / max(float(view.weight.sum()), 1e-12)
    still, each = (view.rate == 0).astype(np.float64), np.empty(often.shape)
    for i, frequency in enumerate(often):
        fetched = frequency > 0
        every = np.ones(len(view))
        every[fetched] = 1.0 / frequency[fetched]
        chance = (
            _fresh_at_random(view, every) if at_random else _fresh_evenly(view, every)
        )
        each[i] = np.where(fetched, chance, still)
    return each @ share, (each * (1.0 - each)) @ share**2


def _fresh_evenly(view: View, every: Floats) -> Floats:
    return view.survival.lasting(every) / every


def _fresh_at_random(view: View, every: Floats) -> Floats:
    """Return F by Gauss-Laguerre quadrature."""
    nodes, weights = np.polynomial.laguerre.laggauss(NODES)
    pairs = zip(nodes.tolist(), weights.tolist(), strict=True)
    terms = [weight * view.survival.alive(x * every) for x, weight in pairs]
    return np.asarray(np.sum(terms, axis=0))


def _later(view: View, gap: Floats, later: float) -> View:
    """Return the view some days later, with fetches after the usual gaps."""
    passed = view.age + later
    again = np.isfinite(gap) & (passed >= gap)
    since = np.fmod(np.where(again, passed, 0.0), np.where(again, gap, 1.0))
    pace = view.unrest().of(view.group).pace
    return replace(
        view,
        age=np.where(again, since, passed),
        exposure=np.where(again, pace * since, view.exposure + pace * later),
        doubt=np.where(again, 0.0, view.doubt),
        unsettled=np.where(again, since, view.unsettled_age + later),
        calendar=None,  # it starts at the last fetch and ends now
    )


def _gaps(evidence: Evidence, rows: Ints) -> Floats:
    """Return the mean days between two fetches of each page; ``inf`` if unknown."""
    total, intervals = _watched(evidence, rows), evidence.looks[rows] - 1
    gap = np.full(rows.size, inf)
    known = (intervals > 0) & (total > 0)
    gap[known] = total[known] / intervals[known]
    return gap


def _watched(evidence: Evidence, rows: Ints) -> Floats:
    """Return the days from the first fetch of each page to the last."""
    selected = np.zeros(len(evidence), dtype=np.bool_)
    selected[rows] = True
    gaps = evidence.gaps()
    mask = selected[gaps.item]
    length = gaps.length[mask] * gaps.tally[mask]
    total = np.bincount(gaps.item[mask], length, len(evidence))
    return np.asarray(total[rows], dtype=np.float64)


def _waited(failures: int) -> float:
    """Return the least days between the first and last of so many failures in a row."""
    doubled = min(failures - 1, 8)
    return FIRST_PAUSE * (2.0**doubled - 1.0) + (failures - 1 - doubled) * LONGEST_PAUSE


KIND = PagesKind()
