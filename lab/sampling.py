"""Sampling with and without correlation on real sites: the paper's own questions.

``python -m lab.sampling FOLDER [PICTURES]`` takes a folder with
``pages.parquet``, ``changes.parquet``, ``links.parquet`` and ``page_terms.parquet``.
Each draw takes some sites and as many pages of each, and as many topics as sites, so
that sampling by site and by topic have the same number of categories, as section 5.2
of the paper asks for. Cycles are weeks, and a tenth of the pages can be looked at in
each. Printed are ChangeRatio against the sample size (Fig. 1), against the number of
topics a page is in (Fig. 2), and by policy (Table 3), as means over draws with
intervals; PICTURES is a folder for charts of the first two.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from halflife.belief.plain import PlainRates
from halflife.core.arrays import Ints
from halflife.core.categories import Categories
from halflife.grouping.topic import LinkMatrix, Surfer, common_terms
from halflife.metrics.intervals import mean_interval
from halflife.policies import Strategy
from halflife.policies.index import freshness
from halflife.policies.sampling import (
    Sampling,
    folder_sampling,
    folder_sampling_proportional,
    sampling_history,
    sampling_importance,
    sampling_interval,
    sampling_odds,
    site_sampling,
    site_sampling_proportional,
)
from halflife.policies.sampling.categories import KeyCategories, by_folder, by_site
from halflife.policies.sampling.shares import ShareJudge
from halflife.policies.sampling.sizes import FixedSize, Optimal, Root
from halflife.policies.simple import round_robin
from halflife.recordings.histories import load
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay
from halflife.study import axes, svg
from halflife.study.marks import LineMark, Points
from lab.linkgraph import LinkGraph, load_graph

WEEK = 7.0  # days; a replay's day stands for a cycle of one week
SIZES = (1, 2, 3, 5, 8, 12, 18, 25)
TOPICS = tuple(range(1, 11))
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """What is drawn, and how often.

    Attributes:
        sites: Sites of a draw; also the number of topics.
        pages: Pages of each site; smaller sites are not drawn.
        share: Share of the pages that can be looked at in a cycle.
        cycles: Weeks replayed.
        draws: Draws of sites and pages.

    """

    sites: int = 20
    pages: int = 250
    share: float = 0.1
    cycles: int = 50
    draws: int = 5


@dataclass(frozen=True, slots=True)
class World:
    """One draw of sites and pages.

    Attributes:
        replay: Their history, a day standing for a cycle.
        graph: Their links, and their commonest terms.
        seed: What the policies' chance begins with.

    """

    replay: Replay
    graph: LinkGraph
    seed: int

    def topics(self, most: int) -> KeyCategories:
        """Return what files each page under the topics it is best known for."""
        found = Surfer().topics(self.graph.links, self.graph.terms, most)
        return KeyCategories(lambda _: found)

    def ratio(self, strategy: Strategy) -> float:
        """Return the ChangeRatio of a strategy."""
        return self.replay.score(strategy, self.seed).change_ratio


def worlds(folder: Path, setting: Setting) -> Iterator[World]:
    """Yield the draws."""
    recording = load(folder, days=WEEK * (setting.cycles + 1)).recording
    recording = replace(recording, at=recording.at / WEEK, died=recording.died / WEEK)
    graph = load_graph(folder, recording)
    site = np.array(recording.group)
    names, number = np.unique(site, return_counts=True)
    large = names[number >= setting.pages]
    for seed in range(setting.draws):
        rng = np.random.default_rng(seed)
        chosen = rng.choice(large, min(setting.sites, large.size), replace=False)
        of_site = [np.flatnonzero(site == name) for name in chosen.tolist()]
        some = [rng.choice(rows, setting.pages, replace=False) for rows in of_site]
        rows = np.sort(np.concatenate(some))
        part = pages(recording, rows)
        budget = setting.share * len(part)
        replay = Replay(part, budget, 0.0, setting.cycles + 1.0, ticks=1)
        terms = common_terms(part_of(graph.terms, rows), 1, setting.sites)
        links = links_among(graph.links, rows)
        yield World(replay, LinkGraph(links, terms), seed + 1000)


def pages(recording: Recording, rows: Ints) -> Recording:
    """Return the recording of some pages."""
    length = np.diff(recording.start)
    kept = np.repeat(np.isin(np.arange(len(recording)), rows), length)
    return Recording(
        keys=tuple(recording.keys[i] for i in rows.tolist()),
        start=np.concatenate([[0], np.cumsum(length[rows])]).astype(np.intp),
        at=recording.at[kept],
        weight=recording.weight[rows],
        born=recording.born[rows],
        died=recording.died[rows],
        group=tuple(recording.group[i] for i in rows.tolist()),
    )


def part_of(categories: Categories, rows: Ints) -> Categories:
    """Return the categories of some items, in the order of their rows."""
    place = _places(rows, categories.n_items)
    item = place[categories.item]
    kept = item >= 0
    which = categories.category[kept]
    return Categories.of_pairs(categories.names, which, item[kept], rows.size)


def links_among(links: LinkMatrix, rows: Ints) -> LinkMatrix:
    """Return the links between some pages."""
    place = _places(rows, links.n_pages)
    source, target = place[links.source], place[links.target]
    kept = (source >= 0) & (target >= 0)
    return LinkMatrix.of_pairs(source[kept], target[kept], rows.size)


def _places(rows: Ints, n: int) -> Ints:
    place = np.full(n, -1, dtype=np.intp)
    place[rows] = np.arange(rows.size)
    return place


def by_size(world: World) -> Iterator[tuple[str, float]]:
    """Yield Figure 1: ChangeRatio by samples a category, by site and by topic."""
    for name, filed in (("sites", by_site), ("topics", world.topics(6))):
        for size in SIZES:
            policy = Sampling(filed, size=FixedSize(size), share=1.0)
            yield f"{name} {size}", world.ratio(Strategy(policy, PlainRates))


def by_topics(world: World) -> Iterator[tuple[str, float]]:
    """Yield Figure 2: ChangeRatio by the number of topics a page is in."""
    for most in TOPICS:
        policy = Sampling(world.topics(most))
        yield str(most), world.ratio(Strategy(policy, PlainRates))


def by_policy(world: World) -> Iterator[tuple[str, float]]:
    """Yield Table 3: ChangeRatio by policy."""
    for name, strategy in rivals(world).items():
        yield name, world.ratio(strategy)


def rivals(world: World) -> dict[str, Strategy]:
    """Return the policies of Table 3, and those that the paper left for later."""
    one, six = world.topics(1), world.topics(6)
    posterior = ShareJudge("posterior")

    def plain(policy: Sampling) -> Strategy:
        return Strategy(policy, PlainRates)

    return {
        "round-robin": round_robin,
        "change frequency": freshness,
        "sites": site_sampling,
        "sites, proportional": site_sampling_proportional,
        "topics (1)": plain(Sampling(one)),
        "topics (6)": plain(Sampling(six)),
        "topics (6), proportional": plain(Sampling(six, "proportional")),
        "topics (6), not shared": plain(Sampling(six, shared=False)),
        "folders": folder_sampling,
        "folders, proportional": folder_sampling_proportional,
        "folders, even samples": plain(Sampling(by_folder(), size=Root("even"))),
        "folders, Eq. 7": plain(Sampling(by_folder(), size=Optimal())),
        "folders, lower bound": sampling_interval,
        "folders, upper bound": plain(Sampling(by_folder(), judge=ShareJudge("upper"))),
        "folders, posterior": plain(Sampling(by_folder(), judge=posterior)),
        "folders, importance": sampling_importance,
        "folders, history": sampling_history,
        "folders, odds": sampling_odds,
    }


def run(folder: Path, setting: Setting) -> dict[str, list[Row]]:
    """Return both figures and the table, as means over draws with intervals."""
    asked = {"figure 1": by_size, "figure 2": by_topics, "table 3": by_policy}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in asked}
    for world in worlds(folder, setting):
        for name, ask in asked.items():
            for row, ratio in ask(world):
                found[name].setdefault(row, []).append(ratio)
    plain = np.array(found["table 3"]["round-robin"])
    return {
        name: [_row(*pair, plain) for pair in of.items()] for name, of in found.items()
    }


def _row(name: str, ratios: list[float], plain: np.ndarray[Any, Any]) -> Row:
    """Return a row; each draw is held against round-robin on the same draw."""
    ratio, more = mean_interval(np.array(ratios)), mean_interval(ratios - plain)
    return {
        "name": name,
        "change_ratio": ratio._asdict(),
        "over_round_robin": more._asdict(),
        "draws": len(ratios),
        "each": ratios,
    }


def pictures(told: Mapping[str, list[Row]]) -> dict[str, str]:
    """Return the paper's two figures as SVG, by name."""
    first = told["figure 1"]
    sites, topics = first[: len(SIZES)], first[len(SIZES) :]
    across = np.array(SIZES, dtype=np.float64)
    one = (("sites", across, sites), ("topics, 6 a page", across, topics))
    two = (("topics", np.array(TOPICS, dtype=np.float64), told["figure 2"]),)
    return {
        "sample-size": _picture(
            "ChangeRatio and sample size", "samples a category", one
        ),
        "topics": _picture("ChangeRatio and topics", "topics a page is in", two),
    }


def _picture(
    title: str, label: str, curves: tuple[tuple[str, Any, list[Row]], ...]
) -> str:
    marks: list[LineMark | Points] = []
    top = 0.0
    for tone, (name, x, rows) in enumerate(curves):
        mean, low, high = (
            np.array([r["over_round_robin"][k] for r in rows])
            for k in ("mean", "low", "high")
        )
        marks += [
            LineMark(x, mean, name, tone, tone),
            Points(x, mean, "", tone, low, high),
        ]
        top = max(top, float(np.abs([low, high]).max()))
    y = axes.linear("ChangeRatio above round-robin", -top, top)
    about = f"{title}: means over draws of sites, with 95 % intervals."
    drawn = svg.Chart(
        title, about, axes.linear(label, 0.0, float(x[-1])), y, tuple(marks)
    )
    return svg.chart(drawn, "sampling", styled=True)


if __name__ == "__main__":
    results = run(Path(sys.argv[1]), Setting())
    for name, picture in pictures(results).items() if len(sys.argv) > 2 else ():
        (Path(sys.argv[2]) / f"{name}.svg").write_text(picture, encoding="utf-8")
    sys.stdout.write(json.dumps(results, indent=1))
