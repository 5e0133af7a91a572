"""Settings of databases that answer searches: ``kind = "search"``."""

from typing import ClassVar, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from halflife.config.answers import ResultsConfig
from halflife.config.values import Url, filled, places

Engine: TypeAlias = Literal[
    "", "elasticsearch", "solr", "meilisearch", "json", "html", "feed"
]
_PLACES = frozenset({"query", "page", "offset", "count"})
TAU = 0.5  # the paper's threshold; its study ends at 1
_NO_RECORDS: tuple[object, ...] = ("", "", "", [])


class SearchConfig(ResultsConfig):
    """How a database that only answers queries is asked, and its answers read."""

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
        found = places(self.search_url)
        if "query" not in found:
            raise ValueError("search_url must hold {query}, the words to search for")
        if not _PLACES.issuperset(found) or {"page", "offset"} <= set(found):
            raise ValueError(
                "search_url may hold {query}, {count}, and {page} or {offset}; "
                "nothing else in braces"
            )
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """The address of the search, with something in its places."""
        return (filled(self.search_url),)

    @property
    def query_url(self) -> str:
        """The address that queries are put into."""
        return self.search_url

    @property
    def answer_format(self) -> str:
        """The engine whose answers are asked for; empty if none is named."""
        return self.engine

    @property
    def answer_reading(self) -> tuple[object, ...]:
        """What decides how answers are read."""
        hits = (self.hits, self.hit_key, self.hit_text, self.hit_snippet)
        return _NO_RECORDS, hits, self.total, self.engine, self.addresses
