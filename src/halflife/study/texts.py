"""Charts of the scores of rules for refreshing summaries, and a table of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halflife.core.arrays import Floats
from halflife.study import axes
from halflife.study.figures import StudyFigure, Table, drawing, stack_tables
from halflife.study.marks import BandMark, LineMark, Mark
from halflife.study.svg import Chart

SHOWN = ("naive", "survival", "bayes", "sampling", "champion", "hindsight")
TITLES = {
    "kl": "Divergence of summaries",
    "ur": "Unweighted recall of summaries",
    "wr": "Weighted recall of summaries",
    "up": "Unweighted precision of summaries",
    "wp": "Weighted precision of summaries",
    "update_precision": "Share of refreshes of a summary that had changed",
}
COLUMNS = (
    "ur", "wr", "up", "wp", "kl", "kl_cut", "true", "true_gain", "update_precision",
    "predicted_precision", "predicted_then",
)  # fmt: skip


def quality(view: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[StudyFigure]:
    """Show figures against T, a curve for each rule: the paper's Figures 6 to 13."""
    drawn = [r for r in rows if r["view"] == view and r["policy"] in SHOWN]
    for name, title in TITLES.items():
        yield _quality(view, name, f"{title} ({view})", drawn)


def _quality(
    view: str, name: str, title: str, rows: Sequence[Mapping[str, Any]]
) -> StudyFigure:
    marks: list[Mark] = []
    tables: list[dict[str, Any]] = []
    for tone, policy in enumerate(SHOWN):
        mine = [r for r in rows if r["policy"] == policy]
        if not mine:
            continue
        every = np.array([float(r["every"]) for r in mine])
        mean, low, high = (
            np.array([r[name][side] for r in mine]) for side in ("mean", "low", "high")
        )
        if policy in {"naive", "champion"}:
            marks.append(BandMark(every, low, high, "", tone))
        marks.append(LineMark(every, mean, policy, tone, dash=tone % 4))
        bounds = {"mean": mean, "low": low, "high": high}
        tables.append({"policy": [policy] * every.size, "every": every} | bounds)
    said = tuple(_finding(name, t) for t in tables)
    top = max(float(np.nanmax(t["high"])) for t in tables)
    bottom = 0.0 if name == "kl" else min(float(np.nanmin(t["low"])) for t in tables)
    last = max(float(t["every"].max()) for t in tables)
    chart = Chart(
        title,
        " ".join(said),
        axes.linear("weeks between refreshes, on average", 0.0, last),
        axes.linear(name.replace("_", " "), bottom, top),
        tuple(marks),
    )
    file = f"texts-{name.replace('_', '-')}-{view.split(maxsplit=1)[0]}"
    return StudyFigure(file, title, said, (drawing(chart),), stack_tables(tables))


def _finding(name: str, table: Mapping[str, Any]) -> str:
    return (
        f"{table['policy'][0]}: {table['mean'][0]:.3g} at {table['every'][0]:g} weeks, "
        f"{table['mean'][-1]:.3g} at {table['every'][-1]:g} ({name})."
    )


def survival_figure(view: str, curves: Mapping[str, Floats], tau: float) -> StudyFigure:
    """Show the fitted survival of each domain's summaries: the paper's Figure 4."""
    title = f"Fitted survival of summaries by domain ({view}, tau = {tau:g})"
    said = tuple(
        f"{kind}: {curve[-1]:.0%} are true after {curve.size - 1} weeks."
        for kind, curve in curves.items()
    )
    week = {kind: np.arange(float(curve.size)) for kind, curve in curves.items()}
    last = max(float(w[-1]) for w in week.values())
    chart = Chart(
        title,
        " ".join(said),
        axes.linear("age of the summary (weeks)", 0.0, last),
        axes.percent("chance that it is true"),
        tuple(
            LineMark(week[kind], curve, kind, tone, dash=tone % 4)
            for tone, (kind, curve) in enumerate(curves.items())
        ),
    )
    tables: list[Table] = [
        {"domain": [k] * c.size, "week": week[k], "alive": c} for k, c in curves.items()
    ]
    file = f"texts-survival-{view.split(maxsplit=1)[0]}"
    return StudyFigure(file, title, said, (drawing(chart),), stack_tables(tables))


def weekly_updates(view: str, rows: Sequence[Mapping[str, Any]]) -> StudyFigure:
    """Show how many updates Naive Bayes makes in each week: the paper's Figure 14."""
    mine = [r for r in rows if r["view"] == view]
    title = f"Updates a week by Naive Bayes ({view})"
    said = tuple(
        f"tau {r['tau']:g}: {r['mean']:.1f} a week, {r['most']:.0f} at most."
        for r in mine
    )
    numbers = [np.array(r["weekly"], dtype=np.float64) for r in mine]
    week = np.arange(1.0, numbers[0].size + 1.0)
    chart = Chart(
        title,
        " ".join(said),
        axes.linear("week of the replay", 0.0, float(week[-1])),
        axes.linear("updates", 0.0, max(float(n.max()) for n in numbers)),
        tuple(
            LineMark(week, n, f"tau {r['tau']:g}", tone, dash=tone % 4)
            for tone, (r, n) in enumerate(zip(mine, numbers, strict=True))
        ),
    )
    tables: list[Table] = [
        {"tau": [r["tau"]] * week.size, "week": week, "updates": n}
        for r, n in zip(mine, numbers, strict=True)
    ]
    file = f"texts-bayes-{view.split(maxsplit=1)[0]}"
    return StudyFigure(file, title, said, (drawing(chart),), stack_tables(tables))


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of all rules and T, with intervals."""
    head = ("view", "policy", "T", *COLUMNS, "spent a week")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [row["view"], row["policy"], f"{row['every']:g}"]
        cells += [_cell(row[name]) for name in COLUMNS]
        cells.append(f"{row['spent_a_week']:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(found: Mapping[str, float]) -> str:
    low, high = found["low"], found["high"]
    small = max(abs(low), abs(high)) < 0.1
    digits = 4 if small and low != high else 3
    return f"{found['mean']:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
