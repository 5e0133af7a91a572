"""The arrivals of objects, and the groups of objects that go at different rates."""

import math
from collections.abc import Iterator

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.grouping.partition import Partition, Tree, partition
from halflife.models.arrival import ArrivalModel, ArrivalStatus, fit_arrivals
from halflife.models.counts import LAWS, Law, cumulative
from halflife.study import axes, empirical, svg, trees
from halflife.study.figures import Column, StudyFigure, drawing
from halflife.study.marks import Bars, LineMark, Mark
from halflife.study.phrases import many, rate_per, stretch
from halflife.study.svg import Chart

BINS = 30
MOST_CATEGORIES = 500
LABELS: dict[Law, str] = {
    "gamma": "Gamma",
    "poisson": "Poisson",
    "negative-binomial": "negative binomial",
}


def arrivals_figure(collection: Collection) -> StudyFigure:
    """Show how many objects came in a step of time, and three fitted laws."""
    counts, step = empirical.arrivals(collection)
    laws = {law: _fitted(counts, step, law) for law in LAWS}
    if any(model.status is not ArrivalStatus.OK for model in laws.values()):
        few = f"{many(counts.sum())} came in {counts.size} steps of {stretch(step)}: "
        few += "too little to tell how they arrive."
        return StudyFigure("arrivals", "How objects arrive", (few,), (), {})
    edges = _edges(counts)
    seen = np.histogram(counts, edges - 0.5)[0] / counts.size
    meant = {law: _shares(model, edges, step) for law, model in laws.items()}
    per = stretch(step).removeprefix("1 ")
    middle = (edges[:-1] + edges[1:] - 1) / 2
    marks: list[Mark] = [Bars(edges[:-1] - 0.5, edges[1:] - 0.5, seen, "seen", 6)]
    marks += [
        LineMark(middle, meant[law], LABELS[law], tone, dash=tone)
        for tone, law in enumerate(LABELS)
    ]
    best = min(laws, key=lambda law: laws[law].aic[law])
    chart = Chart(
        f"New objects per {per}",
        f"Histogram of new objects per {per} over {counts.size} of them, with fitted "
        f"laws. The mean is {counts.mean():.3g}; {LABELS[best]} fits best.",
        _across(f"new objects per {per}", edges),
        axes.percent("share of the time", 0.0, svg.highest(seen, *meant.values())),
        tuple(marks),
    )
    table: dict[str, Column] = {
        "from": edges[:-1],
        "to": edges[1:] - 1,
        "seen": seen,
        **{law.replace("-", "_"): meant[law] for law in LABELS},
    }
    said = _findings(counts, per, best)
    shown = _compared(laws, step)
    return StudyFigure(
        "arrivals", "How objects arrive", said, (drawing(chart),), table, shown
    )


def _fitted(counts: Ints, step: float, law: Law) -> ArrivalModel:
    begin: Floats = step * np.arange(counts.size, dtype=np.float64)
    return fit_arrivals(begin, begin + step, counts, laws=(law,), weekdays=False)


def _edges(counts: Ints) -> Floats:
    """Return the whole numbers where bars begin, without the largest few counts."""
    most = int(np.quantile(counts, 0.995)) + 1
    width = max(1, math.ceil(most / BINS))
    return np.arange(0, most + 2 * width, width, dtype=np.float64)


def _across(label: str, edges: Floats) -> axes.Axis:
    """Return an axis that ends where the bars end."""
    whole = axes.linear(label, 0.0, float(edges[-1]))
    ticks = tuple(tick for tick in whole.ticks if tick[0] <= edges[-1])
    return axes.Axis(label, -0.5, float(edges[-1]) - 0.5, ticks)


def _shares(model: ArrivalModel, edges: Floats, step: float) -> Floats:
    """Return the probability of a count in each bar under a law."""
    mean = np.full(edges.size, model.rate * step)
    spread = model.dispersion
    return np.diff(cumulative(model.law, edges - 1.0, mean, spread))


def _findings(counts: Ints, per: str, best: Law) -> tuple[str, ...]:
    mean, spread = float(counts.mean()), float(counts.var())
    ratio = spread / mean if mean else 0.0
    return (
        f"On average {mean:.3g} objects come per {per}.",
        f"The variance is {ratio:.2g} times the mean (1 if each came on its own).",
        f"{LABELS[best].capitalize()} fits best by AIC.",
    )


def _compared(laws: dict[Law, ArrivalModel], step: float) -> dict[str, Column]:
    low = min(model.aic[law] for law, model in laws.items())
    order = sorted(laws, key=lambda law: laws[law].aic[law])
    return {
        "law": [LABELS[law] for law in order],
        "mean per step": [laws[law].rate * step for law in order],
        "variance / mean": [laws[law].scale for law in order],
        "AIC above best": [laws[law].aic[law] - low for law in order],
    }


def groups_figure(collection: Collection, rng: np.random.Generator) -> StudyFigure:
    """Show the groups of objects that go at different rates."""
    names = [n for n in collection.lives.attributes if _usable(collection, n)]
    found = partition(collection.lives, names, rng)
    title = "Groups that go at different rates"
    lines = [*_lines(found, found.tree, 0, "")]
    about = "; ".join(f"{_rule(g.rule)}: {rate_per(g.rate)}" for g in found.groups)
    said = (
        f"{len(found)} groups, by {', '.join(names)}."
        if len(found) > 1
        else "No attribute divides the objects into groups that go at different rates.",
        "A cut is made only where chance does not explain it and it held over time.",
    )
    groups = found.groups
    table: dict[str, Column] = {
        "group": list(range(1, len(groups) + 1)),
        "rule": [_rule(g.rule) for g in groups],
        "spells": [g.lives for g in groups],
        "ends": [g.deaths for g in groups],
        "object_days": [g.time for g in groups],
        "rate": [g.rate for g in groups],
        "low": [g.low for g in groups],
        "high": [g.high for g in groups],
    }
    picture = (
        "Rate at which objects go, by group",
        lambda name: trees.tree(title, about, lines, name),
    )
    charts = (picture,) if len(found) > 1 else ()
    return StudyFigure("groups", title, said, charts, table)


def _usable(collection: Collection, name: str) -> bool:
    """Return whether an attribute can divide objects: a number, or few categories."""
    column = collection.lives.attributes[name]
    if column.dtype.kind in "fiub":
        return True
    return np.unique(empirical.as_words(column)).size <= MOST_CATEGORIES


def _rule(rule: str) -> str:
    return rule or "all"


def _lines(
    found: Partition, tree: Tree, depth: int, lead: str
) -> Iterator[trees.TreeLine]:
    if isinstance(tree, int):
        group = found.groups[tree]
        label = f"{lead}group {tree + 1}: {many(group.lives)} objects"
        half = math.log(2) / group.rate if group.rate > 0 else math.inf
        remark = f"half gone in {stretch(half)}" if math.isfinite(half) else "none went"
        rate = (group.rate, group.low, group.high)
        yield trees.TreeLine(depth, label, rate, remark)
        return
    yield trees.TreeLine(depth, f"{lead}{tree.rule}?")
    yield from _lines(found, tree.yes, depth + 1, "yes: ")
    yield from _lines(found, tree.no, depth + 1, "no: ")
