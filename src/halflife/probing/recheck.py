"""Checks of summaries: a few documents tell whether a database is what it was.

Half of the words that are asked for come from the documents that the summary was made
of, half from those that the check has found, so that what is gone shows as well as what
is new. After a quarter of the requests, after half and after all of them the documents
found are compared with those of the summary (``summary.resplitting.excess``). Samples
so small share only part of their words, and understate a divergence: at 0.5 they differ
by 0.27 or so. The check is passed if the excess is ``LIMIT`` at most; before its end
only if it is clear, with n documents by UNSURE / sqrt(n). That it is not passed is only
said at the end: a few documents that one word finds are all alike, and a summary takes
many times the requests that are left by then. The test is sequential (Wald, "Sequential
Analysis", 1947); its bounds were found by trial on recorded databases.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import NamedTuple

from numpy.random import Generator

from halflife.core.search import Document, Searchable
from halflife.probing.query_sampling import PER_QUERY, Hat
from halflife.probing.sample import Gathering
from halflife.summary.split_test import excess

MOST = 40  # requests of a check
DEAR = 100  # the same where each document takes a request of its own
STAGES = (0.25, 0.5, 1.0)  # of the requests, when what was found is judged
LIMIT = 0.15  # the excess up to which a check is passed
UNSURE = 0.6  # what the excess may be off by, times the root of the documents
FEW = 5  # documents with which nothing is told before the end


class RecheckResult(NamedTuple):
    """What came of a check.

    Attributes:
        holds: Whether it was passed; None if it was cut off before that was clear.
        excess: How far the documents differ beyond chance; NaN if that is not known.
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
    """Say whether a database is still what it was when it was summarised.

    Args:
        db: The database.
        old: The documents of its summary.
        dictionary: Words to begin with.
        rng: Chance.
        shown: Matches looked at a query; all of them are taken.
        snippets: Whether documents of which only a snippet is shown count.
        requests: Requests that it takes at most.
        limit: The excess up to which it is passed.
        over: Whether nothing more can be asked.

    """
    found = Gathering(db, shown, shown, snippets=snippets)
    hats, told = _Hats(old, dictionary), RecheckResult(None, float("nan"), ())
    for share in STAGES:
        while found.requests < share * requests:
            word = hats.draw(rng)
            if word is None:
                break
            hats.put(found.ask(word))
            if over():
                return told._replace(documents=tuple(found.documents.values()))
        documents = tuple(found.documents.values())
        told = _judged(old, documents, rng, limit, last=share == STAGES[-1])
        if told.holds is not None:
            break
    return told


def _judged(
    old: Sequence[Document],
    new: tuple[Document, ...],
    rng: Generator,
    limit: float,
    *,
    last: bool,
) -> RecheckResult:
    """Return what documents tell, if that is clear, or nothing more can be had.

    A database whose answers share nothing with its summary is another one.
    """
    differs = excess(old, new, rng) if new else None
    if differs is None or (len(new) < FEW and not last):
        return RecheckResult(False if last else None, float("nan"), new)
    unsure = 0.0 if last else UNSURE / sqrt(len(new))
    if differs.excess <= limit - unsure:
        return RecheckResult(holds=True, excess=differs.excess, documents=new)
    return RecheckResult(False if last else None, differs.excess, new)


class _Hats:
    """Words to ask for: by turns of the summary's documents, and of those found."""

    def __init__(self, old: Sequence[Document], dictionary: Sequence[str]) -> None:
        self._old, self._new = Hat(dictionary), Hat(dictionary)
        self._new.asked = self._old.asked  # none is asked for twice
        for document in old:
            self._old.put(document.words)
        self._turn = False

    def put(self, documents: Sequence[Document]) -> None:
        for document in documents:
            self._new.put(document.words)

    def draw(self, rng: Generator) -> str | None:
        self._turn = not self._turn
        hats = (self._old, self._new) if self._turn else (self._new, self._old)
        return hats[0].draw(rng) or hats[1].draw(rng)
