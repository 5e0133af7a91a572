"""A contest of policies on recorded sources: the service itself, in virtual time."""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halflife import plugins
from halflife.config import Config
from halflife.config.kinds import settings_of
from halflife.config.values import MOST_REQUESTS
from halflife.core.arrays import Floats
from halflife.core.errors import ConfigError, UsageError
from halflife.engine import logs
from halflife.engine.service import ServiceRhythm
from halflife.kinds.protocol import Report
from halflife.metrics.intervals import series_interval
from halflife.recordings.pages import Recording, joined
from halflife.replay.pages import Replay
from halflife.replay.play import Play, play_recorded
from halflife.replay.recorded_source import RecordedSource
from halflife.stores import Store
from halflife.stores.memory import MemoryStore

WARM = 0.25  # share of the time that is for learning and is not scored
MOMENTS = 8  # a day at which copies are compared with the truth
WEEK = 7  # days; the window of the budget of a replay
HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 21600.0, messages=86400.0)
DEFAULT = "default"  # every source uses its default policy


@dataclass(frozen=True, slots=True)
class ContestRules:
    """The rules by which policies are compared.

    Attributes:
        policies: Their names; ``default`` names none.
        budgets: Requests a day; below 1, requests a day for each item there is.
        begin: When a replay begins, in days; by default with the recordings.
        days: How long it lasts; by default as long as they do. Without ``begin`` the
            last days are replayed.
        on_replay: Called with a line of text after every replay.

    """

    policies: Sequence[str]
    budgets: Sequence[float]
    begin: float | None = None
    days: float | None = None
    on_replay: Callable[[str], None] = lambda _: None

    def span(self, sources: Sequence[RecordedSource]) -> tuple[float, float]:
        """Return when a replay of these sources begins and ends."""
        first = max(source.span[0] for source in sources)
        last = min(source.span[1] for source in sources)
        length = np.inf if self.days is None else self.days
        begin = max(last - length, first)
        if self.begin is not None:
            begin = max(self.begin, first)
        end = min(begin + length, last)
        if end - begin < 1.0:
            raise UsageError(
                "the recordings have less than a day in common; name fewer sources "
                "with --sources"
            )
        return begin, end


@dataclass
class CopyMonitor:
    """Compares the copies in a store with the truth over time."""

    sources: Sequence[RecordedSource]
    at: list[float] = field(default_factory=list)
    troubled: Counter[str] = field(default_factory=Counter)
    trouble: dict[str, str] = field(default_factory=dict)
    quality: list[list[float]] = field(default_factory=list)

    def measure(self, now: float, store: Store) -> None:
        """Record the quality of every copy."""
        self.at.append(now)
        self.quality.append([source.quality(store, now) for source in self.sources])

    def count_trouble(self, report: Report) -> None:
        """Count the tasks that failed, by source, and keep the latest reason."""
        if report.trouble:
            self.troubled.update(report.group)
            self.trouble.update(dict.fromkeys(report.group, report.trouble))


class _Game(NamedTuple):
    """The parts of a contest that are the same for every policy."""

    sources: Sequence[RecordedSource]
    begin: float
    end: float

    @property
    def days(self) -> float:
        return self.end - self.begin

    @property
    def scored(self) -> float:
        """When scoring begins."""
        return self.begin + WARM * self.days

    @property
    def items(self) -> int:
        return sum(source.items(self.begin) for source in self.sources)

    def pace(self, budget: float) -> float:
        """Return a budget in requests a day."""
        return budget * self.items if budget < 1.0 else budget


def contest(
    sources: Sequence[RecordedSource], rules: ContestRules
) -> list[dict[str, Any]]:
    """Return how good the copies were under each policy and budget.

    Every policy gets the same recordings and the same budget. ``against`` is the mean
    difference from the first policy at the same budget, with its 95 % interval.
    """
    if not sources:
        raise UsageError("nothing was recorded that could be replayed")
    if not (rules.policies and rules.budgets):
        raise UsageError("--policies and --budgets name one at least")
    check(rules.policies, sources)
    game = _Game(sources, *rules.span(sources))
    _check_budgets(game, rules.budgets)
    rows = []
    for budget in rules.budgets:
        first: Floats | None = None
        for policy in rules.policies:
            row, series = _play(game, policy, budget)
            first = series if first is None else first
            paired = series_interval(series - first)
            row["against"] = {"policy": rules.policies[0], **paired._asdict()}
            rows.append(row)
            rules.on_replay(f"{policy} at {budget:g}")
    return rows


def _check_budgets(game: "_Game", budgets: Sequence[float]) -> None:
    """Raise ``UsageError`` if the settings cannot hold a budget."""
    most = MOST_REQUESTS // WEEK
    for budget in budgets:
        if game.pace(budget) > most:
            raise UsageError(
                f"--budgets: {budget:g} is more than {most} requests a day"
            )


def known_policies(sources: Sequence[RecordedSource]) -> dict[str, list[str]]:
    """Return the names of the policies that sources can use, by kind."""
    found: dict[str, list[str]] = {}
    for source in sources:
        of_kind = found.setdefault(source.kind, [])
        if settings_of(source.kind).policy_group != plugins.POLICIES or not of_kind:
            of_kind += [name for name in _usable(source) if name not in of_kind]
    return {kind: sorted(names) for kind, names in found.items() if names}


