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
    from halflife.engine.appraisal import Appraiser
    from halflife.engine.what_if import SourceChange, WhatIf
    from halflife.kinds.protocol import Known
    from halflife.market import Bill, Need, Relaxed

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
    from halflife.engine import bootstrap
    from halflife.engine.what_if import compare_budgets

    settings = Config.load(Config.find(config))
    chosen = settings.named(sources or ())
    pace = budget / _days(settings, per)
    with bootstrap.reading(settings) as store:
        found = compare_budgets(settings, store, chosen, pace, bootstrap.clock())
    rows = [_row(one) for one in found.sources]
    now, then = found.now, found.then
    if not json:
        _tell(rows, found)
        return
    show.emit(
        {
            "budget": {**_pair(*found.pace), "unit": "requests a day"},
            "quality": _pair(now.total, then.total),
            "price": _pair(now.price, then.price),
            "spent": _pair(now.spent, then.spent),
            "without_worth": [{"source": n, "why": why} for n, why in found.unknown],
            "winners": found.winners,
            "losers": found.losers,
            "results": rows,
        }
    )


def _pair(now: float, then: float) -> dict[str, object]:
    return {"now": now, "then": then}


def _days(config: "Config", per: str | None) -> float:
    """Return the length of a window in days; raise ``UsageError``."""
    from halflife.config import WINDOW_DAYS
    from halflife.core.errors import UsageError

    if per is None:
        return config.budget.days
    if per not in WINDOW_DAYS:
        raise UsageError(f"--per must be one of {', '.join(WINDOW_DAYS)}, got {per!r}")
    return WINDOW_DAYS[per]


def _row(one: "SourceChange") -> dict[str, object]:
    """Return what a source gets and how good it is, now and then."""
    from halflife.cli import show

    return {
        "source": one.source,
        "measure": one.measure,
        "weight": one.weight,
        "requests_now": one.requests[0],
        "requests_then": one.requests[1],
        "quality_now": one.quality[0],
        "quality_then": show.figure(one.quality[1], one.low, one.high),
        "change": one.change,
    }


def _tell(rows: "Sequence[Mapping[str, object]]", found: "WhatIf") -> None:
    from halflife.cli import show

    show.table([show.flat(row) for row in rows])
    if rows:
        now, then = found.now, found.then
        show.say(
            f"quality in all: {now.total:.3f} now, {then.total:.3f} then; "
            f"{number(now.spent, 4)} and {count(then.spent, 'request')} a day"
        )
        for name, changed in (("winners", found.winners), ("losers", found.losers)):
            if changed:
                show.say(f"{name}: {', '.join(changed)}")
    for name, why in found.unknown:
        show.note(f"{name}: {why}")


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
