"""The summary at the top of the overview: quality, and what needs attention."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from halflife.web import words
from halflife.web.rows import SourceRow
from halflife.web.survey import Survey

NAMED = 2  # sources that a sentence names; of more it gives the number
ORDER = ("held", "failing", "below target", "at risk")  # the most urgent first
# The sentence on all copies with a measure.
HELD = {
    "freshness": "{share} of your pages are current",
    "recall": "{share} of the listed records are in your copies",
    "content": "{share} of your records are true",
    "summary": "Your summaries hold with a chance of {share}",
}
# The predicate of one source, and of several.
DOES = {
    "failing": ("is failing", "are failing"),
    "held": ("needs you", "need you"),
    "below target": ("is below its target", "are below their targets"),
    "at risk": ("is at risk", "are at risk"),
}
SPOKEN = ("failing", "held", "below target", "at risk")


def sentence(
    seen: Survey, measures: Sequence[Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Return the summary as pieces of text, some of which link to a source."""
    pieces = [{"text": _quality(seen, measures)}]
    urgent = ordered(seen.rows)
    groups = {health: _named(urgent, health) for health in SPOKEN}
    spoken = [(health, rows) for health, rows in groups.items() if rows]
    for k, (health, rows) in enumerate(spoken):
        pieces.append({"text": "; " if k else " "})
        pieces += _group(health, rows)
    if spoken:
        pieces.append({"text": "."})
    elif not seen.working:
        pieces.append({"text": _calm(seen.rows)})
    return pieces


def _quality(seen: Survey, measures: Sequence[Mapping[str, Any]]) -> str:
    if seen.working:
        return "The quality of your copies is being worked out."
    if not measures:
        return "Nothing was fetched yet."
    first = measures[0]
    figure = first["quality"]
    text = HELD[first["measure"]].format(share=words.share(figure["mean"]))
    if figure["low"] < figure["high"]:
        text += f" ({words.interval(figure['low'], figure['high'])})"
    return f"{text}."


def _named(rows: Sequence[SourceRow], health: str) -> list[str]:
    return [row.name for row in rows if row.health == health]


def _group(health: str, names: Sequence[str]) -> list[dict[str, str]]:
    """Return the pieces about the sources with a health; a few by name."""
    shown = names if len(names) <= NAMED else names[:1]
    pieces: list[dict[str, str]] = []
    for k, name in enumerate(shown):
        if k:
            pieces.append({"text": " and "})
        pieces.append({"text": words.plain(name), "source": name})
    if len(shown) < len(names):
        more = f"{len(names) - len(shown):,} more"
        pieces += [{"text": " and "}, {"text": more, "health": health}]
    pieces.append({"text": f" {DOES[health][len(names) > 1]}"})
    return pieces


def _calm(rows: Sequence[SourceRow]) -> str:
    if all(math.isnan(row.target) for row in rows):
        return " No source has a target, so none can miss it."
    if any(row.health == "unknown" for row in rows):
        return " Nothing fetched so far needs attention."
    return " Every source keeps its target; nothing needs you."


def plain_text(pieces: Sequence[Mapping[str, str]]) -> str:
    """Return a sentence without its links."""
    return "".join(piece["text"] for piece in pieces)


def ordered(rows: Sequence[SourceRow]) -> list[SourceRow]:
    """Return the sources that need attention, the most urgent first."""
    found = [row for row in rows if row.health in ORDER]
    return sorted(found, key=_urgency)


def _urgency(row: SourceRow) -> tuple[int, float, float, str]:
    due = math.inf if math.isnan(row.sync_by) else row.sync_by
    above = row.mean - row.target
    short = math.inf if math.isnan(above) else above
    return ORDER.index(row.health), due, short, row.name
