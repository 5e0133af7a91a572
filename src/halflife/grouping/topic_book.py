"""Topics of pages as they are downloaded, without starting again each time.

The reputations of ``halflife.grouping.topic`` times N(t), Q(p, t) = N(t) R(p, t), do
not depend on how many pages hold a term:

    Q(p, t) = (1 - d) sum(Q(q, t) / O(q), q links to p) + d [t is on p].

The book keeps Q and what is not yet in it: the rest r(p, t). A page's rest goes into
its Q, and (1 - d) / O(p) of it to the rest of each page it links to. A download adds
d to the rest of its terms, and passes on what the page has been credited with before
its links were known. Each step keeps the sum exact, so after any downloads in any
order the book is off from the solution by at most sum(r) / d, summed over pages.
Pushing rests about: Andersen, Chung and Lang, FOCS 2006; Berkhin, 2006.
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
    """Files pages under the topics they are known for, as they are downloaded.

    Algorithm 2 of Taleghani and Ugur-Ozekinci. A page that was linked to but not yet
    downloaded has a reputation already: that of the pages that link to it.

    Args:
        k: Topics a page is filed under at most.
        jump: The surfer's chance of a jump at each step.
        tolerance: Rest of a page on a term that is left to lie, as a share of what it
            gives a page to hold the term itself.
        in_links: Links to a page that count, the first ones met; None for all.
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
        self._over: dict[str, dict[str, None]] = {}  # terms to be passed on
        self._queue: deque[str] = deque()  # the pages of these

    def download(
        self, page: str, terms: Iterable[str], links: Iterable[str]
    ) -> tuple[str, ...]:
        """Take in a page, and return the topics it is filed under.

        A page downloaded before stays as it was: what it holds may have changed, and
        a book made anew will say so.
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
        """Return the topics a page is best known for now, best first.

        Of topics that it is known for alike, those first in the alphabet.
        """
        known = self.reputation(page)
        return tuple(sorted(known, key=lambda t: (-known[t], t))[: self.k])

    def reputation(
        self, page: str, among: Container[str] | None = None
    ) -> dict[str, float]:
        """Return R(p, t) by term, as far as it is known; of some terms, or of all."""
        credit = self._credit.get(page, {}).items()
        return {
            t: share / self._holds[t]
            for t, share in credit
            if among is None or t in among
        }

    def commonest(self, most: int, share: float = 0.5) -> tuple[str, ...]:
        """Return the terms that most pages hold, but no more than a share of them.

        A term that is on nearly all pages sets none apart.
        """
        pages = share * len(self.filed)
        known = ((-n, term) for term, n in self._holds.items() if 1 < n <= pages)
        return tuple(term for _, term in nsmallest(most, known))

    def filed_under(
        self, vocabulary: Iterable[str], pages: Iterable[str]
    ) -> Categories:
        """Return the topics of pages if just these terms are topics; rows are pages.

        A page that was linked to and never downloaded is filed, too.
        """
        names = tuple(vocabulary)
        code = {name: j for j, name in enumerate(names)}
        pairs: list[tuple[int, int]] = []
        row = -1
        for row, page in enumerate(pages):
            known = self.reputation(page, code)
            best = nsmallest(self.k, known, key=lambda t: (-known[t], t))
            pairs += [(code[term], row) for term in best]
        where, rows = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return Categories.of_pairs(names, where, rows, row + 1)

    def refile(self) -> None:
        """File every page by what is known now."""
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
        """Push rests about until none is above the tolerance, or a finer one."""
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
        """Return the most by which any term's Q is off, summed over all pages."""
        total: Credit = {}
        for rest in self._rest.values():
            _credit(total, rest)
        return max(total.values(), default=0.0) / self.jump

    def _terms(self, terms: Iterable[str]) -> list[str]:
        known = self.vocabulary
        return [t for t in dict.fromkeys(terms) if known is None or t in known]

    def _enter(self, page: str, links: Iterable[str]) -> None:
        """Note the links of a page, and which of them count for their targets."""
        every = [target for target in dict.fromkeys(links) if target != page]
        counted = []
        for target in every:
            self._met[target] = self._met.get(target, 0) + 1
            if self.in_links is None or self._met[target] <= self.in_links:
                counted.append(target)
        self._leads[page] = tuple(counted), len(every)

    def _pass_on(self, page: str, credit: Credit) -> None:
        """Leave to the pages linked to what the surfer takes along."""
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
        """Put a page in the queue if some of its rest is to be passed on."""
        over = {term: None for term, share in rest.items() if share > self._least}
        if over and page not in self._over:
            self._queue.append(page)
            self._over[page] = over
        elif over:
            self._over[page].update(over)


def _credit(account: Credit, more: Credit) -> None:
    for term, value in more.items():
        account[term] = account.get(term, 0.0) + value
