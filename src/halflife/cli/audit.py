"""The verb that checks forecasts against audits: audit."""

from typing import TYPE_CHECKING, Any

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources, read_settings
from halflife.cli.show import date, figure, interval
from halflife.core.wording import count, number

NOMINAL = 0.95  # the nominal coverage of forecasts
FEWEST = 10  # forecasts for a useful share: one more or less is then a tenth
NEAR = 0.1  # how far coverage may be below the nominal one and still count as it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.config import SourceConfig
    from halflife.engine.audit_report import SourceAudit
    from halflife.kinds.protocol import Kind


@app.command()
def audit(
    sources: Sources = None, *, config: ConfigPath = None, json: Json = False
) -> None:
    """Show how good copies were found to be, and whether forecasts came true."""
    from halflife.engine import bootstrap
    from halflife.engine.audit_report import WINDOW, judge
    from halflife.kinds.registry import kind_of

    settings = read_settings(config)
    chosen = settings.named(sources or ())
    bootstrap.names(chosen)
    now = bootstrap.clock()
    with bootstrap.reading(settings) as store:
        audits = [judge(store, source.name, now) for source in chosen]
    kinds = [kind_of(source) for source in chosen]
    if json:
        head = {"at": show.date(now), "days": WINDOW, "share": settings.audit.share}
        rows = [row(*pair, now) for pair in zip(audits, chosen, strict=True)]
        show.emit({**head, "results": rows})
        return
    if len(audits) > 1:
        show.table([cells(*pair) for pair in zip(audits, chosen, strict=True)])
    for audited, kind in zip(audits, kinds, strict=True):
        for line in words(audited, kind, now):
            show.say(show.plain(line))
        show.table([show.flat(line) for line in calibration_rows(audited)])


def audited_as(source: "SourceConfig") -> str:
    """Return the kind that a source is audited as: a site is audited as pages."""
    from halflife.kinds.registry import kind_of

    return kind_of(source).known_as or source.kind


def row(
    audited: "SourceAudit", source: "SourceConfig", now: float
) -> dict[str, object]:
    """Return the audit of a source as plain values, for JSON."""
    from halflife.kinds.registry import kind_of

    return {
        "source": audited.source,
        "kind": audited_as(source),
        "measure": audited.measure,
        "found_by": kind_of(source).checked_by,
        "checked": audited.checked,
        "silent": audited.silent,
        "quality": figure(*audited.quality) if audited.quality else None,
        "believed": figure(*audited.believed) if audited.believed else None,
        "calibration": calibration_rows(audited),
        "brier": audited.brier._asdict(),
        "forecasts": audited.scored,
        "coverage": figure(*audited.coverage),
        "sharpness": {"width": audited.width, "winkler": audited.winkler},
        "verdict": verdict(audited),
        "pit": audited.pit,
        "drift": {
            "drifting": audited.drifting(now),
            "evidence": audited.evidence,
            "alarms": [{"at": date(at), "copy": way} for at, way in audited.alarms],
        },
        "trust": audited.trust.factor,
        "why": audited.trust.why if audited.trust.factor > 1.0 else "",
    }


def cells(
    audited: "SourceAudit", source: "SourceConfig"
) -> "dict[str, str | int | float | None]":
    """Return the audit of a source as a row of a table."""
    return {
        "source": audited.source,
        "kind": audited_as(source),
        "measure": audited.measure or None,
        "found": interval(*audited.quality) if audited.quality else None,
        "forecast": interval(*audited.believed) if audited.believed else None,
        "checks": _number(audited) if audited.scored or audited.checked else None,
        "within bounds": f"{audited.coverage.mean:.2f}" if audited.scored else None,
        "trust factor": number(audited.trust.factor, 2),
    }


def _number(audited: "SourceAudit") -> int:
    """Return the number of checks behind the observed quality."""
    return audited.checked if audited.how == "checks" else audited.gaps


def calibration_rows(audited: "SourceAudit") -> list[dict[str, object]]:
    """Return forecast probabilities in bins, beside the observed shares."""
    table = audited.reliability
    return [
        {
            "pages": int(table.size[i]),
            "believed": float(table.forecast[i]),
            "found": figure(table.found[i], table.low[i], table.high[i]),
        }
        for i in range(table.size.size)
    ]


