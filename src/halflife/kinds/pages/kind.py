"""The kind of source that has pages of which copies are kept."""

from collections.abc import Mapping, Sequence
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
from halflife.engine.bootstrap import strategy
from halflife.engine.breakers import Breaker
from halflife.engine.renewals import POINTS, spread
from halflife.kinds.pages import map_discovery, target_warmup
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.state import Neighbourhood, PagesState, sampled
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
from halflife.market.stand import TURN, Stand, TargetMemory
from halflife.market.target_rule import Goal
from halflife.models.quality import beta_bounds, freshness_forecast
from halflife.policies.planner import taken
from halflife.policies.rehearsal import long_run, some_rows
from halflife.readers.containment import is_mishandled
from halflife.stores import Store
from halflife.stores.forecasts import IssuedForecast

if TYPE_CHECKING:
    from pathlib import Path

    from halflife.kinds.page_view import PageRequest, PageView
    from halflife.kinds.pages.panorama import PagesPanorama
    from halflife.recognition.guess import SourceGuess, TrialAnswer
    from halflife.replay.recorded_source import RecordedHistory, RecordedSource

NODES = 24  # of a sum that stands for an integral over random looks
RARE = 1000.0  # days between two looks at all pages, at most
FAILING = 1000  # failing pages of a source of which the reasons are read
SOME = 2000  # pages of a source that stand for all when requests are priced


