"""Policies compared on recorded sources: the service itself, in virtual time."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from halflife.config import Config
from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.engine import bootstrap
from halflife.engine.service import Rhythm
from halflife.metrics.intervals import series_interval
from halflife.replay.play import Play, play_recorded
from halflife.replay.recorded_source import RecordedSource
from halflife.stores.sqlite import SqliteStore

WARM = 0.25  # of the time is for learning and is not scored
MOMENTS = 8  # a day at which copies are compared with the truth
HOURLY = Rhythm(3600.0, 3600.0, 3600.0, 3600.0, 21600.0)


@dataclass(frozen=True, slots=True)
class Rules:
    """How policies are compared.

    Attributes:
        policies: Their names.
        budgets: Requests a day.
        begin: When a replay begins, in days; by default with the recordings.
        days: How long it lasts; by default as long as they do.

    """

    policies: Sequence[str]
    budgets: Sequence[float]
    begin: float | None = None
    days: float | None = None

    def span(self, sources: Sequence[RecordedSource]) -> tuple[float, float]:
        """Return when a replay of these sources begins and ends."""
        first = max(source.span[0] for source in sources)
        last = min(source.span[1] for source in sources)
        begin = first if self.begin is None else max(self.begin, first)
        end = last if self.days is None else min(begin + self.days, last)
        if end - begin < 1.0:
            raise UsageError(
                "the recordings have less than a day in common; name fewer sources "
                "with --sources"
            )
        return begin, end


@dataclass
class Watch:
    """Compares the copies in a store with the truth, moment by moment."""

    sources: Sequence[RecordedSource]
    at: list[float] = field(default_factory=list)
    quality: list[list[float]] = field(default_factory=list)

    def look(self, now: float, store: SqliteStore) -> None:
        """Write down how good every copy is."""
        self.at.append(now)
        self.quality.append([source.quality(store, now) for source in self.sources])


def contest(sources: Sequence[RecordedSource], rules: Rules) -> list[dict[str, Any]]:
    """Return how good the copies were under each policy and budget.

    Every policy gets the same recordings and the same budget. ``against`` is the mean
    difference from the first policy at the same budget, with its 95 % interval.
    """
    if not sources:
        raise UsageError("nothing was recorded that could be replayed")
    rows = []
    for budget in rules.budgets:
        first: Floats | None = None
        for policy in rules.policies:
            row, series = _play(sources, rules, policy, budget)
            first = series if first is None else first
            told = series_interval(series - first)
            row["against"] = {"policy": rules.policies[0], **told._asdict()}
            rows.append(row)
    return rows


def _play(
    sources: Sequence[RecordedSource], rules: Rules, policy: str, budget: float
) -> tuple[dict[str, Any], Floats]:
    begin, end = rules.span(sources)
    watch = Watch(sources)
    world = {_origin(i): source for i, source in enumerate(sources)}
    play = Play(
        begin, end - begin, 1.0 / MOMENTS, watch.look, audits=True,
        rhythm=HOURLY,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "halflife.toml"
        path.write_text(_settings(world, policy, budget))
        config = Config.load(path)
        with bootstrap.writing(config) as store:
            store.skip_disk_syncs()
            answers = {origin: source.answer for origin, source in world.items()}
            sent = play_recorded(config, store, answers, play)
    quality = np.array(watch.quality)
    scored = np.array(watch.at) >= begin + WARM * (end - begin)
    mean = quality[scored].mean(axis=0)
    row = {
        "policy": policy,
        "budget": budget,
        "quality": float(mean.mean()),
        "requests": len(sent),
        "requests_a_day": len(sent) / (end - begin),
        "sources": [
            {
                "source": s.name,
                "kind": s.kind,
                "measure": s.measure,
                "quality": float(q),
            }
            for s, q in zip(sources, mean, strict=True)
        ],
    }
    return row, np.asarray(quality[scored].mean(axis=1))


def _origin(number: int) -> str:
    """Return where the n-th recorded source is asked; no such host exists."""
    return f"http://recorded-{number}.invalid"


def _settings(world: Mapping[str, RecordedSource], policy: str, budget: float) -> str:
    lines = [
        f'[budget]\nrequests = {max(round(7.0 * budget), 1)}\nper = "week"',
        f'[policy]\nname = "{policy}"',
        "[fetch]\ndelay = 0.0",
    ]
    for origin, source in world.items():
        lines.append(f'[[source]]\nname = "{source.name}"\nrobots = false')
        lines.append(source.settings(origin))
    return "\n".join(lines) + "\n"
