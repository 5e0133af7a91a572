"""The league: all policies on the same page histories, with the same budgets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from halflife import plugins
from halflife.belief.plain import KnownRates
from halflife.bench import standings
from halflife.core.errors import UsageError
from halflife.executors import executor_named
from halflife.policies import Strategy
from halflife.policies.index import Index
from halflife.recordings.histories import RecordedSpan
from halflife.replay.pages import Replay, StrategyScore

ORACLE = "oracle"
FEWEST_CHANGES = 0.3  # that the oracle assumes of a page without changes
DAYS, WARM, TICKS = 360.0, 60.0, 1
SHARES = (0.002, 0.005, 0.01, 0.02, 0.05)

_ORDER = 20031  # the seed of the order of pages, the same for every policy

Job: TypeAlias = tuple[str, float]  # a policy and a budget
Advance: TypeAlias = Callable[[int, str], None]
Resolve: TypeAlias = Callable[[str, Replay], Strategy]


@dataclass(frozen=True, slots=True)
class LeagueRules:
    """The rules of a league, the same for every policy.

    Attributes:
        shares: Budgets to try, in fetches a day as shares of the items.
        seeds: Repetitions; only policies with random choices need them.
        ticks: Moments a day at which requests are spent.
        warm: Days at the beginning that are not scored.
        executor: The executor that runs the replays; the result is the same.

    """

    shares: Sequence[float] = SHARES
    seeds: int = 5
    ticks: int = TICKS
    warm: float = WARM
    executor: str = "in-process"

    def replay(self, recorded: RecordedSpan, share: float) -> Replay:
        """Return the replay of a recording under one of the budgets."""
        return Replay(
            recorded.recording,
            share * len(recorded.recording),
            recorded.begin,
            recorded.end,
            ticks=self.ticks,
            warm=self.warm,
        )


def all_policies() -> list[str]:
    """Return all policies that can take part, each once."""
    return [*(name for name in plugins.policies() if name != "index"), ORACLE]


def named(name: str, replay: Replay) -> Strategy:
    """Return the policy of this name; the oracle is made for the replay."""
    return oracle(replay) if name == ORACLE else plugins.strategy(name)


def compare(
    recorded: RecordedSpan, names: Sequence[str], rules: LeagueRules, advance: Advance
) -> list[standings.Row]:
    """Return one row for each budget and policy, with the bounds beside it."""
    check(names)
    return standing(recorded, names, rules, advance)


def standing(
    recorded: RecordedSpan,
    names: Sequence[str],
    rules: LeagueRules,
    advance: Advance,
    resolve: Resolve = named,
) -> list[standings.Row]:
    """Return the rows of ``compare``, of strategies that ``resolve`` finds by name."""
    if recorded.begin + rules.warm >= recorded.end:
        raise UsageError(
            f"the history has {recorded.end - recorded.begin:g} days, of which "
            f"{rules.warm:g} are for warming up; nothing is left to score"
        )
    recorded = shuffle_items(recorded)
    scores = play(recorded, names, rules, advance, resolve)
    bounds = {}
    for share in rules.shares:
        replay = rules.replay(recorded, share)
        bounds[share] = standings.Bounds(
            replay.blind(), replay.announced(), replay.hindsight()
        )
    return standings.rows(scores, bounds)


def shuffle_items(recorded: RecordedSpan) -> RecordedSpan:
    """Return the same items in a random order, the same every time.

    Files list the pages of a site together, and many policies break ties by order:
    they would crawl site after site, as no real crawler does, and score too low.
    """
    rng = np.random.default_rng(_ORDER)
    rows = rng.permutation(len(recorded.recording))
    return replace(recorded, recording=recorded.recording.take(rows))


def check(names: Sequence[str]) -> None:
    """Raise ``UsageError`` if one of the policies is not known."""
    known = [*plugins.policies(), ORACLE]
    for name in names:
        if name not in known:
            raise UsageError(
                f"no policy is named {name!r}; known policies: "
                f"{', '.join(sorted(known))}"
            )
        if name != ORACLE:
            plugins.strategy(name)


def play(
    recorded: RecordedSpan,
    names: Sequence[str],
    rules: LeagueRules,
    advance: Advance,
    resolve: Resolve = named,
) -> dict[Job, list[StrategyScore]]:
    """Return the scores of every policy at every budget, one for each seed needed."""
    jobs = [(name, share) for share in rules.shares for name in names]
    found: dict[Job, list[StrategyScore]] = {}
    work = partial(_play, recorded, rules, resolve)
    with executor_named(rules.executor) as executor:
        for job, scores in zip(jobs, executor.map(work, jobs), strict=True):
            found[job] = scores
            advance(1, f"{job[0]} at {job[1]:.1%}")
    return found


def _play(
    recorded: RecordedSpan, rules: LeagueRules, resolve: Resolve, job: Job
) -> list[StrategyScore]:
    """Return a policy's score for each seed; one if it has no random choices."""
    name, share = job
    replay = rules.replay(recorded, share)
    strategy = resolve(name, replay)
    scores = [replay.score(strategy, 0)]
    if scores[0].chance:
        scores += [replay.score(strategy, seed) for seed in range(1, rules.seeds)]
    return scores


def oracle(replay: Replay) -> Strategy:
    """Return the index rule with each item's true mean rate, known beforehand."""
    start, at = replay.recording.moments
    item = np.repeat(np.arange(len(replay.recording)), np.diff(start))
    inside = (at > replay.begin) & (at < replay.end)
    changes = np.bincount(item[inside], minlength=len(replay.recording))
    rate = np.maximum(changes, FEWEST_CHANGES) / (replay.end - replay.begin)
    return Strategy(
        Index("freshness"),
        partial(KnownRates, rate),
        "The index rule with every page's true mean rate, which no crawler can know.",
    )


def report(
    recorded: RecordedSpan, rules: LeagueRules, rows: Sequence[standings.Row]
) -> dict[str, object]:
    """Return the league as one answer: its setting, and the rows."""
    return {
        "items": len(recorded.recording),
        "groups": len(set(recorded.recording.group)),
        "days": recorded.end - recorded.begin,
        "warm": rules.warm,
        "ticks": rules.ticks,
        "seeds": rules.seeds,
        "results": list(rows),
    }
