"""The next 24 hours as lanes: one per source, with a mark for each fetch."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup

from halflife.core.wording import count
from halflife.study.svg import number
from halflife.web import words

SHOWN = 10  # fetches of a source that are listed at once; the rest on demand
HOURS = (6, 12, 18)  # lines across a lane
SOON = 1.0 / 1440.0  # days: what is due within a minute is due now


def lanes(
    now: float, fetches: Sequence[Mapping[str, Any]], due: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the planned fetches and due syncs by source, the soonest first."""
    found: dict[str, dict[str, Any]] = {}
    for row in due:
        lane = _lane(found, row["source"])
        lane["due"], lane["row"] = max(row["wait"], 0.0), row
    for row in fetches:
        _lane(found, row["source"])["fetches"].append(row)
    for lane in found.values():
        times = [_days(row["at"]) - now for row in lane["fetches"]]
        lane["first"] = min([*times, *(t for t in [lane["due"]] if t is not None)])
        lane["strip"] = strip(times, lane["due"])
        lane["said"] = _summary(lane)
        lane["more"] = lane["fetches"][SHOWN:]
        lane["fetches"] = lane["fetches"][:SHOWN]
    return sorted(found.values(), key=lambda lane: (lane["first"], lane["source"]))


def _lane(found: dict[str, dict[str, Any]], source: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"source": source, "fetches": [], "due": None, "row": None}
    return found.setdefault(source, empty)


def _days(iso: str | None) -> float:
    moment = datetime.fromisoformat(iso or "")
    return moment.timestamp() / 86400.0


def _summary(lane: Mapping[str, Any]) -> str:
    """Return a line about the plan of a source.

    >>> _summary({"fetches": [1, 2], "due": 0.25, "first": 0.1})
    '2 fetches, the first in 2.4 h; due in 6 h'
    """
    parts = []
    if lane["fetches"]:
        first = "now" if lane["first"] < SOON else f"in {words.span(lane['first'])}"
        many = count(len(lane["fetches"]), "fetch", "fetches")
        parts.append(f"{many}, the first {first}")
    if lane["due"] is not None:
        when = "now" if lane["due"] < SOON else f"in {words.span(lane['due'])}"
        parts.append(f"due {when}")
    return "; ".join(parts)


def strip(times: Sequence[float], due: float | None = None) -> Markup:
    """Return marks along the next day, as wide as the page allows.

    Positions are in per cent, so that the size of the marks is not scaled.
    """
    lines = "".join(_line(hour / 24.0) for hour in HOURS)
    dots = "".join(
        f'<circle class="t0" cx="{_place(at)}%" cy="12" r="4"/>' for at in times
    )
    mark = (
        ""
        if due is None
        else f'<rect class="t1" x="{_place(due)}%" y="6" width="5" height="12" rx="2"/>'
    )
    return Markup(  # noqa: S704  (numbers alone)
        '<svg class="strip chart" width="100%" height="24" aria-hidden="true" '
        f'focusable="false">{lines}<line class="grid" x2="100%" y1="12" y2="12"/>'
        f"{dots}{mark}</svg>"
    )


def _line(share: float) -> str:
    x = number(100.0 * share)
    return f'<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="24"/>'


def _place(at: float) -> str:
    """Return the position of a time in per cent; marks at the ends are not cut."""
    return number(1.0 + 98.0 * min(max(at, 0.0), 1.0))
