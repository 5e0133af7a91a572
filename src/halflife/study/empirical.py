"""Observed behaviour of a set source: decay of copies, arrivals, categories."""

import math
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection, Values

REFERENCES = 40  # copies whose decay is averaged
POINTS = 30  # lags at which a decay curve is drawn
HALF_LIVES = 3.0  # length of a decay curve
BAND = (0.1, 0.9)  # quantiles over copies
FEWEST = 30  # objects a category must have
LARGEST = 5  # categories that are compared: as many tones as can be told apart
MOST_VALUES = 500  # of an attribute that makes categories
UNKNOWN = ("", "None", "nan")


@dataclass(frozen=True)
class DecayCurves:
    """The decay of copies made at several snapshots.

    Attributes:
        made: When each copy was made, in days.
        lag: The time since then, in days, ascending.
        precision: The share of a copy that still existed; one row a copy.
        recall: The share of the source that the copy still held; one row a copy. Both
            are nan where there is no snapshot at that lag.

    """

    made: Floats
    lag: Floats
    precision: Floats
    recall: Floats

    def of(self, metric: str) -> Floats:
        """Return ``precision`` or ``recall``."""
        return self.precision if metric == "precision" else self.recall

    def row(self, k: int) -> "DecayCurves":
        """Return one copy alone."""
        row = slice(k, k + 1)
        return DecayCurves(
            self.made[row], self.lag, self.precision[row], self.recall[row]
        )

    def mean(self, metric: str) -> Floats:
        """Return the mean over copies at each lag; nan where there is none."""
        values = self.of(metric)
        known = np.isfinite(values)
        count = known.sum(axis=0)
        total = np.where(known, values, 0.0).sum(axis=0)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def quantile(self, metric: str, q: float) -> Floats:
        """Return a quantile over copies at each lag; nan where there is none."""
        values = self.of(metric)
        known = np.isfinite(values).any(axis=0)
        found = np.full(values.shape[1], np.nan)
        if known.any():
            found[known] = np.nanquantile(values[:, known], q, axis=0)
        return found


def unit(collection: Collection) -> float:
    """Return the median gap between snapshots, in days; 1 if there are not two."""
    gaps = np.diff(collection.looks)
    return float(np.median(gaps)) if gaps.size else 1.0


def reach(collection: Collection) -> float:
    """Return how many days to follow copies: a few half-lives, if observed."""
    taken = collection.looks
    if taken.size < 2:
        return 1.0
    most = float(taken[-1] - taken[0]) / 3.0
    lives = collection.lives
    exposure = float((lives.last_seen - lives.first_seen).sum())
    ended = int(lives.ended.sum())
    half_life = math.log(2.0) * exposure / ended if ended else math.inf
    return max(min(most, HALF_LIVES * half_life), 3.0 * unit(collection))


def lags(collection: Collection) -> Floats:
    """Return lags from zero on, whole multiples of the gap between snapshots."""
    step = unit(collection)
    most = max(1, math.floor(reach(collection) / step + 1e-9))
    return np.unique(np.round(np.linspace(0, most, POINTS + 1))) * step


def references(collection: Collection, lag: Floats, count: int = REFERENCES) -> Floats:
    """Return evenly spread snapshots from which a copy can be followed to the end."""
    taken = collection.looks
    full = taken[taken <= taken[-1] - lag[-1] + 1e-9] if taken.size else taken
    full = full if full.size else taken[:1]
    rows = np.unique(np.linspace(0, full.size - 1, count).round().astype(int))
    return full[rows] if full.size else full


