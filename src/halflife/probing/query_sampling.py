"""Query-based sampling: words of documents read so far become the next queries."""

from collections.abc import Iterable, Sequence

from numpy.random import Generator

from halflife.core.errors import UsageError
from halflife.core.search import Searchable
from halflife.probing.sample import Ending, Sample, SampleCollector
from halflife.probing.stop_rule import StopRule

DOCUMENTS = 300
PER_QUERY = 4
FRUITLESS = 500


class WordPool:
    """Words to draw, each once: those of documents first, then the dictionary's."""

    def __init__(self, dictionary: Iterable[str]) -> None:
        self.read: list[str] = []
        self.dictionary = list(dict.fromkeys(dictionary))
        self.known: set[str] = set()  # words that are or were in ``read``
        self.drawn: set[str] = set()

    def put(self, words: Iterable[str]) -> None:
        """Add the words of a document."""
        new = [w for w in words if w not in self.known]
        self.known.update(new)
        self.read += new

    def draw(self, rng: Generator) -> str | None:
        """Remove and return a word; all are equally likely. None if none is left."""
        while words := self.read or self.dictionary:
            at = int(rng.integers(len(words)))
            words[at], words[-1] = words[-1], words[at]
            word = words.pop()
            if word not in self.drawn:
                self.drawn.add(word)
                return word
        return None


def query_based_sample(  # noqa: PLR0913  (the settings of the published method)
    db: Searchable,
    dictionary: Sequence[str],
    rng: Generator,
    *,
    documents: int = DOCUMENTS,
    per_query: int = PER_QUERY,
    fruitless: int = FRUITLESS,
    snippets: bool = False,
    shown: int | None = None,
    requests: int | None = None,
    steady: StopRule | None = None,
) -> Sample:
    """Sample a database with random words.

    Words of the dictionary are queried until one has a hit; from then on, words of the
    documents that were read. No word is queried twice. Callan and Connell, "Query-based
    sampling of text databases", TOIS 2001.

    Args:
        db: The database.
        dictionary: Words for the first queries, and for when no other is left.
        rng: The random generator.
        documents: Documents that suffice.
        per_query: New documents read of a query.
        fruitless: Queries in a row without a new document after which to give up.
        snippets: Whether documents with only a snippet count.
        shown: Matches requested of a query; ``per_query`` if None.
        requests: Requests that may be spent; None for any number.
        steady: The rule to stop earlier; None for none.

    """
    if not dictionary:
        raise UsageError("sampling needs a dictionary of at least one word")
    most = max(per_query, shown or 0)
    collector = SampleCollector(
        db, most, per_query, requests=requests, snippets=snippets
    )
    pool, dry = WordPool(dictionary), 0
    while len(collector.documents) < documents:
        if collector.spent or collector.ignored:
            return collector.ended(Ending.SPENT)
        word = pool.draw(rng) if dry < fruitless else None
        if word is None:
            return collector.ended(_end(collector, tried=dry == fruitless))
        new = collector.ask(word)
        dry = 0 if new else dry + 1
        for document in new:
            pool.put(document.words)
        if steady is not None and steady.should_stop(new):
            return collector.ended(Ending.STEADY)
    return collector.ended(Ending.ENOUGH)


def _end(collector: SampleCollector, *, tried: bool) -> Ending:
    if not collector.documents:
        return Ending.SILENT
    return Ending.FRUITLESS if tried else Ending.EXHAUSTED
