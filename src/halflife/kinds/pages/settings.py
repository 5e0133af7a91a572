"""Settings of pages, with or without following their links.

``kind = "pages"``, or ``kind = "site"`` for pages that are found from a start.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from halflife.config.source import SourceConfig
from halflife.config.values import Line, Url

MAP_PAGES = 50_000  # pages that maps make known: one full sitemap, by its protocol
CRAWL = frozenset(  # keys that need a start
    {"scope", "depth", "variants", "drop_query", "keep_query", "canonical", "languages"}
)

Text: TypeAlias = Literal["visible", "main", "raw"]


def _within(scope: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if not scope or (isinstance(scope, str) and scope not in {"host", "folder"}):
        raise ValueError('must be "host", "folder" or a list of patterns')
    return scope


Patterns = Annotated[tuple[Line, ...], Field(strict=False)]
Rules = Annotated[tuple[Line, ...], Field(strict=False, max_length=100)]
Within = Annotated[str | Patterns, AfterValidator(_within)]


class PagesConfig(SourceConfig):
    """Which pages are kept, and how far links are followed to find more.

    Attributes:
        kind: `pages` to keep, or a `site` whose links are followed; a `site` needs
            `start`.
        pages: Addresses of pages to keep.
        maps: Sitemaps and feeds; the pages that they list are kept too.
        text: What counts as a change: the `visible` text, the `main` text (needs
            `halflife[extract]`), or every byte (`raw`).
        only: The parts of a page that count: CSS selectors, `xpath:…` (needs
            `halflife[xpath]`) or `re:…`, a regular expression over lines of text
            ([reading pages](reading-pages.md)).
        ignore: The parts that do not count, written in the same way.
        noise: The largest share of fetches that are repeated at once to find noise
            (clocks, tokens, advertisements); 0 turns this off.
        render: `"browser"`: pages as Chromium shows them after their scripts have run
            (needs `halflife[browser]` and the Chromium of the system; every request is
            paid, see [reading pages](reading-pages.md#pages-that-need-a-browser)).
        keep: Keep the latest copy itself, not only its fingerprint.
        start: The page where a crawl begins. Default: none; required for a site.
        scope: The pages that belong to the site: those on the `"host"` of the start,
            those in its `"folder"`, or a list of patterns in which `*` matches
            anything: `["https://example.org/docs/*"]`.
        exclude: Patterns of addresses to ignore, from maps or links; `*` matches
            anything: `["*/print/*"]`.
        drop_query: Query parameters that do not identify a page, as patterns: `["sort",
            "ref*"]`.
        keep_query: The only query parameters that do. Default: all.
        canonical: Whether a page may name its own address (`rel="canonical"`).
        languages: The languages that are followed where pages exist in several
            (`hreflang`): `["en", "de-AT"]`. Default: all.
        depth: The most links from the start.
        most: The most pages that become known, by links or by maps. Default: 50000;
            10000 with `start`.
        variants: The most pages whose addresses differ only in query values or in the
            numbers of a date.
        discovery: The share of a turn's requests for pages that were found and never
            fetched; what they do not use goes to known pages, and the other way round.

    """

    measures: ClassVar[frozenset[str]] = frozenset({"freshness"})
    policy_group: ClassVar[str] = "halflife.policies"
    usual_policies: ClassVar[tuple[str, ...]] = ("champion",)

    kind: Literal["pages", "site"] = "pages"
    pages: tuple[Url, ...] = Field(default=(), strict=False)
    maps: tuple[Url, ...] = Field(default=(), strict=False)
    text: Text = "visible"
    only: Rules = ()
    ignore: Rules = ()
    noise: float = Field(default=0.05, ge=0, le=0.5, allow_inf_nan=False)
    render: Literal["", "browser"] = ""
    keep: bool = True
    start: Url | None = None
    scope: Within = "host"
    exclude: Rules = ()
    drop_query: Rules = ()
    keep_query: Rules = ()
    canonical: bool = True
    languages: Rules = ()
    depth: int = Field(default=20, ge=0, le=1000)
    most: int = Field(default=10_000, ge=1, le=10**6)
    variants: int = Field(default=100, ge=1, le=10**6)
    discovery: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)

    @model_validator(mode="after")
    def _crawl_has_a_start(self) -> Self:
        if self.start is not None:
            return self
        if self.kind == "site":
            raise ValueError("a site needs start, the page at which it begins")
        if wrong := CRAWL & self.model_fields_set:
            raise ValueError(
                f"{min(wrong)} has no meaning for a source of kind {self.kind!r} "
                "without start"
            )
        return self

    @model_validator(mode="after")
    def _rules_have_a_text(self) -> Self:
        if self.text == "raw" and (self.only or self.ignore):
            wrong = "only" if self.only else "ignore"
            raise ValueError(f'{wrong} has no meaning with text = "raw": every byte')
        return self

    @property
    def crawls(self) -> bool:
        """Whether its pages are found by following links from a start."""
        return self.start is not None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address that the settings name: its start, pages and maps."""
        return (*((self.start,) if self.start else ()), *self.pages, *self.maps)

    @property
    def feeds(self) -> tuple[str, ...]:
        """Its maps, but for those whose address says that they are sitemaps."""
        return tuple(url for url in self.maps if "sitemap" not in url.lower())

    @property
    def part_rules(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The rules for parts of pages, of pages that the settings name."""
        return None if self.crawls else (self.only, self.ignore)

    @property
    def landmarks(self) -> tuple[str, ...]:
        """Addresses of which each by itself says where the source is."""
        return (*((self.start,) if self.start else ()), *self.maps)

    @property
    def most_pages(self) -> int:
        """Pages of the source that may become known."""
        if self.crawls or "most" in self.model_fields_set:
            return self.most
        return MAP_PAGES

    @property
    def item_urls(self) -> tuple[str, ...]:
        """The addresses that are items by themselves: all that the settings name."""
        return self.addresses

    @property
    def root(self) -> str:
        """The address from which all pages are found; empty if there is none."""
        return self.start or ""

    @property
    def answer_format(self) -> str:
        """The format in which answers are asked for: as a browser does."""
        return "page"


def map_addresses(sources: Iterable[SourceConfig]) -> list[str]:
    """Return the addresses of the sitemaps and feeds that settings name."""
    return [url for one in PagesConfig.among(sources) for url in one.maps]
