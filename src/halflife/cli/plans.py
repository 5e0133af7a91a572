"""Plans of a sync, and explanations of one source, for every kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path

import numpy as np
import typer

from halflife.cli import answers, audit, exits, show
from halflife.config import Config, SourceConfig
from halflife.core.errors import PolicyError, UsageError
from halflife.core.forecast import Forecast
from halflife.core.wording import count, number, span
from halflife.engine import bootstrap, stored_sources, targets
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
    """The plan of a sync.

    Attributes:
        at: The time of the plan, in days.
        requests: Requests that it would send.
        room: Requests that the budget has left.
        about: "about" or "up to": how exact the number of requests is.
        sections: Rows of the JSON answer, by key.
        troubles: Which sources are not planned, and why, a line each.

    """

    at: float
    requests: int
    room: int
    about: str
    sections: Mapping[str, Sequence[Mapping[str, object]]]
    troubles: Sequence[str] = ()

    @property
    def others(self) -> list[Sequence[Mapping[str, object]]]:
        """The rows of sources without pages."""
        return [rows for name, rows in self.sections.items() if name != "results"]


def plan_sync(
    config: Config, store: Store, chosen: Sequence[SourceConfig], most: int | None
) -> SyncPlan:
    """Return the plan of a sync of the chosen sources."""
    now, wallet = bootstrap.clock(), Wallet(store, config.budget)
    appraiser, room = Appraiser(config, store, now), wallet.room(now)
    pages = by_item(chosen)
    rows, wanted, troubles = list[dict[str, object]](), 0, list[str]()
    if pages or not chosen:
        seen = bootstrap.outlook(config, store, pages, now)  # adds new pages
        first = kind_of(pages[0]).first_cost(appraiser.reading, pages, room)
        wanted = wallet.offer(now, int(first))
        via = found_by(store, chosen)
        fetches = wanted if most is None else most
        rows, troubles = _page_rows(appraiser, seen, pages, (fetches, via))
    sections: dict[str, list[dict[str, object]]] = {"listings": [], "queries": []}
    alone = [source for source in chosen if source not in pages]
    cost = 0.0
    for source in alone:
        kind = kind_of(source)
        steps = kind.steps(appraiser.state(source), _requests(config, room))
        section, what = kind.planned_as
        sections.setdefault(section, []).extend(_rows(source, steps[:most], what))
        cost += kind.sync_cost(steps)
    about = "about" if alone and cost < inf else "up to"
    requests = int(min(wanted + cost, room))
    return SyncPlan(
        now, requests, room, about, {**sections, "results": rows}, tuple(troubles)
    )


def _page_rows(
    appraiser: Appraiser,
    seen: bootstrap.Outlook,
    pages: Sequence[SourceConfig],
    how: tuple[int, Mapping[str, str]],
) -> tuple[list[dict[str, object]], list[str]]:
    """Return the next fetches of pages; with the policies that failed, if any did.

    Pages under a policy that fails are left out. ``how`` is the most fetches, and the
    links by which pages were found.
    """
    config, store = appraiser.config, appraiser.store
    troubles: list[str] = []
    while True:
        try:
            return answers.plan_rows(seen, *how), troubles
        except PolicyError as error:
            policies = {s.name: bootstrap.policy_of(config, s) for s in pages}
            failed = [name for name, one in policies.items() if one == error.policy]
            troubles.append(f"no pages of {', '.join(failed)} are planned: {error}")
            kept = [source for source in pages if source.name not in failed]
            if not kept or not failed:
                return [], troubles
            pages, seen = kept, bootstrap.outlook(config, store, kept, appraiser.now)


def _requests(config: Config, room: int) -> int:
    """Return the requests to plan for: those left, or all if none are left now.

    What a step costs depends on them, and not on how many steps are shown.
    """
    return room or config.budget.requests


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
    """Print how good the copy of a source is, what its next fetch gains, and why."""
    now = bootstrap.clock()
    appraiser = Appraiser(config, store, now)
    (source,) = stored_sources.named(config, store, [name])
    kind, state = kind_of(source), appraiser.state(source)
    about, cast, target = kind.describe(state), None, targets.level(source)
    if not about.why:
        cast = quality_now(appraiser, source)
    cost, judged = appraiser.known(source).whole, judge(store, name, now)
    room = Wallet(store, config.budget).room(now)
    steps = kind.steps(state, _requests(config, room))[:STEPS]
    if not stored_sources.has_address(source):
        steps = []
    if json:
        show.emit(
            {
                "source": name,
                "kind": source.kind,
                "measure": about.measure,
                "quality": _figure(cast),
                "target": None if target is None else target[0],
                "items": about.items,
                "gone": about.gone,
                "last_look": show.date(about.last),
                "whole_look": cost,
                "why": about.why or None,
                "trust": {"factor": judged.trust.factor, "why": judged.trust.why},
                "next": _rows(source, steps, kind.planned_as[1]),
            }
        )
        return
    for line in _lines(source, about, cast, cost):
        show.say(show.plain(line))
    for step in steps:
        show.say(show.plain(f"  next: {_step_text(step)}"))
    show.say(show.plain(f"  {audit.describe_trust(judged)}"))


def _figure(cast: Forecast | None) -> dict[str, float] | None:
    if cast is None:
        return None
    return show.figure(float(cast.mean[0]), float(cast.low[0]), float(cast.high[0]))


def _lines(
    source: SourceConfig, about: Description, cast: Forecast | None, cost: float
) -> list[str]:
    quality = about.why or "nothing is known of its quality yet"
    if cast is not None:
        interval = show.interval(cast.mean[0], cast.low[0], cast.high[0])
        quality = f"{about.measure} now {interval}"
    lines = [f"{source.name} ({source.kind})", f"  {quality}"]
    ago = span(bootstrap.clock() - about.last) if np.isfinite(about.last) else ""
    last = f", last fetched {ago} ago" if ago else ", never fetched"
    # Of pages all that are known count, fetched or not.
    held = "known" if by_item([source]) else "held"
    gone = f", {about.gone} gone" if about.gone else ""
    lines.append(f"  {count(about.items, 'item')} {held}{gone}{last}")
    if np.isfinite(about.rate):
        lines.append(f"  {number(about.rate, 3)} arrive or change a day")
    if stored_sources.has_address(source):
        lines.append(f"  a full fetch costs {count(cost, 'request')}")
    else:
        lines.append(f"  never fetched again: {stored_sources.WHY}")
    return lines


def _step_text(step: Step) -> str:
    cost = count(step.requests, "request")
    return f"{step.what}, {cost}, gain {number(step.gain, 3)} a request: {step.why}"


def forecast_alone(names: Sequence[str], given: Path | None) -> SourceConfig | None:
    """Return the named source if its kind forecasts it by itself; None otherwise.

    Pages are forecast together, and a list that was read in full by the lifetimes of
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
        history = kind_of(named[0]).lifetimes(store, named[0])
    return None if history is not None and history.looks.size else named[0]


