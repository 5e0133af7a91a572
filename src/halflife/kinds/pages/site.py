"""A site: pages that lead to pages, from a start as far as its limits go."""

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
from halflife.core.observation import Looks, Observation, Outgoing, Seen
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

SPELLING = "whatwg"  # of keys; links that were read in another are read again


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """How far links are followed.

    Attributes:
        depth: Links from the start, at most.
        most: Pages that are known, at most.
        variants: Pages whose addresses differ only in the values of their query,
            or in the numbers of a date, at most: a calendar has no end.

    """

    depth: int = 20
    most: int = 10_000
    variants: int = 100


@dataclass(frozen=True, slots=True)
class Follow:
    """Reads where pages lead, within a scope; the same for the same answer."""

    scope: Scope
    rules: CrawlRules = NO_RULES

    def allows(self, key: str) -> bool:
        """Say whether a page may become known."""
        return key in self.scope and self.rules.allows(key)

    def __call__(self, look: Observation, answer: Answer) -> list[Observation]:
        """Return a look with its links; two looks if the page lies elsewhere.

        A redirect within the scope shows that one page is another address of a
        second one, and shows the second if it was followed. One that leaves it shows
        only that. What matters of a redirect is where it leads, so that is its digest.
        """
        landed = self.rules.key(answer.url)
        if landed == self.rules.key(look.key):
            return [replace(look, links=self._links(look.key, answer))]
        where = fingerprint(landed.encode())
        other = Outgoing(same=landed, urls={landed: answer.url})
        bare = replace(look, digest=where, content=None, links=other)
        bare = replace(bare, etag="", modified=None)  # they are the other page's
        if landed not in self.scope:
            out = f"leads out of scope, to {shown(landed)}"
            return [replace(bare, note=out, links=Outgoing())]
        if 300 <= answer.status < 400:
            return [bare]
        links = self._links(landed, answer)
        there = replace(look, key=landed, etag=answer.etag, modified=answer.modified)
        return [bare, replace(there, note="", links=links)]

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
    """What is known of a site's pages, and which more may become known.

    Args:
        source: The source that the pages belong to.
        follow: Reads where they lead.
        limits: How far that is followed.
        depth: The pages known so far, and how many links they are from the start.
        read: By which rules the links of each were last read.
        foreign: Pages that belong to other sources.
        weight: How much the pages matter.

    """

    def __init__(  # noqa: PLR0913  (what is known comes in parts)
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
        self._untold: set[str] = set()
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
        """Return the rules by which a page's links are chosen now."""
        ended = self._depth.get(key, 0) >= self.limits.depth
        return self._rules + (" end" if ended else "")

    def whole(self, request: Fetch) -> Fetch:
        """Return a request for a whole page, if its links must be read anew.

        An answer that nothing changed has no links in it. So what we hold is not
        mentioned when the page's links were never read, or by other rules.
        """
        if self._read.get(request.key) == self.rules(request.key):
            return request
        return Fetch(request.key)

    def admit(self, key: str, depth: int) -> bool:
        """Say whether a page is, or now becomes, known at this depth or less."""
        if key in self._depth:
            self._depth[key] = min(self._depth[key], depth)
            return True
        if key in self._foreign:
            return True
        why = self._against(key, depth)
        if why:
            self.left_out[why] += 1
            return False
        self._depth[key] = depth
        self._untold.add(key)
        self._shapes[shape(key)] += 1
        return True

    def _against(self, key: str, depth: int) -> str:
        """Return which limit speaks against a new page; nothing if none does."""
        limits = self.limits
        if key not in self.follow.scope:
            return "scope"
        if not self.follow.rules.allows(key):
            return "exclude"
        if depth > limits.depth:
            return "depth"
        if len(self._depth) >= limits.most:
            return "most"
        form = shape(key)
        many = bool(form) and self._shapes[form] >= limits.variants
        return "variants" if many or is_endless(key) else ""

    def take(
        self, page: Observation, hints: Sequence[Observation] = ()
    ) -> Iterator[Observation]:
        """Return a look with the links that are followed, and hints of new pages.

        ``hints`` are of the pages that it names as a map.
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
            if key in self._untold:
                self._untold.discard(key)
                yield replace(hint, item=self.item(key, out.urls.get(key, "")))
            elif key in named:
                yield replace(hint, item=None)

    def item(self, key: str, url: str = "") -> Item:
        """Return a page of the site as an item; ``url`` is what is sent for it."""
        sent = url if url != key else ""
        return Item(key, self.source, self._weight, group=host_of(key), url=sent)


class SitePages:
    """Pages, of which some belong to sites: there what they lead to is found too."""

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
    ) -> AsyncGenerator[Looks]:
        """Look at pages; yield what was seen, links and new pages included."""
        asked = [self._asked(request) for request in requests]
        async with aclosing(self._pages.perform(asked, now, purse)) as batches:
            async for looks in batches:
                yield Looks.of(self._followed(looks))

    def _asked(self, request: Request) -> Request:
        frontier = self._frontiers.get(self._source_of(request.key))
        return frontier.whole(request) if frontier else request

    def _followed(self, looks: Iterable[Observation]) -> Iterator[Observation]:
        """Follow the links of each page; hints stand behind the page they are from."""
        before: Observation | None = None
        frontier: Frontier | None = None
        for page, hints in by_page(looks):
            led = before is not None and before.links and before.links.same == page.key
            if not led:
                frontier = self._frontiers.get(self._source_of(page.key))
            if frontier is None:
                yield from (page, *hints)
            elif not led or page.key in frontier:
                yield from _taken(frontier, page, hints)
            before = page


def _taken(
    frontier: Frontier, page: Observation, hints: Sequence[Observation]
) -> Sequence[Observation]:
    """Return a look with what it leads to; a failed look if that cannot be followed."""
    try:
        with contained(page.key):
            return list(frontier.take(page, hints))
    except SourceError as error:
        return [Observation(page.key, page.at, Seen.FAILED, note=str(error))]
