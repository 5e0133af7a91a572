"""Figure 2 of Yang, Wang, Lim and Wang (SIGMOD 2010), and the two moments behind it.

``python -m lab.citations [OUT]`` checks E F = rate t**2 / 2 and
Var F = rate t**3 / 3 by simulation, keeps 1000 papers fresh for 500 days with ten
queries a day by several rules, and writes ``content-freshness.svg`` to the folder OUT.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator, default_rng

from halflife.core.arrays import Floats, Ints
from halflife.core.forms import Term
from halflife.metrics.intervals import mean_interval
from halflife.queries.incidence import Incidence
from halflife.queries.known.content import SummedAges
from halflife.queries.known.gains import Gains
from halflife.queries.known.keywords import Pool, pool_of
from halflife.queries.known.query_loop import ALPHA
from halflife.queries.known.rules import KnownEstimates
from halflife.queries.policies import ALIASES, KNOWN
from halflife.study.axes import Axis, linear
from halflife.study.marks import LineMark
from halflife.study.svg import Chart, chart

Row: TypeAlias = dict[str, Any]

PAPERS, GROUPS, LARGEST = 1000, 200, 10
DAYS, A_DAY = 500, 10
ATTACHED = 0.25  # citations a day for each that a paper has
NAMES = ("naive1", "naive2", "greedy", "cube-root", "index", "lookup-index")
SEEDS = 10
MOMENTS = ((3.0, 2.0), (0.5, 10.0), (0.02, 20.0))
DRAWS = 200_000


def moments(rate: float, t: float, rng: Generator) -> Row:
    """Return mean and variance of the summed ages of Poisson updates, simulated."""
    count = rng.poisson(rate * t, DRAWS)
    ages = rng.random(int(count.sum())) * t
    drawn = np.bincount(np.repeat(np.arange(DRAWS), count), ages, DRAWS)
    off = (drawn - drawn.mean()) ** 2
    growth, at = SummedAges(np.array([rate])), np.array([t])
    return {
        "rate": rate,
        "t": t,
        "mean": float(drawn.mean()),
        "mean_error": float(drawn.std() / np.sqrt(DRAWS)),
        "mean_formula": float(growth.mean(at)[0]),
        "variance": float(off.mean()),
        "variance_error": float(off.std() / np.sqrt(DRAWS)),
        "variance_formula": float(growth.variance(at)[0]),
        "paper_lower_bound": t - (1.0 - float(np.exp(-rate * t))) / rate,
    }


@dataclass(frozen=True)
class Library:
    """Papers, how often each is cited, and the queries that bring them.

    Attributes:
        citations: Citations at the start; density 2 / x**3 from 1 on.
        gains: The groups of papers, and a look-up for each.

    """

    citations: Floats
    gains: Gains

    @property
    def rate(self) -> Floats:
        """Citations a day of each paper."""
        return ATTACHED * self.citations


def library(rng: Generator) -> Library:
    """Return papers as section 5.2 draws them, each in one group of at most ten."""
    citations = 1.0 / np.sqrt(rng.random(PAPERS))  # P(X > x) = 1 / x**2
    seats = np.repeat(np.arange(GROUPS), LARGEST)
    group = rng.permutation(seats)[:PAPERS].tolist()
    terms = [(Term("group", f"{number:03}"),) for number in group]
    local = Incidence.from_terms(map(str, range(PAPERS)), terms)
    return Library(citations, Gains(pool_of(local, together=1, lookup=True)))


def kept(papers: Library, name: str, weight: Floats, rng: Generator) -> Floats:
    """Return the content staleness at the end of each day under a rule.

    The rule knows the rates. Citations come at random moments; what counts at the end
    of a day is sum(t - t_i) over those since a paper was last asked for.
    """
    rule = KNOWN[ALIASES.get(name, name)].make(ALPHA)
    growth = SummedAges(papers.rate)
    chance = default_rng(0)
    age, missed, summed = np.zeros((3, PAPERS))
    curve = np.zeros(DAYS)
    for day in range(1, DAYS + 1):
        age += 1.0
        cited = rng.poisson(papers.rate)
        summed += missed + _uniforms(cited, rng)
        missed += cited
        spent = 0
        while spent < A_DAY:
            state = _standing(papers, growth, age, weight, (day, A_DAY - spent))
            chosen = rule(state, chance)
            if not chosen:
                break
            spent += len(chosen)
            for choice in chosen:
                rows = papers.gains.pool.matches.of(choice.number)
                age[rows] = missed[rows] = summed[rows] = 0.0
        curve[day - 1] = float(np.mean(weight * summed))
    return curve


def _uniforms(count: Ints, rng: Generator) -> Floats:
    """Return the ages of the day's updates at its end, summed for each paper."""
    ages = rng.random(int(count.sum()))
    item = np.repeat(np.arange(count.size), count)
    return np.bincount(item, ages, count.size).astype(np.float64)


