"""Settings that several kinds share: how to read answers and count results.

The settings of a kind inherit from the classes they need.
"""

from typing import Literal, TypeAlias

from pydantic import Field

from halflife.config.source import SourceConfig

Format: TypeAlias = Literal["", "json", "jsonl", "csv", "html", "feed"]
NO_HITS = ("", "", "", "")  # where hits are, if an answer has none


class RecordsConfig(SourceConfig):
    """A source whose answers hold records: where they are, and their key.

    Attributes:
        format: `json`, `jsonl`, `csv`, `html` or `feed` (RSS, Atom). Default: read from
            the answer.
        records: Where the records are: JMESPath for JSON, a CSS selector for HTML.
            Default: the only list.
        key: The field that identifies an object: a name, JMESPath, or CSS with
            `@attribute`. Default: the member's name.
        fields: Attributes to keep: `{title = "name", pay = "salary.from"}`. Default:
            all.
        next: Where the address of the next page is.

    """

    format: Format = ""
    records: str = ""
    key: str = ""
    fields: dict[str, str] = Field(default_factory=dict)
    next: str = ""

    @property
    def record_reading(self) -> tuple[object, ...]:
        """The settings that determine how records are read."""
        return self.key, self.format, self.records, sorted(self.fields.items())


class ResultsConfig(SourceConfig):
    """A source that answers queries: how its results are counted and numbered.

    Attributes:
        total: Where the number of hits is: a number, or words such as "1-10 of 3,850".
            Default: that of the engine.
        per_page: Results on a page: sent as `{count}`, and used to number pages.
        first_page: The number of the first page, 0 or 1.
        first_offset: The number of the first result, 0 or 1.
        cap: The most results of a query that can be reached.

    """

    total: str = ""
    per_page: int = Field(default=10, ge=1, le=1000)
    first_page: int = Field(default=1, ge=0, le=1)
    first_offset: int = Field(default=0, ge=0, le=1)
    cap: int = Field(default=1000, ge=1, le=10**6)