class PagesKind(Kind[PagesConfig, PagesState]):
    """Pages, named one by one or found by following links."""

    terms = BY_ITEM
    known_as = "pages"
    checked_by = "pages drawn at random"

    def recognise(self, answer: "TrialAnswer") -> "Sequence[SourceGuess]":
        """Return how an answer could be kept as a source of this kind."""
        from halflife.kinds.pages import recognition  # noqa: PLC0415  (only `add`)

        return recognition.recognise(answer)

    def states(
        self, reading: Reading, sources: Sequence[PagesConfig]
    ) -> Mapping[str, PagesState]:
        """Read what is known of all pages at once."""
        around = Neighbourhood(reading, sources)
        return {source.name: PagesState(source, reading, around) for source in sources}

    def quality(
        self, state: PagesState, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the share of pages that are as their source has them."""
        view, rows = state.sampled
        mine = np.zeros(len(view))
        mine[rows] = view.weight[rows]
        if not mine.any() or not view.held[rows].any():
            return None  # of what was never fetched nobody knows anything
        view, both = replace(view, weight=mine), max(2.0 * sure - 1.0, 0.01)
        if not looks or ahead.size < 2:
            return freshness_forecast(view, ahead, confidence=both)
        gap = np.full(len(view), inf)
        gap[rows] = self.gaps(state)
        casts = [
            freshness_forecast(_later(view, gap, t), np.zeros(1), confidence=both)
            for t in ahead.tolist()
        ]
        mean, low, high = (
            np.concatenate([getattr(cast, name) for cast in casts])
            for name in ("mean", "low", "high")
        )
        return Forecast("freshness", view.now + ahead, mean, low, high, both)

    def worth(self, state: PagesState, confidence: float) -> Known:
        """Return what requests buy in the long run."""
        source = state.source
        evidence, mine = state.evidence
        whole = float(evidence.cost[mine].sum())
        if not evidence.looks[mine].any():
            return Known(source, max(whole, 1.0), None, "no page was fetched yet")
        most = max(whole / state.reading.shortest(source, whole), whole)
        requests = np.concatenate([[0.0], spread(whole / RARE, most, POINTS)])
        chosen, (view, rows) = strategy(state.reading.config, [source]), state.sampled
        some = taken(view, some_rows(chosen, rows))
        part = float(some.cost.sum()) / whole
        often = long_run(chosen, some, part * requests)
        mean, variance = fresh(some, often, at_random=chosen.at_random)
        mean = np.maximum.accumulate(np.clip(mean, 0.0, 1.0))
        variance = variance * len(some) / rows.size  # all of them are as independent
        variance = np.minimum(variance, mean * (1.0 - mean))
        low, high = beta_bounds(mean, variance, 2.0 * confidence - 1.0)
        low = np.maximum.accumulate(low)
        worth = Worth(
            source.name, "freshness", source.weight, requests, mean, low, high
        )
        return Known(source, whole, worth)

    def offers(self, state: PagesState) -> Offers:
        """Return what the next requests buy at each page, as its policy spends them."""
        view, rows = state.pages
        none, buys = np.zeros(rows.size, dtype=np.intp), state.near.buys
        if rows.size == len(view):  # columns of very many need not be copied
            return Offers((state.source.name,), none, view.cost, buys)
        return Offers((state.source.name,), none, view.cost[rows], buys[rows])

    def together(self, source: PagesConfig, usual: str) -> str:
        """Return the policy that keeps a source: those of one are kept together."""
        return next(iter(source.policies), usual)

    def measure(self, source: PagesConfig) -> str:
        """Return what the quality of pages is called."""
        del source
        return "freshness"

    def recorded(self, store: Store, source: PagesConfig) -> "RecordedSource | None":
        """Return what was seen of pages as a recording."""
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
        """Return how many pages there are, and how many change a day."""
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
        """Return the pages that would be looked at next, best first."""
        seen, of = state.near.seen
        mine = {seen.evidence.keys[row] for row in of[state.source.name].tolist()}
        return [
            Step(step.request.key, 1, step.gain, step.why)
            for step in seen.plan(most)[:most]
            if step.request.key in mine
        ]

    def ages(self, state: PagesState, *, some: bool = False) -> Floats:
        """Return the days since the last look at each page."""
        view, rows = state.sampled if some else state.pages
        return view.age if rows.size == len(view) else view.age[rows]

    def gaps(self, state: PagesState) -> Floats:
        """Return the days between two looks at each page, by habit.

        ``inf`` where that is not known, or no look came when one should have.
        """
        view, rows = state.sampled
        evidence, mine = state.evidence
        gap = _gaps(evidence, sampled(mine))
        return np.where(view.age[rows] > OVERDUE * gap + TURN, inf, gap)

    def prospects(self, state: PagesState) -> Prospects | None:
        """Return what looks at pages buy, the older their copies are."""
        view, mine = state.pages
        rows = mine[:: max(mine.size // SOME, 1)]
        if not view.held[rows].any():
            return None
        share = view.weight[rows] / max(float(view.weight[mine].sum()), 1e-12)
        gain = price.gains(taken(view, rows).survival, rows.size)
        many = np.full(rows.size, mine.size / rows.size)
        weighted = state.source.weight * share[:, None] * gain
        return Prospects(weighted, view.cost[rows], many)

    def stand(
        self,
        state: PagesState,
        goal: Goal,
        memory: TargetMemory,
        settled: Sequence[IssuedForecast],
    ) -> tuple[Stand, TargetMemory] | None:
        """Return how pages stand to a goal; looks before there was one teach too."""
        del settled  # rounds tell what forecasts would
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
        """Return all sources of pages: pages tell of one another."""
        del source
        return alike

    def settled(
        self, store: Store, source: PagesConfig, since: float
    ) -> Sequence[IssuedForecast]:
        """Return no forecast: rounds tell what forecasts would."""
        del store, source, since
        return ()

    def was_seen(self, reading: Reading, source: PagesConfig) -> bool:
        """Say whether any page was ever fetched well."""
        evidence = reading.store.evidence((source.name,))
        return bool((evidence.looks > 0).any())

    def first_cost(
        self, reading: Reading, group: Sequence[PagesConfig], room: int
    ) -> float:
        """Return the requests of the first look at pages that nobody looked at."""
        del room
        evidence = reading.store.evidence(tuple(source.name for source in group))
        return float(
            map_discovery.first_requests(
                reading.config, reading.store, group, evidence, reading.now
            )
        )

    def count(self, store: Store, source: PagesConfig) -> int:
        """Return how many pages it has."""
        return len(store.evidence((source.name,)))

    def covers(self, source: PagesConfig, address: str) -> bool | None:
        """Say whether a page belongs to a site; None if it is no site."""
        if source.start is None:
            return None
        from halflife.kinds.pages.links import Scope, spelled  # noqa: PLC0415  (slow)

        return spelled(address) in Scope.of(source.start, source.scope)

    def breaker(
        self, source: PagesConfig, old: Breaker, report: Report, now: float
    ) -> Breaker:
        """Return the same as before: a page that fails is left alone by itself."""
        del source, report, now
        return old

    def faults(self, store: Store, source: PagesConfig) -> Sequence[str]:
        """Return why pages were mishandled when they were last fetched."""
        evidence = store.evidence((source.name,))
        failing = np.flatnonzero(evidence.failures > 0)[:FAILING].tolist()
        tried = ((evidence.keys[row], float(evidence.tried_at[row])) for row in failing)
        return tuple(filter(is_mishandled, store.failure_notes(tried)))

    def advice(self, store: Store, source: PagesConfig) -> Sequence[tuple[str, str]]:
        """Return which pages show nothing without JavaScript, and who lies to us."""
        from halflife.kinds.pages.reading_advice import advice  # noqa: PLC0415

        return advice(store, source)

    def keep_faults(
        self, store: Store, group: Sequence[PagesConfig], faults: Mapping[str, str]
    ) -> None:
        """Write nothing: the failed observations of pages say what went wrong."""

    def silence(
        self, state: PagesState, breaker: Breaker, now: float
    ) -> tuple[int, float]:
        """Return the failures since the last good look, and the days since then."""
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
        """Return the pages that answered last that there is no such page."""
        evidence = store.evidence((source.name,))
        gone = (evidence.looks > 0) & (evidence.seen == Seen.ABSENT)
        rows = np.flatnonzero(gone).tolist()
        return {evidence.keys[row]: float(evidence.last_at[row]) for row in rows}

    def panorama(
        self, reading: Reading, sources: Sequence[PagesConfig], ahead: Floats
    ) -> "PagesPanorama":
        """Return all pages at once: a pass over all takes less than one for each."""
        from halflife.kinds.pages.panorama import PagesPanorama  # noqa: PLC0415

        return PagesPanorama(reading, sources, ahead)

    def page(self, asked: "PageRequest[PagesConfig]") -> "PageView":
        """Return the pages that are likeliest out of date."""
        from halflife.kinds.pages.page import page  # noqa: PLC0415

        return page(asked)

    def open(
        self, desk: Desk, group: Sequence[PagesConfig]
    ) -> AbstractAsyncContextManager[Worker]:
        """Hold the lease on pages, and all it takes to keep them."""
        return opened(desk, group)


def fresh(
    view: View, often: Floats, *, at_random: bool = False
) -> tuple[Floats, Floats]:
    """Return mean and variance of the share of fresh pages, for each row of ``often``.

    A page looked at every T days is fresh with the chance F = (integral of S over
    0..T) / T at a random moment, uncertainty about its rate included. If looks come
    at random, the last one was t days ago with the density exp(-t / T) / T, and F =
    integral of exp(-x) S(x T). The variance is sum(share^2 F (1 - F)): pages change
    independently.
    """
    share = view.weight / max(float(view.weight.sum()), 1e-12)
    still, each = (view.rate == 0).astype(np.float64), np.empty(often.shape)
    for i, frequency in enumerate(often):
        looked = frequency > 0
        every = np.ones(len(view))
        every[looked] = 1.0 / frequency[looked]
        chance = _by_chance(view, every) if at_random else _evenly(view, every)
        each[i] = np.where(looked, chance, still)
    return each @ share, (each * (1.0 - each)) @ share**2


def _evenly(view: View, every: Floats) -> Floats:
    return view.survival.lasting(every) / every


def _by_chance(view: View, every: Floats) -> Floats:
    """Return F by Gauss and Laguerre's rule."""
    nodes, weights = np.polynomial.laguerre.laggauss(NODES)
    pairs = zip(nodes.tolist(), weights.tolist(), strict=True)
    each = [weight * view.survival.alive(x * every) for x, weight in pairs]
    return np.asarray(np.sum(each, axis=0))


def _later(view: View, gap: Floats, later: float) -> View:
    """Return what is believed later, if pages are looked at after their usual gaps."""
    passed = view.age + later
    again = np.isfinite(gap) & (passed >= gap)
    since = np.fmod(np.where(again, passed, 0.0), np.where(again, gap, 1.0))
    pace = view.unrest().of(view.group).pace
    return replace(
        view,
        age=np.where(again, since, passed),
        exposure=np.where(again, pace * since, view.exposure + pace * later),
        doubt=np.where(again, 0.0, view.doubt),
        calendar=None,  # it goes by the days since the last look, up to now
    )


def _gaps(evidence: Evidence, rows: Ints) -> Floats:
    """Return the mean days between two looks at each page; ``inf`` if unknown."""
    total, many = _watched(evidence, rows), evidence.looks[rows] - 1
    gap = np.full(rows.size, inf)
    some = (many > 0) & (total > 0)
    gap[some] = total[some] / many[some]
    return gap


def _watched(evidence: Evidence, rows: Ints) -> Floats:
    """Return the days that pages were watched, from their first look to the last."""
    wanted = np.zeros(len(evidence), dtype=np.bool_)
    wanted[rows] = True
    gaps = evidence.gaps()
    some = wanted[gaps.item]
    length = gaps.length[some] * gaps.tally[some]
    total = np.bincount(gaps.item[some], length, len(evidence))
    return np.asarray(total[rows], dtype=np.float64)


def _waited(failures: int) -> float:
    """Return the days that lie between so many failures in a row, at least."""
    doubled = min(failures - 1, 8)
    return FIRST_PAUSE * (2.0**doubled - 1.0) + (failures - 1 - doubled) * LONGEST_PAUSE


KIND = PagesKind()
