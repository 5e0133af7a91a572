"""Sizes by which each of a few words, drawn from a sample, could be explained."""

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
REACH = 1000  # matches among which to draw if no total is told


@dataclass(frozen=True, slots=True)
class Resample:
    """The answers to words that were drawn from a sample.

    Attributes:
        words: The words, one for each draw; some may be there more than once.
        held: Documents of the sample with the word, df_S(w).
        told: Matches that the database told; NaN if it told none.
        shown: Documents that it showed.
        pool: Documents of the sample with each word that could have been drawn.
        requests: Requests that it took.
        cut: Whether some answers were cut off: more match than can be reached.
        most: Documents looked at a query.

    """

    words: tuple[str, ...]
    held: Floats
    told: Floats
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
    """Ask for words of the sample, drawn in proportion to their documents.

    A word that is drawn twice is asked for once. If more match than the database
    showed, a page at a random place is looked at instead of the first, so that what it
    ranks first does not count for more.

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
    pool = {w: n for w, n in sorted(held.items()) if n >= least} or dict(held)
    names, weight = list(pool), np.array(list(pool.values()), np.float64)
    drawn = rng.choice(len(names), words, p=weight / weight.sum()).tolist()
    answers = {i: _any_page(db, names[i], most, rng) for i in dict.fromkeys(drawn)}
    totals = [answers[i].total for i in drawn]
    return Resample(
        words=tuple(names[i] for i in drawn),
        held=weight[drawn],
        told=np.array([np.nan if t is None else t for t in totals], np.float64),
        shown=tuple(answers[i].documents for i in drawn),
        pool=pool,
        requests=sum(a.requests for a in answers.values()),
        cut=any(a.cut for a in answers.values()),
        most=most,
    )


def _any_page(db: Searchable, word: str, most: int, rng: Generator) -> SearchAnswer:
    """Return the answer with matches from a random place on, in a ring.

    So that every match is as likely to be shown. Without a total, places are drawn
    below the last that was empty until one is not: all within ``REACH`` are as likely.
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
    mean = sum(found.pool.values()) / read
    return np.asarray(sample_resample(read, found.held, found.told) * mean * ease)


def _inverse(shown: Sequence[Document], pool: Mapping[str, int]) -> float:
    """Return the mean of 1/g over documents; NaN if there is none."""
    each = [1.0 / max(sum(w in pool for w in d.words), 1) for d in shown]
    return sum(each) / len(each) if each else np.nan


def uncapped(found: Resample) -> Resample:
    """Return the draws of words that are too rare to reach the limit of the totals.

    Of words drawn from a pool, those in fewer documents of the sample than any word at
    the limit are a fair draw from the rarer part of the pool.
    """
    rarest = found.held[at_limit(found.told, found.held)].min(initial=np.inf)
    kept = np.flatnonzero(found.held < rarest)
    return Resample(
        words=tuple(found.words[i] for i in kept),
        held=found.held[kept],
        told=found.told[kept],
        shown=tuple(found.shown[i] for i in kept),
        pool={w: n for w, n in found.pool.items() if n < rarest},
        requests=found.requests,
        cut=found.cut,
        most=found.most,
    )
