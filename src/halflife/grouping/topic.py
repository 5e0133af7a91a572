"""Topics of pages, by the links that lead to a page.

A surfer interested in a term jumps now and then to a page with that term, chosen
uniformly, and otherwise follows a link of the current page. A page's reputation on the
term is the probability of finding the surfer there. With d the probability of a jump,
N(t) the pages that hold the term t and O(q) the links out of page q, it solves

    R(p, t) = (1 - d) sum(R(q, t) / O(q), q links to p) + d / N(t) [t is on p].

Rafiei and Mendelzon, "What is this page known for?", Computer Networks 2000;
Taleghani and Ugur-Ozekinci, "Sampling-based refresh policy with correlation",
Algorithm 1. A page is in the categories of the k topics it is best known for.

The terms on pages are ``Categories`` too: a category is a term and holds the pages
that the term is on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.categories import Categories

JUMP = 0.15  # the probability of a jump, as usual since Brin and Page
TOPICS = 6  # for each page: the best number in section 5.4 of the paper
_BLOCK = 1 << 21  # numbers in a block of pages by terms; larger ones cost page faults

_SMALL = 2048  # linked pages up to which the equations are solved outright
_SINGLE = 1e-5  # tolerance from which single precision is exact enough

Sparse: TypeAlias = Any  # a matrix of scipy.sparse, which has no types


@dataclass(frozen=True, slots=True)
class LinkMatrix:
    """The links between pages, without duplicates and links to the same page.

    Attributes:
        source: Row of the page that each link is on.
        target: Row of the page that it leads to.
        n_pages: The number of pages, linked or not.

    """

    source: Ints
    target: Ints
    n_pages: int

    @classmethod
    def of_pairs(cls, source: Ints, target: Ints, n_pages: int) -> Self:
        """Return the links in the order given, the first of equal ones."""
        source, target = np.asarray(source, np.intp), np.asarray(target, np.intp)
        code = source * n_pages + target
        first = np.zeros(code.size, np.bool_)
        first[np.unique(code, return_index=True)[1]] = True
        first &= source != target
        return cls(source[first], target[first], n_pages)

    def __len__(self) -> int:
        return self.source.size

    @property
    def out(self) -> Ints:
        """How many links each page has."""
        return np.bincount(self.source, minlength=self.n_pages)

    def first_in(self, most: int | None) -> Bools:
        """Return which links are among the first ``most`` to their target."""
        if most is None:
            return np.ones(len(self), np.bool_)
        order = np.argsort(self.target, kind="stable")
        place = np.arange(len(self))
        begins = np.searchsorted(self.target[order], self.target[order])
        kept = np.empty(len(self), np.bool_)
        kept[order] = place - begins < most
        return kept


def common_terms(terms: Categories, fewest: int, most: int | None = None) -> Categories:
    """Return the terms that are on at least ``fewest`` pages.

    Of these, only the ``most`` common ones. The paper's reputation favours rare terms:
    a term on one page only is a topic of that page, and of no other.
    """
    size = terms.size
    keep = np.flatnonzero(size >= fewest)
    if most is not None:
        keep = np.sort(keep[np.argsort(-size[keep], kind="stable")][:most])
    return select_categories(terms, keep)


def select_categories(categories: Categories, keep: Ints) -> Categories:
    """Return the categories to keep, in ascending order of their numbers."""
    inside = np.isin(np.arange(len(categories)), keep)
    names = tuple(categories.names[j] for j in np.flatnonzero(inside).tolist())
    start = np.append(0, np.cumsum(categories.size[inside])).astype(np.intp)
    item = categories.item[np.repeat(inside, categories.size)]
    return Categories(names, start, item, categories.n_items)


@dataclass(frozen=True, slots=True)
class Surfer:
    """The settings of the computation of reputations.

    Attributes:
        jump: Probability of a jump at each step; d in the formula.
        tolerance: Largest error of a term's reputations, summed over all pages, of
            which the whole is at most 1.
        in_links: Links to a page that count, the first ones given; None for all.
        depth: Links that the surfer follows after a jump at most; None for any.

    """

    jump: float = JUMP
    tolerance: float = 1e-5
    in_links: int | None = None
    depth: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.jump <= 1.0:
            raise ValueError(f"jump must be in (0, 1], got {self.jump}")
        if not self.tolerance > 0.0:
            raise ValueError(f"tolerance must be positive, got {self.tolerance}")

    def reputation(self, links: LinkMatrix, terms: Categories) -> Floats:
        """Return R(p, t) as row p, column t.

        >>> links = LinkMatrix.of_pairs(np.array([0]), np.array([1]), 2)
        >>> terms = Categories.of_pairs(["tea"], np.array([0]), np.array([0]), 2)
        >>> Surfer().reputation(links, terms).round(4).tolist()
        [[0.15], [0.1275]]
        """
        jumps = _jumps(terms, self.jump)
        scores: Floats = jumps.toarray()
        for part in _parts(links, self):
            for columns, score in self._scores(part, jumps):
                scores[np.ix_(part.pages, columns)] = score
        return scores

    def topics(
        self, links: LinkMatrix, terms: Categories, k: int = TOPICS
    ) -> Categories:
        """Return the categories of the ``k`` topics that each page is best known for.

        A page with fewer topics is in fewer; of equal topics the first ones count.
        Empty categories are left out.
        """
        if k < 1:
            raise ValueError(f"a page must have at least 1 topic, got {k}")
        jumps = _jumps(terms, self.jump)
        alone = np.ones(links.n_pages, np.bool_)
        pairs: list[tuple[Ints, Ints]] = []
        for part in _parts(links, self):
            best = _Best.none(part.pages.size)
            for columns, score in self._scores(part, jumps):
                best = best.with_more(score, columns, k)
            pairs.append(best.pairs(part.pages))
            alone[part.pages] = False
        pairs.append(_rarest(terms, alone[terms.item], k))
        page, term = (np.concatenate(both) for both in zip(*pairs, strict=True))
        return common_terms(
            Categories.of_pairs(terms.names, term, page, links.n_pages), 1
        )

    def _scores(self, part: "_Part", jumps: Sparse) -> Iterator[tuple[Ints, Floats]]:
        """Yield the reputations on the terms that reach a part, a block at a time."""
        own, before = jumps[part.pages].tocsc(), jumps[part.sources].tocsc()
        reached = np.diff(own.indptr) + np.diff(before.indptr) > 0
        columns = np.flatnonzero(reached)
        width = max(1, _BLOCK // part.pages.size)
        for start in range(0, columns.size, width):
            chunk = columns[start : start + width]
            step: Floats = part.entering @ before[:, chunk].toarray()
            scores = self._by_links(part.within, step)
            scores += own[:, chunk].toarray()
            yield chunk, scores

    def _by_links(self, within: Sparse, step: Floats) -> Floats:
        """Return the sum over links, given that of the first link after a jump."""
        if self.depth is not None:
            return _walk(within, step, self.depth)
        if len(step) <= _SMALL:
            return np.linalg.solve(np.eye(len(step)) - within.toarray(), step)
        if self.tolerance >= _SINGLE:  # halves the time
            within, step = within.astype(np.float32), step.astype(np.float32)
        return _iterate(within, step, self.tolerance * self.jump)


def _walk(within: Sparse, step: Floats, depth: int) -> Floats:
    """Return the sum of the contributions of ``depth`` successive links."""
    total = np.zeros_like(step)
    for _ in range(depth):
        total += step
        step = within @ step
        if not step.any():
            break
    return total


def _iterate(within: Sparse, step: Floats, tolerance: float) -> Floats:
    """Return the sum of the contributions of any number of links.

    As soon as each step is a multiple of the one before, up to e, the rest is summed as
    a geometric series. The residual of the equation is then |e| for each term, and the
    error at most |e| / d, since no step increases a difference and each link is
    followed with probability 1 - d.
    """
    total = np.zeros_like(step)
    while True:
        total += step
        after: Floats = within @ step
        ratio, residual = _series(after, step)
        if residual.max(initial=0.0) <= tolerance:
            step *= ratio / (1.0 - ratio)
            total += step
            return total
        step = after


@dataclass(frozen=True, slots=True)
class _Part:
    """A connected component of the pages that links lead to.

    ``entering`` takes the surfer from the pages that link to these to these,
    ``within`` from one of these to another.
    """

    pages: Ints
    sources: Ints
    entering: Sparse
    within: Sparse


def _parts(links: LinkMatrix, surfer: Surfer) -> Iterator[_Part]:
    """Yield the pages that links lead to, in parts between which there is no link.

    A page without links to it is reached by jumps alone. Parts are small where the
    links allow, and then hold few of the terms; the smallest are merged.
    """
    from scipy import sparse  # noqa: PLC0415  (slow)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415  (slow)

    kept = links.first_in(surfer.in_links)
    source, target = links.source[kept], links.target[kept]
    weight = (1.0 - surfer.jump) / links.out[source]
    shape = (links.n_pages, links.n_pages)
    matrix = sparse.csr_array((weight, (target, source)), shape=shape)
    linked = np.flatnonzero(np.diff(matrix.indptr))
    entering = matrix[linked]
    _, label = connected_components(entering[:, linked], directed=False)
    begins = np.append(0, np.cumsum(np.bincount(label)))[:-1]
    bundle = begins[label] // (_SMALL // 2)
    for number in np.unique(bundle).tolist():
        rows = np.flatnonzero(bundle == number)
        pages, ways = linked[rows], entering[rows]
        sources = np.flatnonzero(np.bincount(ways.indices, minlength=links.n_pages))
        yield _Part(pages, sources, ways[:, sources], ways[:, pages])


def _jumps(terms: Categories, jump: float) -> Sparse:
    """Return d / N(t) where t is on p, as row p, column t."""
    from scipy import sparse  # noqa: PLC0415  (slow)

    share = jump / np.maximum(terms.size, 1)
    shares = np.repeat(share, terms.size)
    shape = (terms.n_items, len(terms))
    return sparse.csc_array((shares, terms.item, terms.start), shape=shape).tocsr()


def _series(after: Floats, before: Floats) -> tuple[Floats, Floats]:
    """Return the ratio of each column to the one before, and the residual.

    It is the residual of the sum if all further steps shrink by this ratio.
    """
    ones = np.ones(len(after), after.dtype)
    whole = ones @ before
    ratio = (ones @ after) / np.where(whole > 0, whole, 1.0)
    gap = before * ratio
    np.subtract(after, gap, out=gap)
    np.abs(gap, out=gap)
    return ratio, (ones @ gap) / (1.0 - ratio)


@dataclass(frozen=True, slots=True)
class _Best:
    """The topics of highest reputation so far, a row for each page, in term order."""

    score: Floats
    term: Ints

    @classmethod
    def none(cls, pages: int) -> Self:
        return cls(np.zeros((pages, 0)), np.zeros((pages, 0), np.intp))

    def with_more(self, score: Floats, term: Ints, k: int) -> Self:
        """Return the best ``k`` of these and others; of equal ones, the first."""
        scores = np.hstack([self.score, score])
        terms = np.hstack([self.term, np.broadcast_to(term, score.shape)])
        if scores.shape[1] <= k:
            return type(self)(scores, terms)
        least = np.partition(scores, -k, axis=1)[:, -k, None]
        chosen = scores >= least
        crowded = np.flatnonzero(np.count_nonzero(chosen, axis=1) > k)
        above = scores[crowded] > least[crowded]
        tied = chosen[crowded] & ~above
        room = k - np.count_nonzero(above, axis=1)[:, None]
        chosen[crowded] = above | (tied & (np.cumsum(tied, axis=1) <= room))
        return type(self)(scores[chosen].reshape(-1, k), terms[chosen].reshape(-1, k))

    def pairs(self, pages: Ints) -> tuple[Ints, Ints]:
        """Return the page and the term of each reputation above 0."""
        row, place = np.nonzero(self.score > 0)
        return pages[row], self.term[row, place]


def _rarest(terms: Categories, inside: Bools, k: int) -> tuple[Ints, Ints]:
    """Return the ``k`` rarest terms of each page, among the entries ``inside``."""
    page, term = terms.item[inside], terms.category[inside]
    order = np.lexsort((term, terms.size[term], page))
    page, term = page[order], term[order]
    place = np.arange(page.size) - np.searchsorted(page, page)
    return page[place < k], term[place < k]
