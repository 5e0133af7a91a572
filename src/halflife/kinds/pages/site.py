"""Crawls: pages found by following links from a start, within limits."""

from collections import Counter
from collections.abc import (
    AsyncGenerator,
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halflife.core.budget import Purse
from halflife.core.errors import SourceError
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Outgoing, Seen
from halflife.core.request import Fetch, Request
from halflife.kinds.pages.crawl_rules import NO_RULES, CrawlRules
from halflife.kinds.pages.learners import by_page
from halflife.kinds.pages.links import Scope, is_endless, read_links, shape
from halflife.net.access import Answer
from halflife.net.addresses import host_of, shown
from halflife.readers.containment import contained
from halflife.readers.text import fingerprint, is_html, to_text

if TYPE_CHECKING:
    from halflife.kinds.pages.guard import PageSource

SPELLING = "whatwg"  # the standard of keys; links read by another are read again


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Limits of a crawl.

    Attributes:
        depth: Most links from the start.
        most: Most known pages.
        variants: Most pages whose addresses differ only in the values of their query
            or in the numbers of a date: a calendar has no end.

    """

    depth: int = 20
    most: int = 10_000
    variants: int = 100


@dataclass(frozen=True, slots=True)
class Follow:
    """Extracts the links of pages within a scope; deterministic."""

    scope: Scope
    rules: CrawlRules = NO_RULES

    def allows(self, key: str) -> bool:
        """Return whether a page may become known."""
        return key in self.scope and self.rules.allows(key)

    def __call__(self, page: Observation, answer: Answer) -> list[Observation]:
        """Return an observation with its links; two if the page was redirected.

        A redirect within the scope means that the first page is another address of the
        second one; if it was followed, it also shows the second. A redirect out of
        scope shows only that. The digest of a redirect is that of its target.
        """
        landed = self.rules.key(answer.url)
        if landed == self.rules.key(page.key):
            return [replace(page, links=self._links(page.key, answer))]
        target_digest = fingerprint(landed.encode())
        other = Outgoing(same=landed, urls={landed: answer.url})
        redirected = replace(page, digest=target_digest, content=None, links=other)
        redirected = replace(redirected, etag="", modified=None)  # of the other page
        if landed not in self.scope:
            note = f"leads out of scope, to {shown(landed)}"
            return [replace(redirected, note=note, links=Outgoing())]
        if 300 <= answer.status < 400:
            return [redirected]
        links = self._links(landed, answer)
        there = replace(page, key=landed, etag=answer.etag, modified=answer.modified)
        return [redirected, replace(there, note="", links=links)]

    def _links(self, key: str, answer: Answer) -> Outgoing:
        if not is_html(answer.content_type, answer.body):
            return Outgoing()
        found = read_links(to_text(answer.content_type, answer.body), answer.url)
        links = self.rules.links(found)
        to = tuple(link for link in links if link in self.scope and link != key)
        claimed = self.rules.shorten(found.canonical) if self.rules.canonical else ""
        same = claimed if self.allows(claimed) and claimed != key else ""
        return Outgoing(to, same, urls={k: url for k, url in links.items() if url})


class Frontier:
    """The known pages of a site, and which more may become known.

    Args:
        source: The source that the pages belong to.
        follow: Extracts their links.
        limits: The limits of the crawl.
        depth: The links from the start to each known page.
        read: The rules by which the links of each page were last read.
        foreign: Pages that belong to other sources.
        weight: The weight of the pages.

    """

    def __init__(  # noqa: PLR0913  (the stored state has many parts)
        self,
        source: str,
        follow: Follow,
        limits: CrawlLimits,
        *,
        depth: Mapping[str, int],
        read: Mapping[str, str] | None = None,
        foreign: Container[str] = (),
        weight: float = 1.0,
    ) -> None:
        self.source, self.follow, self.limits = source, follow, limits
        self.left_out: Counter[str] = Counter()
        self._depth = dict(depth)
        self._read = dict(read or {})
        self._unreported: set[str] = set()
        self._foreign = foreign
        self._weight = weight
        self._shapes = Counter(shape(key) for key in self._depth)
        more = (follow.rules,) if follow.rules else ()
        rules = repr((SPELLING, follow.scope, limits, *more))
        self._rules = fingerprint(rules.encode())[:16]

    def __len__(self) -> int:
        return len(self._depth)

    def __contains__(self, key: str) -> bool:
        return key in self._depth

    def rules(self, key: str) -> str:
        """Return the rules by which a page's links are followed now."""
        is_at_limit = self._depth.get(key, 0) >= self.limits.depth
        return self._rules + (" end" if is_at_limit else "")

    def whole(self, request: Fetch) -> Fetch:
        """Return a request without conditions if the page's links must be read again.

        An answer "not modified" has no links. So the copy is not mentioned if the
        page's links were never read, or were read by other rules.
        """
        if self._read.get(request.key) == self.rules(request.key):
            return request
        return Fetch(request.key)

    def admit(self, key: str, depth: int) -> bool:
        """Return whether a page is, or now becomes, known at this depth or less."""
        if key in self._depth:
            self._depth[key] = min(self._depth[key], depth)
            return True
        if key in self._foreign:
            return True
        why = self._exceeded_limit(key, depth)
        if why:
            self.left_out[why] += 1
            return False
        self._depth[key] = depth
        self._unreported.add(key)
        self._shapes[shape(key)] += 1
        return True

    def _exceeded_limit(self, key: str, depth: int) -> str:
        """Return the name of the limit that excludes a new page; empty if none does."""
        limits = self.limits
        if key not in self.follow.scope:
            return "scope"
        if not self.follow.rules.allows(key):
            return "exclude"
        if depth > limits.depth:
            return "depth"
        if len(self._depth) >= limits.most:
            return "most"
        pattern = shape(key)
        is_full = bool(pattern) and self._shapes[pattern] >= limits.variants
        return "variants" if is_full or is_endless(key) else ""

    def take(
        self, page: Observation, hints: Sequence[Observation] = ()
    ) -> Iterator[Observation]:
        """Return an observation with its followed links, then hints about new pages.

        ``hints`` are about the pages that it lists as a map.
        """
        if page.seen is Seen.ABSENT:
            page = replace(page, links=Outgoing())
        if page.links is None and not hints:
            yield page
            return
        depth, out = self._depth.get(page.key, 0), page.links or Outgoing()
        same = out.same if out.same and self.admit(out.same, depth) else ""
        named = {hint.key: hint for hint in hints}
        to = dict.fromkeys((*out.to, *named))
        followed = tuple(key for key in to if self.admit(key, depth + 1))
        self._read[page.key] = rules = self.rules(page.key)
        yield replace(page, links=Outgoing(followed, same, rules))
        for key in dict.fromkeys((same, *followed)):
            hint = named.get(key) or Observation(key, page.at, Seen.HINT)
            if key in self._unreported:
                self._unreported.discard(key)
                yield replace(hint, item=self.item(key, out.urls.get(key, "")))
            elif key in named:
                yield replace(hint, item=None)

    def item(self, key: str, url: str = "") -> Item:
        """Return a page of the site as an item; ``url`` is the URL to request."""
        sent = url if url != key else ""
        return Item(key, self.source, self._weight, group=host_of(key), url=sent)


class SitePages:
    """A source of pages that follows links on those that belong to sites."""

    def __init__(
        self,
        pages: "PageSource",
        frontiers: Mapping[str, Frontier],
        *,
        source_of: Callable[[str], str],
    ) -> None:
        self._pages = pages
        self._frontiers = frontiers
        self._source_of = source_of

    async def perform(
        self, requests: Sequence[Request], now: float, purse: Purse
    ) -> AsyncGenerator[Observations]:
        """Fetch pages; yield observations with links, and hints about new pages."""
        adjusted = [self._adjusted(request) for request in requests]
        async with aclosing(self._pages.perform(adjusted, now, purse)) as batches:
            async for batch in batches:
                yield Observations.of(self._followed(batch))

    def _adjusted(self, request: Request) -> Request:
        frontier = self._frontiers.get(self._source_of(request.key))
        return frontier.whole(request) if frontier else request

    def _followed(self, batch: Iterable[Observation]) -> Iterator[Observation]:
        """Follow the links of each page; hints come after the page that gave them."""
        before: Observation | None = None
        frontier: Frontier | None = None
        for page, hints in by_page(batch):
            was_redirected = (
                before is not None and before.links and before.links.same == page.key
            )
            if not was_redirected:
                frontier = self._frontiers.get(self._source_of(page.key))
            if frontier is None:
                yield from (page, *hints)
            elif not was_redirected or page.key in frontier:
                yield from _follow_page(frontier, page, hints)
            before = page


def _follow_page(
    frontier: Frontier, page: Observation, hints: Sequence[Observation]
) -> Sequence[Observation]:
    """Return a page with its links; a failed observation if they cannot be read."""
    try:
        with contained(page.key):
            return list(frontier.take(page, hints))
    except SourceError as error:
        return [Observation(page.key, page.at, Seen.FAILED, note=str(error))]
