"""What is known of all sources at one moment, as the pages show it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from halflife.arrays import Floats, Ints
from halflife.budget import Budget
from halflife.config import Config, SourceConfig
from halflife.forecast import Forecast
from halflife.live import form_worths, selecting, upkeeping, wiring, worths
from halflife.live.spending import Wallet
from halflife.live.wiring import Outlook
from halflife.live.worths import Appraiser, Known
from halflife.lives import Collection
from halflife.models.quality import freshness_forecast
from halflife.models.setquality import forecast
from halflife.plan import Step
from halflife.stores import Store, remembered, summaries
from halflife.stores.lives import Staged
from halflife.stores.sqlite import SqliteStore
from halflife.web import many
from halflife.web.many import Owned
from halflife.web.slider import Slider

AHEAD = np.concatenate([[0.0], np.geomspace(1.0 / 96.0, 30.0, 20)])  # days
FEW_SOURCES, FEW_PAGES = 64, 50_000  # up to these each source is appraised alone
HORIZONS = 12
MOST_PLANNED = 200  # looks
SOON = 1.0  # days before a target is missed that a source is at risk
MEASURES = {"listing": "recall", "search": "summary"}
Look: TypeAlias = tuple[str, int, float, int]
WORST = ("held", "failing", "below target", "at risk", "unknown", "no target", "fine")


@dataclass(frozen=True, slots=True)
class Memo:
    """What only another look changes, by source and look.

    Attributes:
        casts: Forecasts made at the look.
        known: What requests buy.

    """

    casts: dict[Look, Forecast] = field(default_factory=dict)
    known: dict[Look, Known] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One source as it stands now; times in days, rates a day.

    Attributes:
        name: The source.
        kind: Its kind.
        measure: What its quality is.
        health: One of ``WORST``.
        why: What that rests on, in words.
        mean: Its quality now; nan if it is not known.
        low: The lower bound.
        high: The upper bound.
        target: What is asked for; nan if nothing is.
        sync_by: When the lower bound falls below it; inf if never, nan if unknown.
        rate: Changes (of pages), or arrivals (of sets), a day; nan if unknown.
        items: Pages or objects.
        failing: Pages whose last look failed.
        last: The last good look; -inf if none.

    """

    name: str
    kind: str
    measure: str
    health: str = "unknown"
    why: str = ""
    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    target: float = math.nan
    sync_by: float = math.nan
    rate: float = math.nan
    items: int = 0
    failing: int = 0
    last: float = -math.inf


