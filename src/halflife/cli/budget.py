"""Verbs about the one budget: whatif, budget."""

from math import isfinite, isnan
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import exits, show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources, read_settings
from halflife.core.errors import UsageError
from halflife.core.wording import count, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflife.config import Config, SourceConfig
    from halflife.engine.appraisal import Appraiser
    from halflife.engine.what_if import SourceChange, WhatIf
    from halflife.kinds.protocol import Known
    from halflife.market import RelaxedTarget, SourceTarget, TargetCosts

Requests = Annotated[
    int, typer.Option("--budget", min=1, metavar="N", help="Requests to imagine.")
]
Per = Annotated[
    str | None,
    typer.Option(
        "--per",
        metavar="hour|day|week|month",
        help="The window of the budget [default: that of the settings].",
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
    """Show what another budget would buy, by source and in all; sends nothing."""
    from halflife.engine import bootstrap
    from halflife.engine.what_if import compare_budgets

    settings = read_settings(config)
    chosen = settings.named(sources or ())
    pace = budget / _days(settings, per)
    with bootstrap.reading(settings) as store:
        result = compare_budgets(settings, store, chosen, pace, bootstrap.clock())
    rows = [_row(change) for change in result.sources]
    now, then = result.now, result.then
    if not json:
        _print_comparison(rows, result)
        return
    show.emit(
        {
            "budget": {**_pair(*result.pace), "unit": "requests a day"},
            "quality": _pair(now.total, then.total),
            "price": _pair(now.price, then.price),
            "spent": _pair(now.spent, then.spent),
            "without_worth": [{"source": n, "why": why} for n, why in result.unknown],
            "winners": result.winners,
            "losers": result.losers,
            "results": rows,
        }
    )


def _pair(now: float, then: float) -> dict[str, object]:
    return {"now": now, "then": then}


def _days(config: "Config", per: str | None) -> float:
    """Return the length of a window in days; raise ``UsageError``."""
    from halflife.config import WINDOW_DAYS

    if per is None:
        return config.budget.days
    if per not in WINDOW_DAYS:
        raise UsageError(f"--per must be one of {', '.join(WINDOW_DAYS)}, got {per!r}")
    return WINDOW_DAYS[per]


def _row(one: "SourceChange") -> dict[str, object]:
    """Return the requests and quality of a source under both budgets."""
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


def _print_comparison(rows: "Sequence[Mapping[str, object]]", result: "WhatIf") -> None:
    show.table([show.flat(row) for row in rows])
    if rows:
        now, then = result.now, result.then
        show.say(
            f"quality in all: {now.total:.3f} now, {then.total:.3f} then, at "
            f"{number(now.spent, 4)} and {count(then.spent, 'request')} a day"
        )
        for name, changed in (("winners", result.winners), ("losers", result.losers)):
            if changed:
                show.say(f"{name}: {', '.join(changed)}")
    for name, why in result.unknown:
        show.note(f"{name}: {why}")


@app.command()
def budget(
    sources: Sources = None, *, config: ConfigPath = None, json: Json = False
) -> None:
    """Show what the targets cost, and whether the budget covers them; sends nothing."""
    from halflife.engine import appraisal, bootstrap
    from halflife.market import target_costs

    settings = read_settings(config)
    named = settings.named(sources or ())
    chosen = [source for source in named if source.targets]
    if not chosen:
        raise UsageError(_without_targets(named if sources else []))
    with bootstrap.reading(settings) as store:
        appraiser = appraisal.Appraiser(settings, store, bootstrap.clock())
        needs = _needs(settings, appraiser, chosen)
    cost = target_costs([need for need, _ in needs], settings.budget.pace)
    rows = [
        _line(cost, i, why, settings.budget.days) for i, (_, why) in enumerate(needs)
    ]
    answer: dict[str, object] = {
        "budget": {"requests": settings.budget.requests, "per": settings.budget.per},
        "requests_a_day": cost.total,
        "requests_a_month": cost.total * 30.0,
        "missing_a_day": cost.missing,
        "covered": cost.covered,
        "unreachable": [_lowered(target) for target in cost.unreachable],
        "relaxation": _lowered(cost.relaxed) if cost.relaxed else None,
        "results": rows,
    }
    if json:
        show.emit(answer)
    else:
        _print_cost(cost, rows, settings)
    if not cost.covered:
        raise typer.Exit(exits.BELOW_TARGET)


def _without_targets(named: "Sequence[SourceConfig]") -> str:
    """Return what to do where none of the named sources, or of all, has a target."""
    from halflife.kinds.registry import kind_of

    measure, who = "recall", "no source has a target"
    if named:
        measure = kind_of(named[0]).measure(named[0])
        who = f"no target is set for {', '.join(source.name for source in named)}"
    return f'{who}; write target = "{measure} >= 0.9" under [[source]]'


def _needs(
    config: "Config", appraiser: "Appraiser", chosen: "Sequence[SourceConfig]"
) -> "list[tuple[SourceTarget, str]]":
    """Return the need of each target, and why it is unknown if it is."""
    from halflife.engine import appraisal
    from halflife.market import SourceTarget

    needs = []
    for source in chosen:
        for target in source.targets:
            known: Known = appraiser.known(source, target.confidence or 0.95)
            most = appraisal.limits(config, [known]).most[source.name]
            need = SourceTarget(source.name, target, known.worth, known.whole, most)
            needs.append((need, known.why if not need.known else ""))
    return needs


def _line(cost: "TargetCosts", i: int, why: str, days: float) -> dict[str, object]:
    need, requests = cost.needs[i], cost.requests[i]
    every = need.whole / requests if requests > 0 else float("inf")
    if isnan(requests):
        verdict = why
    elif not isfinite(requests):
        verdict = "cannot be kept"
    else:
        verdict = "can be kept"
    return {
        "source": need.source,
        "target": str(need.target),
        "requests_a_day": requests if isfinite(requests) else None,
        "requests_per_window": requests * days if isfinite(requests) else None,
        "whole_look": need.whole,
        "looks_every_days": every if isfinite(requests) and isfinite(every) else None,
        "said": verdict,
    }


def _lowered(target: "RelaxedTarget") -> dict[str, object]:
    return {
        "source": target.source,
        "target": str(target.target),
        "to": str(target.to),
        "share": target.share,
    }


def _print_cost(
    cost: "TargetCosts", rows: "Sequence[Mapping[str, object]]", config: "Config"
) -> None:
    show.table(
        [
            {
                "source": str(row["source"]),
                "target": str(row["target"]),
                "requests_a_day": requests if isfinite(requests) else None,
                "": str(row["said"]),
            }
            for row, requests in zip(rows, cost.requests, strict=True)
        ]
    )
    have = config.budget.pace
    show.say(
        f"all targets that can be kept: {count(cost.total, 'request')} a day, "
        f"{number(cost.total * 30, 4)} a month; the budget is {number(have, 4)} a day"
    )
    for best in cost.unreachable:
        show.say(f"{best.source}: {best.target} is out of reach; at best {best.to}")
    if cost.missing > 0:
        show.say(f"the budget lacks {count(cost.missing, 'request')} a day")
        if cost.relaxed:
            to, name = cost.relaxed.to, cost.relaxed.source
            show.say(f"or accept {to} at {name}, not {cost.relaxed.target}")
        else:
            show.say("lowering one target alone is not enough")
