"""Pages filed under topics as they are downloaded.

Algorithm 2 of Taleghani and Ugur-Ozekinci, "Sampling-based refresh policy with
correlation": a page is downloaded, its links are followed, and it is filed under the
topics that it is known for: its own terms, and those of the pages that link to it.
"""

from collections.abc import Sequence

import numpy as np

from halflife.core.categories import Categories
from halflife.core.observation import Looks, Seen
from halflife.readers.text import is_html, to_text
from halflife.stores import Store
from lab.grouping.titles import terms
from lab.grouping.topic import TOPICS
from lab.grouping.topic_book import TopicBook

COMMON = 2  # pages that must hold a term before it is a topic


class Topics:
    """Files pages under topics, those in the store first and then as they come in.

    Args:
        store: Where copies and links are kept.
        sources: The sources whose pages are filed.
        k: Topics a page is filed under at most.

    """

    def __init__(self, store: Store, sources: Sequence[str], k: int = TOPICS) -> None:
        self._store, self._sources = store, tuple(sources)
        self.book = TopicBook(k=k)
        links, evidence = store.links(sources), store.evidence(sources)
        for row in np.argsort(evidence.last_at, kind="stable").tolist():
            if evidence.seen[row] == Seen.PRESENT:
                out = [links.keys[i] for i in links.out(row)]
                self._file(links.keys[row], out)

    def hear(self, looks: Looks) -> None:
        """File the pages of a batch that was just kept; for ``Keeper.turn``."""
        for look in looks:
            if look.links is not None and look.seen is Seen.PRESENT:
                self._file(look.key, look.links.to)

    def _file(self, key: str, links: Sequence[str]) -> None:
        copy = self._store.content(key)
        if copy is not None and is_html(copy.media_type, copy.body):
            words = terms(to_text(copy.media_type, copy.body))
            self.book.download(key, words, links)

    def categories(self) -> Categories:
        """Return the categories as filed; rows are those of the sources' evidence."""
        return self.book.categories(self._store.evidence(self._sources).keys)


def topics(store: Store, sources: Sequence[str], k: int = TOPICS) -> Categories:
    """Return the topics of all pages of which we hold a copy, by all we know now.

    Terms on fewer than ``COMMON`` pages tell nothing of what pages have in common and
    are no topics.
    """
    filed = Topics(store, sources, k)
    filed.book.refile()
    found = filed.categories()
    keep = np.flatnonzero(found.size >= COMMON)
    inside = np.isin(found.category, keep)
    code = np.searchsorted(keep, found.category[inside])
    names = [found.names[j] for j in keep]
    return Categories.of_pairs(names, code, found.item[inside], found.n_items)
