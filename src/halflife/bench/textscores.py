"""Scores of rules for summaries: quality, precision of updates, and intervals.

Means are over databases, each the mean over its scored weeks and over repetitions
that begin in different weeks: a few jumps cause most of the drift, and it is luck
whether one comes just before a refresh or after it. Bounds: 95 %, resampling whole
databases; two rules are compared on the same draws. The first weeks are not scored,
because all summaries are fresh at the start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halflife.bench.textreplay import CHECK, TextRun, TextTerms, TextWorld, replay
from halflife.core.arrays import Floats, Ints
from halflife.metrics.intervals import Ratio, cluster_interval, draws
from halflife.models.drift import WeibullSurvival
from halflife.policies.texts.lessons import Lessons
from halflife.policies.texts.names import named
from halflife.summary.metrics import METRICS

NAIVE = "naive"
HISTORY = 10  # weekly summaries before the start, as for the paper's features
STARTS = tuple(range(0, 16, 2))  # weeks in which that history begins


@dataclass(frozen=True, slots=True)
class TextScore:
    """The score of one rule, with a value for each database unless stated otherwise.

    Attributes:
        metric: Mean of each metric over the scored weeks.
        true: Share of the scored weeks in which it had not changed: kl <= tau.
        updates: Refreshes in the scored weeks.
        precise: Refreshes of a summary that had changed: kl > tau.
        alive: Mean over weeks of the predicted chance that it had not changed.
        alive_then: Sum of that chance over the refreshes, each just before it.
        spent: The cost of refreshes, samples and checks in each scored week, in
            refreshes; of all databases together.
        checked: The part of that cost due to checks by match counts.
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
    """Return the number of weeks that are not scored: T, at most a third of all."""
    return min(int(np.ceil(every)), weeks // 3)


def score(
    lessons: Lessons, lives: WeibullSurvival, run: TextRun, terms: TextTerms
) -> TextScore:
    """Return the score of one run after its warm-up."""
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
    survival = WeibullSurvival(lives.rate[:, None], lives.shape[:, None])
    return np.asarray(survival.alive(age.astype(np.float64)))


def _table(lessons: Lessons, metric: str) -> Floats:
    return np.array([drift.change.of(metric) for drift in lessons.found])


def _mean(scores: Sequence[TextScore]) -> TextScore:
    def mean(name: str) -> Floats:
        return np.asarray(np.mean([getattr(s, name) for s in scores], axis=0))

    names = ("true", "updates", "precise", "alive", "alive_then", "age")
    metric = {m: np.mean([s.metric[m] for s in scores], axis=0) for m in METRICS}
    spent, checked = (
        np.concatenate([getattr(s, name) for s in scores])
        for name in ("spent", "checked")
    )
    means = {name: mean(name) for name in names}
    return TextScore(metric, spent=spent, checked=checked, **means)


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
    all_lessons = Lessons(world.found, history, tau)
    for start in starts:
        lessons = all_lessons.since(start)
        lives = lessons.survival()
        for name in names:
            rule = named(name)
            prepared = rule.prepare(lessons)
            for every in everies:
                terms = TextTerms(every, rule.price, bounded=rule.bounded)
                rng = np.random.default_rng(start)
                run = replay(world, lessons, prepared(every), terms, rng)
                result = score(lessons, lives, run, terms)
                found.setdefault((name, every), []).append(result)
    return {key: _mean(scores) for key, scores in found.items()}


def rows(
    found: Mapping[tuple[str, float], TextScore], rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return the scores with intervals, a row each rule and T.

    ``predicted_precision`` is 1 - S-bar, as in the paper; ``predicted_then`` is the
    predicted chance of a change when the refresh is due, which precision measures.
    ``kl_cut`` is the reduction of the divergence against ``naive``, ``kl_cuts``
    against every other rule; ``true_gain`` is how much more often summaries are
    true than under ``naive``, which Eq. 4 maximises.
    """
    first = next(iter(found.values()))
    counts = draws(first.updates.size, rng)
    rows = []
    for (name, every), score_ in found.items():
        row: dict[str, Any] = {"policy": name, "every": every}
        row |= _figures(score_, counts)
        rivals = {n: s for (n, t), s in found.items() if t == every and n != name}
        row["kl_cuts"] = {n: _cut(score_, s, counts) for n, s in rivals.items()}
        if (plain := found.get((NAIVE, every))) is not None:
            row["kl_cut"] = _cut(score_, plain, counts)
            row["true_gain"] = _gain(score_, plain, counts)
        rows.append(row)
    return rows


def _figures(own: TextScore, counts: Floats) -> dict[str, Any]:
    ones = np.ones_like(own.updates)
    figures = {
        name: cluster_interval(counts, Ratio(own.metric[name], ones))._asdict()
        for name in ("ur", "wr", "up", "wp", "kl")
    }
    shares = {
        "true": Ratio(own.true, ones),
        "update_precision": Ratio(own.precise, own.updates),
        "predicted_precision": Ratio(1.0 - own.alive, ones),
        "predicted_then": Ratio(own.updates - own.alive_then, own.updates),
    }
    figures |= {
        name: cluster_interval(counts, share)._asdict()
        for name, share in shares.items()
    }
    return figures | {
        "spent_a_week": float(own.spent.mean()),
        "spent_most": float(own.spent.max()),
        "checked_share": float(own.checked.sum() / max(own.spent.sum(), 1e-12)),
        "never": float((own.updates == 0).mean()),
        "age": float(own.age.mean()),
    }


def _cut(own: TextScore, plain: TextScore, counts: Floats) -> dict[str, float]:
    left = cluster_interval(counts, Ratio(own.metric["kl"], plain.metric["kl"]))
    return {"mean": 1 - left.mean, "low": 1 - left.high, "high": 1 - left.low}


def _gain(own: TextScore, plain: TextScore, counts: Floats) -> dict[str, float]:
    ones = np.ones_like(own.true)
    shares = Ratio(own.true, ones), Ratio(plain.true, ones)
    return cluster_interval(counts, *shares)._asdict()
