"""What requests buy at each source, whatever its kind, from what the store knows.

The quality of a source is the weighted mean over what it holds, so that it lies
between 0 and 1, and a source counts by its own weight, however many pages it has.
Bounds are such that at a random moment the quality lies above ``low`` with the chance
``confidence``, and below ``high`` with the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

import numpy as np

from halflife.allocation import allocate, index
from halflife.config import Config, SourceConfig
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.lifetimes import Collection
from halflife.core.value_curve import Offers, Worth, joined
from halflife.core.view import View
from halflife.engine import audit_report, bootstrap, costs, rhythms
from halflife.engine.bound_widening import FULL, Trust
from halflife.engine.renewals import POINTS, recall_decay, renewed, shortest, spread
from halflife.kinds.form import runner as form_runner, value as form_value
from halflife.kinds.pages.source_rows import rows_of
from halflife.kinds.search import selection as search_selection
from halflife.market.curves import Decay
from halflife.market.limits import Limits
from halflife.models.quality import beta_bounds, parts
from halflife.policies.champion import PATIENCE
from halflife.policies.planner import law, taken
from halflife.policies.shortlist import MANY
from halflife.stores import Store, summaries

if TYPE_CHECKING:
    from halflife.queries.form_copy import Held

SAMPLE = 65_536  # pages that stand for all, where there are many more
RARE = 1000.0  # days between two, at most
NEVER_SEEN = 365.0  # quality-days that a first look buys, at most

Seen: TypeAlias = tuple[str, int, float]  # a source, its looks, and when the last was
Decays: TypeAlias = dict[Seen, Decay]


@dataclass(frozen=True, slots=True)
class Known:
    """A source and what requests buy there.

    Attributes:
        source: Its settings.
        whole: Requests that one look at all of it takes.
        worth: What requests buy; None if that is not known.
        why: Why it is not.

    """

    source: SourceConfig
    whole: float
    worth: Worth | None = None
    why: str = ""


class Appraiser:
    """Says what requests buy at the sources of a store.

    Args:
        config: The settings.
        store: What is known.
        now: The time, in days.
        decays: What was worked out before; it holds until the next look.
        groups: Sources that are kept together. Pages tell of one another, so all of
            them are believed together; but of very many, only those of a group are.

    """

    def __init__(
        self,
        config: Config,
        store: Store,
        now: float,
        decays: Decays | None = None,
        groups: Sequence[Sequence[SourceConfig]] = (),
    ) -> None:
        self.config, self.store, self.now = config, store, now
        self._decays = {} if decays is None else decays
        self._groups = groups
        self._nearest: Appraiser | None = None
        self._trusts: dict[str, Trust] = {}
        self._copies: dict[str, Held | None] = {}
        self._collections: dict[str, Collection | None] = {}

    def near(self, source: SourceConfig) -> "Appraiser":
        """Return the appraiser of the pages that are believed with a source's.

        One group of very many pages is believed at a time: what was worked out for
        another is given up.
        """
        group = self._kept_with.get(source.name)
        if group is None:
            return self
        if self._nearest is None or self._nearest.config.source != group:
            config = self.config.model_copy(update={"source": group})
            self._nearest = Appraiser(config, self.store, self.now, self._decays)
        return self._nearest

    @cached_property
    def _kept_with(self) -> dict[str, tuple[SourceConfig, ...]]:
        """The groups of sources with pages, where these are very many."""
        paged = [tuple(s for s in group if s.has_pages) for group in self._groups]
        if sum(map(bool, paged)) < 2 or not _is_many(self.store):
            return {}
        return {source.name: group for group in paged for source in group}

    def trust(self, source: SourceConfig) -> Trust:
        """Return how far what is believed of a source is trusted."""
        if source.name not in self._told:
            return FULL
        if source.name not in self._trusts:
            found = audit_report.trust(self.store, source.name, self.now)
            self._trusts[source.name] = found
        return self._trusts[source.name]

    @cached_property
    def _told(self) -> set[str]:
        """The sources of which forecasts have got their outcomes."""
        return audit_report.told(self.store, self.now)

    def known(self, source: SourceConfig, confidence: float = 0.95) -> Known:
        """Return what requests buy at a source, with bounds as far as it is trusted."""
        known = self._stated(source, confidence)
        if known.worth is None:
            return known
        return replace(known, worth=self.trust(source).worth(known.worth))

    def _stated(self, source: SourceConfig, confidence: float) -> Known:
        """Return what requests buy at a source, as the models state it."""
        if source.has_pages:
            return self._pages(source, confidence)
        if source.kind == "listing":
            return self._listing(source, confidence)
        if source.kind == "search":
            return self._search(source)
        return self._form(source, confidence)

    def offers(self, sources: Sequence[SourceConfig]) -> Offers:
        """Return what could be done now, in weighted quality-days."""
        found = []
        for source in sources:
            if source.has_pages:
                found.append(self._page_offers(source))
            elif source.kind == "listing":
                found.append(self._listing_offer(source))
            elif source.kind == "search":
                found.append(self._search_offer(source))
            elif source.kind == "form":
                found.append(self._form_offers(source))
        return joined(found)

    def decay(self, source: SourceConfig) -> tuple[Decay | None, float]:
        """Return how a listing or a form decays, and what a whole look takes.

        None if not enough is known yet.
        """
        if source.kind == "listing":
            collection = self._collection(source)
            some = collection is not None and collection.looks.size > 1
            decay = self._decay(source, collection) if some and collection else None
            return decay, float(costs.noted(self.store, source))
        copy = self._held(source)
        if copy is None:
            return None, 1.0
        seen = source.name, len(copy.records), copy.last
        if seen not in self._decays:
            wish = form_runner.wish(source)
            self._decays[seen] = form_value.decay(copy, wish, 0.95)
        return self._decays[seen], form_value.whole(copy, source)

    def shortest(self, source: SourceConfig, whole: float) -> float:
        """Return the days between two whole reads that settings allow."""
        return shortest(self.config, source, whole)

    def age(self, source: SourceConfig, *, some: bool = False) -> Floats:
        """Return the days since the last look, page by page where there are pages.

        ``inf`` where nobody has looked yet. With ``some``, of those ``sampled``.
        """
        if source.has_pages:
            near = self.near(source)
            view, of = near.sampled if some else near.pages
            return view.age[of[source.name]]
        return np.array([self._age(source)])

    def _age(self, source: SourceConfig) -> float:
        if source.kind == "search":
            kept = summaries.current(self.store, source.name)
            if kept is None:
                return inf
            return max(self.now - search_selection.looked(self.store, kept), 0.0)
        collection = self._collection(source)
        if collection is None or len(collection.lives) + collection.looks.size == 0:
            return inf
        seen = collection.lives.last_seen.max(initial=-inf)  # also by parts of it
        last = max(float(collection.looks[-1:].max(initial=-inf)), float(seen))
        return max(self.now - last, 0.0)

    def looked_at(self, source: SourceConfig) -> tuple[Evidence, Ints]:
        """Return what all looks at pages add up to, and the rows of a source's."""
        seen, of = self.near(source).seen
        return seen.evidence, of[source.name]

    def count(self, source: SourceConfig) -> int:
        """Return how many pages a source has."""
        return int(self.looked_at(source)[1].size)

    @cached_property
    def sampled(self) -> tuple[View, dict[str, Ints]]:
        """The same of pages that stand for all: of very many, some are drawn."""
        seen, of = self.seen
        some = {name: sampled(rows) for name, rows in of.items()}
        if all(some[name].size == rows.size for name, rows in of.items()):
            return self.pages
        rows = np.unique(np.concatenate(list(some.values())))
        return seen.some(rows), {n: np.searchsorted(rows, s) for n, s in some.items()}

    @cached_property
    def pages(self) -> tuple[View, dict[str, Ints]]:
        """What is believed of all pages, and the rows of each source."""
        seen, rows = self.seen
        return seen.view, rows

    @cached_property
    def seen(self) -> tuple[bootstrap.Outlook, dict[str, Ints]]:
        """What is known of all pages, and the rows of each source."""
        sources = [source for source in self.config.source if source.has_pages]
        seen = bootstrap.outlook(self.config, self.store, sources, self.now)
        names = [source.name for source in sources]
        rows = rows_of(
            self.store, names, seen.evidence, lambda: bootstrap.items(sources)
        )
        return seen, rows

    @cached_property
    def gain(self) -> Floats:
        """What a look at each page buys now, in days of freshness.

        With a little patience, as the champion has it: no page is left for ever.
        """
        view, _ = self.pages
        gain = np.empty(len(view))
        for at, some in parts(view):
            late = index(some, view.exposure[at], "harmonic")
            gain[at] = index(some, view.exposure[at], "freshness") + PATIENCE * late
        return gain

    def _pages(self, source: SourceConfig, confidence: float) -> Known:
        near = self.near(source)
        seen, of = near.seen
        mine = of[source.name]
        whole = float(seen.evidence.cost[mine].sum())
        if not seen.evidence.looks[mine].any():
            return Known(source, max(whole, 1.0), None, "no page was looked at yet")
        most = max(whole / self.shortest(source, whole), whole)
        requests = np.concatenate([[0.0], spread(whole / RARE, most, POINTS)])
        view, some = near.sampled
        rows = some[source.name]
        part = float(view.cost[rows].sum()) / whole
        mean, variance = np.array([fresh(view, rows, part * r) for r in requests]).T
        mean = np.maximum.accumulate(np.clip(mean, 0.0, 1.0))
        variance = np.minimum(variance, mean * (1.0 - mean))
        low, high = beta_bounds(mean, variance, 2.0 * confidence - 1.0)
        low = np.maximum.accumulate(low)
        worth = Worth(
            source.name, "freshness", source.weight, requests, mean, low, high
        )
        return Known(source, whole, worth)

    def _page_offers(self, source: SourceConfig) -> Offers:
        near = self.near(source)
        view, of = near.pages
        rows = of[source.name]
        gain = near.gain[rows]
        share = view.weight[rows] / max(float(view.weight[rows].sum()), 1e-12)
        buys = source.weight * share * np.minimum(gain, NEVER_SEEN)
        buys = np.where(view.ready[rows], buys, 0.0)
        none = np.zeros(rows.size, dtype=np.intp)
        return Offers((source.name,), none, view.cost[rows], buys)

    def _listing(self, source: SourceConfig, confidence: float) -> Known:
        whole = float(costs.noted(self.store, source))
        collection = self._collection(source)
        if collection is None or collection.looks.size < 2:
            seen = 0 if collection is None else collection.looks.size
            why = "it was never looked at" if seen == 0 else "it was looked at once"
            return Known(source, whole, None, why)
        least = self.shortest(source, whole)
        decay = recall_decay(collection, confidence, least)
        cost = whole, least
        return Known(source, whole, renewed(source, "recall", decay, cost, confidence))

    def _listing_offer(self, source: SourceConfig) -> Offers:
        collection = self._collection(source)
        cost = float(costs.noted(self.store, source))
        if collection is None or collection.looks.size < 2:
            return _one(source, cost, NEVER_SEEN)
        last, now = np.array([min(float(collection.looks[-1]), self.now), self.now])
        age = float(rhythms.rhythm(self.store, source.name).between(last, now))
        return _one(source, cost, self._decay(source, collection).index(age))

    def _decay(self, source: SourceConfig, collection: Collection) -> Decay:
        looks = collection.looks
        seen = source.name, int(looks.size), float(looks[-1])
        if seen not in self._decays:
            least = self.shortest(source, float(costs.noted(self.store, source)))
            self._decays[seen] = recall_decay(collection, 0.95, least)
        return self._decays[seen]

    def _form(self, source: SourceConfig, confidence: float) -> Known:
        copy = self._held(source)
        if copy is None:
            return Known(source, 1.0, None, "nothing of it was read yet")
        whole = form_value.whole(copy, source)
        if not copy.begun:
            return Known(source, whole, None, "its first crawl has not come to its end")
        decay = form_value.decay(copy, form_runner.wish(source), confidence)
        measure = form_value.measure_of(source)
        cost = whole, self.shortest(source, whole)
        return Known(source, whole, renewed(source, measure, decay, cost, confidence))

    def _form_offers(self, source: SourceConfig) -> Offers:
        copy = self._held(source)
        if copy is None:
            return _one(source, 1.0, NEVER_SEEN)
        steps = form_value.steps(self.store, source, self.now, copy)
        cost, gain = form_value.gains(copy, steps)
        none = np.zeros(cost.size, dtype=np.intp)
        return Offers((source.name,), none, cost, source.weight * gain)

    def _held(self, source: SourceConfig) -> "Held | None":
        if source.name not in self._copies:
            self._copies[source.name] = form_value.held(self.store, source)
        return self._copies[source.name]

    def _collection(self, source: SourceConfig) -> Collection | None:
        name = source.name
        if name not in self._collections:
            known = name in self.store.collections()
            found = self.store.collection(name) if known else None
            self._collections[name] = found
        return self._collections[name]

    def _search(self, source: SourceConfig) -> Known:
        """Return what refreshing a summary buys: the share of time that it holds.

        One summary holds or does not; its lower bound is the chance that it still
        holds at the end of an interval.
        """
        kept = summaries.current(self.store, source.name)
        if kept is None:
            return Known(source, 1.0, None, "there is no summary yet")
        survival = search_selection.survival(kept, source, self.store)
        least = self.shortest(source, kept.requests)
        every = spread(min(least, RARE / 10.0), RARE, POINTS)[::-1]
        mean = np.concatenate([[0.0], survival.lasting(every) / every])
        alive = survival.alive(every)
        low = np.concatenate([[0.0], alive])
        each = kept.requests * search_selection.deal(alive, source, kept)
        requests = np.concatenate([[0.0], np.maximum.accumulate(each / every)])
        high = np.ones(requests.size)
        worth = Worth(source.name, "summary", source.weight, requests, mean, low, high)
        return Known(source, float(kept.requests), worth)

    def _search_offer(self, source: SourceConfig) -> Offers:
        """Return what a look buys: a check, or a new summary where one is due.

        A check leads to a new one as often as the summary does not hold, and is worth
        its part of all that.
        """
        kept = summaries.current(self.store, source.name)
        if kept is None:
            return _one(source, 1.0, NEVER_SEEN)
        survival = search_selection.survival(kept, source, self.store)
        cost = float(search_selection.look_requests(self.store, source, kept))
        if search_selection.life(self.store, kept).is_doubted:
            return _one(source, cost, min(float(survival.life()[0]), NEVER_SEEN))
        age = np.array([max(self.now - search_selection.looked(self.store, kept), 0.0)])
        alive = survival.alive(age)
        gain = survival.lasting(age) - age * alive
        whole = kept.requests * search_selection.deal(alive, source, kept)
        return _one(source, cost, float((gain * cost / whole)[0]))


