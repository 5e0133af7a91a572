"""How far known tuples differ from their present version at the source.

Yang, Wang, Lim and Wang, "Optimizing Content Freshness of Relations Extracted From
the Web Using Keyword Search", SIGMOD 2010, call

    F(L; t) = (1 / |L|) sum(w(r) F(r; t))                               (Eq. 1 and 3)

the content *freshness* of a copy L. It is 0 for a perfect copy and grows as the copy
ages, so here it is called content **staleness**.

F(r; t) is a dissimilarity of two versions of a tuple when both are known (a
``Measure``), and its expectation under a model of updates when they are not (a
``Growth``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from halflife.allocation import index
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.core.forms import words_in
from halflife.core.object_store import Attributes, Scalar
from halflife.core.view import Survival
from halflife.metrics.intervals import Interval

Differ: TypeAlias = Callable[[Attributes, Attributes], float]
Weigh: TypeAlias = Callable[[Attributes], float]
Kind: TypeAlias = Literal["ages", "amount", "changed"]


class Growth(Protocol):
    """How the staleness of tuples grows with the time since each was seen.

    Row ``i`` of every array is tuple ``i``; times are days since it was seen.
    """

    def mean(self, t: Floats) -> Floats:
        """Return D(t), the expected staleness."""
        ...

    def variance(self, t: Floats) -> Floats:
        """Return the variance of the staleness."""
        ...

    def worth(self, t: Floats) -> Floats:
        """Return the value of a refresh: U(t) = t D(t) - integral of D over 0..t."""
        ...


@dataclass(frozen=True, slots=True)
class SteadyCounter:
    """Counters that go up by one every ``days`` days (section 3.1): D(t) = t / days.

    >>> SteadyCounter(np.array([4.0])).mean(np.array([10.0]))
    array([2.5])
    """

    days: Floats

    def mean(self, t: Floats) -> Floats:
        """Return t / days."""
        return t / self.days

    def variance(self, t: Floats) -> Floats:
        """Return 0: the staleness is deterministic."""
        return np.zeros(np.broadcast_shapes(np.shape(t), np.shape(self.days)))

    def worth(self, t: Floats) -> Floats:
        """Return t**2 / (2 days)."""
        return t**2 / (2.0 * self.days)


@dataclass(frozen=True, slots=True)
class MissedUpdates:
    """The number of updates missed, of tuples that are updated at random moments.

    D(t) = rate t with variance size rate t + doubt t**2, where ``doubt`` is the
    variance of the estimated rate and ``size`` that of one step.

    >>> MissedUpdates(np.array([3.0])).variance(np.array([2.0]))
    array([6.])
    """

    rate: Floats
    doubt: Floats | float = 0.0
    size: float = 1.0

    def mean(self, t: Floats) -> Floats:
        """Return rate t."""
        return self.rate * t

    def variance(self, t: Floats) -> Floats:
        """Return size rate t + doubt t**2."""
        return self.size * self.rate * t + self.doubt * t**2

    def worth(self, t: Floats) -> Floats:
        """Return rate t**2 / 2."""
        return self.rate * t**2 / 2.0


@dataclass(frozen=True, slots=True)
class SummedAges:
    """The ages of the updates missed, summed: F = sum(t - t_i) (section 4.2).

    D(t) = rate t**2 / 2 with variance rate t**3 / 3 + doubt t**4 / 4. Both follow from
    Campbell's theorem and are exact: the densities of all k-th updates add up to the
    rate at every moment, so their order needs no correction, and the paper's bounds are
    not needed.

    >>> SummedAges(np.array([3.0])).mean(np.array([2.0]))
    array([6.])
    """

    rate: Floats
    doubt: Floats | float = 0.0

    def mean(self, t: Floats) -> Floats:
        """Return rate t**2 / 2."""
        return self.rate * t**2 / 2.0

    def variance(self, t: Floats) -> Floats:
        """Return rate t**3 / 3 + doubt t**4 / 4."""
        return self.rate * t**3 / 3.0 + self.doubt * t**4 / 4.0

    def worth(self, t: Floats) -> Floats:
        """Return rate t**3 / 3."""
        return self.rate * t**3 / 3.0


@dataclass(frozen=True, slots=True)
class ChangeProbability:
    """Whether a tuple was updated at all: D(t) = 1 - S(t)."""

    survival: Survival

    def mean(self, t: Floats) -> Floats:
        """Return 1 - S(t)."""
        return 1.0 - self.survival.alive(t)

    def variance(self, t: Floats) -> Floats:
        """Return S(t) (1 - S(t))."""
        alive = self.survival.alive(t)
        return alive * (1.0 - alive)

    def worth(self, t: Floats) -> Floats:
        """Return the integral of S over 0..t, less t S(t)."""
        return index(self.survival, t, "freshness")


def staleness(stale: ArrayLike, weight: ArrayLike = 1.0) -> float:
    """Return F(L; t) of tuples with these dissimilarities (Eq. 1); 0 without tuples.

    >>> staleness([0.0, 3.0], [1.0, 2.0])
    3.0
    """
    stales = np.asarray(stale, dtype=np.float64)
    weights = np.asarray(weight, dtype=np.float64)
    return float(np.mean(stales * weights)) if stales.size else 0.0


def expected_staleness(
    growth: Growth, t: Floats, weight: Floats, *, confidence: float = 0.95
) -> Interval:
    """Return E F(L; t) and a prediction interval of F(L; t).

    Tuples are taken as independent, so Var F = sum(w**2 Var F(r; t)) / |L|**2, and
    their sum as normal; F is never below 0.
    """
    if not t.size:
        return Interval(0.0, 0.0, 0.0)
    mean = staleness(growth.mean(t), weight)
    spread = float(np.sqrt(np.sum(weight**2 * growth.variance(t)))) / t.size
    far = float(lazy_scipy.ndtri(0.5 + confidence / 2.0)) * spread
    return Interval(mean, max(mean - far, 0.0), mean + far)


@dataclass(frozen=True, slots=True)
class Measure:
    """A dissimilarity of two versions of a tuple, and how it grows.

    Attributes:
        name: Its name in settings.
        differ: Returns the dissimilarity of the held and the present version.
        kind: ``amount``, it grows linearly; ``changed``, it is 0 or 1; ``ages``, the
            amounts are updates whose ages are summed.
        how: ``absolute``, ``relative``, ``changed`` or ``words``; empty for a function.
        columns: The columns that it compares; all if empty.

    """

    name: str
    differ: Differ
    kind: Kind = "amount"
    how: str = ""
    columns: tuple[str, ...] = ()


def measure(name: str, columns: Sequence[str] = ()) -> Measure:
    """Return a dissimilarity by its name in settings.

    ``stars``             the difference of a numeric column
    ``relative:stars``    the same, over the larger of the two
    ``changed``           1 if any attribute differs; ``changed:price,mode`` if these do
    ``words:title``       the share of words that only one of the two texts has
    ``module:function``   any function of two records that returns a number

    Its columns must be among ``columns`` if these are given.

    >>> measure("stars").differ({"stars": 3}, {"stars": 10})
    7.0
    """
    how, colon, rest = name.partition(":")
    if not colon and name != "changed":
        how, rest = "absolute", name
    if how not in _MEASURES:
        return Measure(name, cast("Differ", _imported(name)))
    compared = tuple(column for column in rest.split(",") if column)
    _check(compared, columns)
    differ = _MEASURES[how](compared)
    kind: Kind = "changed" if how == "changed" else "amount"
    return Measure(name, differ, kind, how, compared)


def weigher(name: str | None, columns: Sequence[str] = ()) -> Weigh:
    """Return a weight by a column's name, as ``module:function``, or 1 for all.

    >>> weigher("stars")({"stars": 12}), weigher(None)({})
    (12.0, 1.0)
    """
    if name is None:
        return lambda _: 1.0
    if ":" in name:
        return cast("Weigh", _imported(name))
    _check((name,), columns)
    return lambda record: max(number(record.get(name)), 0.0)


def number(value: Scalar) -> float:
    """Return a value as a number; 0 if it is not one.

    >>> number("2.5"), number(None), number("n/a")
    (2.5, 0.0, 0.0)
    """
    try:
        found = float(value) if value is not None else 0.0
    except ValueError:
        return 0.0
    return found if np.isfinite(found) else 0.0


def _absolute(names: tuple[str, ...]) -> Differ:
    return lambda held, there: float(
        sum(abs(number(there.get(n)) - number(held.get(n))) for n in names)
    )


def _relative(names: tuple[str, ...]) -> Differ:
    def share(held: float, there: float) -> float:
        largest = max(abs(held), abs(there))
        return abs(there - held) / largest if largest else 0.0

    return lambda held, there: float(
        sum(share(number(held.get(n)), number(there.get(n))) for n in names)
    )


def _changed(names: tuple[str, ...]) -> Differ:
    if not names:
        return lambda held, there: float(held != there)
    return lambda held, there: float(any(held.get(n) != there.get(n) for n in names))


def _words(names: tuple[str, ...]) -> Differ:
    def words(record: Attributes) -> set[str]:
        return {w for n in names for w in words_in(str(record.get(n) or ""))}

    def differ(held: Attributes, there: Attributes) -> float:
        old, new = words(held), words(there)
        return len(old ^ new) / max(len(old | new), 1)

    return differ


_MEASURES: dict[str, Callable[[tuple[str, ...]], Differ]] = {
    "absolute": _absolute,
    "relative": _relative,
    "changed": _changed,
    "words": _words,
}


def _check(names: tuple[str, ...], columns: Sequence[str]) -> None:
    for name in names:
        if columns and name not in columns:
            raise UsageError(
                f"there is no column {name!r}; there is {', '.join(columns)}"
            )


def _imported(path: str) -> Callable[..., float]:
    module, _, name = path.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{path!r} is neither one of {', '.join(_MEASURES)} nor a function that "
            f"can be imported: {error}"
        ) from error
    return cast("Callable[..., float]", function)
