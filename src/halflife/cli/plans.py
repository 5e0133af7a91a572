"""What would be fetched next, and what is known of a source, whatever its kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np

from halflife.cli import answers, audit, show
from halflife.config import Config, SourceConfig
from halflife.core.errors import UsageError
from halflife.core.forecast import Forecast
from halflife.core.wording import count, number, span
from halflife.engine import bootstrap, targets
from halflife.engine.appraisal import Appraiser
from halflife.engine.audit_report import judge
from halflife.engine.groups import by_item
from halflife.engine.quality_forecast import quality, quality_now
from halflife.engine.wallet import Wallet
from halflife.kinds.pages.crawl import found_by
from halflife.kinds.protocol import Description, Step
from halflife.kinds.registry import kind_of
from halflife.stores import Store

STEPS = 3  # of a source that is explained


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """What a sync would fetch.

    Attributes:
        at: When, in days.
        requests: Requests that it would send.
        room: What the budget has left.
        about: How sure that number is, in words.
        sections: Rows for programs, by what they are.

    """

    at: float
    requests: int
    room: int
    about: str
    sections: Mapping[str, Sequence[Mapping[str, object]]]

    @property
    def others(self) -> list[Sequence[Mapping[str, object]]]:
        """The rows of sources without pages."""
        return [rows for name, rows in self.sections.items() if name != "results"]


def planned(
    config: Config, store: Store, chosen: Sequence[SourceConfig], most: int | None
) -> SyncPlan:
    """Return what a sync would spend its next requests on."""
    now, wallet = bootstrap.clock(), Wallet(store, config.budget)
    appraiser, room = Appraiser(config, store, now), wallet.room(now)
    pages = by_item(chosen)
    rows, wanted = list[dict[str, object]](), 0
    if pages or not chosen:
        seen = bootstrap.outlook(config, store, pages, now)
        first = kind_of(pages[0]).first_cost(appraiser.reading, pages, room)
        wanted = wallet.offer(now, int(first))
        via = found_by(store, chosen)
        rows = answers.plan_rows(seen, wanted if most is None else most, via)
    sections: dict[str, list[dict[str, object]]] = {"listings": [], "queries": []}
    alone = [source for source in chosen if source not in pages]
    cost = 0.0
    for source in alone:
        kind = kind_of(source)
        steps = kind.steps(appraiser.state(source), room if most is None else most)
        section, what = kind.planned_as
        sections.setdefault(section, []).extend(_rows(source, steps, what))
        cost += kind.sync_cost(steps)
    about = "about" if alone and cost < inf else "up to"
    requests = int(min(wanted + cost, room))
    return SyncPlan(now, requests, room, about, {**sections, "results": rows})


def _rows(
    source: SourceConfig, steps: Sequence[Step], what: str
) -> list[dict[str, object]]:
    return [
        {
            "source": source.name,
            "gain": step.gain,
            "requests": step.requests,
            what: step.what,
            "why": step.why,
        }
        for step in steps
    ]


def explain_source(config: Config, store: Store, name: str, *, json: bool) -> None:
    """Say how good the copy of a source is, what its next fetch buys, and why."""
    now = bootstrap.clock()
    appraiser, (source,) = Appraiser(config, store, now), config.named([name])
    kind, state = kind_of(source), appraiser.state(source)
    told, cast, wanted = kind.describe(state), None, targets.level(source)
    if not told.why:
        cast = quality_now(appraiser, source)
    known, judged = appraiser.known(source), judge(store, name, now)
    steps = kind.steps(state, STEPS)[:STEPS]
    if json:
        show.emit(
            {
                "source": name,
                "kind": source.kind,
                "measure": told.measure,
                "quality": _figure(cast),
                "target": None if wanted is None else wanted[0],
                "items": told.items,
                "gone": told.gone,
                "last_look": show.date(told.last),
                "whole_look": known.whole,
                "why": told.why or None,
                "trust": {"factor": judged.trust.factor, "why": judged.trust.why},
                "next": _rows(source, steps, kind.planned_as[1]),
            }
        )
        return
    for line in _lines(source, told, cast, known.whole):
        show.say(show.plain(line))
    for step in steps:
        show.say(show.plain(f"  next: {_said(step)}"))
    show.say(show.plain(f"  {audit.trusted(judged)}"))


def _figure(cast: Forecast | None) -> dict[str, float] | None:
    if cast is None:
        return None
    return show.figure(float(cast.mean[0]), float(cast.low[0]), float(cast.high[0]))


def _lines(
    source: SourceConfig, told: Description, cast: Forecast | None, whole: float
) -> list[str]:
    said = told.why or "nothing is known of its quality yet"
    if cast is not None:
        worth = show.interval(cast.mean[0], cast.low[0], cast.high[0])
        said = f"{told.measure} now {worth}"
    lines = [f"{source.name} ({source.kind})", f"  {said}"]
    ago = span(bootstrap.clock() - told.last) if np.isfinite(told.last) else ""
    last = f", last fetched {ago} ago" if ago else ", never fetched"
    lines.append(f"  {count(told.items, 'item')} held{last}")
    if np.isfinite(told.rate):
        lines.append(f"  {number(told.rate, 3)} arrive or change a day")
    lines.append(f"  a full fetch costs {count(whole, 'request')}")
    return lines


def _said(step: Step) -> str:
    asked = count(step.requests, "request")
    return f"{step.what}, {asked}, gain {number(step.gain, 3)} a request: {step.why}"


def forecast_alone(names: Sequence[str], given: Path | None) -> SourceConfig | None:
    """Return the source that is named, if its forecast is that of its kind alone.

    Pages are forecast together, and a list that was seen whole by the lifetimes of
    its objects.
    """
    path = Config.find(given)
    if len(names) != 1 or not path.exists():
        return None
    config = Config.load(path)
    named = [source for source in config.source if source.name == names[0]]
    if not named or by_item(named):
        return None
    with bootstrap.reading(config) as store:
        known = kind_of(named[0]).lifetimes(store, named[0])
    return None if known is not None and known.looks.size else named[0]


def tell_forecast(
    source: SourceConfig, given: Path | None, ahead: Sequence[float], *, json: bool
) -> None:
    """Say how good the copy of a source will be if nothing more is fetched."""
    config = Config.load(Config.find(given))
    with bootstrap.reading(config) as store:
        appraiser = Appraiser(config, store, bootstrap.clock())
        told = kind_of(source).describe(appraiser.state(source))
        cast = quality(appraiser, source, None, looks=False, ahead=np.array(ahead))
    if cast is None:
        verb = kind_of(source).verb
        why = told.why if told.items else "was never fetched"
        raise UsageError(f"{source.name} {why}; run `halflife {verb} {source.name}`")
    bands = zip(cast.at, cast.mean, cast.low, cast.high, strict=True)
    rows = [
        {"at": show.date(float(at)), cast.measure: show.figure(*map(float, band))}
        for at, *band in bands
    ]
    if json:
        head = {"source": source.name, "measure": cast.measure, "confidence": 0.95}
        show.emit({**head, "results": rows})
    else:
        show.table([show.flat(row) for row in rows])
