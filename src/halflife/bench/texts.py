"""The complete study of summaries of recorded text databases.

``halflife study --text FOLDER --out OUT`` reads a folder with
``docs_weekly.parquet``, ``vocab.parquet`` and ``sites.parquet`` and writes into OUT:

- ``texts.json``: how summaries age, how long they last, which features predict it
  (the paper's Tables IV and V, validation with databases left out), the scores of
  every rule for refreshing them (its Figures 6 to 14), and the effect on selection;
- ``texts.md``: the rules side by side;
- pictures as SVG with their numbers as CSV.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halflife.bench import cox_sites, textdrift
from halflife.bench.textbuys import NEW, buys
from halflife.bench.textcox import TAUS, alone, by_threshold, curves
from halflife.bench.textplans import plans
from halflife.bench.textreplay import TextTerms, TextWorld, replay
from halflife.bench.textscores import HISTORY
from halflife.bench.textviews import EVERIES, TextView, score_rules, views
from halflife.policies.texts.lessons import Lessons
from halflife.policies.texts.names import RULES, named
from halflife.study.textdrift import figures, files, lifetimes_figure
from halflife.study.texts import markdown, quality, survival_figure, weekly_updates
from halflife.summary.age_curves import age_curves
from halflife.summary.weekly import Weekly

LADDERS = {"all documents": TAUS, "recent items": (0.01, 0.02, 0.05, 0.1, 0.2)}
SAMPLED = 12  # databases that are also summarised from samples
SHORT = ("naive", "survival", "index", "champion")  # replayed with a short history
BOUGHT = SHORT

STEPS = 8  # progress messages of ``run``
Say = Callable[[str], None]


def run(
    weekly: Weekly, say: Say, everies: Sequence[float] = EVERIES
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return all figures of the study, and its files."""
    seen = views(weekly)
    report: dict[str, Any] = {"databases": len(weekly.sites), "weeks": weekly.weeks}
    rng = np.random.default_rng(0)
    ages = {view.name: age_curves(view.found, rng) for view in seen}
    ages |= textdrift.sample_ageing(weekly, SAMPLED, rng)
    report["ageing"] = [r for n, age in ages.items() for r in textdrift.rows(n, age)]
    report["lifetimes"] = [r for v in seen for r in textdrift.survival(v.name, v.found)]
    say("ageing and lifetimes")
    shown = [*figures(ages), *(lifetimes_figure(v.name, v.found, v.tau) for v in seen)]
    report["cox"] = [_cox(view, say) for view in seen]
    report["plans"] = [row for view in seen for row in plans(view)]
    report["policies"], report["short"] = [], []
    for view in seen:
        report["policies"] += score_rules(view, list(RULES), everies)
        say(f"policies, {view.name}")
        report["short"] += score_rules(view, SHORT, (10, 20, 40), history=2)
        say(f"policies with a short history, {view.name}")
    report["bayes"] = [row for view in seen for row in updates(view)]
    report["selection"] = [
        row
        for view in seen
        for newest in (None, NEW)
        for row in buys(view, BOUGHT, (20, 40), newest=newest)
    ]
    say("selection")
    weeks = weekly.weeks - 1
    shown += [
        survival_figure(v.name, curves(v.found, v.tau, weeks), v.tau) for v in seen
    ]
    shown += [fig for v in seen for fig in quality(v.name, report["policies"])]
    shown += [weekly_updates(v.name, report["bayes"]) for v in seen]
    return report, files(shown) | {"texts.md": markdown(report["policies"])}


def _cox(view: TextView, say: Say) -> dict[str, Any]:
    """Return the coefficient tables of one view, and the validation of the models.

    ``left_out`` is None if no domain has two databases, since none can then be
    predicted from others.
    """
    ladder = LADDERS[view.name]
    taus = cox_sites.TAUS["all" if view.name == "all documents" else "recent"]
    domains = Counter(drift.stratum for drift in view.found)
    several = max(domains.values()) > 1
    found = {
        "view": view.name,
        "by_threshold": by_threshold(view.found, ladder),
        "alone": alone(view.found, ladder),
        "left_out": cox_sites.study(cox_sites.summary_spells(view.weekly, taus))
        if several
        else None,
    }
    say(f"survival regression, {view.name}")
    return found


def updates(view: TextView) -> list[dict[str, Any]]:
    """Return how many updates Naive Bayes makes in each week, by threshold."""
    world = TextWorld.of(view.weekly, view.found)
    rule = named("bayes-free")
    rows = []
    for tau in LADDERS[view.name]:
        lessons = Lessons(world.found, HISTORY, tau)
        terms = TextTerms(1.0, bounded=False)
        policy = rule.prepare(lessons)(1.0)
        run = replay(world, lessons, policy, terms, np.random.default_rng(0))
        number = run.renewed.sum(axis=0)[1:].astype(np.float64)
        mean = float(number.mean())
        rows.append(
            {
                "view": view.name,
                "tau": tau,
                "mean": mean,
                "most": float(number.max()),
                "every": len(world.found) / mean if mean else None,
                "weekly": number.tolist(),
            }
        )
    return rows


def _rounded(value: object) -> object:
    """Return a value with numbers of six digits, and None for nan and infinity."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _rounded(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(v) for v in value]
    return value


def write(
    weekly: Weekly, out: Path, say: Say, everies: Sequence[float] = EVERIES
) -> dict[str, str]:
    """Write the study of recorded databases to a folder; return the files."""
    began = time.perf_counter()
    report, written = run(weekly, say, everies)
    report["seconds"] = round(time.perf_counter() - began, 1)
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(_rounded(report), indent=1, allow_nan=False)
    written |= {"texts.json": text + "\n"}
    for name, content in written.items():
        (out / name).write_text(content, encoding="utf-8")
    return written
