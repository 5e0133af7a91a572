"""Estimates of size by a few words drawn from a sample."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.core.search import Document, Searchable, SearchAnswer
from halflife.probing.query_sampling import PER_QUERY
from halflife.probing.sample import Sample
from halflife.probing.totals import at_limit

WORDS = 50  # drawn for a resample
LEAST = 3  # documents of the sample that a word must be in
REACH = 1000  # matches among which to draw if no total is reported


@dataclass(frozen=True, slots=True)
class Resample:
    """The answers to words that were drawn from a sample.

    Attributes:
        words: The words, one for each draw; some may be there more than once.
        held: Documents of the sample with the word, df_S(w).
        totals: Matches that the database reported; NaN if it reported none.
        shown: Documents that it showed.
        pool: Documents of the sample with each word that could have been drawn.
        requests: Their cost in requests.
        cut: Whether some answers were cut off: more match than can be reached.
        most: Documents requested of a query.

    """

    words: tuple[str, ...]
    held: Floats
    totals: Floats
    shown: tuple[tuple[Document, ...], ...]
    pool: Mapping[str, int]
    requests: int
    cut: bool = False
    most: int = PER_QUERY


def resample(
    db: Searchable,
    sample: Sample,
    rng: Generator,
    *,
    words: int = WORDS,
    most: int = PER_QUERY,
    least: int = LEAST,
) -> Resample:
    """Query words of the sample, drawn in proportion to their documents.

    A word that is drawn twice is queried once. If more match than the database showed,
    a page at a random position is used instead of the first, so that its top ranks do
    not count for more.

    Args:
        db: The database.
        sample: The sample of it.
        rng: The random generator.
        words: Words to draw.
        most: Documents requested of a query.
        least: Documents of the sample, at least, that a word must be in.

    """
    if not sample.documents:
        raise UsageError(f"there is no sample to draw words from: {sample.ending}")
    held = sample.frequency
    pool = {w: n for w, n in sorted(held.items()) if n >= least} or dict(held)
    names, weight = list(pool), np.array(list(pool.values()), np.float64)
    drawn = rng.choice(len(names), words, p=weight / weight.sum()).tolist()
    answers = {i: _any_page(db, names[i], most, rng) for i in dict.fromkeys(drawn)}
    totals = [answers[i].total for i in drawn]
    return Resample(
        words=tuple(names[i] for i in drawn),
        held=weight[drawn],
        totals=np.array([np.nan if t is None else t for t in totals], np.float64),
        shown=tuple(answers[i].documents for i in drawn),
        pool=pool,
        requests=sum(a.requests for a in answers.values()),
        cut=any(a.cut for a in answers.values()),
        most=most,
    )


def _any_page(db: Searchable, word: str, most: int, rng: Generator) -> SearchAnswer:
    """Return the answer with matches from a random position on, cyclically.

    So every match is equally likely to be shown. Without a total, positions are drawn
    below the last empty one until one is not: all within ``REACH`` are equally likely.
    """
    first = db.search(word, most)
    requests, documents = first.requests, first.documents
    reach = REACH if first.total is None else first.total
    while len(first.documents) == most < reach:
        skip = int(rng.integers(reach))
        page = db.search(word, most, skip) if skip else first
        requests += page.requests if skip else 0
        if page.documents:
            documents = (page.documents + first.documents)[:most]
            break
        reach = skip
    return SearchAnswer(first.total, documents, requests, first.cut)


def sample_resample(read: int, held: Floats, totals: Floats) -> Floats:
    """Return the size by each word: n = |S| df_db(w) / df_S(w).

    Si and Callan, "Relevant document distribution estimation method for resource
    selection", SIGIR 2003, section 3.

    >>> sample_resample(300, np.array([30.0, 3.0]), np.array([100.0, 12.0]))
    array([1000., 1200.])
    """
    return read * totals / held


def unbiased_sizes(draws: Resample, read: int) -> Floats:
    """Return the size by each draw, corrected for documents that are easy to find.

    Sampling favours documents with many words, and so do words drawn from the sample.
    Where g(d) counts the pool words in d,

        n_w = |S| df_db(w) / df_S(w) * mean(g, S) * mean(1/g, documents shown for w)

    has the number of documents with a pool word as its mean, whatever the sample, if
    the documents shown are a fair draw from those that match: w is drawn with chance
    df_S(w) / sum(df_S), and each document is counted by g(d) words at 1/g(d) each.
    Broder et al., "Estimating corpus size via queries", CIKM 2006, weighted by df_S.
    """
    ease = np.array([_inverse(shown, draws.pool) for shown in draws.shown])
    mean = sum(draws.pool.values()) / read
    return np.asarray(sample_resample(read, draws.held, draws.totals) * mean * ease)


def _inverse(shown: Sequence[Document], pool: Mapping[str, int]) -> float:
    """Return the mean of 1/g over documents; NaN if there are none."""
    inverses = [1.0 / max(sum(w in pool for w in d.words), 1) for d in shown]
    return sum(inverses) / len(inverses) if inverses else np.nan


def below_limit(draws: Resample) -> Resample:
    """Return the draws of words that are too rare to reach the limit of the totals.

    Of words drawn from a pool, those in fewer documents of the sample than any word at
    the limit are a fair draw from the rarer part of the pool.
    """
    rarest = draws.held[at_limit(draws.totals, draws.held)].min(initial=np.inf)
    kept = np.flatnonzero(draws.held < rarest)
    return Resample(
        words=tuple(draws.words[i] for i in kept),
        held=draws.held[kept],
        totals=draws.totals[kept],
        shown=tuple(draws.shown[i] for i in kept),
        pool={w: n for w, n in draws.pool.items() if n < rarest},
        requests=draws.requests,
        cut=draws.cut,
        most=draws.most,
    )
