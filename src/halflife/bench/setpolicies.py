"""Scores of schedules on the history of a set source."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from halflife.core.lifetimes import Collection
from halflife.policies.listings import ListingPolicy, ListingTerms, names
from halflife.policies.listings.pace import FARTHEST, last_fetch, pace, worth
from halflife.policies.listings.schedules import FixedInterval, Priced, Schedule
from halflife.replay.listings import (
    ScheduleScore,
    SetReplay,
    recall_difference,
    rho_ratio,
    thin,
)

LEARNED = 0.6  # the share of a history that schedules and groups learn from
EARLIER, LATER = 400, 200  # snapshots for learning and for scoring, at most
FEWEST = 10  # snapshots that a replay needs
CONFIDENCES = (0.5, 0.8, 0.95)
TARGET = 0.9  # recall

Row = dict[str, object]


def stretch(source: Collection) -> tuple[Collection, float]:
    """Return the part of a history to use, and the moment when learning ends in it."""
    at = int(LEARNED * (source.looks.size - 1))
    fetched = source.looks[max(at - EARLIER, 0) : at + 1 + LATER]
    return thin(source, fetched), float(source.looks[at])


def schedules(source: Collection) -> list[Row]:
    """Return a row for each schedule: quality, syncs, and how often it fell short.

    Syncs are due as for a live listing with a long ``max_interval``. ``static`` keeps
    the interval forecast when learning ends; ``threshold`` forecasts it again after
    each sync; ``paced`` does so by two rates, ``static AR`` and ``adaptive AR`` by the
    paper's autoregressions; ``priced`` syncs where it lowers the mean loss most, at the
    price of the paced threshold when learning ended; ``fixed in hindsight`` is the
    longest interval with recall below the target for at most 5 % of the time, or at
    the ends of at most 5 % of its cycles.
    """
    history, begin = stretch(source)
    replay = SetReplay(history, begin, TARGET)
    known = history.until(begin)
    rivals: dict[str, Schedule] = {"every look": FixedInterval(0.0)}
    for sure in CONFIDENCES:
        terms = ListingTerms(TARGET, sure, longest=FARTHEST)
        threshold = _schedule(names.threshold_pooled, terms)
        paced = _schedule(names.threshold_paced, terms)
        rivals[f"static {sure}"] = FixedInterval(threshold(known) - last_fetch(known))
        rivals[f"threshold {sure}"] = threshold
        rivals[f"static AR {sure}"] = _schedule(names.threshold_static, terms)
        rivals[f"adaptive AR {sure}"] = _schedule(names.threshold_adaptive, terms)
        rivals[f"paced {sure}"] = paced
        days = np.array([paced(known) - last_fetch(known)])
        price = float(worth(pace(known), days, "recall")[0])
        rivals[f"priced {sure}"] = Priced(price)
    scores = {name: replay.score(rival) for name, rival in rivals.items()}
    _, scores["fixed in hindsight"] = replay.longest_fixed()
    _, scores["fixed in hindsight, ends"] = replay.longest_fixed(at_ends=True)
    rows = [schedule_row(history, name, score) for name, score in scores.items()]
    return rows + _compared(history, scores)


def _schedule(policy: ListingPolicy, terms: ListingTerms) -> Schedule:
    """Return the schedule of a live listing under a policy."""
    return partial(policy.due, terms=terms)


def schedule_row(source: Collection, name: str, score: ScheduleScore) -> Row:
    """Return the row of a schedule."""
    return {
        "figure": "schedule",
        "source": source.name,
        "schedule": name,
        "recall": score.recall,
        "precision": score.precision,
        "below": score.below,
        "missed": score.missed,
        "syncs": score.syncs,
        "looks": int(score.days.size),
        "rho": score.rho,
    }


def _compared(source: Collection, scores: Mapping[str, ScheduleScore]) -> list[Row]:
    """Return the pairs of Table 2, and the threshold against its rivals."""
    pairs = [
        *((f"threshold {c}", f"static {c}") for c in CONFIDENCES),
        *((f"adaptive AR {c}", f"static AR {c}") for c in CONFIDENCES),
        *((f"priced {c}", f"paced {c}") for c in CONFIDENCES),
        *((f"threshold {c}", "fixed in hindsight") for c in CONFIDENCES),
        ("threshold 0.95", "fixed in hindsight, ends"),
        ("threshold 0.95", "every look"),
    ]
    return [
        {
            "figure": "pair",
            "source": source.name,
            "one": one,
            "other": other,
            "rho": rho_ratio(scores[one], scores[other])._asdict(),
            "recall": recall_difference(scores[one], scores[other])._asdict(),
            "syncs": scores[one].syncs - scores[other].syncs,
        }
        for one, other in pairs
    ]
