"""The state of each source now, and its forecast quality."""

import math
from dataclasses import dataclass, replace

import numpy as np

from halflife.config import SourceConfig
from halflife.core.forecast import Forecast
from halflife.engine import breakers, failures
from halflife.engine.appraisal import Appraiser
from halflife.engine.failures import Failure
from halflife.engine.quality_forecast import SURE
from halflife.engine.stored_sources import WHY as NO_ADDRESS, has_address
from halflife.kinds.page_view import SourceStanding
from halflife.kinds.protocol import Description
from halflife.kinds.registry import kind_of
from halflife.stores import Store
from halflife.web import words

AHEAD = np.concatenate([[0.0], np.geomspace(1.0 / 96.0, 30.0, 20)])  # days
SOON = 1.0  # days before a target is missed that a source is at risk
WORST = (
    "held",
    "failing",
    "below target",
    "at risk",
    "unknown",
    "paused",
    "no target",
    "fine",
)
PENDING = "being worked out"  # the health of a source until its quality is known


@dataclass(frozen=True, slots=True)
class SourceRow:
    """The state of one source; times in days, rates a day.

    Attributes:
        name: The source.
        kind: Its kind.
        measure: The name of its quality measure.
        health: One of ``WORST``, or ``PENDING``.
        why: The reason for its health.
        mean: Its quality now; nan if it is not known.
        low: The lower bound.
        high: The upper bound.
        target: The quality to keep; nan if there is no target.
        assumed: Whether the target is the default of its kind.
        sync_by: When the lower bound falls below it; inf if never, nan if unknown.
        rate: Changes (of pages), or arrivals (of sets), a day; nan if unknown.
        items: Pages or objects; nan if they were not counted yet.
        failing: Pages whose last fetch failed.
        last: The last successful fetch; -inf if none.
        failure: Why it, or some items, cannot be fetched; None if it can.
        imported: Whether it was imported: its history is known, not its address.
        is_paused: Whether it is paused.

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
    assumed: bool = False
    sync_by: float = math.nan
    rate: float = math.nan
    items: float = 0
    failing: int = 0
    last: float = -math.inf
    failure: Failure | None = None
    imported: bool = False
    is_paused: bool = False


def level(source: SourceConfig) -> float:
    """Return the target quality of a source; nan if it has none."""
    if not has_address(source):
        return math.nan
    levels = [t.level for t in source.targets if t.measure != "age"]
    default = kind_of(source).wanted(source)
    if not levels and default is not None:
        levels = [default]
    return max(levels, default=math.nan)


def is_default(source: SourceConfig) -> bool:
    """Return whether the target is the default of the kind, not one of the settings."""
    given = any(target.measure != "age" for target in source.targets)
    kind = kind_of(source)
    own = kind.level(source) is not None
    return (
        has_address(source) and not (given or own) and kind.wanted(source) is not None
    )


def row_from_standing(
    store: Store, source: SourceConfig, standing: SourceStanding
) -> tuple[SourceRow, Forecast | None]:
    """Return the row and forecast of a source from the view of its whole kind."""
    row, why = _row(source, standing.about), None
    if standing.failing:
        why = failures.of_items(store, standing.failed, standing.failing)
    return replace(row, failing=standing.failing, failure=why), standing.forecast


def row_of_source(
    appraiser: Appraiser, source: SourceConfig
) -> tuple[SourceRow, Forecast | None]:
    """Return the row and forecast of a source that is read by itself."""
    kind, state = kind_of(source), appraiser.state(source)
    breaker = breakers.recall(appraiser.store, source.name)
    why = failures.of_whole(breaker)
    row = replace(_row(source, kind.describe(state)), failure=why)
    return row, kind.quality(state, SURE, AHEAD, looks=False)


def _row(source: SourceConfig, about: Description) -> SourceRow:
    return SourceRow(
        source.name,
        source.kind,
        about.measure,
        target=level(source),
        assumed=is_default(source),
        why=about.why,
        rate=about.rate,
        items=about.items,
        last=about.last,
        imported=not has_address(source),
        is_paused=source.paused,
    )


def with_health(
    row: SourceRow, cast: Forecast | None, now: float, held: str
) -> SourceRow:
    """Return a row with the current quality and the health of its source."""
    if cast is not None and cast.mean.size:
        below = None if math.isnan(row.target) else cast.first_below(row.target)
        row = replace(
            row,
            mean=float(cast.mean[0]),
            low=float(cast.low[0]),
            high=float(cast.high[0]),
            sync_by=math.inf if below is None or row.is_paused else below,
        )
    health, why = _health(row, now, held)
    return replace(row, health=health, why=why)


def _health(row: SourceRow, now: float, held: str) -> tuple[str, str]:
    """Return the health of a source, and the reason for it."""
    if held:
        return "held", held
    if row.is_paused:
        return "paused", "it is paused in the settings"
    if row.failure and (not row.failing or row.failing >= row.items / 2):
        return "failing", _failed(row, row.failure)
    if math.isnan(row.mean):
        return "unknown", row.why or "no page was fetched yet"
    if row.imported or math.isnan(row.target):
        why = NO_ADDRESS if row.imported else "it has no target quality"
        return "no target", why
    return _against_target(row, now)


def _failed(row: SourceRow, failure: Failure) -> str:
    """Return why a source fails."""
    why = failure.trouble or failure.heading
    if not row.failing:
        return why
    if row.items == 1:
        return f"the last fetch failed: {why}"
    return f"the last fetch failed for {row.failing} of {row.items} pages: {why}"


def _against_target(row: SourceRow, now: float) -> tuple[str, str]:
    if row.mean < row.target:
        return (
            "below target",
            f"{words.share(row.mean)} is below {words.share(row.target)}",
        )
    if row.sync_by - now <= SOON:
        return "at risk", "the lower bound falls below the target within a day"
    return "fine", "above its target, at 95 % confidence, for a day or more"
