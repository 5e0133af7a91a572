"""The verb that says whether our own figures can be believed: audit."""

from typing import TYPE_CHECKING, Any

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources
from halflife.core.wording import count, number

SAID = 0.95  # how often forecasts promise to keep their bounds
FEWEST = 10  # forecasts of which a share says anything: one more or less is a tenth
NEAR = 0.1  # how far below what is said a share may be and still be taken for it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflife.config import SourceConfig
    from halflife.engine.audit_report import SourceAudit
    from halflife.kinds.protocol import Kind


@app.command()
def audit(
    sources: Sources = None, *, config: ConfigPath = None, json: Json = False
) -> None:
    """Say how good copies were found to be, and whether forecasts came true."""
    from halflife.cli import show
    from halflife.config import Config
    from halflife.engine import bootstrap
    from halflife.engine.audit_report import WINDOW, judge
    from halflife.kinds.registry import kind_of

    settings = Config.load(Config.find(config))
    chosen = settings.named(sources or ())
    bootstrap.names(chosen)
    now = bootstrap.clock()
    with bootstrap.reading(settings) as store:
        found = [judge(store, source.name, now) for source in chosen]
    kinds = [kind_of(source) for source in chosen]
    if json:
        head = {"at": show.date(now), "days": WINDOW, "share": settings.audit.share}
        rows = [row(*one, now) for one in zip(found, chosen, strict=True)]
        show.emit({**head, "results": rows})
        return
    if len(found) > 1:
        show.table([cells(*one) for one in zip(found, chosen, strict=True)])
    for one, kind in zip(found, kinds, strict=True):
        for line in words(one, kind, now):
            show.say(show.plain(line))
        show.table([show.flat(line) for line in calibration_rows(one)])


def audited_as(source: "SourceConfig") -> str:
    """Return the kind by which sources are audited: a site is audited as pages are."""
    from halflife.kinds.registry import kind_of

    return kind_of(source).known_as or source.kind


def row(one: "SourceAudit", source: "SourceConfig", now: float) -> dict[str, object]:
    """Return what audits say of a source, for programs."""
    from halflife.cli.show import date, figure
    from halflife.kinds.registry import kind_of

    return {
        "source": one.source,
        "kind": audited_as(source),
        "measure": one.measure,
        "found_by": kind_of(source).checked_by,
        "checked": one.checked,
        "silent": one.silent,
        "quality": figure(*one.quality) if one.quality else None,
        "believed": figure(*one.believed) if one.believed else None,
        "calibration": calibration_rows(one),
        "brier": one.brier._asdict(),
        "forecasts": one.scored,
        "coverage": figure(*one.coverage),
        "sharpness": {"width": one.width, "winkler": one.winkler},
        "verdict": verdict(one),
        "pit": one.pit,
        "drift": {
            "drifting": one.drifting(now),
            "evidence": one.evidence,
            "alarms": [{"at": date(at), "copy": way} for at, way in one.alarms],
        },
        "trust": one.trust.factor,
        "why": one.trust.why if one.trust.factor > 1.0 else "",
    }


def cells(
    one: "SourceAudit", source: "SourceConfig"
) -> "dict[str, str | int | float | None]":
    """Return the same for people, in a row of a table."""
    from halflife.cli.show import interval

    return {
        "source": one.source,
        "kind": audited_as(source),
        "measure": one.measure or None,
        "found": interval(*one.quality) if one.quality else None,
        "forecast": interval(*one.believed) if one.believed else None,
        "checks": _number(one) if one.scored or one.checked else None,
        "within bounds": f"{one.coverage.mean:.2f}" if one.scored else None,
        "trust factor": f"{number(one.trust.factor, 2)}",
    }


def _number(one: "SourceAudit") -> int:
    """Return how many checks the quality found rests on."""
    return one.checked if one.how == "checks" else one.looked


def calibration_rows(one: "SourceAudit") -> list[dict[str, object]]:
    """Return believed chances in bins, beside what was found."""
    from halflife.cli.show import figure

    table = one.reliability
    return [
        {
            "pages": int(table.size[i]),
            "believed": float(table.forecast[i]),
            "found": figure(table.found[i], table.low[i], table.high[i]),
        }
        for i in range(table.size.size)
    ]