@dataclass(frozen=True)
class Survey:
    """All sources at one moment.

    Attributes:
        config: The settings.
        now: The moment, in days.
        rows: One a source, in the order of the settings.
        casts: The quality of each source from now on if nothing is done.
        staged: Answers that wait for a decision.
        spent: Requests spent in the budget's window.
        days: Requests spent on each of the last days, the latest last.
        outlook: What is believed of pages; None if there are none.
        owned: The same with the sources that pages belong to.
        known: What is known of sources without pages, for what-if.
        wait: Days until the next request comes in.

    """

    config: Config
    now: float
    rows: tuple[Row, ...]
    casts: dict[str, Forecast]
    staged: tuple[Staged, ...] = ()
    spent: int = 0
    days: tuple[int, ...] = ()
    outlook: Outlook | None = None
    owned: Owned | None = None
    known: tuple[Known, ...] = ()
    wait: float = 0.0
    _place: dict[str, int] = field(default_factory=dict)

    def row(self, name: str) -> Row | None:
        """Return a source by its name, if there is one."""
        place = self._place.get(name)
        return None if place is None else self.rows[place]

    def source(self, name: str) -> SourceConfig:
        """Return the settings of a source that is there."""
        return self.config.source[self._place[name]]

    @cached_property
    def pages(self) -> Forecast | None:
        """The freshness of all pages together from now on."""
        if self.outlook is None or not len(self.outlook.view):
            return None
        return freshness_forecast(self.outlook.view, AHEAD)

    @cached_property
    def _by_source(self) -> tuple[Ints, Ints]:
        assert self.owned is not None
        order = np.argsort(self.owned.code, kind="stable")
        sizes = np.bincount(self.owned.code, minlength=self.owned.n)
        return order, np.concatenate([[0], np.cumsum(sizes)])

    def rows_of(self, name: str) -> Ints:
        """Return the places of a source's pages in the view."""
        if self.owned is None:
            return np.zeros(0, dtype=np.intp)
        order, edge = self._by_source
        at = self.paged.get(name)
        none = np.zeros(0, dtype=np.intp)
        return none if at is None else order[edge[at] : edge[at + 1]]

    @cached_property
    def paged(self) -> dict[str, int]:
        """The sources with pages, and their places among each other."""
        paged = (s.name for s in self.config.source if s.has_pages)
        return {name: i for i, name in enumerate(paged)}

    @cached_property
    def steps(self) -> Sequence[Step]:
        """The next looks at pages, best first."""
        if self.outlook is None:
            return ()
        most = Budget(min(max(math.ceil(self.config.budget.pace), 1), MOST_PLANNED))
        view = self.outlook.view
        plan = self.outlook.policy(view, most, np.random.default_rng(0))
        return tuple(
            plan[: most.requests]
        )  # a reason is worked out when it is asked for

    @cached_property
    def slider(self) -> Slider:
        """What any budget buys."""
        found = [known.worth for known in self.appraised if known.worth is not None]
        return Slider(found, worths.limits(self.config, self.appraised))

    @cached_property
    def appraised(self) -> tuple[Known, ...]:
        """What requests buy at each source, in the order of the settings."""
        alone = {known.source.name: known for known in self.known}
        both = {known.source.name: known for known in self._paged()} | alone
        return tuple(both[s.name] for s in self.config.source)

    def _paged(self) -> list[Known]:
        """Return the same of sources with pages that were not appraised alone."""
        alone = {known.source.name for known in self.known}
        sources = [s for s in self.config.source if s.has_pages]
        if self.owned is None or {s.name for s in sources} <= alone:
            return []
        weight = np.array([s.weight for s in sources])
        cost = self.owned.total(self.owned.view.cost)
        found = many.worths(self.owned, [s.name for s in sources], weight)
        none = "no page was looked at yet"
        return [
            Known(s, max(float(c), 1.0), w, "" if w else none)
            for s, c, w in zip(sources, cost, found, strict=True)
        ]


def take(config: Config, store: Store, now: float, memo: Memo) -> Survey:
    """Return what is known of all sources; ``memo`` keeps what only looks change."""
    staged = tuple(store.staged())
    held = {one.source: one.why for one in staged}
    pages = [source for source in config.source if source.has_pages]
    outlook = wiring.outlook(config, store, pages, now) if pages else None
    owned = _owned(outlook, store, pages) if outlook is not None else None
    rows, casts = {}, {}
    if owned is not None and outlook is not None:
        for row, cast in _paged_rows(outlook, owned, pages):
            rows[row.name], casts[row.name] = row, cast
    appraiser = Appraiser(config, store, now)
    few = len(pages) <= FEW_SOURCES and (owned is None or len(owned.view) <= FEW_PAGES)
    wanted = [source for source in config.source if few or not source.has_pages]
    known = [_appraised(appraiser, source, memo) for source in wanted]
    for source in config.source:
        if not source.has_pages:
            row, found = _alone(store, source, now, memo)
            rows[source.name] = row
            if found is not None:
                casts[source.name] = found
    place = {source.name: i for i, source in enumerate(config.source)}
    wallet = Wallet(store, config.budget)
    return Survey(
        config=config,
        now=now,
        rows=tuple(
            _judged(rows[name], casts.get(name), now, held.get(name, ""))
            for name in place
        ),
        casts={name: cast for name, cast in casts.items() if cast.mean.size},
        staged=staged,
        spent=wallet.spent(now),
        days=_by_day(store, now),
        outlook=outlook,
        owned=owned,
        known=tuple(known),
        wait=wallet.next_income(now),
        _place=place,
    )


