"""The two views of recorded text databases on which rules for summaries are scored."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halflife.bench.textreplay import TextWorld
from halflife.bench.textscores import HISTORY, NAIVE, STARTS, compare, rows
from halflife.core.errors import UsageError
from halflife.policies.texts.names import RULES, named
from halflife.recordings.textdb import load
from halflife.summary.drift import SummaryDrift, drifts
from halflife.summary.weekly import RECENT, Weekly

POLICIES = ("naive", "survival", "bayes", "sampling", "index", "champion")
EVERIES = (5, 10, 15, 20, 26, 40, 52)
FEWEST = HISTORY + 10  # weeks without which there is nothing to score


class TextView(NamedTuple):
    """A view of the databases by a metasearcher.

    Attributes:
        name: The name of the view.
        weekly: The documents.
        found: The drift of the summaries of all databases.
        tau: The divergence above which a summary counts as changed: half of the
            summaries reach it in 31 weeks (all documents), or in 6 (recent items).

    """

    name: str
    weekly: Weekly
    found: tuple[SummaryDrift, ...]
    tau: float


def views(weekly: Weekly) -> tuple[TextView, ...]:
    """Return all documents and, if the recording is long enough, recent items."""
    if weekly.weeks < FEWEST:
        raise UsageError(f"{weekly.weeks} weeks were recorded; a replay needs {FEWEST}")
    found = [TextView("all documents", weekly, drifts(weekly), 0.005)]
    if weekly.weeks >= FEWEST + RECENT:
        recent = weekly.recent()
        found.append(TextView("recent items", recent, drifts(recent), 0.05))
    return tuple(found)


def starts(weeks: int, history: int = HISTORY) -> tuple[int, ...]:
    """Return the weeks in which replays begin: those that leave half of the weeks."""
    early = tuple(s for s in STARTS if s + history <= weeks // 2)
    return early or STARTS[:1]


def score_rules(
    view: TextView,
    names: Sequence[str],
    everies: Sequence[float],
    *,
    history: int = HISTORY,
) -> list[dict[str, Any]]:
    """Return the scores of rules in one view, a row each; ``naive`` is always run."""
    world = TextWorld.of(view.weekly, view.found)
    rules = list(dict.fromkeys((NAIVE, *names)))
    weeks = view.found[0].week.size
    found = compare(
        world,
        view.tau,
        rules,
        everies,
        history=history,
        starts=starts(weeks, history),
    )
    scored = rows(found, np.random.default_rng(0))
    head = {"view": view.name, "tau": view.tau, "databases": len(world.found)}
    return [head | row for row in scored if row["policy"] in names]


def report(
    folder: Path,
    names: Sequence[str],
    everies: Sequence[float],
    advance: Callable[[int, str], None],
) -> dict[str, Any]:
    """Return the scores of rules on the databases recorded in a folder."""
    for name in names:
        named(name)
    weekly = load(folder)
    found: list[dict[str, Any]] = []
    for view in views(weekly):
        found += score_rules(view, names, everies)
        advance(1, view.name)
    return {
        "text": str(folder),
        "databases": len(weekly.sites),
        "weeks": weekly.weeks,
        "history": HISTORY,
        "about": {name: RULES[name].about for name in names},
        "results": found,
    }
