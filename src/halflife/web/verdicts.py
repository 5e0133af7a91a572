"""Contents of the pages League and Audit."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from halflife.engine import audit_report, bootstrap
from halflife.engine.audit_report import (
    WINDOW,
    YEAR,
    SourceAudit,
    judge,
    scores_of,
)
from halflife.kinds.registry import kind_named
from halflife.models.calibration import reliability, within
from halflife.stores.forecasts import Checks, IssuedForecast
from halflife.study import league as drawing
from halflife.web import charts, words
from halflife.web.charts import ChartFigure
from halflife.web.pages import PAGE, Answer, Params
from halflife.web.survey import Survey

MEANT = 0.95  # the confidence of forecasts
NAMED = 3  # sources that a sentence names
FEW = 20  # outcomes below which no verdict is given

HOLD = "The forecasts hold: every source that was checked kept its bounds."
LEAGUE = ("league.json", "out/league.json")
LARGEST = 20 * 2**20  # bytes of a league
_NOT_HERE = re.compile(r'<style>.*?</style>|<text class="title".*?</text>', re.DOTALL)


def league(seen: Survey, given: Path | None) -> Answer:
    """Return the scores of policies on recorded histories, if a league was run."""
    folder = seen.config.path.absolute().parent
    places = [given] if given else [folder / name for name in LEAGUE]
    found = next((path for path in places if path.is_file()), None)
    answer: Answer = {"at": words.date(seen.now), "results": [], "figures": []}
    if found is None or found.stat().st_size > LARGEST:
        return answer
    try:
        played = json.loads(found.read_text(encoding="utf-8"))
        rows = [_checked(row) for row in played["results"]]
    except (ValueError, KeyError, TypeError):
        return {**answer, "trouble": f"{found.name} does not hold a league"}
    budgets = sorted({row["budget"] for row in rows})
    chosen = budgets[len(budgets) // 2] if budgets else 0.0
    table = sorted(
        (row for row in rows if row["budget"] == chosen),
        key=lambda row: -row["freshness"]["mean"],
    )
    return {
        **answer,
        "file": found.name,
        "items": played.get("items"),
        "days": played.get("days"),
        "budget": chosen,
        "budgets": budgets,
        "results": table,
        "figures": [_league(rows)] if rows else [],
    }


def _checked(row: Any) -> Answer:  # noqa: ANN401  (JSON)
    """Return a row of a league; raise if it is none."""
    mean, low, high = (float(row["freshness"][k]) for k in ("mean", "low", "high"))
    bounds = {name: float(row[name]) for name in ("blind", "told", "hindsight")}
    return {
        "policy": words.plain(row["policy"]),
        "budget": float(row["budget"]),
        "freshness": {"mean": mean, "low": low, "high": high},
        **bounds,
    }


def _league(rows: Sequence[Answer]) -> ChartFigure:
    # The picture escapes its texts; the page has its colours and its title.
    drawn = Markup(_NOT_HERE.sub("", drawing.picture(rows)))  # noqa: S704
    table = {
        "policy": [row["policy"] for row in rows],
        "budget": [row["budget"] for row in rows],
        "freshness": [row["freshness"]["mean"] for row in rows],
        "low": [row["freshness"]["low"] for row in rows],
        "high": [row["freshness"]["high"] for row in rows],
    }
    about = f"{len(set(table['policy']))} policies; the dashed lines are bounds."
    return charts.ChartFigure("league", drawing.TITLE, about, drawn, table)


def audit(seen: Survey, _: Params) -> Answer:
    """Return the audited quality and the scores of forecasts, by source."""
    audits: list[SourceAudit] = []
    scored: list[IssuedForecast] = []
    checks: list[Checks] = []
    with bootstrap.reading(seen.config) as store:
        kept = store.forecasts
        names, waiting = kept.audited(seen.now - YEAR, PAGE)
        for name in names:
            audits.append(judge(store, name, seen.now))
            scored += audit_report.recent(store, name, seen.now)[-PAGE:]
            checks.append(kept.checks(name, seen.now - WINDOW))
    kinds = {source.name: source.kind for source in seen.sources}
    rows = [
        _judged(one, kinds.get(one.source, ""), seen.now)
        for one in audits
        if one.scored or one.checked
    ]
    return {
        "at": words.date(seen.now),
        "days": WINDOW,
        "share": seen.config.audit.share,
        "waiting": waiting,
        "sentence": sentence(rows),
        "told": sum(one.scored for one in audits),
        "within": sum(round(one.coverage.mean * one.scored) for one in audits),
        "checked": sum(one.checked for one in audits),
        "results": rows,
        "figures": _audit_figures(scored, checks),
    }


def _audit_figures(
    scored: Sequence[IssuedForecast], checks: Sequence[Checks]
) -> list[ChartFigure]:
    figures = []
    if scored:
        mean = np.array([cast.mean for cast in scored])
        found = np.array([cast.found or 0.0 for cast in scored])
        inside = within(scores_of(scored))  # as the table counts them
        figures.append(charts.outcome_chart(mean, found, inside))
    if any(sample.at.size for sample in checks):
        believed = np.concatenate([sample.believed for sample in checks])
        fresh = np.concatenate([sample.fresh for sample in checks])
        figures.append(charts.reliability_chart(reliability(believed, fresh)))
    return figures


def _judged(one: SourceAudit, kind: str, now: float) -> Answer:
    """Return the audit of a source, and its verdict."""
    coverage = one.coverage
    if one.drifting(now):
        verdict = "drifting"
    elif one.scored and coverage.high < MEANT:
        verdict = "too sure"
    else:
        verdict = "as forecast"
    return {
        "source": one.source,
        "measure": one.measure,
        "kind": kind,
        "found_by": kind_named(kind).checked_by if kind else "",
        "checked": one.checked if one.how == "checks" else one.gaps,
        "quality": one.quality._asdict() if one.quality else None,
        "believed": one.believed._asdict() if one.believed else None,
        "forecasts": one.scored,
        "within": round(coverage.mean * one.scored),
        "coverage": coverage._asdict() if one.scored else None,
        "meant": MEANT,
        "trust": one.trust.factor,
        "why": words.plain(one.trust.why) if one.trust.factor > 1.0 else "",
        "verdict": verdict,
    }


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
