"""What is known of all sources at one moment, as the pages show it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from halflife.config import Config, SourceConfig
from halflife.core.forecast import Forecast
from halflife.engine import appraisal, deliveries, held_answers, stored_sources
from halflife.engine.appraisal import Appraiser
from halflife.engine.deliveries import SinkReport
from halflife.engine.held_answers import Waiting
from halflife.engine.quality_forecast import stated
from halflife.engine.wallet import Spend, Wallet
from halflife.kinds.containment import ContainedKind
from halflife.kinds.page_view import Panorama, Planned
from halflife.kinds.protocol import Known, Memo
from halflife.kinds.registry import kind_of
from halflife.models.hindsight import PastFreshness
from halflife.stores import Store
from halflife.web import history, rows
from halflife.web.rows import SourceRow
from halflife.web.slider import Slider

MOST_PLANNED = 200  # fetches


@dataclass(frozen=True)
class Survey:
    """All sources at one moment.

    Attributes:
        config: The settings.
        now: The moment, in days.
        rows: One a source: those of the settings in their order, then those that only
            the state file knows.
        sources: The settings of each, in the same order.
        casts: The quality of each source from now on if nothing is done.
        waiting: Answers that wait for a decision.
        spend: What can be spent, and when.
        days: Requests spent on each of the last days, the latest last.
        panoramas: All sources of a kind at once, by kind, where it has such a view.
        known: What requests buy at sources, where that is quick to say.
        working: Whether what is believed is still being worked out, and not here.
        total: About how many items there are, as long as it is.
        sinks: How the sinks stand that get what changed.
        shown: What was read for pages of this survey.
        past: The freshness of pages on the last days; None if it is not known.

    """

    config: Config
    now: float
    rows: tuple[SourceRow, ...]
    casts: dict[str, Forecast]
    sources: tuple[SourceConfig, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    spend: Spend = Spend(0, 0, 0.0, 0, 0, 0.0)  # noqa: RUF009  (a value)
    days: tuple[int, ...] = ()
    panoramas: Mapping[ContainedKind, Panorama] = field(default_factory=dict)
    known: tuple[Known, ...] = ()
    working: bool = False
    total: int = 0
    sinks: tuple[SinkReport, ...] = ()
    shown: Memo = field(default_factory=Memo)
    past: PastFreshness | None = None
    _place: dict[str, int] = field(default_factory=dict)

    def row(self, name: str) -> SourceRow | None:
        """Return a source by its name, if there is one."""
        place = self._place.get(name)
        return None if place is None else self.rows[place]

    def source(self, name: str) -> SourceConfig:
        """Return the settings of a source that is there."""
        return self.sources[self._place[name]]

    def panorama(self, source: SourceConfig) -> Panorama | None:
        """Return all sources of a source's kind at once, if it has such a view."""
        return self.panoramas.get(kind_of(source))

    @property
    def together(self) -> Mapping[str, Forecast]:
        """The quality of all items of a kind from now on, by what it is called."""
        found = (one.together for one in self.panoramas.values())
        return {cast.measure: cast.unfetched() for cast in found if cast is not None}

    @cached_property
    def steps(self) -> list[Planned]:
        """The items that would be fetched next, best first."""
        most = min(max(math.ceil(self.config.budget.pace), 1), MOST_PLANNED)
        found = [step for one in self.panoramas.values() for step in one.plan(most)]
        return found[:most]

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
        exact = {known.source.name: known for known in self.known}
        wide = [one for one in self.panoramas.values() if one.is_vast]
        rough = {known.source.name: known for one in wide for known in one.worths()}
        both = rough | exact
        return tuple(both[s.name] for s in self.config.source)


def take(config: Config, store: Store, now: float, memo: Memo) -> Survey:
    """Return what is known of all sources; ``memo`` keeps what only fetches change."""
    waiting = tuple(held_answers.waiting(store))
    held = {one.source: one.why for one in waiting}
    appraiser = Appraiser(config, store, now, memo)
    panoramas = _panoramas(appraiser, config.source)
    sources = stored_sources.everything(config, store)
    told = [_told(appraiser, source, panoramas) for source in sources]
    found = {row.name: row for row, _ in told}
    known_casts = {row.name: cast for row, cast in told if cast}
    casts = _trusted(appraiser, sources, known_casts)
    vast = {kind for kind, one in panoramas.items() if one.is_vast}
    quick = [source for source in config.source if kind_of(source) not in vast]
    known = [appraiser.known(source) for source in quick]
    place = {source.name: i for i, source in enumerate(sources)}
    return Survey(
        config=config,
        now=now,
        rows=tuple(
            rows.judged(found[name], casts.get(name), now, held.get(name, ""))
            for name in place
        ),
        casts={name: cast for name, cast in casts.items() if cast.mean.size},
        sources=sources,
        waiting=waiting,
        spend=Wallet(store, config.budget).spend(now),
        days=by_day(store, now),
        panoramas=panoramas,
        known=tuple(known),
        sinks=tuple(deliveries.reports(config, store)),
        past=_past(store, panoramas, now),
        _place=place,
    )


def _past(
    store: Store, panoramas: Mapping[ContainedKind, Panorama], now: float
) -> PastFreshness | None:
    """Return the freshness of pages on the last days."""
    casts = [one.together for one in panoramas.values() if one.together is not None]
    fresh = [cast for cast in casts if cast.measure == "freshness" and cast.mean.size]
    return history.take(store, now, float(fresh[0].mean[0])) if fresh else None


def _panoramas(
    appraiser: Appraiser, sources: Sequence[SourceConfig]
) -> dict[ContainedKind, Panorama]:
    """Return all sources of a kind at once, where it has such a view."""
    found = {}
    for kind in dict.fromkeys(map(kind_of, sources)):
        mine = [source for source in sources if kind_of(source) is kind]
        wide = kind.panorama(appraiser.reading, mine, rows.AHEAD)
        if wide is not None:
            found[kind] = wide
    return found


def _told(
    appraiser: Appraiser,
    source: SourceConfig,
    panoramas: Mapping[ContainedKind, Panorama],
) -> tuple[SourceRow, Forecast | None]:
    """Return a source, and its quality from now on."""
    wide = panoramas.get(kind_of(source))
    if wide is None or source.name not in wide.standings:
        return rows.alone(appraiser, source)
    standing = wide.standings[source.name]
    return rows.seen_together(appraiser.store, source, standing)


def _trusted(
    appraiser: Appraiser,
    sources: Sequence[SourceConfig],
    casts: Mapping[str, Forecast],
) -> dict[str, Forecast]:
    """Return forecasts as far as they are trusted."""
    named = {source.name: source for source in sources}
    return {
        name: stated(cast, appraiser.trust(named[name])) for name, cast in casts.items()
    }


def by_day(store: Store, now: float, most: int = 14) -> tuple[int, ...]:
    """Return the requests spent on each of the last days, the latest last."""
    today = math.floor(now)
    since = [store.spent(float(today - k)) for k in range(most)]
    return tuple(since[k] - (since[k - 1] if k else 0) for k in range(most))[::-1]
