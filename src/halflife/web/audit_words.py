"""The result of the audit in a sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

from halflife.web import words

NAMED = 3  # sources that a sentence names
FEW = 20  # outcomes below which no verdict is given

HOLD = "The forecasts hold: every source that was checked kept its bounds."


def sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the verdict on all sources.

    >>> row = {"source": "news", "forecasts": 40, "checked": 9}
    >>> sentence([{**row, "verdict": "as forecast"}])
    'The forecasts hold: every source that was checked kept its bounds.'
    >>> sentence([{**row, "verdict": "too sure"}])
    'The forecasts of news are too sure: their bounds are widened until they hold.'
    """
    wrong = [row for row in rows if row["verdict"] != "as forecast"]
    seen = sum(row["forecasts"] + row["checked"] for row in rows)
    if not wrong:
        if seen < FEW:
            return f"Too early to say: only {seen} outcomes so far, and none disagrees."
        return HOLD
    parts = []
    for verdict in dict.fromkeys(row["verdict"] for row in wrong):
        names = [words.plain(r["source"]) for r in wrong if r["verdict"] == verdict]
        parts.append(f"of {_listed(names)} are {verdict}")
    verdicts = "; those ".join(parts)
    return f"The forecasts {verdicts}: their bounds are widened until they hold."


def _listed(names: Sequence[str]) -> str:
    if len(names) > NAMED:
        return f"{names[0]} and {len(names) - 1} more"
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
