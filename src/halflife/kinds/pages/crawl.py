"""Crawls of sites in the running system: frontier, limits, progress and turns."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from halflife.belief import Belief
from halflife.belief.newcomers import Newcomers
from halflife.config import SourceConfig
from halflife.core.arrays import Bools
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.keys import names_at
from halflife.core.links import FAR, Links
from halflife.core.observation import Observations, Seen
from halflife.core.wording import count
from halflife.kinds.pages import map_discovery
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.source_rows import rows_of
from halflife.policies import Policy
from halflife.policies.discovery import DiscoveryPolicy
from halflife.policies.rounds import InRounds
from halflife.policies.urgent import urgent_first
from halflife.stores import Store

if TYPE_CHECKING:
    from halflife.kinds.pages.client import SiteSettings
    from halflife.kinds.pages.guard import PageSource
    from halflife.kinds.pages.runner import Keeper, SyncOutcome
    from halflife.kinds.pages.site import Follow, Frontier

HOPS = 8  # requests for redirects beyond the granted ones
UNREAD = "the links of this page were never read"
DUPLICATE = 0.01  # the weight of a duplicate page, as a share


def sites(sources: Iterable[SourceConfig]) -> list[PagesConfig]:
    """Return the sources that are crawled."""
    return [source for source in PagesConfig.among(sources) if source.crawls]


def find_pages(sources: Iterable[SourceConfig]) -> list[PagesConfig]:
    """Return the sources that discover pages by links or maps."""
    pages = PagesConfig.among(sources)
    return [source for source in pages if source.crawls or source.maps]


def policy(
    inner: Policy,
    sources: Iterable[SourceConfig],
    source_of: Callable[[str], str],
    left: Callable[[], Mapping[str, int]] = dict,
) -> Policy:
    """Return a policy that gives discovered pages their share of requests.

    ``left`` returns the rest of each source's part of the window.
    """
    kept = PagesConfig.among(sources)
    share = {source.name: source.discovery for source in kept}
    found_by = map_discovery.found_by(kept, source_of)
    if isinstance(inner, InRounds):  # the share applies to each round
        shared = DiscoveryPolicy(inner.policy, share, found_by, left)
        return replace(inner, policy=shared)
    return DiscoveryPolicy(inner, share, found_by, left)


def unread(store: Store, sources: Iterable[SourceConfig]) -> set[str]:
    """Return the known pages in the settings of sites whose links were never read.

    Such a page was kept as a plain page before it became the start of a site. The crawl
    discovers nothing until it is fetched again, and it may be believed fresh for long.
    """
    from halflife.net.addresses import canonical  # noqa: PLC0415  (slow)

    keys: set[str] = set()
    for source in sites(sources):
        links, evidence = store.links([source.name]), store.evidence([source.name])
        read = dict(zip(links.keys, links.under, strict=True))
        for key in map(canonical, source.addresses):
            row = evidence.row(key)
            fetched = row is not None and evidence.looks[row] > 0
            if fetched and not read.get(key):
                keys.add(key)
    return keys


def read_first(inner: Policy, keys: set[str]) -> Policy:
    """Return a policy that starts with pages whose links were never read."""
    return urgent_first(inner, keys, UNREAD) if keys else inner


def belief(inner: Belief, sources: Iterable[SourceConfig]) -> Belief:
    """Return a belief that rates pages discovered on sites by their neighbours."""
    return Newcomers(inner) if sites(sources) else inner


@dataclass(frozen=True, slots=True)
class CrawlProgress:
    """The progress of the crawl of a site.

    Attributes:
        source: The site.
        known: Known pages.
        fetched: Pages fetched successfully.
        frontier: Known pages that were never fetched.
        duplicates: Pages with the content of another page.
        gone: Pages that were missing at their last fetch.
        note: What stops the crawl; empty if nothing does.

    """

    source: str
    known: int
    fetched: int
    frontier: int
    duplicates: int
    gone: int = 0
    note: str = ""

    def row(self) -> dict[str, object]:
        """Return the row for programs."""
        return asdict(self)

    def words(self) -> str:
        """Return one line for people."""
        text = (
            f"{self.source}: {count(self.known, 'page')} known, {self.fetched} "
            "fetched, "
            f"{self.frontier} found and never seen, {self.duplicates} duplicates"
        )
        text += f", {self.gone} gone" if self.gone else ""
        return f"{text}; {self.note}" if self.note else text


def progress(store: Store, source: PagesConfig) -> CrawlProgress:
    """Return the progress of the crawl of a site."""
    evidence = store.evidence([source.name])
    held = int(np.count_nonzero(evidence.looks))
    present = evidence.seen == Seen.PRESENT
    copies = int(present.sum()) - len(set(evidence.digest[present]))
    note = ""
    if len(evidence) >= source.most:
        note = (
            f"the limit of {count(source.most, 'page')} is reached: set most "
            "higher for more"
        )
    frontier = len(evidence) - held
    gone = int(np.count_nonzero((evidence.looks > 0) & (evidence.seen == Seen.ABSENT)))
    return CrawlProgress(source.name, len(evidence), held, frontier, copies, gone, note)


def found_by(store: Store, sources: Iterable[SourceConfig]) -> dict[str, str]:
    """Return a page that links to each page never seen, by the key of that page."""
    linked_from: dict[str, str] = {}
    for source in sites(sources):
        evidence, links = store.evidence([source.name]), store.links([source.name])
        places = np.flatnonzero((evidence.looks == 0)[links.to])
        to, first = np.unique(links.to[places], return_index=True)
        page = links.page[places[first]]
        linked_from |= {
            links.keys[i]: links.keys[j] for i, j in zip(to, page, strict=True)
        }
    return linked_from


def following(source: PagesConfig, site: "SiteSettings") -> "SiteSettings":
    """Return the settings of a source with the links of its crawl followed."""
    follow = follow_of(source)

    def within(url: str) -> bool:
        return follow.rules.key(url) in follow.scope

    access = replace(site.access, within=within)
    return replace(site, access=access, follow=follow, spell=follow.rules.key)


def follow_of(source: PagesConfig) -> "Follow":
    """Return the rules by which the links of a site are followed."""
    from halflife.kinds.pages.crawl_rules import CrawlRules  # noqa: PLC0415  (slow)
    from halflife.kinds.pages.links import Scope  # noqa: PLC0415
    from halflife.kinds.pages.site import Follow  # noqa: PLC0415

    scope = Scope.of(str(source.start), source.scope)
    return Follow(scope, CrawlRules.of(source))


def crawl(
    pages: "PageSource",
    store: Store,
    sources: Iterable[PagesConfig],
    source_of: Callable[[str], str],
) -> "PageSource":
    """Return the pages of sources, with links followed where they are crawled."""
    from halflife.kinds.pages.site import SitePages  # noqa: PLC0415  (slow to import)

    frontiers = {source.name: frontier(store, source) for source in sites(sources)}
    return SitePages(pages, frontiers, source_of=source_of) if frontiers else pages


def frontier(store: Store, source: PagesConfig) -> "Frontier":
    """Return the frontier of a site from the store; duplicates lose weight."""
    from halflife.kinds.pages.site import CrawlLimits, Frontier  # noqa: PLC0415
    from halflife.net.addresses import canonical  # noqa: PLC0415  (slow)

    links, items = store.links([source.name]), store.items()
    named = {canonical(url) for url in source.addresses}
    limits = CrawlLimits(source.depth, source.most, source.variants)
    _reweigh(store, source, links, named)
    return Frontier(
        source.name,
        follow_of(source),
        limits,
        depth=_depths(links, named, limits.depth),
        read=dict(zip(links.keys, links.under, strict=True)),
        foreign={item.key for item in items if item.source != source.name},
        weight=source.weight,
    )


def _depths(links: Links, named: set[str], deepest: int) -> dict[str, int]:
    """Return the depth of each page; one that lost its links gets the largest."""
    roots = [row for row, key in enumerate(links.keys) if key in named]
    depth = links.depth(roots)
    depth[depth == FAR] = deepest
    return dict(zip(links.keys, depth.tolist(), strict=True))


def _reweigh(store: Store, source: PagesConfig, links: Links, named: set[str]) -> None:
    """Lower the weight of pages that name, and are, a duplicate of another."""
    evidence = store.evidence([source.name])
    copies = duplicates(evidence, links)
    share = np.where(copies, DUPLICATE, 1.0) * source.weight
    wrong = np.flatnonzero(~np.isclose(share, evidence.weight))
    keys = [(int(row), evidence.keys[row]) for row in wrong]
    store.add(
        Item(key, source.name, weight=float(share[row]))
        for row, key in keys
        if key not in named
    )


def duplicates(evidence: Evidence, links: Links) -> Bools:
    """Return which pages name a canonical page with the same content."""
    same = np.where(links.same >= 0, links.same, 0)
    alike: Bools = (evidence.digest == evidence.digest[same]).astype(np.bool_)
    seen = (evidence.seen == Seen.PRESENT) & (evidence.seen[same] == Seen.PRESENT)
    copies: Bools = (links.same >= 0) & alike & seen
    return copies


async def turns(
    keeper: "Keeper",
    requests: int,
    most: int | None = None,
    on_batch: Callable[[Observations], None] = lambda _: None,
    *,
    found: int = 0,
    since: float | None = None,
) -> "SyncOutcome":
    """Run turns until no more pages are found, or the budget or ``most`` is spent.

    Each turn may discover pages for the next; no page is fetched twice. A turn in which
    redirects used all requests gets some more to reach their ends. ``found`` pages
    became known just before; pages fetched from ``since`` on are done.
    """
    began = keeper.since if since is None else since
    outcome = await keeper.turn(requests, on_batch, since=began)
    outcome.found += found
    last = outcome
    while (last.found or _was_all_redirects(last)) and not keeper.eased:
        room = keeper.allowance()
        if _was_all_redirects(last):
            room = min(last.requests + HOPS, keeper.wallet.room(keeper.clock()))
        left = room if most is None else min(room, most - outcome.requests)
        if left <= 0:
            break
        last = await keeper.turn(left, on_batch, since=began)
        outcome.add(last)
    return outcome


def _was_all_redirects(outcome: "SyncOutcome") -> bool:
    """Return whether requests were spent without seeing, or failing, any page."""
    seen = outcome.total("looks") + outcome.total("failed")
    return outcome.requests > 0 and seen == 0


def owners(
    store: Store, sources: Iterable[SourceConfig], evidence: Evidence
) -> Mapping[str, str]:
    """Return the source of each page that was never seen."""
    names = [source.name for source in PagesConfig.among(sources)]
    if not names or evidence.looks.all():
        return {}
    owner: dict[str, str] = {}
    for name, mine in rows_of(store, names, evidence).items():
        unseen = mine[evidence.looks[mine] == 0]
        owner |= dict.fromkeys(names_at(evidence.keys, unseen), name)
    return owner
