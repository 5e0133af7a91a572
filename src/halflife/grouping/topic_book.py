"""Topics of pages, updated incrementally as pages are downloaded.

The reputations of ``halflife.grouping.topic`` times N(t), Q(p, t) = N(t) R(p, t), do
not depend on how many pages hold a term:

    Q(p, t) = (1 - d) sum(Q(q, t) / O(q), q links to p) + d [t is on p].

The book keeps Q and the residual r(p, t) that is not yet in it. A page's residual goes
into its Q, and (1 - d) / O(p) of it to the residual of each page it links to. A
download adds d to the residual of its terms, and passes on the credit that the page
received before its links were known. Each step keeps the sum exact, so after any
downloads in any order the error of the book is at most sum(r) / d, summed over pages.
Pushing residuals: Andersen, Chung and Lang, FOCS 2006; Berkhin, 2006.
"""

from collections import deque
from collections.abc import Collection, Container, Iterable
from heapq import nsmallest
from typing import TypeAlias

import numpy as np

from halflife.core.categories import Categories
from halflife.grouping.topic import JUMP, TOPICS

Credit: TypeAlias = dict[str, float]  # by term


class TopicBook:
    """Assigns topics to pages as they are downloaded.

    Algorithm 2 of Taleghani and Ugur-Ozekinci. A page that was linked to but not yet
    downloaded already has a reputation, from the pages that link to it.

    Args:
        k: The most topics of a page.
        jump: The probability of a jump at each step.
        tolerance: The residual of a page on a term that is not passed on, as a share of
            the credit for holding the term itself.
        in_links: The number of links to a page that count, the first ones; None for
            all.
        vocabulary: Terms that may be topics; None for any.

    >>> book = TopicBook(k=1)
    >>> book.download("a", ["tea"], ["b"])
    ('tea',)
    >>> book.download("b", [], [])
    ('tea',)

    """

    def __init__(
        self,
        *,
        k: int = TOPICS,
        jump: float = JUMP,
        tolerance: float = 0.1,
        in_links: int | None = None,
        vocabulary: Collection[str] | None = None,
    ) -> None:
        self.k = k
        self.jump = jump
        self.tolerance = tolerance
        self.in_links = in_links
        self.vocabulary = None if vocabulary is None else frozenset(vocabulary)
        self.filed: dict[str, tuple[str, ...]] = {}  # in the order of downloads
        self._holds: dict[str, int] = {}  # N(t)
        self._credit: dict[str, Credit] = {}  # Q
        self._rest: dict[str, Credit] = {}  # r
        self._leads: dict[str, tuple[tuple[str, ...], int]] = {}  # links that count, O
        self._met: dict[str, int] = {}  # links to a page so far
        self._least = jump * tolerance
        self._over: dict[
            str, dict[str, None]
        ] = {}  # terms whose residual is to be passed on
        self._queue: deque[str] = deque()  # the pages of these

    def download(
        self, page: str, terms: Iterable[str], links: Iterable[str]
    ) -> tuple[str, ...]:
        """Add a page, and return its topics.

        A page downloaded before stays as it was, even if its content has changed; only
        a new book takes that into account.
        """
        if page in self._leads:
            return self.filed[page]
        own = self._terms(terms)
        for term in own:
            self._holds[term] = self._holds.get(term, 0) + 1
        self._enter(page, links)
        self._pass_on(page, self._credit.get(page, {}))
        self._add(page, dict.fromkeys(own, self.jump))
        self.settle()
        self.filed[page] = self.topics(page)
        return self.filed[page]

    def topics(self, page: str) -> tuple[str, ...]:
        """Return the current topics of a page, best first.

        Equal topics are in alphabetical order.
        """
        reputation = self.reputation(page)
        return tuple(sorted(reputation, key=lambda t: (-reputation[t], t))[: self.k])

    def reputation(
        self, page: str, among: Container[str] | None = None
    ) -> dict[str, float]:
        """Return R(p, t) by term, for the terms ``among``, or for all."""
        credit = self._credit.get(page, {}).items()
        return {
            t: share / self._holds[t]
            for t, share in credit
            if among is None or t in among
        }

    def commonest(self, most: int, share: float = 0.5) -> tuple[str, ...]:
        """Return the most common terms, except those on more than a share of the pages.

        A term on nearly all pages distinguishes none.
        """
        pages = share * len(self.filed)
        candidates = ((-n, term) for term, n in self._holds.items() if 1 < n <= pages)
        return tuple(term for _, term in nsmallest(most, candidates))

    def filed_under(
        self, vocabulary: Iterable[str], pages: Iterable[str]
    ) -> Categories:
        """Return the topics of pages among these terms; rows are pages.

        Pages that were linked to and never downloaded are included.
        """
        names = tuple(vocabulary)
        code = {name: j for j, name in enumerate(names)}
        pairs: list[tuple[int, int]] = []
        row = -1
        for row, page in enumerate(pages):
            reputation = self.reputation(page, code)
            best = nsmallest(self.k, reputation, key=lambda t: (-reputation[t], t))
            pairs += [(code[term], row) for term in best]
        where, rows = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return Categories.of_pairs(names, where, rows, row + 1)

    def refile(self) -> None:
        """Update the topics of every page."""
        self.filed = {page: self.topics(page) for page in self.filed}

    def categories(self, pages: Iterable[str] | None = None) -> Categories:
        """Return the categories as filed; rows are ``pages``, or all downloaded."""
        rows = tuple(self.filed if pages is None else pages)
        filed = [(t, i) for i, p in enumerate(rows) for t in self.filed.get(p, ())]
        names = sorted({topic for topic, _ in filed})
        code = {name: j for j, name in enumerate(names)}
        category = np.array([code[topic] for topic, _ in filed], np.intp)
        item = np.array([i for _, i in filed], np.intp)
        return Categories.of_pairs(names, category, item, len(rows))

    def settle(self, tolerance: float | None = None) -> None:
        """Push residuals until none is above the tolerance, or a finer one."""
        usual = self._least
        if tolerance is not None:
            self._least = min(usual, self.jump * tolerance)
            for page, rest in self._rest.items():
                self._await(page, rest)
        while self._queue:
            page = self._queue.popleft()
            rest = self._rest[page]
            moved = {term: rest.pop(term) for term in self._over.pop(page)}
            _credit(self._credit.setdefault(page, {}), moved)
            self._pass_on(page, moved)
        self._least = usual

    def error(self) -> float:
        """Return the largest error of any term's Q, summed over all pages."""
        total: Credit = {}
        for rest in self._rest.values():
            _credit(total, rest)
        return max(total.values(), default=0.0) / self.jump

    def _terms(self, terms: Iterable[str]) -> list[str]:
        known = self.vocabulary
        return [t for t in dict.fromkeys(terms) if known is None or t in known]

    def _enter(self, page: str, links: Iterable[str]) -> None:
        """Record the links of a page, and which of them count for their targets."""
        targets = [target for target in dict.fromkeys(links) if target != page]
        counted = []
        for target in targets:
            self._met[target] = self._met.get(target, 0) + 1
            if self.in_links is None or self._met[target] <= self.in_links:
                counted.append(target)
        self._leads[page] = tuple(counted), len(targets)

    def _pass_on(self, page: str, credit: Credit) -> None:
        """Pass credit on to the pages that a page links to."""
        targets, out = self._leads.get(page, ((), 0))
        if targets and credit:
            share = (1.0 - self.jump) / out
            passed = {term: share * value for term, value in credit.items()}
            for target in targets:
                self._add(target, passed)

    def _add(self, page: str, credit: Credit) -> None:
        rest = self._rest.setdefault(page, {})
        _credit(rest, credit)
        self._await(page, {term: rest[term] for term in credit})

    def _await(self, page: str, rest: Credit) -> None:
        """Queue a page if part of its residual is to be passed on."""
        over = {term: None for term, share in rest.items() if share > self._least}
        if over and page not in self._over:
            self._queue.append(page)
            self._over[page] = over
        elif over:
            self._over[page].update(over)


def _credit(account: Credit, more: Credit) -> None:
    for term, value in more.items():
        account[term] = account.get(term, 0.0) + value
