"""Query-based sampling: words of what was read find what to read next."""

from collections.abc import Iterable, Sequence

from numpy.random import Generator

from halflife.core.errors import UsageError
from halflife.core.search import Searchable
from halflife.probing.sample import Ending, Gathering, Sample
from halflife.probing.stop_rule import Steadiness

DOCUMENTS = 300
PER_QUERY = 4
FRUITLESS = 500


class Hat:
    """Words to draw, each once: those of documents first, then the dictionary's."""

    def __init__(self, dictionary: Iterable[str]) -> None:
        self.read: list[str] = []
        self.dictionary = list(dict.fromkeys(dictionary))
        self.known: set[str] = set()  # words that are or were in ``read``
        self.asked: set[str] = set()

    def put(self, words: Iterable[str]) -> None:
        """Add the words of a document."""
        new = [w for w in words if w not in self.known]
        self.known.update(new)
        self.read += new

    def draw(self, rng: Generator) -> str | None:
        """Take out a word; all are equally likely. None if none is left."""
        while words := self.read or self.dictionary:
            at = int(rng.integers(len(words)))
            words[at], words[-1] = words[-1], words[at]
            word = words.pop()
            if word not in self.asked:
                self.asked.add(word)
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
    steady: Steadiness | None = None,
) -> Sample:
    """Sample a database with random words.

    Words of the dictionary are asked for until one finds a document; from then on,
    words of the documents that were read. No word is asked for twice. Callan and
    Connell, "Query-based sampling of text databases", TOIS 2001.

    Args:
        db: The database.
        dictionary: Words to begin with, and to go on with when no other is left.
        rng: Chance.
        documents: Documents that are enough.
        per_query: New documents read of a query.
        fruitless: Queries in a row without a new document after which to give up.
        snippets: Whether documents of which only a snippet is shown count.
        shown: Matches looked at a query; ``per_query`` if None.
        requests: Requests that may be spent; None for any number.
        steady: When to stop earlier; never if None.

    """
    if not dictionary:
        raise UsageError("sampling needs a dictionary of at least one word")
    most = max(per_query, shown or 0)
    found = Gathering(db, most, per_query, requests=requests, snippets=snippets)
    hat, dry = Hat(dictionary), 0
    while len(found.documents) < documents:
        if found.spent or found.ignored:
            return found.ended(Ending.SPENT)
        word = hat.draw(rng) if dry < fruitless else None
        if word is None:
            return found.ended(_dried(found, tried=dry == fruitless))
        new = found.ask(word)
        dry = 0 if new else dry + 1
        for document in new:
            hat.put(document.words)
        if steady is not None and steady.reached(new):
            return found.ended(Ending.STEADY)
    return found.ended(Ending.ENOUGH)


def _dried(found: Gathering, *, tried: bool) -> Ending:
    if not found.documents:
        return Ending.SILENT
    return Ending.FRUITLESS if tried else Ending.EXHAUSTED
