"""Settings of pages, with or without following their links.

``kind = "pages"``, or ``kind = "site"`` for pages that are found from a start.
"""

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
    """Which pages are kept, and how far links are followed to find more."""

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
