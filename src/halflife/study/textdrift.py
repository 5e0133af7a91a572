"""Charts of the ageing of summaries of text databases, and of their lifetimes."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.models.spells import Spells
from halflife.models.survival_curves import KaplanMeier
from halflife.study import axes, svg
from halflife.study.axes import Axis
from halflife.study.figures import (
    Column,
    StudyFigure,
    Table,
    as_csv,
    drawing,
    stack_tables,
)
from halflife.study.marks import BandMark, LineMark, Mark, Points
from halflife.study.phrases import share
from halflife.study.svg import Chart
from halflife.summary.age_curves import AgeCurves, Curve
from halflife.summary.drift import SummaryDrift
from halflife.summary.survival import lifetimes
from halflife.summary.weekly import STRATA

TITLES = {
    "ur": "Unweighted recall: share of today's words that the old summary has",
    "wr": "Weighted recall: share of today's counts on words it has",
    "up": "Unweighted precision: share of its words that are still there",
    "wp": "Weighted precision: share of its counts on words that are still there",
    "kl": "Divergence of today's counts from the old ones, on shared words",
}

# Complete summaries of 152 web databases, 2002-2003: Ipeirotis et al., TODS 2007,
# section 3.2. Metric, age in weeks, mean.
PUBLISHED = (("ur", 1, 0.91), ("ur", 25, 0.80), ("up", 48, 0.70))


def figures(views: Mapping[str, AgeCurves]) -> tuple[StudyFigure, ...]:
    """Show each metric against age, a curve for each kind of summary or view."""
    return tuple(_figure(metric, views) for metric in TITLES)


def lifetimes_figure(
    name: str, found: Sequence[SummaryDrift], tau: float
) -> StudyFigure:
    """Show how long summaries stay within a threshold, by domain."""
    lives = lifetimes(found, (tau,))
    stratum = np.array(
        [found[k].stratum for k in lives.database.tolist()], dtype=object
    )
    week = np.arange(0.0, lives.length.max(initial=1.0) + 1.0)
    curves = {
        s: _alive(lives.length[stratum == s], lives.event[stratum == s], week)
        for s in STRATA
        if (stratum == s).any()
    }
    title = f"Summaries still true ({name}): divergence not yet above {tau:g}"
    said = tuple(_half(s, week, alive) for s, alive in curves.items())
    chart = Chart(
        title,
        " ".join(said),
        axes.linear("age of the summary (weeks)", 0.0, float(week[-1])),
        axes.percent("share of summaries"),
        tuple(
            LineMark(week, alive, s, tone, dash=tone % 4, steps=True)
            for tone, (s, alive) in enumerate(curves.items())
        ),
    )
    tables: list[Table] = [
        {"domain": [s] * week.size, "age_weeks": week, "alive": alive}
        for s, alive in curves.items()
    ]
    file = f"summaries-lasting-{name.split(maxsplit=1)[0]}"
    return StudyFigure(file, title, said, (drawing(chart),), stack_tables(tables))


def _alive(length: Floats, event: Bools, week: Floats) -> Floats:
    """Return Kaplan and Meier's curve, up to the longest lifetime."""
    spells = Spells.of(np.zeros(length.size), length, np.where(event, length, np.inf))
    return np.where(
        week <= length.max(), KaplanMeier().fit(spells).survival(week), np.nan
    )


def _half(stratum: str, week: Floats, alive: Floats) -> str:
    low = np.flatnonzero(alive <= 0.5)
    if low.size:
        return f"{stratum}: half are gone after {week[low[0]]:.0f} weeks."
    left = alive[np.isfinite(alive)][-1]
    return f"{stratum}: {share(float(left))} are left at the end."


def files(found: Iterable[StudyFigure]) -> dict[str, str]:
    """Return charts and their numbers as files: name and text."""
    texts = {}
    for figure in found:
        texts[f"{figure.name}.csv"] = as_csv(figure.table)
        for _, draw in figure.charts:
            texts[f"{figure.name}.svg"] = svg.alone(draw(figure.name))
    return texts


def _figure(metric: str, views: Mapping[str, AgeCurves]) -> StudyFigure:
    said = tuple(_finding(metric, name, ageing) for name, ageing in views.items())
    marks: list[Mark] = []
    for tone, (name, ageing) in enumerate(views.items()):
        curve, age = ageing.curves[metric], ageing.age.astype(np.float64)
        marks.append(BandMark(age, curve.low, curve.high, "", tone))
        marks.append(LineMark(age, curve.mean, name, tone, dash=tone))
    marks += _published(metric)
    last = max(int(ageing.age[-1]) for ageing in views.values())
    chart = Chart(
        TITLES[metric],
        " ".join(said),
        axes.linear("age of the summary (weeks)", 0.0, float(last)),
        _upwards(metric, views),
        tuple(marks),
    )
    tables = [_table(n, a, a.curves[metric]) for n, a in views.items()]
    return StudyFigure(
        f"summaries-{metric}",
        TITLES[metric],
        said,
        (drawing(chart),),
        stack_tables(tables),
    )


def _published(metric: str) -> list[Mark]:
    """Return the published values of a metric as points."""
    values = [(age, value) for name, age, value in PUBLISHED if name == metric]
    if not values:
        return []
    x, y = (np.array(column, dtype=np.float64) for column in zip(*values, strict=True))
    return [Points(x, y, "152 databases, 2002-2003", 6, hollow=True)]


def _upwards(metric: str, views: Mapping[str, AgeCurves]) -> Axis:
    if metric != "kl":
        low = _lowest(*(a.curves[metric].low for a in views.values()))
        at = [value for name, _, value in PUBLISHED if name == metric]
        return axes.percent("mean over databases", min([low, *at]), 1.0)
    high = svg.highest(*(a.curves[metric].high for a in views.values()), least=1e-6)
    return axes.linear("mean over databases (nats)", 0.0, high)


def _lowest(*series: Floats) -> float:
    found = [float(v[np.isfinite(v)].min(initial=1.0)) for v in series]
    return min([0.95, *found])


def _finding(metric: str, name: str, ageing: AgeCurves) -> str:
    mean = ageing.curves[metric].mean
    known = np.flatnonzero(np.isfinite(mean))
    if known.size == 0:
        return f"{name}: nothing could be compared."
    ends = [int(known[0]), int(known[-1])]
    levels = [share(mean[k]) if metric != "kl" else f"{mean[k]:.3g}" for k in ends]
    weeks = [int(ageing.age[k]) for k in ends]
    return (
        f"{name}: {levels[0]} after {weeks[0]} week{'s' if weeks[0] != 1 else ''}, "
        f"{levels[1]} after {weeks[1]}."
    )


def _table(name: str, ageing: AgeCurves, curve: Curve) -> dict[str, Column]:
    return {
        "summaries": [name] * ageing.age.size,
        "age_weeks": ageing.age.tolist(),
        "mean": curve.mean,
        "low": curve.low,
        "high": curve.high,
        "databases": curve.databases.tolist(),
    }
