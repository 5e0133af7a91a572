"""Whether it pays to know that pages change together.

``python -m lab.correlation FOLDER`` takes a folder of page histories and
replays, by the rules of the league, four ways to use what a group of pages tells: to
sample it (site by site, folder by folder, or topic by topic), to pool its rates, and
to take a change seen on one page as evidence about the others now. The last is also
taken apart: without one of its pieces at a time.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from halflife import plugins
from halflife.belief.neighbours import Neighbours
from halflife.bench import league
from halflife.grouping.topic import Surfer, common_terms
from halflife.models.bursts import Bursts
from halflife.policies import Strategy
from halflife.policies.champion import PATIENCE, PatientIndex
from halflife.policies.rounds import InRounds
from halflife.policies.sampling import topic_sampling
from halflife.recordings import histories
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay
from lab.linkgraph import load_graph

TOPICS, EACH = 50, 6  # topics there are, and topics a page may be in
LARGE = 1e9  # a prior that no look can move
SAMPLED = "site-sampling", "folder-sampling"
RIVALS = "uniform", "nutch-adaptive", "freshness", "index-pooled"


def evidence(
    *,
    rounds: int = 4,
    boldness: float = 0.0,
    trust: Sequence[float] | None = None,
    site: float | None = None,
    folder: float | None = None,
) -> Strategy:
    """Return the champion with pieces taken out; hints are not part of it here.

    Nor are near names: ``lab.page_halves`` plays these.
    """
    priors = {"site": site, "folder": folder}
    given = {name: prior for name, prior in priors.items() if prior is not None}
    bursts = partial(Bursts, **given)
    degrees = {} if trust is None else {"trust": np.array(trust)}
    policy = InRounds(
        PatientIndex("freshness", boldness=boldness, patience=PATIENCE), rounds
    )
    return Strategy(policy, partial(Neighbours, bursts, near=np.zeros(1), **degrees))


VARIANTS: dict[str, Callable[[], Strategy]] = {
    "neighbours": evidence,
    "without neighbours": partial(evidence, trust=(0.0,)),
    "sites only": partial(evidence, folder=LARGE),
    "folders only": partial(evidence, site=LARGE),
    "full trust": partial(evidence, trust=(1.0,)),
    "one round": partial(evidence, rounds=1),
    "bold": partial(evidence, boldness=1.0),
}


def resolve(folder: Path, name: str, replay: Replay) -> Strategy:
    """Return one of the ways by its name."""
    if name in VARIANTS:
        return VARIANTS[name]()
    if name == "topic-sampling":
        return by_topic(folder, replay.recording)
    return plugins.strategy(name)


def by_topic(folder: Path, recording: Recording) -> Strategy:
    """Return sampling by the topics that pages have a reputation on."""
    graph = load_graph(folder, recording)
    terms = common_terms(graph.terms, 2, TOPICS)
    found = Surfer().topics(graph.links, terms, EACH)
    member: dict[str, list[str]] = {}
    for category, item in zip(
        found.category.tolist(), found.item.tolist(), strict=True
    ):
        member.setdefault(recording.keys[item], []).append(found.names[category])
    return topic_sampling(member)


def concentration(recording: Recording, days: float) -> dict[str, float]:
    """Return on how many of all days of sites half of the changes fall."""
    start, at = recording.moments
    item = np.repeat(np.arange(len(recording)), np.diff(start))
    code = {name: i for i, name in enumerate(dict.fromkeys(recording.group))}
    site = np.array([code[name] for name in recording.group], dtype=np.intp)[item]
    inside = (at > 0) & (at < days)
    width = int(np.ceil(days))
    day = site[inside] * width + np.floor(at[inside]).astype(np.intp)
    count = np.sort(np.bincount(day, minlength=len(code) * width))[::-1]
    half = int(np.searchsorted(np.cumsum(count), count.sum() / 2)) + 1
    never = 1.0 - np.unique(item[inside]).size / max(len(recording), 1)
    return {
        "site_days": count.size,
        "hold_half": half,
        "changes": int(count.sum()),
        "never_change": round(never, 4),
    }


def main(words: Sequence[str] | None = None) -> None:
    """Play all ways and print how they did."""
    parser = argparse.ArgumentParser(prog="lab.correlation")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budgets", default="0.005,0.02")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--days", type=float, default=league.DAYS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(words)
    shares = [float(word) for word in given.budgets.split(",")]
    rules = league.LeagueRules(shares, given.seeds, executor=f"local:{given.jobs}")
    recorded = histories.load(given.folder, days=given.days)
    names = (*RIVALS, *SAMPLED, "topic-sampling", *VARIANTS)
    rows = league.standing(
        recorded, names, rules, _tell, partial(resolve, given.folder)
    )
    answer = league.report(recorded, rules, rows)
    answer["busy"] = concentration(recorded.recording, recorded.end)
    sys.stdout.write(json.dumps(answer, indent=1, allow_nan=False) + "\n")


def _tell(_done: int, said: str) -> None:
    sys.stderr.write(f"{said}\n")


if __name__ == "__main__":
    main()
