"""What is known of all sources at one moment, as the pages show it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core.arrays import Ints
from halflife.core.forecast import Forecast
from halflife.core.plan import Plan, no_plan
from halflife.core.store import Staged
from halflife.engine import appraisal, bootstrap
from halflife.engine.appraisal import Appraiser
from halflife.engine.bootstrap import Outlook
from halflife.engine.wallet import Wallet
from halflife.kinds.pages import guard as pages_guard
from halflife.kinds.pages.guard import HeldSource
from halflife.kinds.pages.source_rows import rows_of
from halflife.kinds.protocol import Known, Memo
from halflife.kinds.registry import kind_of
from halflife.stores import Store
from halflife.web import many, rows
from halflife.web.many import Owned
from halflife.web.rows import Row
from halflife.web.slider import Slider

FEW_SOURCES, FEW_PAGES = 64, 50_000  # up to these each source is appraised alone
MOST_PLANNED = 200  # looks


@dataclass(frozen=True)
class Survey:
    """All sources at one moment.

    Attributes:
        config: The settings.
        now: The moment, in days.
        rows: One a source, in the order of the settings.
        casts: The quality of each source from now on if nothing is done.
        staged: Answers of set sources that wait for a decision.
        held: Sources with pages whose answers wait for a decision.
        spent: Requests spent in the budget's window.
        days: Requests spent on each of the last days, the latest last.
        outlook: What is believed of pages; None if there are none.
        owned: The same with the sources that pages belong to.
        pages: The freshness of all pages together from now on; None without any.
        known: What is known of sources without pages, for what-if.
        wait: Days until the next request comes in.
        working: Whether what is believed is still being worked out, and not here.
        total: About how many items there are, as long as it is.

    """

    config: Config
    now: float
    rows: tuple[Row, ...]
    casts: dict[str, Forecast]
    staged: tuple[Staged, ...] = ()
    held: tuple[HeldSource, ...] = ()
    spent: int = 0
    days: tuple[int, ...] = ()
    outlook: Outlook | None = None
    owned: Owned | None = None
    pages: Forecast | None = None
    known: tuple[Known, ...] = ()
    wait: float = 0.0
    working: bool = False
    total: int = 0
    _place: dict[str, int] = field(default_factory=dict)

    @property
    def waiting(self) -> tuple[Staged | HeldSource, ...]:
        """All that waits for a decision."""
        return (*self.staged, *self.held)

    def row(self, name: str) -> Row | None:
        """Return a source by its name, if there is one."""
        place = self._place.get(name)
        return None if place is None else self.rows[place]

    def source(self, name: str) -> SourceConfig:
        """Return the settings of a source that is there."""
        return self.config.source[self._place[name]]

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
        paged = (s.name for s in self.config.source if kind_of(s).is_joint)
        return {name: i for i, name in enumerate(paged)}

    @cached_property
    def steps(self) -> Plan:
        """The next looks at pages, best first."""
        if self.outlook is None:
            return no_plan()
        most = min(max(math.ceil(self.config.budget.pace), 1), MOST_PLANNED)
        return self.outlook.plan(most)[:most]

    @property
    def priced(self) -> bool:
        """Whether what a budget buys is known, or quick to know."""
        quick = len(self.known) == len(self.config.source)
        return quick or "slider" in vars(self)

    @cached_property
    def slider(self) -> Slider:
        """What any budget buys."""
        found = [known.worth for known in self.appraised if known.worth is not None]
        return Slider(found, appraisal.limits(self.config, self.appraised))

    @cached_property
    def appraised(self) -> tuple[Known, ...]:
        """What requests buy at each source, in the order of the settings."""
        alone = {known.source.name: known for known in self.known}
        both = {known.source.name: known for known in self._paged()} | alone
        return tuple(both[s.name] for s in self.config.source)

    def _paged(self) -> list[Known]:
        """Return the same of sources with pages that were not appraised alone."""
        alone = {known.source.name for known in self.known}
        sources = [s for s in self.config.source if kind_of(s).is_joint]
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
    staged, guarded = tuple(store.staged()), tuple(pages_guard.held(store))
    held = {s.source: s.why for s in staged} | {s.source: s.why for s in guarded}
    pages = [source for source in config.source if kind_of(source).is_joint]
    outlook = bootstrap.outlook(config, store, pages, now) if pages else None
    owned = _owned(outlook, store, pages) if outlook is not None else None
    appraiser = Appraiser(config, store, now, memo)
    alone = (source for source in config.source if not kind_of(source).is_joint)
    told = [rows.alone(appraiser, source) for source in alone]
    together = None
    if owned is not None and outlook is not None:
        paged, cast = rows.paged(outlook, owned, pages)
        together = cast if len(owned.view) else None
        told += paged
    found = {row.name: row for row, _ in told}
    casts = _trusted(appraiser, {row.name: cast for row, cast in told if cast})
    few = len(pages) <= FEW_SOURCES and (owned is None or len(owned.view) <= FEW_PAGES)
    wanted = [s for s in config.source if few or not kind_of(s).is_joint]
    known = [appraiser.known(source) for source in wanted]
    place = {source.name: i for i, source in enumerate(config.source)}
    wallet = Wallet(store, config.budget)
    return Survey(
        config=config,
        now=now,
        rows=tuple(
            rows.judged(found[name], casts.get(name), now, held.get(name, ""))
            for name in place
        ),
        casts={name: cast for name, cast in casts.items() if cast.mean.size},
        staged=staged,
        held=guarded,
        spent=wallet.spent(now),
        days=by_day(store, now),
        outlook=outlook,
        owned=owned,
        pages=together,
        known=tuple(known),
        wait=wallet.next_income(now),
        _place=place,
    )


def _trusted(
    appraiser: Appraiser, casts: Mapping[str, Forecast]
) -> dict[str, Forecast]:
    """Return forecasts as far as they are trusted."""
    sources = {source.name: source for source in appraiser.config.source}
    return {
        name: appraiser.trust(sources[name]).forecast(cast)
        for name, cast in casts.items()
    }


def _owned(outlook: Outlook, store: Store, pages: Sequence[SourceConfig]) -> Owned:
    """Return which source each page belongs to; of a stranger the first."""
    names = [source.name for source in pages]
    code = np.zeros(len(outlook.evidence), dtype=np.intp)
    if len(names) > 1:
        found = rows_of(store, names, outlook.evidence, lambda: bootstrap.items(pages))
        for i, name in enumerate(names):
            code[found[name]] = i
    return Owned(outlook.view, code, len(pages))


def by_day(store: Store, now: float, most: int = 14) -> tuple[int, ...]:
    """Return the requests spent on each of the last days, the latest last."""
    today = math.floor(now)
    since = [store.spent(float(today - k)) for k in range(most)]
    return tuple(since[k] - (since[k - 1] if k else 0) for k in range(most))[::-1]
