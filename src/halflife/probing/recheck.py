"""Checks of summaries: a few documents show whether a database has changed.

Half of the queries are words of the documents in the summary, half are words of
documents that the check has found, so that both lost and new documents show. After a
quarter of the requests, after half and after all of them the documents found are
compared with those of the summary (``summary.split_test.excess``). Samples so small
share only some of their words, and understate a divergence: at 0.5 they differ by about
0.27. The check is passed if the excess is at most ``LIMIT``; before its end only if
that is clear, with n documents by UNSURE / sqrt(n). It is failed only at the end: a few
documents found by one word are all alike, and a summary costs many times the requests
that are left by then. The test is sequential (Wald, "Sequential Analysis", 1947); its
bounds were found by trial on recorded databases.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import NamedTuple

from numpy.random import Generator

from halflife.core.search import Document, Searchable
from halflife.probing.query_sampling import PER_QUERY, WordPool
from halflife.probing.sample import SampleCollector
from halflife.summary.split_test import excess

MOST = 40  # requests of a check
DEAR = 100  # the same where each document takes a request of its own
STAGES = (0.25, 0.5, 1.0)  # of the requests, when the documents found are judged
LIMIT = 0.15  # the excess up to which a check is passed
UNSURE = 0.6  # the possible error of the excess, times the root of the documents
FEW = 5  # with fewer documents nothing is decided before the end


class RecheckResult(NamedTuple):
    """The result of a check.

    Attributes:
        holds: Whether it was passed; None if it was cut off before a decision.
        excess: How far the documents differ beyond chance; NaN if unknown.
        documents: The documents that were read.

    """

    holds: bool | None
    excess: float
    documents: tuple[Document, ...]


def recheck(  # noqa: PLR0913  (as sampling has them)
    db: Searchable,
    old: Sequence[Document],
    dictionary: Sequence[str],
    rng: Generator,
    *,
    shown: int = PER_QUERY,
    snippets: bool = False,
    requests: int = MOST,
    limit: float = LIMIT,
    over: Callable[[], bool] = lambda: False,
) -> RecheckResult:
    """Check whether a database still matches its summary.

    Args:
        db: The database.
        old: The documents of its summary.
        dictionary: Words for the first queries.
        rng: The random generator.
        shown: Matches requested of a query; all of them are used.
        snippets: Whether documents with only a snippet count.
        requests: The most requests.
        limit: The excess up to which it is passed.
        over: Whether nothing more can be requested.

    """
    collector = SampleCollector(db, shown, shown, requests=requests, snippets=snippets)
    pools, result = _WordPools(old, dictionary), RecheckResult(None, float("nan"), ())
    for share in STAGES:
        while collector.requests < share * requests:
            word = pools.draw(rng)
            if word is None:
                break
            pools.put(collector.ask(word))
            if over():
                return result._replace(documents=tuple(collector.documents.values()))
        documents = tuple(collector.documents.values())
        result = _judge(old, documents, rng, limit, last=share == STAGES[-1])
        if result.holds is not None:
            break
    return result


def _judge(
    old: Sequence[Document],
    new: tuple[Document, ...],
    rng: Generator,
    limit: float,
    *,
    last: bool,
) -> RecheckResult:
    """Return the decision by documents, if it is clear, or at the end of the check.

    A database whose answers share nothing with its summary is another one.
    """
    differs = excess(old, new, rng) if new else None
    if differs is None or (len(new) < FEW and not last):
        return RecheckResult(False if last else None, float("nan"), new)
    unsure = 0.0 if last else UNSURE / sqrt(len(new))
    if differs.excess <= limit - unsure:
        return RecheckResult(holds=True, excess=differs.excess, documents=new)
    return RecheckResult(False if last else None, differs.excess, new)


class _WordPools:
    """Words for queries: in turn from the summary's documents, and from those found."""

    def __init__(self, old: Sequence[Document], dictionary: Sequence[str]) -> None:
        self._old, self._new = WordPool(dictionary), WordPool(dictionary)
        self._new.drawn = self._old.drawn  # no word is queried twice
        for document in old:
            self._old.put(document.words)
        self._turn = False

    def put(self, documents: Sequence[Document]) -> None:
        for document in documents:
            self._new.put(document.words)

    def draw(self, rng: Generator) -> str | None:
        self._turn = not self._turn
        pools = (self._old, self._new) if self._turn else (self._new, self._old)
        return pools[0].draw(rng) or pools[1].draw(rng)