def print_forecast(
    source: SourceConfig,
    given: Path | None,
    ahead: Sequence[float],
    *,
    target: float | None,
    json: bool,
) -> None:
    """Print how good the copy of a source will be if nothing more is fetched."""
    config = Config.load(Config.find(given))
    with bootstrap.reading(config) as store:
        appraiser = Appraiser(config, store, bootstrap.clock())
        about = kind_of(source).describe(appraiser.state(source))
        forecast = partial(quality, appraiser, source, None, looks=False)
        cast = forecast(ahead=np.array(ahead))
        fine = forecast(ahead=np.linspace(0.0, max(ahead), answers.FINE + 1))
    if cast is None:
        verb = kind_of(source).verb
        why = about.why if about.items else "was never fetched"
        raise UsageError(f"{source.name} {why}; run `halflife {verb} {source.name}`")
    bands = zip(cast.at, cast.mean, cast.low, cast.high, strict=True)
    now = appraiser.now
    rows = [
        {
            "in": span(at - now) if at > now else "now",
            "at": show.date(float(at)),
            cast.measure: show.figure(*map(float, band)),
        }
        for at, *band in bands
    ]
    below = _first_below(fine, target)
    if json:
        head = {"source": source.name, "measure": cast.measure, "confidence": 0.95}
        goal = {"target": target, "below_target": show.date(below)}
        show.emit({**head, **goal, "results": rows})
    else:
        show.table([show.flat(row) for row in rows])
        if target is not None:
            show.say(answers.verdict(target, below - now))
    if target is not None and cast.mean[0] < target:
        raise typer.Exit(exits.BELOW_TARGET)


def _first_below(cast: Forecast | None, target: float | None) -> float:
    """Return when the lower bound falls below a target; ``inf`` if it does not."""
    below = None if cast is None or target is None else cast.first_below(target)
    return inf if below is None else below
