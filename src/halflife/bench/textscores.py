"""How well rules kept summaries: quality, precision of updates, and intervals.

Means are over databases, each the mean over its scored weeks and over repetitions
that begin in different weeks: few jumps hold most of the drift, and whether one falls
just before a refresh or after it is luck. Bounds: 95 %, resampling whole databases;
two rules are compared on the same draws. The first weeks are not scored, so that all
summaries being fresh at the start does not count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halflife.bench.textreplay import CHECK, TextRun, TextTerms, TextWorld, replay
from halflife.core.arrays import Floats, Ints
from halflife.metrics.intervals import Interval, Ratio, cluster_interval, draws
from halflife.models.drift import WeibullSurvival
from halflife.policies.texts.lessons import Lessons
from halflife.policies.texts.names import named
from halflife.summary.metrics import METRICS

NAIVE = "naive"
HISTORY = 10  # weekly summaries before the start, as for the paper's features
STARTS = tuple(range(0, 16, 2))  # weeks in which that history begins


@dataclass(frozen=True, slots=True)
class TextScore:
    """What one rule reached, a value for each database unless said.

    Attributes:
        metric: Mean of each metric over the scored weeks.
        true: Share of the scored weeks in which it had not changed: kl <= tau.
        updates: Refreshes in the scored weeks.
        precise: Of them, those of a summary that had changed: kl > tau.
        alive: Mean over weeks of the predicted chance that it had not changed.
        alive_then: Sum of that chance over the refreshes, each just before it.
        spent: Refreshes, samples and checks, in refreshes, in each scored week; all
            databases.
        checked: What of that went into checks by match counts.
        age: Mean age of the summaries in weeks.

    """

    metric: Mapping[str, Floats]
    true: Floats
    updates: Floats
    precise: Floats
    alive: Floats
    alive_then: Floats
    spent: Floats
    checked: Floats
    age: Floats


def warm_up(every: float, weeks: int) -> int:
    """Return how many weeks are not scored: T, but a third of all at most."""
    return min(int(np.ceil(every)), weeks // 3)


def score(
    lessons: Lessons, lives: WeibullSurvival, run: TextRun, terms: TextTerms
) -> TextScore:
    """Return how well one run did after its warm-up."""
    skip = 1 + warm_up(terms.every, run.made.shape[1] - 1)
    week = lessons.begin + np.arange(run.made.shape[1])[skip:]
    made, before = run.made[:, skip:], run.before[:, skip:]
    renewed = run.renewed[:, skip:]
    row = np.arange(made.shape[0])[:, None]
    old = lessons.kl[row, before, week]
    then = _alive(lives, week - before)
    return TextScore(
        metric={
            name: _table(lessons, name)[row, made, week].mean(axis=1)
            for name in METRICS
        },
        true=(lessons.kl[row, made, week] <= lessons.tau).mean(axis=1),
        updates=renewed.sum(axis=1).astype(np.float64),
        precise=(renewed & (old > lessons.tau)).sum(axis=1).astype(np.float64),
        alive=_alive(lives, week - made).mean(axis=1),
        alive_then=(then * renewed).sum(axis=1),
        spent=renewed.sum(axis=0)
        + terms.price * run.sampled[skip:]
        + CHECK * run.checked[skip:],
        checked=np.asarray(CHECK * run.checked[skip:], np.float64),
        age=(week - made).mean(axis=1),
    )


def _alive(lives: WeibullSurvival, age: Ints) -> Floats:
    some = WeibullSurvival(lives.rate[:, None], lives.shape[:, None])
    return np.asarray(some.alive(age.astype(np.float64)))


def _table(lessons: Lessons, metric: str) -> Floats:
    return np.array([one.change.of(metric) for one in lessons.found])


def _mean(scores: Sequence[TextScore]) -> TextScore:
    def mean(name: str) -> Floats:
        return np.asarray(np.mean([getattr(one, name) for one in scores], axis=0))

    names = ("true", "updates", "precise", "alive", "alive_then", "age")
    metric = {m: np.mean([s.metric[m] for s in scores], axis=0) for m in METRICS}
    spent, checked = (
        np.concatenate([getattr(one, name) for one in scores])
        for name in ("spent", "checked")
    )
    told = {name: mean(name) for name in names}
    return TextScore(metric, spent=spent, checked=checked, **told)


def compare(
    world: TextWorld,
    tau: float,
    names: Sequence[str],
    everies: Sequence[float],
    *,
    history: int = HISTORY,
    starts: Sequence[int] = STARTS,
) -> dict[tuple[str, float], TextScore]:
    """Return the score of each rule for each T, averaged over starts."""
    found: dict[tuple[str, float], list[TextScore]] = {}
    taught = Lessons(world.found, history, tau)
    for start in starts:
        lessons = taught.since(start)
        lives = lessons.survival()
        for name in names:
            rule = named(name)
            prepared = rule.prepare(lessons)
            for every in everies:
                terms = TextTerms(every, rule.price, bounded=rule.bounded)
                rng = np.random.default_rng(start)
                run = replay(world, lessons, prepared(every), terms, rng)
                told = score(lessons, lives, run, terms)
                found.setdefault((name, every), []).append(told)
    return {key: _mean(scores) for key, scores in found.items()}


def rows(
    found: Mapping[tuple[str, float], TextScore], rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return the scores with intervals, a row each rule and T.

    ``predicted_precision`` is 1 - S-bar, the paper's; ``predicted_then`` the predicted
    chance of a change when the refresh is due, which is what precision is.
    ``kl_cut`` is by how much the divergence is below that of ``naive``, ``kl_cuts``
    below that of every other rule; ``true_gain`` is how much more often summaries are
    true than under ``naive``, which is what Eq. 4 maximises.
    """
    some = next(iter(found.values()))
    counts = draws(some.updates.size, rng)
    told = []
    for (name, every), one in found.items():
        row: dict[str, Any] = {"policy": name, "every": every}
        row |= _figures(one, counts)
        rivals = {n: s for (n, t), s in found.items() if t == every and n != name}
        row["kl_cuts"] = {n: _cut(one, s, counts) for n, s in rivals.items()}
        if (plain := found.get((NAIVE, every))) is not None:
            row["kl_cut"] = _cut(one, plain, counts)
            row["true_gain"] = _gain(one, plain, counts)
        told.append(row)
    return told


