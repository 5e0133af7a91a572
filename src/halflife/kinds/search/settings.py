"""Settings of databases that answer searches: ``kind = "search"``."""

from typing import ClassVar, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from halflife.config.answers import ResultsConfig
from halflife.config.values import Url, fill_placeholders, placeholder_names

Engine: TypeAlias = Literal[
    "", "elasticsearch", "solr", "meilisearch", "json", "html", "feed"
]
_PLACES = frozenset({"query", "page", "offset", "count"})
TAU = 0.5  # the paper's threshold; its study ends at 1
_NO_RECORDS: tuple[object, ...] = ("", "", "", [])


class SearchConfig(ResultsConfig):
    """How a database that only answers queries is asked, and its answers read.

    Attributes:
        kind: `search`.
        search_url: The address of the search, with `{query}`; also `{page}` or
            `{offset}`, and `{count}`, if it has them. Default: required.
        engine: `elasticsearch`, `solr` or `meilisearch`, whose answers are known;
            `json`, `html`, or `feed` (RSS, Atom). Default: read from the answer.
        hits: Where the hits are: JMESPath for JSON, a CSS selector for HTML. Default:
            that of the engine.
        hit_key: What identifies a hit, within the hit. Default: that of the engine, or
            the link.
        hit_link: Where the document can be read. Default: that of the engine.
        hit_text: Its full text; an object or a list stands for all text in it. Default:
            that of the engine.
        hit_snippet: A part of its text. Default: that of the engine; in HTML all
            of the hit.
        tau: The divergence above which the summary counts as out of date, above 0 and
            at most 10.

    """

    measures: ClassVar[frozenset[str]] = frozenset({"summary"})
    policy_group: ClassVar[str] = "halflife.policies.search"
    usual_policies: ClassVar[tuple[str, ...]] = ("checks",)

    kind: Literal["search"] = "search"
    search_url: Url = ""
    engine: Engine = ""
    hits: str = ""
    hit_key: str = ""
    hit_link: str = ""
    hit_text: str = ""
    hit_snippet: str = ""
    tau: float = Field(default=TAU, gt=0, le=10, allow_inf_nan=False)

    @model_validator(mode="after")
    def _query_has_its_place(self) -> Self:
        if not self.search_url:
            raise ValueError("a search needs search_url, with {query} in it")
        placeholders = placeholder_names(self.search_url)
        if "query" not in placeholders:
            raise ValueError("search_url must hold {query}, the words to search for")
        if not _PLACES.issuperset(placeholders) or {"page", "offset"} <= set(
            placeholders
        ):
            raise ValueError(
                "search_url may hold {query}, {count}, and {page} or {offset}; "
                "nothing else in braces"
            )
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """The address of the search, with sample values."""
        return (fill_placeholders(self.search_url),)

    @property
    def query_url(self) -> str:
        """The address of queries."""
        return self.search_url

    @property
    def answer_format(self) -> str:
        """The engine in the settings; empty if none is named."""
        return self.engine

    @property
    def answer_reading(self) -> tuple[object, ...]:
        """The settings that decide how answers are read."""
        hits = (self.hits, self.hit_key, self.hit_text, self.hit_snippet)
        return _NO_RECORDS, hits, self.total, self.engine, self.addresses
