"""Verbs about the one budget: whatif, budget."""

from math import isfinite, isnan
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources
from halflife.core.wording import count, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflife.config import Config, SourceConfig
    from halflife.core.value_curve import Worth
    from halflife.engine.appraisal import Appraiser
    from halflife.kinds.protocol import Known
    from halflife.market import Bill, Need, Relaxed, Shares

Requests = Annotated[
    int, typer.Option("--budget", min=1, metavar="N", help="Requests to imagine.")
]
Per = Annotated[
    str | None,
    typer.Option(
        "--per",
        metavar="hour|day|week|month",
        help="In which time [default: that of the settings].",
    ),
]
EVEN = 0.0005  # quality by which a source must change to gain or lose


@app.command()
def whatif(
    sources: Sources = None,
    *,
    budget: Requests,
    per: Per = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Say what another budget would buy, by source and in all; sends nothing."""
    from halflife.cli import show
    from halflife.config import Config
    from halflife.engine import appraisal, bootstrap
    from halflife.market import share

    settings = Config.load(Config.find(config))
    chosen = settings.named(sources or ())
    pace = budget / _days(settings, per)
    with bootstrap.reading(settings) as store:
        appraiser = appraisal.Appraiser(settings, store, bootstrap.clock())
        known = [appraiser.known(source) for source in chosen]
    curves = [one.worth for one in known if one.worth is not None]
    limits = appraisal.limits(settings, known)
    now = share(curves, settings.budget.pace, limits)
    then = share(curves, pace, limits)
    answer = _compared(curves, now, then)
    lacking = [{"source": k.source.name, "why": k.why} for k in known if not k.worth]
    head: dict[str, object] = {
        "budget": {"now": settings.budget.pace, "then": pace, "unit": "requests a day"},
        "quality": {"now": now.total, "then": then.total},
        "price": {"now": now.price, "then": then.price},
        "spent": {"now": now.spent, "then": then.spent},
        "without_worth": lacking,
    }
    if json:
        show.emit({**head, **_sides(answer), "results": answer})
        return
    _tell(answer, now, then, lacking)


def _days(config: "Config", per: str | None) -> float:
    """Return the length of a window in days; raise ``UsageError``."""
    from halflife.config import WINDOW_DAYS
    from halflife.core.errors import UsageError

    if per is None:
        return config.budget.days
    if per not in WINDOW_DAYS:
        raise UsageError(f"--per must be one of {', '.join(WINDOW_DAYS)}, got {per!r}")
    return WINDOW_DAYS[per]


def _compared(
    curves: "Sequence[Worth]", now: "Shares", then: "Shares"
) -> list[dict[str, object]]:
    """Return a row a source: what it gets and how good it is, now and then."""
    import numpy as np

    from halflife.cli import show

    rows: list[dict[str, object]] = []
    for i, curve in enumerate(curves):
        x = then.requests[i]
        low, high = (
            float(np.interp(x, curve.requests, side))
            for side in (curve.low, curve.high)
        )
        better = float(then.quality[i] - now.quality[i])
        rows.append(
            {
                "source": curve.source,
                "measure": curve.measure,
                "weight": curve.weight,
                "requests_now": float(now.requests[i]),
                "requests_then": float(x),
                "quality_now": float(now.quality[i]),
                "quality_then": show.figure(float(then.quality[i]), low, high),
                "change": better,
            }
        )
    return rows


def _sides(rows: "Sequence[Mapping[str, object]]") -> dict[str, list[str]]:
    """Return who gains and who loses, most first."""
    change = {str(row["source"]): float(str(row["change"])) for row in rows}
    order = sorted(change, key=lambda name: (-abs(change[name]), name))
    return {
        "winners": [name for name in order if change[name] > EVEN],
        "losers": [name for name in order if change[name] < -EVEN],
    }


def _tell(
    rows: "Sequence[Mapping[str, object]]",
    now: "Shares",
    then: "Shares",
    lacking: "Sequence[Mapping[str, str]]",
) -> None:
    from halflife.cli import show

    show.table([show.flat(row) for row in rows])
    if rows:
        show.say(
            f"quality in all: {now.total:.3f} now, {then.total:.3f} then; "
            f"{number(now.spent, 4)} and {count(then.spent, 'request')} a day"
        )
        for name, said in _sides(rows).items():
            if said:
                show.say(f"{name}: {', '.join(said)}")
    for one in lacking:
        show.note(f"{one['source']}: {one['why']}")


@app.command()
def budget(
    sources: Sources = None, *, config: ConfigPath = None, json: Json = False
) -> None:
    """Say what the targets cost, and whether the budget covers them; sends nothing."""
    from halflife.cli import exits, show
    from halflife.config import Config
    from halflife.core.errors import UsageError
    from halflife.engine import appraisal, bootstrap
    from halflife.market import bill

    settings = Config.load(Config.find(config))
    chosen = [s for s in settings.named(sources or ()) if s.targets]
    if not chosen:
        raise UsageError(
            'no source has a target; write target = "recall >= 0.9" under [[source]]'
        )
    with bootstrap.reading(settings) as store:
        appraiser = appraisal.Appraiser(settings, store, bootstrap.clock())
        needs = _needs(settings, appraiser, chosen)
    found = bill([need for need, _ in needs], settings.budget.pace)
    rows = [
        _line(found, i, why, settings.budget.days) for i, (_, why) in enumerate(needs)
    ]
    answer: dict[str, object] = {
        "budget": {"requests": settings.budget.requests, "per": settings.budget.per},
        "requests_a_day": found.total,
        "requests_a_month": found.total * 30.0,
        "missing_a_day": found.missing,
        "covered": found.covered,
        "unreachable": [_lowered(one) for one in found.unreachable],
        "relaxation": _lowered(found.relaxed) if found.relaxed else None,
        "results": rows,
    }
    if json:
        show.emit(answer)
    else:
        _say(found, rows, settings)
    if not found.covered:
        raise typer.Exit(exits.BELOW_TARGET)


def _needs(
    config: "Config", appraiser: "Appraiser", chosen: "Sequence[SourceConfig]"
) -> "list[tuple[Need, str]]":
    """Return each target with what is known of its source, and why that is little."""
    from halflife.engine import appraisal
    from halflife.market import Need

    found = []
    for source in chosen:
        for target in source.targets:
            known: Known = appraiser.known(source, target.confidence or 0.95)
            most = appraisal.limits(config, [known]).most[source.name]
            need = Need(source.name, target, known.worth, known.whole, most)
            found.append((need, known.why if not need.known else ""))
    return found


def _line(found: "Bill", i: int, why: str, days: float) -> dict[str, object]:
    need, asked = found.needs[i], found.requests[i]
    every = need.whole / asked if asked > 0 else float("inf")
    if isnan(asked):
        said = why
    elif not isfinite(asked):
        said = "cannot be kept"
    else:
        said = "can be kept"
    return {
        "source": need.source,
        "target": str(need.target),
        "requests_a_day": asked if isfinite(asked) else None,
        "requests_per_window": asked * days if isfinite(asked) else None,
        "whole_look": need.whole,
        "looks_every_days": every if isfinite(asked) and isfinite(every) else None,
        "said": said,
    }


def _lowered(one: "Relaxed") -> dict[str, object]:
    return {
        "source": one.source,
        "target": str(one.target),
        "to": str(one.to),
        "share": one.share,
    }


def _say(
    found: "Bill", rows: "Sequence[Mapping[str, object]]", config: "Config"
) -> None:
    from halflife.cli import show

    show.table(
        [
            {
                "source": str(row["source"]),
                "target": str(row["target"]),
                "requests_a_day": asked if isfinite(asked) else None,
                "": str(row["said"]),
            }
            for row, asked in zip(rows, found.requests, strict=True)
        ]
    )
    have = config.budget.pace
    show.say(
        f"all that can be kept: {count(found.total, 'request')} a day, "
        f"{number(found.total * 30, 4)} a month; the budget is {number(have, 4)} a day"
    )
    for one in found.unreachable:
        show.say(f"{one.source}: {one.target} is out of reach; at best {one.to}")
    if found.missing > 0:
        show.say(f"the budget lacks {count(found.missing, 'request')} a day")
        if found.relaxed:
            one = found.relaxed
            show.say(f"or be content with {one.to} at {one.source}, not {one.target}")
        else:
            show.say("lowering one target alone is not enough")