def fresh(view: View, rows: Ints, requests: float) -> tuple[float, float]:
    """Return mean and variance of the share of fresh pages with so many requests.

    Looks are spread over the pages as they are worth most (``allocation``); a page
    looked at every T days is fresh with the chance F = (integral of S over 0..T) / T
    at a random moment, uncertainty about its rate included. The variance is
    sum(share^2 F (1 - F)): pages change independently.
    """
    weight = view.weight[rows]
    share = weight / max(float(weight.sum()), 1e-12)
    found = allocate(view.rate[rows], requests, weight=weight, cost=view.cost[rows])
    looked = found.frequency > 0
    every = np.ones(rows.size)
    every[looked] = 1.0 / found.frequency[looked]
    each = _lasting(view, rows, every) / every
    each = np.where(looked, each, (view.rate[rows] == 0).astype(np.float64))
    return float(share @ each), float(share**2 @ (each * (1.0 - each)))


def _is_many(store: Store) -> bool:
    return store.item_count() >= MANY


def sampled(rows: Ints) -> Ints:
    """Return rows that stand for all: of very many, some drawn by chance.

    What is said of these holds for all but for an error of 1 in 500 or so; as there
    are fewer of them, the bounds are wider by about as much.
    """
    if rows.size <= 2 * SAMPLE:
        return rows
    drawn: Ints = np.random.default_rng(0).choice(rows, SAMPLE, replace=False)
    return np.sort(drawn)


