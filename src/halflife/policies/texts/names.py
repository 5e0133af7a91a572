"""The rules for summaries by their names: one table, for replays and live sources.

A rule is an object with ``about`` and ``paper``. ``prepare`` makes it ready for a
replay of weekly recordings (``halflife replay --text``), ``choose`` says what it does
for the databases of a live store (``[[source]] policy``). Both turn the same
arithmetic.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.policies.texts import (
    RefreshWish,
    SummaryShelf,
    TextPolicy,
    TrainingData,
    best,
)
from halflife.policies.texts.bayes import Bayes
from halflife.policies.texts.checked_index import checked
from halflife.policies.texts.drift_index import drift_index
from halflife.policies.texts.lessons import FULL, KAPPA, LOGS, SIZE, Lessons
from halflife.policies.texts.live import Choices, Databases, DueSummaries, choose
from halflife.policies.texts.samples import PRICE, DatabaseSampling
from halflife.policies.texts.survival import by_lives
from halflife.policies.texts.turns import naive

PAPER = "Ipeirotis et al. 2007"
Prepare = Callable[[Lessons], Callable[[float], TextPolicy]]
PrepareAny = Callable[[TrainingData], Callable[[float], TextPolicy]]


@dataclass(frozen=True, slots=True)
class TextRule:
    """A rule for summaries, not yet prepared.

    Attributes:
        prepare: Learns what it may know beforehand; returns the rule for any T.
        about: What it does, in one line.
        paper: Where it was published; empty if it is ours.
        price: Of one sample, in refreshes.
        bounded: Whether it keeps to the budget.
        due: When it renews a live summary, and how.

    """

    prepare: Prepare
    about: str
    paper: str = ""
    price: float = 0.0
    bounded: bool = True
    due: DueSummaries | None = None

    @property
    def by_counts(self) -> bool:
        """Whether its checks ask for match counts where a database reports them."""
        return self.due is not None and self.due.counts is not None

    def choose(self, known: Databases) -> Choices:
        """Return what to do for each database of a live store."""
        if self.due is None:
            raise UsageError(f"the rule {self.about!r} serves replays alone")
        return choose(self.due, known)


@dataclass(frozen=True, slots=True)
class ByPrice:
    """What a live source goes by if its settings name no rule.

    It has no interval of its own: what a fetch is worth is weighed against what all
    other sources offer, and the price of a request decides.
    """

    about: str
    paper: str = ""

    def choose(self, known: Databases) -> None:
        """Return None: the price of a request decides."""
        del known


def _always(policy: TextPolicy) -> PrepareAny:
    return lambda _: lambda _: policy


def _survival(names: Sequence[str], about: str, paper: str = "") -> TextRule:
    def frequencies(lessons: TrainingData) -> Callable[[float], TextPolicy]:
        lives, more = lessons.survival(names), (lessons.cost, lessons.weight)
        return lambda every: by_lives(lives, every, cost=more[0], weight=more[1])

    due = DueSummaries(frequencies, survival=lambda taught: taught.survival(names))
    return TextRule(frequencies, about, paper, due=due)


class Hindsight:
    """The index rule for each database's own mean divergence by age, known before."""

    def __init__(self, divergence: Floats) -> None:
        weeks = np.arange(divergence.shape[1])
        self.worth = weeks * divergence - np.cumsum(divergence, axis=1)

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
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


def _bayes(about: str, *, bounded: bool) -> TextRule:
    def prepare(lessons: TrainingData) -> Callable[[float], TextPolicy]:
        policy = Bayes(lessons.odds(), bounded=bounded)
        return lambda _: policy

    due = DueSummaries(prepare, level=None if bounded else float(np.log(2.0)))
    paper = f"{PAPER}, s. 5.2"
    return TextRule(prepare, about, paper, bounded=bounded, due=due)


def _samples(price: float, about: str, *, live: bool) -> TextRule:
    policy = _always(DatabaseSampling(price))
    due = DueSummaries(policy, samples=True) if live else None
    paper = f"Cho and Ntoulas 2002; {PAPER}, s. 5.3"
    return TextRule(policy, about, paper, price, due=due)


NAIVE = TextRule(
    _always(naive), "every database every T weeks", f"{PAPER}, s. 4.4",
    due=DueSummaries(_always(naive)),
)  # fmt: skip
SURVIVAL = _survival(FULL, "Eq. 4 with kappa, size and tau", f"{PAPER}, s. 5.1")
SURVIVAL_SIZE = _survival(SIZE, "Eq. 4 with size and tau", f"{PAPER}, s. 5.1")
SURVIVAL_KAPPA = _survival(KAPPA, "Eq. 4 with kappa and tau", f"{PAPER}, s. 5.1")
SURVIVAL_LOG = _survival(LOGS, "Eq. 4 with ln kappa, size and ln tau")
BAYES = _bayes("most likely changed, Naive Bayes", bounded=True)
BAYES_FREE = _bayes("all likely changed, whatever it costs", bounded=False)
SAMPLING = _samples(PRICE, "most changed documents, samples paid", live=True)
SAMPLING_FREE = _samples(0.0, "most changed documents, samples free", live=False)
INDEX = TextRule(
    _always(drift_index), "index rule, drift learned by refreshes",
    due=DueSummaries(_always(drift_index), checks=True),
)  # fmt: skip
CHAMPION = TextRule(
    _always(checked), "index rule, checks by match counts of a few words",
    due=DueSummaries(_always(checked), checks=True, counts=checked),
)  # fmt: skip
HINDSIGHT = TextRule(_hindsight, "index rule, drift known beforehand: a bound")
CHECKS = ByPrice("checked when a check is worth its price, renewed when it fails")

RULES: Mapping[str, TextRule] = MappingProxyType(
    {
        "naive": NAIVE,
        "survival": SURVIVAL,
        "survival-size": SURVIVAL_SIZE,
        "survival-kappa": SURVIVAL_KAPPA,
        "survival-log": SURVIVAL_LOG,
        "bayes": BAYES,
        "bayes-free": BAYES_FREE,
        "sampling": SAMPLING,
        "sampling-free": SAMPLING_FREE,
        "index": INDEX,
        "champion": CHAMPION,
        "hindsight": HINDSIGHT,
    }
)


def named(name: str) -> TextRule:
    """Return the rule of this name."""
    if name not in RULES:
        raise UsageError(f"no rule for summaries {name!r}; one of {', '.join(RULES)}")
    return RULES[name]
