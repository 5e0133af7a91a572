"""The verb that says whether our own figures can be believed: audit."""

from typing import TYPE_CHECKING

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources

if TYPE_CHECKING:
    from halflife.live.audited import Judged


@app.command()
def audit(
    sources: Sources = None, *, config: ConfigPath = None, json: Json = False
) -> None:
    """Say how good the copy was found to be, and whether forecasts came true."""
    from halflife.cli import show
    from halflife.config import Config
    from halflife.live import wiring
    from halflife.live.audited import WINDOW, judge

    settings = Config.load(Config.find(config))
    chosen = wiring.names(settings.named(sources or ()))
    now = wiring.clock()
    with wiring.reading(settings) as store:
        found = [judge(store, name, now) for name in chosen]
    if json:
        head = {"at": show.date(now), "days": WINDOW, "share": settings.audit.share}
        show.emit({**head, "results": [row(one, now) for one in found]})
        return
    for one in found:
        for line in words(one, now):
            show.say(show.plain(line))
        show.table([show.flat(line) for line in calibration_rows(one)])


def row(one: "Judged", now: float) -> dict[str, object]:
    """Return what audits say of a source, for programs."""
    from halflife.cli.show import date, figure

    return {
        "source": one.source,
        "measure": one.measure,
        "checked": one.checked,
        "silent": one.silent,
        "quality": figure(*one.quality) if one.quality else None,
        "believed": figure(*one.believed) if one.believed else None,
        "calibration": calibration_rows(one),
        "brier": one.brier._asdict(),
        "forecasts": one.scored,
        "coverage": figure(*one.coverage),
        "drift": {
            "drifting": one.drifting(now),
            "evidence": one.evidence,
            "alarms": [{"at": date(at), "copy": way} for at, way in one.alarms],
        },
        "trust": one.trust.factor,
        "why": one.trust.why,
    }


def calibration_rows(one: "Judged") -> list[dict[str, object]]:
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


def words(one: "Judged", now: float) -> list[str]:
    """Return what audits say of a source, line by line."""
    if not one.checked and not one.scored:
        return [f"{one.source}: nothing was checked in the last 30 days"]
    return [
        f"{one.source}: {_quality(one)}",
        *([_brier(one)] if one.checked else []),
        _coverage(one),
        f"  {_drift(one, now)}",
        f"  {_trust(one)}",
    ]


def _quality(one: "Judged") -> str:
    from halflife.cli.show import interval

    if one.quality is None or one.believed is None:
        return f"{one.checked} pages checked, {one.silent} did not answer"
    found, believed = interval(*one.quality), interval(*one.believed)
    what = one.measure or "quality"
    if not one.checked:
        return f"{what} found {found} at the looks, forecast {believed}"
    silent = f", {one.silent} did not answer" if one.silent else ""
    return f"{what} found {found}, believed {believed}; {one.checked} checks{silent}"


def _brier(one: "Judged") -> str:
    score = one.brier
    return (
        f"  Brier score {score.score:.3f}: reliability {score.reliability:.3f} - "
        f"resolution {score.resolution:.3f} + uncertainty {score.uncertainty:.3f}"
    )


def _coverage(one: "Judged") -> str:
    from halflife.cli.show import interval

    if not one.scored:
        return "  no forecast has come due yet"
    share = interval(*one.coverage)
    if one.coverage.low <= 0.95 <= one.coverage.high:
        verdict = "as often as they say"
    elif one.coverage.mean < 0.95:
        verdict = "less often than they say"
    else:
        verdict = "more often than they say"
    told = f"  {one.scored} forecasts came due"
    return f"{told}: within their 95 % bounds {share}, {verdict}"


def _drift(one: "Judged", now: float) -> str:
    from halflife.cli.show import date

    if not one.drifting(now):
        return "no drift: checks agree with what is believed"
    at, way = one.alarms[-1]
    return f"drift: at {date(at)} the copy was clearly {way} than believed"


def _trust(one: "Judged") -> str:
    return f"trust factor {one.trust.factor:.2g}: {one.trust.words()}"
