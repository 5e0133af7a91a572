"""The gain of a rule for summaries: quality of database selection by their ages."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import default_rng

from halflife.bench.textreplay import TextTerms, TextWorld, replay
from halflife.bench.textscores import HISTORY, NAIVE
from halflife.bench.textviews import TextView
from halflife.core.arrays import Floats, Ints
from halflife.metrics.intervals import Ratio, cluster_interval, draws
from halflife.policies.texts.lessons import Lessons
from halflife.policies.texts.names import named
from halflife.selection.trial import Trial, known_items

BACK = (0, 4)  # weeks before the last in which queries are sent
EACH = 3  # queries for each database and week
NEW = 4  # weeks that a document counts as new
STARTS = (0, 4, 8, 12)
MEASURES = ("overlap_5", "known_1", "r_5", "ndcg_5")
METHOD = "cori"


def buys(
    view: TextView,
    names: Sequence[str],
    everies: Sequence[float],
    *,
    newest: int | None,
) -> list[dict[str, Any]]:
    """Return the quality of selection under each rule, and the gain on naive.

    Queries are for known items: documents of the last weeks, or with ``newest`` those
    that are new in so many weeks. The result is empty if no document has rare words.
    """
    world = TextWorld.of(view.weekly, view.found)
    weekly = view.weekly.select(tuple(drift.name for drift in world.found))
    rng = default_rng(0)
    weeks = [weekly.weeks - 1 - back for back in BACK]
    trials = [
        Trial.of(weekly, w, known_items(weekly, w, EACH, rng, newest=newest))
        for w in weeks
    ]
    home = np.array([q.home for t in trials for q in t.queries], np.intp)
    if home.size == 0:
        return []
    fresh = _measured(trials, [np.zeros(len(world.found), np.intp)] * len(weeks))
    rows: list[dict[str, Any]] = []
    for every in everies:
        found = {name: _under(world, view, trials, name, every) for name in names}
        for name in names:
            row = {"view": view.name, "newest": newest, "policy": name, "every": every}
            rows.append(row | _row(found[name], found[NAIVE], fresh, home))
    return rows


def _under(
    world: TextWorld, view: TextView, trials: Sequence[Trial], name: str, every: float
) -> dict[str, Floats]:
    """Return the measures by query under a rule, averaged over starts."""
    parts = []
    all_lessons = Lessons(world.found, HISTORY, view.tau)
    rule = named(name)
    terms = TextTerms(every, rule.price, bounded=rule.bounded)
    for start in STARTS:
        lessons = all_lessons.since(start)
        policy = rule.prepare(lessons)(every)
        run = replay(world, lessons, policy, terms, default_rng(start))
        place = [t.week - view.weekly.since for t in trials]
        ages = [p - run.made[:, p - lessons.begin] for p in place]
        parts.append(_measured(trials, ages))
    return {m: np.mean([part[m] for part in parts], axis=0) for m in MEASURES}


def _measured(trials: Sequence[Trial], ages: Sequence[Ints]) -> dict[str, Floats]:
    found = []
    for trial, age in zip(trials, ages, strict=True):
        fresh = trial.orders(trial.knowledge(np.zeros_like(age)), METHOD)
        orders = trial.orders(trial.knowledge(age), METHOD)
        found.append(trial.measures(orders, fresh))
    return {m: np.concatenate([part[m] for part in found]) for m in MEASURES}


def _row(
    mine: dict[str, Floats],
    naive: dict[str, Floats],
    fresh: dict[str, Floats],
    home: Ints,
) -> dict[str, Any]:
    databases = int(home.max()) + 1
    counts = draws(databases, default_rng(0), resamples=1000)
    row: dict[str, Any] = {"method": METHOD, "queries": home.size}
    for name in MEASURES:
        own, plain, new = (
            ratio_of(values[name], home, databases) for values in (mine, naive, fresh)
        )
        row[name] = cluster_interval(counts, own)._asdict()
        row[f"{name}_gain"] = cluster_interval(counts, own, plain)._asdict()
        row[f"{name}_fresh"] = cluster_interval(counts, new).mean
    return row


def ratio_of(values: Floats, home: Ints, databases: int) -> Ratio:
    """Return the sums of a measure, and its queries, by the database they seek."""
    has = np.isfinite(values)
    top = np.bincount(home[has], values[has], databases).astype(np.float64)
    return Ratio(top, np.bincount(home[has], None, databases).astype(np.float64))