def _appraised(appraiser: Appraiser, source: SourceConfig, memo: Memo) -> Known:
    """Return what requests buy at a source; of a listing only looks change that."""
    store = appraiser.store
    if source.kind != "listing" or source.name not in store.collections():
        return appraiser.known(source)
    look = _look(store.collection(source.name))
    if look not in memo.known or memo.known[look].source != source:
        memo.known[look] = appraiser.known(source)
    return memo.known[look]


def _look(known: Collection) -> Look:
    """Return what tells the latest look at a set source from others."""
    looks = known.looks
    return known.name, looks.size, float(looks[-1:].sum()), len(known.lives)


def level(source: SourceConfig) -> float:
    """Return the quality that is asked for; nan if none is."""
    asked = [t.level for t in source.targets if t.measure != "age"]
    if not asked and source.kind == "listing":
        asked = [source.recall]
    return max(asked, default=math.nan)


def _owned(outlook: Outlook, store: Store, pages: Sequence[SourceConfig]) -> Owned:
    place = {source.name: i for i, source in enumerate(pages)}
    number = outlook.evidence.number
    code = np.zeros(len(outlook.view), dtype=np.intp)
    if isinstance(store, SqliteStore):
        with store.looking() as db:
            names, items = remembered.owners(db)
        of = {number: place.get(name, 0) for number, name in names}
        table = np.array(items, dtype=np.intp).reshape(-1, 2)
        sources = np.zeros(max(of, default=0) + 1, dtype=np.intp)
        sources[list(of)] = list(of.values())
        kept = np.flatnonzero(number >= 0)
        at = np.searchsorted(table[:, 0], number[kept])
        code[kept] = sources[table[at, 1]]
    unseen = np.flatnonzero(number < 0)
    if unseen.size:
        owner = {item.key: item.source for item in wiring.items(pages)}
        code[unseen] = [place[owner[outlook.view.keys[i]]] for i in unseen.tolist()]
    return Owned(outlook.view, code, len(pages))


def _paged_rows(
    outlook: Outlook, owned: Owned, pages: Sequence[SourceConfig]
) -> list[tuple[Row, Forecast]]:
    view, evidence = owned.view, outlook.evidence
    mean, low, high = many.forecasts(owned, AHEAD)
    items = np.bincount(owned.code, minlength=owned.n)
    held = owned.total(view.held.astype(np.float64))
    rate = owned.total(np.where(view.held, view.rate, 0.0))
    failing = owned.total((evidence.failures > 0).astype(np.float64))
    last = np.full(owned.n, -np.inf)
    np.maximum.at(last, owned.code, evidence.last_at)
    found = []
    for i, source in enumerate(pages):
        row = Row(
            name=source.name,
            kind=source.kind,
            measure="freshness",
            target=level(source),
            rate=float(rate[i]) if held[i] else math.nan,
            items=int(items[i]),
            failing=int(failing[i]),
            last=float(last[i]),
        )
        at = view.now + AHEAD if held[i] else np.zeros(0)
        n = at.size
        found.append(
            (row, Forecast("freshness", at, mean[i, :n], low[i, :n], high[i, :n]))
        )
    return found


def _alone(
    store: Store, source: SourceConfig, now: float, memo: Memo
) -> tuple[Row, Forecast | None]:
    """Return a source without pages, and its quality from now on."""
    row = Row(source.name, source.kind, measure_of(source), target=level(source))
    if source.kind == "search":
        return _searched(store, source, row, now)
    if source.name not in store.collections():
        return replace(row, why="never looked at"), None
    if source.kind == "form":
        return _formed(store, source, row, now)
    known = store.collection(source.name)
    if not known.looks.size:
        return replace(row, why="never looked at"), None
    last = float(known.looks[-1])
    row = replace(row, items=int(known.held(last).size), last=last)
    if known.looks.size < 2:
        return replace(row, why="looked at once: rates need a second look"), None
    look = _look(known)
    if look not in memo.casts:
        step = float(np.median(np.diff(known.looks)))
        # Past forecasts were told by looks, so whole steps are known best.
        whole = np.geomspace(1.0, max(30.0, 30.0 / max(step, 1e-3)), HORIZONS)
        ahead = step * np.unique(np.concatenate([[0.5], np.round(whole)]))
        recall = forecast(known, last, ahead.tolist(), 0.95).recall
        memo.casts[look] = Forecast("recall", last + ahead, *recall)
    since = known.looks[0]
    came = int(np.count_nonzero(known.lives.first_seen > since))
    rate = came / max(last - float(since), 1e-9)
    return replace(row, rate=rate), _shifted(memo.casts[look], last, now)


