"""The rules for summaries by their names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.policies.texts import Shelf, TextPolicy, Wish, best
from halflife.policies.texts.bayes import by_class
from halflife.policies.texts.champion import champion
from halflife.policies.texts.lessons import FULL, KAPPA, LOGS, SIZE, Lessons
from halflife.policies.texts.samples import PRICE, Sampling
from halflife.policies.texts.survival import by_lives
from halflife.policies.texts.turns import naive


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for summaries, not yet prepared.

    Attributes:
        prepare: Learns what it may know beforehand; returns the rule for any T.
        about: What it does, in one line.
        price: Of one sample, in refreshes.
        bounded: Whether it keeps to the budget.

    """

    prepare: Callable[[Lessons], Callable[[float], TextPolicy]]
    about: str
    price: float = 0.0
    bounded: bool = True


def _always(policy: TextPolicy) -> Callable[[Lessons], Callable[[float], TextPolicy]]:
    return lambda _: lambda _: policy


def _survival(
    names: Sequence[str],
) -> Callable[[Lessons], Callable[[float], TextPolicy]]:
    def prepare(lessons: Lessons) -> Callable[[float], TextPolicy]:
        lives = lessons.survival(names)
        return lambda every: by_lives(lives, every)

    return prepare


class Hindsight:
    """The index rule for each database's own mean divergence by age, known before."""

    def __init__(self, divergence: Floats) -> None:
        weeks = np.arange(divergence.shape[1])
        self.worth = weeks * divergence - np.cumsum(divergence, axis=1)

    def __call__(self, shelf: Shelf, budget: float, rng: Generator) -> Wish:
        """Return what is worth most."""
        worth = self.worth[np.arange(shelf.age.size), shelf.age]
        return best(worth + 1e-12 * shelf.age, budget, rng)


def _hindsight(lessons: Lessons) -> Callable[[float], TextPolicy]:
    _, many, _ = lessons.kl.shape
    weeks = np.arange(many)
    age = weeks[None, :] - weeks[:, None]
    mean = [np.nanmean(lessons.kl[:, age == k], axis=1) for k in weeks.tolist()]
    policy = Hindsight(np.array(mean).T)
    return lambda _: policy


def _bayes(*, bounded: bool) -> Callable[[Lessons], Callable[[float], TextPolicy]]:
    def prepare(lessons: Lessons) -> Callable[[float], TextPolicy]:
        policy = by_class(lessons, bounded=bounded)
        return lambda _: policy

    return prepare


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "naive": Rule(_always(naive), "every database every T weeks"),
        "survival": Rule(_survival(FULL), "Eq. 4 with kappa, size and tau"),
        "survival-size": Rule(_survival(SIZE), "Eq. 4 with size and tau"),
        "survival-kappa": Rule(_survival(KAPPA), "Eq. 4 with kappa and tau"),
        "survival-log": Rule(_survival(LOGS), "Eq. 4 with ln kappa, size and ln tau"),
        "bayes": Rule(_bayes(bounded=True), "most likely changed, Naive Bayes"),
        "bayes-free": Rule(
            _bayes(bounded=False),
            "all likely changed, whatever it costs",
            bounded=False,
        ),
        "sampling": Rule(
            _always(Sampling(PRICE)), "most changed documents, samples paid", PRICE
        ),
        "sampling-free": Rule(
            _always(Sampling(0.0)), "most changed documents, samples free"
        ),
        "champion": Rule(_always(champion), "index rule, drift learned by refreshes"),
        "hindsight": Rule(_hindsight, "index rule, drift known beforehand: a bound"),
    }
)


def named(name: str) -> Rule:
    """Return the rule of this name."""
    if name not in RULES:
        raise UsageError(f"no rule for summaries {name!r}; one of {', '.join(RULES)}")
    return RULES[name]