def _usable(source: RecordedSource) -> list[str]:
    """Return the names of the policies that a source can use as it was recorded.

    A form that is kept for new records cannot use a policy for known ones.
    """
    group = settings_of(source.kind).policy_group
    names = plugins.policies(group) if group else []
    if group == plugins.POLICIES:
        return names
    return [name for name in names if _fits(source, name)]


def _fits(source: RecordedSource, policy: str) -> bool:
    """Say whether the settings of a source may name a policy."""
    try:
        Config.parse("\n".join(_table(_origin(0), source, policy)))
    except ConfigError:
        return False
    return True


def check(policies: Sequence[str], sources: Sequence[RecordedSource]) -> None:
    """Raise ``UsageError`` if there is a policy that none of the sources can use."""
    known = known_policies(sources)
    for name in policies:
        if name != DEFAULT and not any(name in names for names in known.values()):
            there = "; ".join(f"{k}: {', '.join(names)}" for k, names in known.items())
            raise UsageError(
                f"no source here knows a policy named {name!r}; known policies: "
                f"{DEFAULT}{'; ' if there else ''}{there}"
            )


def _play(game: _Game, policy: str, budget: float) -> tuple[dict[str, Any], Floats]:
    monitor, pace = CopyMonitor(game.sources), game.pace(budget)
    world = {_origin(i): source for i, source in enumerate(game.sources)}
    play = Play(
        game.begin,
        game.days,
        1.0 / MOMENTS,
        monitor.measure,
        monitor.count_trouble,
        audits=True,
        rhythm=HOURLY,
    )
    with tempfile.TemporaryDirectory() as folder, logs.silenced():
        path = Path(folder) / "halflife.toml"
        path.write_text(_settings(world, policy, pace))
        answers = {origin: source.answer for origin, source in world.items()}
        sent = play_recorded(Config.load(path), MemoryStore(), answers, play)
    quality = np.array(monitor.quality)[np.array(monitor.at) >= game.scored]
    series = np.asarray(quality.mean(axis=1))
    row = {
        "policy": policy,
        "budget": budget,
        "quality": float(series.mean()),
        "interval": _interval(series),
        "requests": len(sent),
        "requests_a_day": len(sent) / game.days,
        "granted_a_day": pace,
        **_bounds(game, max(pace, len(sent) / game.days)),
        "sources": _by_source(monitor, quality.mean(axis=0)),
    }
    return row, series


def _interval(series: Floats) -> dict[str, float]:
    """Return the mean of a series with its 95 % interval around it."""
    mean, spread = float(series.mean()), series_interval(series)
    off = mean - spread.mean  # batches leave out what does not fill one
    return {"mean": mean, "low": spread.low + off, "high": spread.high + off}


def _by_source(monitor: CopyMonitor, mean: Floats) -> list[dict[str, object]]:
    return [
        {
            "source": source.name,
            "kind": source.kind,
            "measure": source.measure,
            "quality": quality,
            "troubles": monitor.troubled[source.name],
            "trouble": monitor.trouble.get(source.name, ""),
        }
        for source, quality in zip(monitor.sources, mean.tolist(), strict=True)
    ]


def _bounds(game: _Game, pace: float) -> dict[str, float | None]:
    """Return bounds that no policy exceeds with the whole budget spent on pages.

    Such bounds exist for freshness alone: None if there are sources of other kinds.
    """
    found = [getattr(source, "recording", None) for source in game.sources]
    recordings = [recording for recording in found if isinstance(recording, Recording)]
    if len(recordings) < len(found):
        return {"blind": None, "told": None, "hindsight": None}
    warm = game.scored - game.begin
    # Every source has the same weight, as in the quality shown beside the bounds.
    recordings = [replace(r, weight=_shares(r.weight)) for r in recordings]
    replay = Replay(joined(recordings), pace, game.begin, game.end, 24, warm)
    return {
        "blind": replay.blind(),
        "told": replay.announced(),
        "hindsight": replay.hindsight(),
    }


def _shares(weight: Floats) -> Floats:
    return weight / max(float(weight.sum()), np.finfo(float).tiny)


def _origin(number: int) -> str:
    """Return the origin of the n-th recorded source; no such host exists."""
    return f"http://recorded-{number}.invalid"


def _settings(world: Mapping[str, RecordedSource], policy: str, pace: float) -> str:
    lines = [
        f'[budget]\nrequests = {max(round(WEEK * pace), 1)}\nper = "week"',
        "[fetch]\ndelay = 0.0",
    ]
    if policy in plugins.policies():  # chosen for the pages of all sources together
        lines.append(f'[policy]\nname = "{policy}"')
    for origin, source in world.items():
        group = settings_of(source.kind).policy_group
        has_own = group and group != plugins.POLICIES
        own = has_own and policy in plugins.policies(group) and _fits(source, policy)
        lines += _table(origin, source, policy if own else "")
    return "\n".join(lines) + "\n"


def _table(origin: str, source: RecordedSource, policy: str) -> list[str]:
    """Return the lines of a source in the settings, with a policy of its own if any."""
    own = [f'policy = "{policy}"'] if policy else []
    head = f'[[source]]\nname = "{source.name}"\nrobots = false'
    return [head, *own, source.settings(origin)]