def decay(collection: Collection, made: Floats, lag: Floats) -> DecayCurves:
    """Return precision and recall of copies, at the snapshots nearest to each lag."""
    number, lives = collection.lives.object, collection.lives
    objects = int(number.max(initial=-1)) + 1

    def there(at: float) -> Bools:
        mask = np.zeros(objects, np.bool_)
        mask[number[lives.present(at)]] = True
        return mask

    shape = (made.size, lag.size)
    precision, recall = np.full(shape, np.nan), np.full(shape, np.nan)
    for i, begin in enumerate(made.tolist()):
        copy = there(begin)
        size = np.count_nonzero(copy)
        for j, at in enumerate(_nearest(collection, begin + lag, lag).tolist()):
            if math.isnan(at):
                continue
            now = there(at)
            shared, source = np.count_nonzero(copy & now), np.count_nonzero(now)
            precision[i, j] = shared / size if size else np.nan
            recall[i, j] = shared / source if source else np.nan
    return DecayCurves(made, lag, precision, recall)


def _nearest(collection: Collection, at: Floats, lag: Floats) -> Floats:
    """Return the snapshot nearest to each moment; nan where none is near enough."""
    taken = collection.looks
    right = np.clip(np.searchsorted(taken, at), 0, taken.size - 1)
    left = np.maximum(right - 1, 0)
    best = np.where(at - taken[left] < taken[right] - at, taken[left], taken[right])
    near = np.maximum(0.1 * lag, 0.5 * unit(collection)) * (lag > 0) + 1e-6
    found: Floats = np.where(np.abs(best - at) <= near, best, np.nan)
    return found


def arrivals(collection: Collection, step: float | None = None) -> tuple[Ints, float]:
    """Return how many objects came in each step of time, and the step in days.

    Only steps with a snapshot at both ends are counted, so that no object arrives in a
    gap. The objects of the first snapshot have not arrived.
    """
    taken = collection.looks
    step = step or max(unit(collection), 1.0 / 24.0)
    if taken.size < 2:
        return np.zeros(0, np.intp), step
    grid = taken[0] + step * np.arange(math.floor((taken[-1] - taken[0]) / step) + 1)
    near = np.searchsorted(taken, grid + 1e-6, side="right") - 1
    seen = grid - taken[near] <= 0.25 * step + 1e-6
    came = np.sort(collection.lives.first_seen[~collection.lives.truncated])
    total = np.searchsorted(came, grid + 1e-6, side="right")
    complete = seen[1:] & seen[:-1]
    counts: Ints = np.diff(total)[complete].astype(np.intp)
    return counts, step


def attribute(collection: Collection) -> str | None:
    """Return the attribute whose categories differ most in their lifetimes, if any.

    For each attribute with at least two categories of ``FEWEST`` spells and not more
    than ``MOST_VALUES`` in all, T = sum (O - E)^2 / E over its largest categories,
    with O the ends seen in it and E those expected if all had the same rate.
    """
    lives = collection.lives
    exposure = lives.last_seen - lives.first_seen + unit(collection) / 2.0
    rate = lives.ended.sum() / exposure.sum() if len(lives) else 0.0
    best, most = None, -1.0
    for name in lives.attributes:
        found = categories(collection, name)
        seen = np.array([lives.ended[rows].sum() for _, rows in found], float)
        meant = np.array([rate * exposure[rows].sum() for _, rows in found])
        spread = float(((seen - meant) ** 2 / np.maximum(meant, 1e-9)).sum())
        if len(found) >= 2 and spread > most:
            best, most = name, spread
    return best


def categories(collection: Collection, name: str) -> list[tuple[str, Bools]]:
    """Return the largest categories of an attribute, with their spells."""
    column = collection.lives.attributes[name]
    if np.issubdtype(column.dtype, np.floating):
        return []
    words = as_words(column)
    values, counts = np.unique(words, return_counts=True)
    if values.size > MOST_VALUES:
        return []
    order = np.argsort(-counts, kind="stable")
    named = [k for k in order if values[k] not in UNKNOWN and counts[k] >= FEWEST]
    return [(str(values[k]), words == values[k]) for k in named[:LARGEST]]


def as_words(column: Values) -> Values:
    """Return a column as text; missing values are empty."""
    return np.array(["" if v is None else str(v) for v in column.tolist()], dtype=str)
