"""How many documents a database holds, from the answers to a few more queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from halflife.arrays import Bools, Floats, Ints
from halflife.errors import UsageError
from halflife.probing.capture import LEVEL, Interval
from halflife.probing.querying import PER_QUERY
from halflife.probing.sample import Sample
from halflife.searching import Document, Searchable

WORDS = 50  # queries of a resample
LEAST = 3  # documents of the sample that a word must be in
ROUNDS = 1000  # of the bootstrap
SPREAD = 0.4  # in the log, by which honest words differ beyond chance
TOLERATED = 2.0  # mean squared deviation, in units of what is expected


class Told(StrEnum):
    """What the totals that a database tells are worth."""

    CONSISTENT = "totals agree with the sample"
    ROUNDED = "totals are rounded to two digits"
    CAPPED = "totals stop at a limit; words at it were left out"
    INCONSISTENT = "totals contradict the sample or each other; not used"
    ABSENT = "the database tells no totals"
    FEW = "too few words with totals to judge them"


class Method(StrEnum):
    """How a size was found."""

    RESAMPLE = "sample-resample"
    RECAPTURE = "capture-recapture"
    UNKNOWN = "no document was found again: the size is at least what was seen"


@dataclass(frozen=True, slots=True)
class Resample:
    """The answers to words that were drawn from a sample.

    Attributes:
        words: The words, one for each draw; some may be there more than once.
        held: Documents of the sample with the word, df_S(w).
        told: Matches that the database told; NaN if it told none.
        shown: Documents that it showed.
        pool: All words that could have been drawn.
        mean: Pool words that a document of the sample holds, in the mean.
        requests: Requests that it took.

    """

    words: tuple[str, ...]
    held: Floats
    told: Floats
    shown: tuple[tuple[Document, ...], ...]
    pool: frozenset[str]
    mean: float
    requests: int


@dataclass(frozen=True, slots=True)
class Size:
    """How many documents a database holds.

    Attributes:
        size: The estimate; never less than the documents seen.
        low: Lower bound of its interval.
        high: Upper bound; infinity if there is none.
        method: How it was found.
        told: What the database's totals are worth.
        requests: Requests that it took.

    """

    size: float
    low: float
    high: float
    method: Method
    told: Told
    requests: int


def resample(
    db: Searchable,
    sample: Sample,
    rng: Generator,
    *,
    words: int = WORDS,
    most: int = PER_QUERY,
    least: int = LEAST,
) -> Resample:
    """Ask for words of the sample, drawn in proportion to their documents.

    A word that is drawn twice is asked for once.

    Args:
        db: The database.
        sample: The sample of it.
        rng: Chance.
        words: Words to draw.
        most: Documents looked at a query.
        least: Documents of the sample that a word must be in.

    """
    if not sample.documents:
        raise UsageError(f"there is no sample to draw words from: {sample.ending}")
    held = sample.frequency
    pool = sorted(w for w, n in held.items() if n >= least) or sorted(held)
    weight = np.array([held[w] for w in pool], np.float64)
    drawn = rng.choice(len(pool), words, p=weight / weight.sum()).tolist()
    answers = {i: db.search(pool[i], most) for i in dict.fromkeys(drawn)}
    totals = [answers[i].total for i in drawn]
    return Resample(
        words=tuple(pool[i] for i in drawn),
        held=weight[drawn],
        told=np.array([np.nan if t is None else t for t in totals], np.float64),
        shown=tuple(answers[i].documents for i in drawn),
        pool=frozenset(pool),
        mean=float(weight.sum()) / len(sample.documents),
        requests=sum(a.requests for a in answers.values()),
    )


def sample_resample(read: int, held: Floats, told: Floats) -> Floats:
    """Return the size by each word: n = |S| df_db(w) / df_S(w).

    Si and Callan, "Relevant document distribution estimation method for resource
    selection", SIGIR 2003, section 3.

    >>> sample_resample(300, np.array([30.0, 3.0]), np.array([100.0, 12.0]))
    array([1000., 1200.])
    """
    return read * told / held


def evened(found: Resample, read: int) -> Floats:
    """Return the size by each draw, corrected for documents that are easy to find.

    Sampling favours documents with many words, and so do words drawn from the sample.
    Where g(d) counts the pool words in d,

        n_w = |S| df_db(w) / df_S(w) * mean(g, S) * mean(1/g, documents shown for w)

    has the number of documents with a pool word as its mean, whatever the sample, if
    the documents shown are a fair draw from those that match: w is drawn with chance
    df_S(w) / sum(df_S), and each document is counted by g(d) words at 1/g(d) each.
    Broder et al., "Estimating corpus size via queries", CIKM 2006, weighted by df_S.
    """
    ease = np.array([_inverse(shown, found.pool) for shown in found.shown])
    each = sample_resample(read, found.held, found.told)
    return np.asarray(each * found.mean * ease)


def _inverse(shown: Sequence[Document], pool: frozenset[str]) -> float:
    """Return the mean of 1/g over documents; NaN if there is none."""
    each = [1.0 / max(len(pool.intersection(d.words)), 1) for d in shown]
    return sum(each) / len(each) if each else np.nan


def judge(held: Floats, told: Floats) -> tuple[Told, Bools]:
    """Return what totals are worth, and which words' can be used.

    Totals are inconsistent if one is smaller than the documents of the sample with its
    word (by more than rounding), or if log(df_db/df_S) varies more than twice as much
    as 1/df_S + 0.4^2, which the chances of sampling and the sample's bias explain.
    """
    usable = np.isfinite(told) & (told > 0.0)
    if not np.isfinite(told).any():
        return Told.ABSENT, usable
    if (told < 0.94 * held).any():
        return Told.INCONSISTENT, usable
    top = told == np.nanmax(told)
    capped = top.sum() >= 3 and np.unique(held[top]).size >= 3
    if capped:
        usable &= ~top
    if usable.sum() < 5:
        return Told.FEW, usable
    ratio = np.log(told[usable] / held[usable])
    expected = 1.0 / held[usable] + SPREAD**2
    if np.mean((ratio - np.median(ratio)) ** 2 / expected) > TOLERATED:
        return Told.INCONSISTENT, usable
    if capped:
        return Told.CAPPED, usable
    return (Told.ROUNDED if _rounded(told[usable]) else Told.CONSISTENT), usable


def _rounded(told: Floats) -> bool:
    """Return whether no total has more than two significant digits, though it could."""
    large = told[told >= 100.0]
    return large.size >= 3 and all(float(f"{t:.1e}") == t for t in large.tolist())


def estimate_size(
    db: Searchable,
    sample: Sample,
    rng: Generator,
    *,
    words: int = WORDS,
    most: int = PER_QUERY,
    level: float = LEVEL,
) -> Size:
    """Return how many documents a database holds, for a few further queries.

    By sample-resample if the totals that it tells can be used, else by
    capture-recapture. The intervals are by bootstrap over the words.

    Args:
        db: The database.
        sample: A sample of it.
        rng: Chance.
        words: Words to ask for.
        most: Documents looked at a query.
        level: Chance that the interval is meant to hold the size.

    """
    found = resample(db, sample, rng, words=words, most=most)
    told, usable = judge(found.held, found.told)
    keys = {d.key for shown in found.shown for d in shown}
    keys |= {key for asked in sample.asked for key in asked.keys}
    whole = all(d.whole for d in sample.documents)
    if told in {Told.CONSISTENT, Told.ROUNDED, Told.CAPPED} and whole:
        bound = _resampled(evened(found, len(sample.documents))[usable], rng, level)
        method = Method.RESAMPLE
    else:
        bound = recaptured(sample, found, rng, level)
        method = Method.RECAPTURE if np.isfinite(bound.high) else Method.UNKNOWN
    size, low, high = (
        max(float(len(keys)), x) for x in (bound.size, bound.low, bound.high)
    )
    return Size(size, low, high, method, told, found.requests)


def _resampled(each: Floats, rng: Generator, level: float) -> Interval:
    """Return the mean with the bounds of a bootstrap over the words."""
    each = each[np.isfinite(each)]
    again = each[rng.integers(each.size, size=(ROUNDS, each.size))].mean(1)
    return _bounds(float(each.mean()), again, level)


def recaptured(
    sample: Sample, found: Resample, rng: Generator, level: float = LEVEL
) -> Interval:
    """Return the size from the share of documents shown that had been read before.

    N = |S| sum(1/g(d), shown) / sum(1/g(d), shown and in S). It is Lincoln and
    Petersen's with each document weighted by how hard it is to find, so that the
    second sample is even over the database. The upper bound is infinite if no document
    was found again.
    """
    known = {d.key for d in sample.documents}
    both = np.array([_eased(shown, found.pool, known) for shown in found.shown])
    rows: Ints = rng.integers(len(both), size=(ROUNDS, len(both)))
    every, again = both.sum(0)
    if not again:
        return Interval(float(len(known)), float(len(known)), np.inf)
    whole = both[rows].sum(1)
    with np.errstate(divide="ignore"):
        bootstrap = len(known) * whole[:, 0] / whole[:, 1]
    return _bounds(len(known) * every / again, bootstrap, level)


def _eased(
    shown: Sequence[Document], pool: frozenset[str], known: set[str]
) -> tuple[float, float]:
    """Return the sums of 1/g over documents shown, and over those known before."""
    each = [(_inverse([d], pool), d.key in known) for d in shown]
    return sum(e for e, _ in each), sum(e for e, old in each if old)


def _bounds(size: float, bootstrap: Floats, level: float) -> Interval:
    tail = (1.0 - level) / 2.0
    ordered = np.sort(bootstrap)
    low = float(ordered[int(tail * ordered.size)])
    high = float(ordered[int((1.0 - tail) * ordered.size) - 1])
    return Interval(float(size), min(low, float(size)), max(high, float(size)))
