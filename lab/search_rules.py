"""Rules for summaries through the live service, in virtual time, on recorded texts.

``python -m lab.search_rules FOLDER`` lets the service keep the summaries of recorded
text databases (``recordings.textdb``) under each rule that a live search may name, all
with the same budget, and prints a row each: the share of time in which the summaries
were not out of date, how far from the truth they were, and what that took.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from halflife import plugins
from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.protocol import Report
from halflife.kinds.search.recorded_source import (
    FULL_TAU,
    SUMMARY,
    WEEK,
    RecordedSearch,
)
from halflife.kinds.search.settings import SearchConfig
from halflife.metrics.intervals import Interval, series_interval
from halflife.recordings import textdb
from halflife.replay.play import Play, play_recorded
from halflife.replay.recorded_source import source_name
from halflife.stores import Store

DAY, MONTH = 86400.0, 30.0
RECENT_TAU = 0.05  # divergence that half of the summaries of new documents reach
FEWEST = 20  # documents that a database has at all times
WARM = 0.25  # of the time is for first summaries and learning, and is not scored
DAILY = ServiceRhythm(DAY, DAY, DAY, DAY, DAY)


@dataclass
class Kept:
    """What came of a rule.

    Attributes:
        sources: The databases.
        at: When copies were compared with the truth, in days.
        quality: How good each was.
        kl: How far each summary was from the truth; NaN if there was none.
        renewals: New summaries, the first ones included.
        checks: Checks.

    """

    sources: Sequence[RecordedSearch]
    at: list[float] = field(default_factory=list)
    quality: list[list[float]] = field(default_factory=list)
    kl: list[list[float]] = field(default_factory=list)
    renewals: int = 0
    checks: int = 0

    def watch(self, now: float, store: Store) -> None:
        """Compare every summary with the truth."""
        self.at.append(now)
        self.quality.append([one.quality(store, now) for one in self.sources])
        self.kl.append([one.divergence(store, now) for one in self.sources])

    def told(self, report: Report) -> None:
        """Count what was done."""
        row = {} if report.result is None else report.result.row()
        self.checks += bool(row.get("check"))
        self.renewals += not row.get("check") and row.get("version") is not None


def play(
    sources: Sequence[RecordedSearch], policy: str, budget: float, days: float
) -> tuple[Kept, int]:
    """Let the service keep databases under a rule; return what came of it."""
    named = [replace(source, policy=policy) for source in sources]
    kept = Kept(named)
    world = {f"http://recorded-{i}.{_ending(s)}": s for i, s in enumerate(named)}
    began = named[0].span[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "halflife.toml"
        path.write_text(_settings(world, budget))
        config = Config.load(path)
        with bootstrap.writing(config) as store:
            store.skip_disk_syncs()
            answers = {origin: source.answer for origin, source in world.items()}
            asked = Play(
                began, days, 1.0, kept.watch, kept.told, audits=False, rhythm=DAILY
            )
            sent = play_recorded(config, store, answers, asked)
    return kept, len(sent)


def _fewest(source: RecordedSearch) -> int:
    """Return the documents that a database has at least."""
    weekly = source.weekly
    weeks = range(weekly.since, weekly.weeks)
    return min(weekly.present(source.site, week).size for week in weeks)


def _ending(source: RecordedSearch) -> str:
    """Return the end of a host's name that tells the domain of a database."""
    stratum = source.weekly.stratum[source.weekly.place(source.site)]
    return "invalid" if stratum == "misc" else stratum


def _settings(world: dict[str, RecordedSearch], budget: float) -> str:
    lines = [
        f'[budget]\nrequests = {max(round(MONTH * budget), 1)}\nper = "month"',
        "[fetch]\ndelay = 0.0",
    ]
    for origin, source in world.items():
        lines.append(f'[[source]]\nname = "{source.name}"\nrobots = false')
        lines.append(source.settings(origin))
    return "\n".join(lines) + "\n"


def compare(
    sources: Sequence[RecordedSearch],
    policies: Sequence[str],
    budget: float,
    days: float,
) -> Iterator[dict[str, Any]]:
    """Yield what each rule reached; ``against`` compares it with the first one."""
    first: tuple[str, Any] | None = None
    for policy in policies:
        began = time.perf_counter()
        kept, sent = play(sources, policy, budget, days)
        scored = np.array(kept.at) >= kept.at[0] + WARM * days
        quality = np.array(kept.quality)[scored]
        series = quality.mean(axis=1)
        first = first or (policy, series)
        told: Interval = series_interval(series - first[1])
        yield {
            "policy": policy,
            "quality": float(quality.mean()),
            "kl": float(np.nanmean(np.array(kept.kl)[scored])),
            "requests": sent,
            "requests_a_day": sent / days,
            "renewals": kept.renewals,
            "checks": kept.checks,
            "against": {"policy": first[0], **told._asdict()},
            "seconds": round(time.perf_counter() - began, 1),
        }


def main(arguments: list[str] | None = None) -> None:
    """Print what each rule reached, a line of JSON each."""
    parser = argparse.ArgumentParser(prog="python -m lab.search_rules")
    parser.add_argument("folder", type=Path, help="weekly recordings of databases")
    parser.add_argument("--sites", type=int, default=12, help="so many databases")
    parser.add_argument("--budget", type=float, default=40.0, help="requests a day")
    parser.add_argument("--days", type=float, default=0.0, help="by default all")
    parser.add_argument("--tau", type=float, help="when a summary is out of date")
    parser.add_argument("--recent", action="store_true", help="recent items alone")
    parser.add_argument("--policies", default="", help="by default all, naive first")
    asked = parser.parse_args(arguments)
    rules = plugins.policies(SearchConfig.policy_group)
    names = asked.policies.split(",") if asked.policies else ["naive", *rules]
    found = recorded_searches(asked.folder, tau=asked.tau, recent=asked.recent)
    found = [one for one in found if _fewest(one) >= FEWEST]
    step = max(len(found) // asked.sites, 1)
    sources = found[::step][: asked.sites]
    begin, end = sources[0].span
    days = min(asked.days or end - begin, end - begin - 1.0)
    for row in compare(sources, list(dict.fromkeys(names)), asked.budget, days):
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


def recorded_searches(
    folder: Path,
    names: Iterable[str] = (),
    *,
    tau: float | None = None,
    measure: str = SUMMARY,
    recent: bool = False,
) -> list[RecordedSearch]:
    """Return the text databases that are recorded in a folder (``recordings.textdb``).

    Their weeks are aligned: the first whole week of each begins when that of the latest
    did. ``recent`` shows only documents that are new in the last 13 weeks. The default
    of ``tau`` is reached by half of the summaries in about half of the recorded time.
    """
    weekly = textdb.load(folder)
    weekly = weekly.recent() if recent else weekly
    chosen = tuple(names) or weekly.sites
    tau = (RECENT_TAU if recent else FULL_TAU) if tau is None else tau
    began = float(weekly.begin.max()) + WEEK * weekly.since
    return [
        RecordedSearch(source_name(site), weekly, site, tau, measure, began)
        for site in chosen
    ]


if __name__ == "__main__":
    main()