def words(
    audited: "SourceAudit", kind: "Kind[Any, Any]", now: float
) -> "Sequence[str]":
    """Return the audit of a source as lines of text: the verdict, then its grounds."""
    if not audited.checked and not audited.scored:
        return [f"{audited.source}: {kind.unchecked}"]
    return [
        f"{audited.source}: {verdict(audited)}",
        f"  {_quality(audited, kind)}",
        _coverage(audited),
        f"  {_drift(audited, now)}",
        f"  {_trust(audited)}",
        *([_brier(audited)] if audited.reliability.size.size else []),
    ]


def _quality(audited: "SourceAudit", kind: "Kind[Any, Any]") -> str:
    if audited.quality is None or audited.believed is None:
        return (
            f"{count(audited.checked, 'page')} checked, {audited.silent} did not answer"
        )
    found, believed = interval(*audited.quality), interval(*audited.believed)
    both = f"{audited.measure or 'quality'} found {found}, believed {believed}"
    if audited.how == "fetches":
        return f"{both}, on average between {audited.gaps + 1} {kind.checked_by}"
    silent = f", {audited.silent} did not answer" if audited.silent else ""
    return f"{both}; {count(audited.checked, 'check')}{silent}"


def _brier(audited: "SourceAudit") -> str:
    score = audited.brier
    return (
        f"  Brier score {score.score:.3f}: reliability {score.reliability:.3f} - "
        f"resolution {score.resolution:.3f} + uncertainty {score.uncertainty:.3f}"
    )


def _coverage(audited: "SourceAudit") -> str:
    if not audited.scored:
        return "  no forecast has come due yet"
    share = interval(*audited.coverage)
    due = f"  {count(audited.scored, 'forecast')} came due"
    return f"{due}: {share} within their 95 % bounds, {_coverage_verdict(audited)}"


def _coverage_verdict(audited: "SourceAudit") -> str:
    """Return whether the observed coverage agrees with the nominal one.

    An interval of the coverage may contain 95 % only because it is wide.
    """
    low, mean, high = audited.coverage.low, audited.coverage.mean, audited.coverage.high
    if high < NOMINAL:
        return "less often than they say"
    if low > NOMINAL:
        return "more often than they say"
    few = audited.scored < FEWEST or mean < NOMINAL - NEAR
    return "too few to tell" if few else "as often as they say"


def verdict(audited: "SourceAudit") -> str:
    """Return a sentence that says whether the bounds of forecasts can be relied on."""
    coverage = _coverage_verdict(audited) if audited.scored else ""
    if audited.scored < FEWEST or coverage == "too few to tell":
        came = count(audited.scored, "forecast")
        return f"{came} came due, too few to say whether bounds can be relied on"
    held = f"{audited.coverage.mean:.0%} of {audited.scored} forecasts held"
    wide = f"in bounds {audited.width:.3f} wide on average"
    if coverage == "less often than they say":
        factor = number(audited.trust.factor, 2)
        narrow = f"bounds were too narrow: {held}, {wide}"
        return f"{narrow}; they are made {factor} times as wide now"
    if coverage == "more often than they say":
        return f"bounds can be relied on, and could be narrower: {held}, {wide}"
    return f"bounds can be relied on: {held}, {wide}"


def _drift(audited: "SourceAudit", now: float) -> str:
    if not audited.drifting(now):
        return "no drift: checks agree with what is believed"
    at, way = audited.alarms[-1]
    return f"drift: at {date(at)} the copy was clearly {way} than believed"


def _trust(audited: "SourceAudit") -> str:
    return f"trust factor {number(audited.trust.factor, 2)}: {audited.trust.words()}"


def describe_trust(audited: "SourceAudit") -> str:
    """Return how far forecasts of a source are trusted, and on what evidence."""
    about = f"forecasts of {audited.source}"
    if not audited.scored:
        return f"{about} have not been checked yet: they are used as they are"
    hits = round(audited.coverage.mean * audited.scored)
    if audited.trust.factor <= 1.0:
        return (
            f"{about} are trusted as they are: {hits} of {audited.scored} came true "
            "within their 95 % bounds"
        )
    return (
        f"{about} are trusted less than they say: bounds are made "
        f"{number(audited.trust.factor, 2)} times as wide, because {audited.trust.why}"
    )
