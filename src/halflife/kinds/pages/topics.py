"""Assign pages to topics as they are downloaded.

Algorithm 2 of Taleghani and Ugur-Ozekinci, "Sampling-based refresh policy with
correlation": a page is downloaded, its links are followed, and it is assigned to
topics by its own terms and those of the pages that link to it.
"""

from collections.abc import Callable, MutableMapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from halflife.belief import Belief
from halflife.core.categories import Categories
from halflife.core.evidence import Evidence
from halflife.core.observation import Seen
from halflife.core.view import View
from halflife.grouping.topic import TOPICS
from halflife.grouping.topic_book import TopicBook
from halflife.policies import Strategy
from halflife.stores import Store

FEWEST_TOPICS = 20  # as in the paper's experiments (s. 5)
TOPIC_PAGES = 50  # pages per topic: the paper has 20 topics for 1000 pages


class Topics:
    """Assigns pages to topics: those in the store first, then new ones.

    Args:
        store: The store of copies and links.
        sources: The sources of the pages.

    """

    def __init__(self, store: Store, sources: Sequence[str]) -> None:
        self._store, self._sources = store, tuple(sources)
        self.book = TopicBook(k=TOPICS)
        self._until, self._read = -inf, set[str]()
        self.refresh()

    def refresh(self) -> None:
        """Assign the pages whose first copies are new; leave earlier ones unchanged."""
        evidence = self._store.evidence(self._sources)
        there = (evidence.seen == Seen.PRESENT) & (evidence.last_at > self._until)
        rows = np.flatnonzero(there)
        rows = rows[np.argsort(evidence.last_at[rows], kind="stable")]
        new = [row for row in rows.tolist() if evidence.keys[row] not in self._read]
        if new:
            links = self._store.links(self._sources)
            for row in new:
                out = [links.keys[i] for i in links.out(row)]
                self._file(links.keys[row], out)
        if rows.size:
            self._until = float(evidence.last_at[rows[-1]])

    def _file(self, key: str, links: Sequence[str]) -> None:
        from halflife.readers.text import is_html, to_text  # noqa: PLC0415  (slow)
        from halflife.readers.titles import terms  # noqa: PLC0415

        self._read.add(key)
        copy = self._store.content(key)
        if copy is not None and is_html(copy.media_type, copy.body):
            words = terms(to_text(copy.media_type, copy.body))
            self.book.download(key, words, links)

    def commonest(self, keys: Sequence[str]) -> Categories:
        """Return the pages by the most frequent terms; rows are ``keys``.

        The number of topics leaves enough pages in each to draw a sample.
        """
        most = max(FEWEST_TOPICS, len(keys) // TOPIC_PAGES)
        return self.book.filed_under(self.book.commonest(most), keys)


class TopicBelief:
    """A belief whose views have the topics of pages.

    Topics stay fixed during a turn: its fetches are assigned for the next one.

    Args:
        belief: The belief about everything else.
        file: Makes the topics; called when a policy first needs them.

    """

    def __init__(self, belief: Belief, file: Callable[[], Topics]) -> None:
        self.belief, self._file = belief, file
        self._cached_for: tuple[float, int] | None = None
        self._topics: Categories | None = None

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; fetches from ``since`` on belong to this turn."""
        view = self.belief(evidence, now, since)
        return replace(view, topics=partial(self._filed, view.keys, since))

    def _filed(self, keys: Sequence[str], since: float) -> Categories | None:
        if self._cached_for != (since, len(keys)):
            filed = self._file()
            filed.refresh()
            self._topics, self._cached_for = filed.commonest(keys), (since, len(keys))
        return self._topics

    def __deepcopy__(self, memo: dict[int, object]) -> "TopicBelief":
        """Return a copy that learns separately and shares the topics."""
        return TopicBelief(deepcopy(self.belief, memo), self._file)


def with_topics(
    belief: Belief,
    strategy: Strategy,
    store: Store,
    sources: Sequence[str],
    filed: MutableMapping[tuple[str, ...], object] | None = None,
) -> Belief:
    """Return a belief with topics, if the strategy needs them.

    ``filed`` caches topics between calls, so that no copy is read twice.
    """
    if not strategy.needs_topics:
        return belief
    cache = {} if filed is None else filed

    def file() -> Topics:
        name = tuple(sources)
        found = cache.get(name)
        if not isinstance(found, Topics):
            found = cache[name] = Topics(store, name)
        return found

    return TopicBelief(belief, file)
