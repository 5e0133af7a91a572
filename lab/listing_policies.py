"""Policies of listings on recorded listings: the service itself, in virtual time.

``python -m lab.listing_policies FOLDER NAME ... [--days 60] [--fetches 1.0]
[--policies threshold,market-price] [--most 600] [--warm 20]`` plays the service on each
recorded listing under each policy, all with the same budget: what so many full fetches
a day take. It prints requests a day and mean recall after the first ``warm`` days, as
JSON. Of a listing with more than ``most`` objects every n-th is taken.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.listing.recorded_source import RecordedListing
from halflife.recordings.relations import Relation, load_relation
from halflife.replay.play import Play, play_recorded
from halflife.replay.world import SentRequest
from halflife.stores import Store

POLICIES = ("threshold", "threshold-adaptive", "threshold-groups", "market-price")
ORIGIN = "http://recorded.invalid"
MOMENTS = 8  # a day at which the copy is compared with the truth
TURN = 3.0 * 3600.0  # seconds between two turns, at most
RHYTHM = ServiceRhythm(60.0, TURN, TURN, TURN, 10.0 * 86400.0)


@dataclass(frozen=True, slots=True)
class Rules:
    """How policies are played.

    Attributes:
        days: How long, from the middle of the recording on.
        warm: Days at the beginning that are not scored.
        fetches: Full fetches a day that the budget is enough for.
        most: Objects that are there at a time, at most.

    """

    days: float = 60.0
    warm: float = 20.0
    fetches: float = 1.0
    most: int = 600


@dataclass
class Watch:
    """Compares the copy with the truth."""

    source: RecordedListing
    at: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)

    def look(self, now: float, store: Store) -> None:
        """Write down the recall of a moment."""
        self.at.append(now)
        self.recall.append(self.source.quality(store, now))


def figures(
    source: RecordedListing, policies: Iterable[str], rules: Rules
) -> list[dict[str, object]]:
    """Return requests a day and mean recall under each policy."""
    looks = source.relation.looks
    begin = float(looks[looks.size // 2])
    pages = len(source.present(begin)) // source.per_page + 1
    budget = max(round(7.0 * rules.fetches * pages), 1)
    days = min(rules.days, float(looks[-1]) - begin)
    rows = []
    for policy in policies:
        watch = Watch(source)
        play = Play(begin, days, 1.0 / MOMENTS, watch.look, rhythm=RHYTHM)
        sent = _played(source, policy, budget, play)
        scored = np.array(watch.at) >= begin + rules.warm
        late = sum(one.at >= begin + rules.warm for one in sent)
        rows.append(
            {
                "source": source.name,
                "policy": policy,
                "budget_a_day": budget / 7.0,
                "requests_a_day": late / (days - rules.warm),
                "recall": float(np.array(watch.recall)[scored].mean()),
            }
        )
    return rows


def _played(
    source: RecordedListing, policy: str, budget: int, play: Play
) -> list[SentRequest]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "halflife.toml"
        path.write_text(
            f'[budget]\nrequests = {budget}\nper = "week"\n[fetch]\ndelay = 0.0\n'
            f'[[source]]\nname = "{source.name}"\nrobots = false\n'
            f'policy = "{policy}"\n{source.settings(ORIGIN)}\n'
        )
        config = Config.load(path)
        with bootstrap.writing(config) as store:
            store.skip_disk_syncs()
            return play_recorded(config, store, {ORIGIN: source.answer}, play)


def sampled(relation: Relation, most: int) -> Relation:
    """Return every n-th object of a relation, so that about ``most`` are there."""
    middle = float(relation.looks[relation.looks.size // 2])
    there = int(np.count_nonzero(
        (relation.first_seen <= middle) & (middle <= relation.last_seen)
    ))  # fmt: skip
    every = max(round(there / most), 1)
    numbers = {key: i for i, key in enumerate(dict.fromkeys(relation.keys))}
    chosen = np.array([numbers[key] % every == 0 for key in relation.keys])
    row, rows = np.cumsum(chosen) - 1, chosen[relation.spell]
    return replace(
        relation,
        keys=tuple(k for k, one in zip(relation.keys, chosen, strict=True) if one),
        first_seen=relation.first_seen[chosen],
        last_seen=relation.last_seen[chosen],
        spell=row[relation.spell[rows]],
        since=relation.since[rows],
        columns={name: column[rows] for name, column in relation.columns.items()},
    )


def main(arguments: Sequence[str]) -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--days", type=float, default=Rules().days)
    parser.add_argument("--warm", type=float, default=Rules().warm)
    parser.add_argument("--fetches", type=float, default=Rules().fetches)
    parser.add_argument("--most", type=int, default=Rules().most)
    given = parser.parse_args(arguments)
    rules = Rules(given.days, given.warm, given.fetches, given.most)
    rows = []
    for name in given.names:
        relation = sampled(load_relation(given.folder / name), rules.most)
        source = RecordedListing(name, relation)
        rows += figures(source, given.policies.split(","), rules)
    sys.stdout.write(json.dumps({"results": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