def _formed(
    store: Store, source: SourceConfig, row: Row, now: float
) -> tuple[Row, Forecast | None]:
    copy = form_worths.held(store, source)
    if copy is None:
        return replace(row, why="nothing of it was read yet"), None
    # An interval of 95 % leaves half of the rest on either side.
    wish = upkeeping.wish(source)
    ahead, mean, low, high = form_worths.bounds(copy, wish, 0.975)
    rate, _ = copy.arrival
    row = replace(row, items=len(copy.records), last=copy.last, rate=rate)
    cast = Forecast(row.measure, copy.last + ahead, mean, low, high)
    return row, _shifted(cast, copy.last, now)


def _searched(
    store: Store, source: SourceConfig, row: Row, now: float
) -> tuple[Row, Forecast | None]:
    kept = summaries.current(store, source.name)
    if kept is None:
        return replace(row, why="there is no summary yet"), None
    survival = selecting.survival(kept, source)
    age = max(now - kept.at, 0.0) + AHEAD
    alive = np.concatenate([survival.alive(np.array([t])) for t in age])
    row = replace(row, items=kept.summary.sampled, last=kept.at)
    return row, Forecast("summary", now + AHEAD, alive, alive, alive)


def measure_of(source: SourceConfig) -> str:
    """Return what the quality of a source is called."""
    if source.kind == "form":
        return form_worths.measure_of(source)
    return MEASURES.get(source.kind, "freshness")


def _shifted(cast: Forecast, last: float, now: float) -> Forecast:
    """Return a forecast made at the last look as one from now on."""
    at = now + AHEAD

    def seen(values: Floats) -> Floats:
        return np.interp(at, np.r_[last, cast.at], np.r_[1.0, values])

    return Forecast(cast.measure, at, seen(cast.mean), seen(cast.low), seen(cast.high))


def _judged(row: Row, cast: Forecast | None, now: float, held: str) -> Row:
    """Return a source with its quality now, and how it is doing."""
    if cast is not None and cast.mean.size:
        below = None if math.isnan(row.target) else cast.first_below(row.target)
        row = replace(
            row,
            mean=float(cast.mean[0]),
            low=float(cast.low[0]),
            high=float(cast.high[0]),
            sync_by=math.inf if below is None else below,
        )
    health, why = _health(row, now, held)
    return replace(row, health=health, why=why)


def _health(row: Row, now: float, held: str) -> tuple[str, str]:
    """Return how a source is doing, and what that rests on."""
    if held:
        return "held", held
    if row.failing and row.failing >= row.items / 2:
        return "failing", f"the last look failed at {row.failing} of {row.items} pages"
    if math.isnan(row.mean):
        return "unknown", row.why or "no page was looked at yet"
    if math.isnan(row.target):
        return "no target", "nothing says how good it has to be"
    return _against_target(row, now)


def _against_target(row: Row, now: float) -> tuple[str, str]:
    if row.mean < row.target:
        return "below target", f"{row.mean:.3f} is below {row.target:g}"
    if row.sync_by - now <= SOON:
        return "at risk", "the lower bound falls below the target within a day"
    return "fine", "above its target, at 95 % confidence, for a day or more"


def _by_day(store: Store, now: float, most: int = 14) -> tuple[int, ...]:
    """Return the requests spent on each of the last days, the latest last."""
    today = math.floor(now)
    since = [store.spent(float(today - k)) for k in range(most)]
    return tuple(since[k] - (since[k - 1] if k else 0) for k in range(most))[::-1]