def _standing(
    papers: Library,
    growth: SummedAges,
    age: Floats,
    weight: Floats,
    turn: tuple[int, int],
) -> KnownEstimates:
    pool: Pool = papers.gains.pool
    day, budget = turn
    return KnownEstimates(
        now=float(day),
        budget=float(budget),
        gains=papers.gains,
        weight=weight,
        age=age,
        rate=papers.rate,
        learned=np.ones(PAPERS, dtype=bool),
        stale=growth.mean(age),
        worth=growth.worth(age),
        hits=pool.held.astype(np.float64),
        open=np.ones(len(pool), dtype=bool),
        page_size=LARGEST,
        power=2.0,
    )


def curves(weighted: str) -> dict[str, Floats]:
    """Return content staleness by rule, a row a seed and a column a day."""
    found: dict[str, list[Floats]] = {name: [] for name in NAMES}
    for seed in range(SEEDS):
        papers = library(default_rng(seed))
        plain = np.ones(PAPERS)
        weight = papers.citations if weighted == "citations" else plain
        for name in NAMES:
            rng = default_rng([seed, 1])
            found[name].append(kept(papers, name, weight, rng))
    return {name: np.array(rows) for name, rows in found.items()}


def rows_of(weighted: str, found: Mapping[str, Floats]) -> list[Row]:
    """Return what Figure 2 says of each rule, after the first loop of look-ups.

    Citations have no variance, so a single paper may outweigh all others: medians over
    the draws are told, and each draw is held against ``greedy`` on the same draw.
    """
    settled = slice(PAPERS // A_DAY, None)
    rows = []
    for name, each in found.items():
        mean = each[:, settled].mean(axis=1)
        part = mean / found["greedy"][:, settled].mean(axis=1)
        rows.append(
            {
                "rule": name,
                "weight": weighted,
                "at_100": float(np.median(each[:, 99])),
                "at_200": float(np.median(each[:, 199])),
                "at_500": float(np.median(each[:, -1])),
                "highest": float(np.median(each[:, settled].max(axis=1))),
                "mean_100_500": float(np.median(mean)),
                "mean_100_500_of_draws": [float(mean.min()), float(mean.max())],
                "over_greedy": mean_interval(part)._asdict(),
            }
        )
    return rows


def picture(found: Mapping[str, Floats]) -> str:
    """Return Figure 2 as SVG; the scale upwards is logarithmic."""
    days = np.arange(1.0, DAYS + 1.0)
    middle = {name: np.median(each, axis=0) for name, each in found.items()}
    top = max(float(each.max()) for each in middle.values())
    said = ("1", "10", "100", "1k", "10k", "100k", "1M", "10M")
    last = int(np.ceil(np.log10(top)))
    ticks = tuple((float(p), said[p]) for p in range(last + 1))
    up = Axis("content staleness", 0.0, float(last), ticks)
    marks = tuple(
        LineMark(days, np.log10(np.maximum(each, 1.0)), name, tone, tone % 4)
        for tone, (name, each) in enumerate(middle.items())
    )
    about = (
        "Content staleness of 1000 papers over 500 days with ten queries a day: by "
        "look-ups it climbs, by keyword queries it stays bounded."
    )
    title = "Content staleness with ten queries a day"
    drawn = Chart(title, about, linear("days", 0.0, float(DAYS)), up, marks)
    return chart(drawn, "content-freshness", styled=True)


def run() -> tuple[dict[str, list[Row]], str]:
    """Return all figures, and the picture."""
    rng = default_rng(0)
    told = {"moments": [moments(rate, t, rng) for rate, t in MOMENTS]}
    drawn = ""
    rows: list[Row] = []
    for weighted in ("one", "citations"):
        found = curves(weighted)
        rows += rows_of(weighted, found)
        drawn = picture(found)  # the paper's figures are those of w = citations
    return {**told, "figure 2": rows}, drawn


if __name__ == "__main__":
    results, drawing = run()
    if len(sys.argv) > 1:
        (Path(sys.argv[1]) / "content-freshness.svg").write_text(
            drawing, encoding="utf-8"
        )
    sys.stdout.write(json.dumps(results, indent=1))
