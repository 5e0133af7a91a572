"""The state of all sources at one time, as the pages show it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from halflife.config import Config, SourceConfig
from halflife.core.forecast import Forecast
from halflife.engine import appraisal, deliveries, held_answers, stored_sources
from halflife.engine.appraisal import Appraiser
from halflife.engine.deliveries import SinkReport
from halflife.engine.held_answers import PendingAnswer
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
    """The state of all sources at one time.

    Attributes:
        config: The settings.
        now: The time, in days.
        rows: One per source: those of the settings in their order, then those that only
            the state file has.
        sources: The settings of each, in the same order.
        casts: The forecast quality of each source if nothing is fetched.
        waiting: Answers that wait for a decision.
        spend: The requests available now, and when more are.
        days: Requests spent on each of the last days, the latest last.
        panoramas: The view of all sources of a kind at once, where the kind has one.
        known: The value curves of sources, where they are quick to compute.
        working: Whether estimates are still being computed, and not included.
        total: The approximate number of items, while they are.
        sinks: The state of the sinks.
        shown: A cache of what was read for pages of this survey.
        past: The freshness of pages on the past days; None if it is not known.
        together: The forecast quality of all items of a kind, by its measure.

    """

    config: Config
    now: float
    rows: tuple[SourceRow, ...]
    casts: dict[str, Forecast]
    sources: tuple[SourceConfig, ...] = ()
    waiting: tuple[PendingAnswer, ...] = ()
    spend: Spend = Spend(0, 0, 0.0, 0, 0, 0.0)  # noqa: RUF009  (a value)
    days: tuple[int, ...] = ()
    panoramas: Mapping[ContainedKind, Panorama] = field(default_factory=dict)
    known: tuple[Known, ...] = ()
    working: bool = False
    total: int = 0
    sinks: tuple[SinkReport, ...] = ()
    shown: Memo = field(default_factory=Memo)
    past: PastFreshness | None = None
    together: Mapping[str, Forecast] = field(default_factory=dict)
    _place: dict[str, int] = field(default_factory=dict)

    def row(self, name: str) -> SourceRow | None:
        """Return a source by its name, if there is one."""
        place = self._place.get(name)
        return None if place is None else self.rows[place]

    def source(self, name: str) -> SourceConfig:
        """Return the settings of a known source."""
        return self.sources[self._place[name]]

    def panorama(self, source: SourceConfig) -> Panorama | None:
        """Return the view of all sources of a source's kind, if the kind has one."""
        return self.panoramas.get(kind_of(source))

    @cached_property
    def steps(self) -> list[Planned]:
        """The items that would be fetched next, best first."""
        most = min(max(math.ceil(self.config.budget.pace), 1), MOST_PLANNED)
        steps = [step for view in self.panoramas.values() for step in view.plan(most)]
        return steps[:most]

    @property
    def priced(self) -> bool:
        """Whether the quality that a budget buys is known, or quick to compute."""
        quick = len(self.known) == len(self.config.source)
        return quick or "slider" in vars(self)

    @cached_property
    def slider(self) -> Slider:
        """The quality that any budget buys."""
        worths = [known.worth for known in self.appraised if known.worth is not None]
        return Slider(worths, appraisal.limits(self.config, self.appraised))

    @cached_property
    def appraised(self) -> tuple[Known, ...]:
        """The value curve of each source, in the order of the settings."""
        exact = {known.source.name: known for known in self.known}
        vast = [view for view in self.panoramas.values() if view.is_vast]
        rough = {known.source.name: known for view in vast for known in view.worths()}
        by_name = rough | exact
        return tuple(by_name[s.name] for s in self.config.source)


def take(config: Config, store: Store, now: float, memo: Memo) -> Survey:
    """Survey all sources; ``memo`` caches what only fetches change."""
    waiting = tuple(held_answers.pending_answers(store))
    held = {answer.source: answer.why for answer in waiting}
    appraiser = Appraiser(config, store, now, memo)
    panoramas = _panoramas(appraiser, config.source)
    sources = stored_sources.everything(config, store)
    pairs = [_row(appraiser, source, panoramas) for source in sources]
    found = {row.name: row for row, _ in pairs}
    known_casts = {row.name: cast for row, cast in pairs if cast}
    casts = _widened(appraiser, sources, known_casts)
    vast = {kind for kind, view in panoramas.items() if view.is_vast}
    quick = [source for source in config.source if kind_of(source) not in vast]
    known = [appraiser.known(source) for source in quick]
    place = {source.name: i for i, source in enumerate(sources)}
    return Survey(
        config=config,
        now=now,
        rows=tuple(
            rows.with_health(found[name], casts.get(name), now, held.get(name, ""))
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
        together=_together(appraiser, panoramas, config.source),
        _place=place,
    )


def _past(
    store: Store, panoramas: Mapping[ContainedKind, Panorama], now: float
) -> PastFreshness | None:
    """Return the freshness of pages on the past days."""
    casts = [v.together for v in panoramas.values() if v.together is not None]
    fresh = [cast for cast in casts if cast.measure == "freshness" and cast.mean.size]
    return history.take(store, now, float(fresh[0].mean[0])) if fresh else None


def _panoramas(
    appraiser: Appraiser, sources: Sequence[SourceConfig]
) -> dict[ContainedKind, Panorama]:
    """Return the view of all sources of a kind at once, where the kind has one."""
    views = {}
    for kind in dict.fromkeys(map(kind_of, sources)):
        mine = [source for source in sources if kind_of(source) is kind]
        view = kind.panorama(appraiser.reading, mine, rows.AHEAD)
        if view is not None:
            views[kind] = view
    return views


def _row(
    appraiser: Appraiser,
    source: SourceConfig,
    panoramas: Mapping[ContainedKind, Panorama],
) -> tuple[SourceRow, Forecast | None]:
    """Return the row of a source, and its forecast quality."""
    view = panoramas.get(kind_of(source))
    if view is None or source.name not in view.standings:
        return rows.row_of_source(appraiser, source)
    standing = view.standings[source.name]
    return rows.row_from_standing(appraiser.store, source, standing)


def _widened(
    appraiser: Appraiser,
    sources: Sequence[SourceConfig],
    casts: Mapping[str, Forecast],
) -> dict[str, Forecast]:
    """Return the forecasts, their bounds widened by the trust factors."""
    named = {source.name: source for source in sources}
    return {
        name: stated(cast, appraiser.trust(named[name])) for name, cast in casts.items()
    }


def _together(
    appraiser: Appraiser,
    panoramas: Mapping[ContainedKind, Panorama],
    sources: Sequence[SourceConfig],
) -> dict[str, Forecast]:
    """Return the forecast of all items of each kind, widened as ``status`` widens it.

    The bounds are widened by the largest trust factor of the kind's sources.
    """
    found = {}
    for kind, view in panoramas.items():
        if view.together is not None:
            trusts = [appraiser.trust(one) for one in sources if kind_of(one) is kind]
            least = max(trusts, key=lambda trust: trust.factor)
            found[view.together.measure] = stated(view.together, least)
    return found


def by_day(store: Store, now: float, most: int = 14) -> tuple[int, ...]:
    """Return the requests spent on each of the last days, the latest last."""
    today = math.floor(now)
    since = [store.spent(float(today - k)) for k in range(most)]
    return tuple(since[k] - (since[k - 1] if k else 0) for k in range(most))[::-1]