def _lasting(view: View, rows: Ints, every: Floats) -> Floats:
    """Return the days out of ``every`` for which copies of these pages stay true."""
    if law(view) is not None:
        return taken(view, rows).survival.lasting(every)
    whole = np.ones(len(view))
    whole[rows] = every
    return view.survival.lasting(whole)[rows]


def limits(config: Config, known: Sequence[Known]) -> Limits:
    """Return what sources get at least, and they and their hosts take at most, a day.

    A longest interval asks for so many whole looks, a least one allows no more. A host
    takes one request at a time, the delay apart.
    """
    days, delay = config.budget.days, config.fetch.delay
    most, least, host = {}, {}, {}
    for one in known:
        source = one.source
        own = inf if source.max_requests is None else source.max_requests / days
        often = one.whole / source.soonest if source.soonest > 0 else inf
        most[source.name] = min(own, often)
        least[source.name] = one.whole / source.latest
        host[source.name] = _host(source)
    room = 86400.0 / delay if delay > 0 else inf
    return Limits(least, most, host, dict.fromkeys(host.values(), room))


def _host(source: SourceConfig) -> str:
    addresses = source.addresses
    return urlsplit(addresses[0]).netloc if addresses else source.name


def _one(source: SourceConfig, cost: float, gain: float) -> Offers:
    none = np.zeros(1, dtype=np.intp)
    return Offers(
        (source.name,), none, np.array([cost]), np.array([source.weight * gain])
    )