def words(one: "SourceAudit", kind: "Kind[Any, Any]", now: float) -> "Sequence[str]":
    """Return what audits say of a source, line by line."""
    if not one.checked and not one.scored:
        return [f"{one.source}: {kind.unchecked}"]
    return [
        f"{one.source}: {_quality(one, kind)}",
        *([_brier(one)] if one.reliability.size.size else []),
        _coverage(one),
        f"  {_drift(one, now)}",
        f"  {_trust(one)}",
        f"  verdict: {verdict(one)}",
    ]


def _quality(one: "SourceAudit", kind: "Kind[Any, Any]") -> str:
    from halflife.cli.show import interval

    if one.quality is None or one.believed is None:
        return f"{count(one.checked, 'page')} checked, {one.silent} did not answer"
    found, believed = interval(*one.quality), interval(*one.believed)
    said = f"{one.measure or 'quality'} found {found}, believed {believed}"
    if one.how == "looks":
        return f"{said}, on average between {one.looked + 1} {kind.checked_by}"
    silent = f", {one.silent} did not answer" if one.silent else ""
    return f"{said}; {count(one.checked, 'check')}{silent}"


def _brier(one: "SourceAudit") -> str:
    score = one.brier
    return (
        f"  Brier score {score.score:.3f}: reliability {score.reliability:.3f} - "
        f"resolution {score.resolution:.3f} + uncertainty {score.uncertainty:.3f}"
    )


def _coverage(one: "SourceAudit") -> str:
    from halflife.cli.show import interval

    if not one.scored:
        return "  no forecast has come due yet"
    share = interval(*one.coverage)
    told = f"  {count(one.scored, 'forecast')} came due"
    return f"{told}: within their 95 % bounds {share}, {_kept(one)}"


def _kept(one: "SourceAudit") -> str:
    """Say whether forecasts keep their bounds as often as they promise.

    An interval may have 95 % in it only because it is wide: then that is said.
    """
    low, mean, high = one.coverage.low, one.coverage.mean, one.coverage.high
    if high < SAID:
        return "less often than they say"
    if low > SAID:
        return "more often than they say"
    few = one.scored < FEWEST or mean < SAID - NEAR
    return "too few to tell" if few else "as often as they say"


def verdict(one: "SourceAudit") -> str:
    """Say in one sentence whether the bounds of forecasts can be relied on."""
    kept = _kept(one) if one.scored else ""
    if one.scored < FEWEST or kept == "too few to tell":
        came = count(one.scored, "forecast")
        return f"{came} came due, too few to say whether bounds can be relied on"
    held = f"{one.coverage.mean:.0%} of {one.scored} forecasts held"
    wide = f"in bounds {one.width:.3f} wide on average"
    if kept == "less often than they say":
        said = f"bounds were too narrow: {held}, {wide}"
        factor = number(one.trust.factor, 2)
        return f"{said}; they are made {factor} times as wide now"
    if kept == "more often than they say":
        return f"bounds can be relied on, and could be narrower: {held}, {wide}"
    return f"bounds can be relied on: {held}, {wide}"


def _drift(one: "SourceAudit", now: float) -> str:
    from halflife.cli.show import date

    if not one.drifting(now):
        return "no drift: checks agree with what is believed"
    at, way = one.alarms[-1]
    return f"drift: at {date(at)} the copy was clearly {way} than believed"


def _trust(one: "SourceAudit") -> str:
    return f"trust factor {number(one.trust.factor, 2)}: {one.trust.words()}"


def trusted(one: "SourceAudit") -> str:
    """Say how far forecasts of a source are trusted, and what that rests on."""
    about = f"forecasts of {one.source}"
    if not one.scored:
        return f"{about} have not been checked yet: they are used as they are"
    hits = round(one.coverage.mean * one.scored)
    if one.trust.factor <= 1.0:
        return (
            f"{about} are trusted as they are: {hits} of {one.scored} came true "
            "within their 95 % bounds"
        )
    return (
        f"{about} are trusted less than they say: bounds are made "
        f"{number(one.trust.factor, 2)} times as wide, for {one.trust.why}"
    )