def _figures(one: TextScore, counts: Floats) -> dict[str, Any]:
    ones = np.ones_like(one.updates)
    found = {
        name: _bounds(cluster_interval(counts, Ratio(one.metric[name], ones)))
        for name in ("ur", "wr", "up", "wp", "kl")
    }
    shares = {
        "true": Ratio(one.true, ones),
        "update_precision": Ratio(one.precise, one.updates),
        "predicted_precision": Ratio(1.0 - one.alive, ones),
        "predicted_then": Ratio(one.updates - one.alive_then, one.updates),
    }
    found |= {
        name: _bounds(cluster_interval(counts, share)) for name, share in shares.items()
    }
    return found | {
        "spent_a_week": float(one.spent.mean()),
        "spent_most": float(one.spent.max()),
        "checked_share": float(one.checked.sum() / max(one.spent.sum(), 1e-12)),
        "never": float((one.updates == 0).mean()),
        "age": float(one.age.mean()),
    }


def _cut(one: TextScore, plain: TextScore, counts: Floats) -> dict[str, float]:
    left = cluster_interval(counts, Ratio(one.metric["kl"], plain.metric["kl"]))
    return {"mean": 1 - left.mean, "low": 1 - left.high, "high": 1 - left.low}


def _gain(one: TextScore, plain: TextScore, counts: Floats) -> dict[str, float]:
    ones = np.ones_like(one.true)
    shares = Ratio(one.true, ones), Ratio(plain.true, ones)
    return _bounds(cluster_interval(counts, *shares))


def _bounds(found: Interval) -> dict[str, float]:
    return dict(found._asdict())
