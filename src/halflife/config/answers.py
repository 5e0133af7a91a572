"""Settings that several kinds share: how answers are read, and how results are counted.

A kind's settings inherit from what they need of these.
"""

from typing import Literal, TypeAlias

from pydantic import Field

from halflife.config.source import SourceConfig

Format: TypeAlias = Literal["", "json", "jsonl", "csv", "html", "feed"]
NO_HITS = ("", "", "", "")  # where hits are, if an answer has none


class RecordsConfig(SourceConfig):
    """A source whose answers hold records: where they are, and what names them."""

    format: Format = ""
    records: str = ""
    key: str = ""
    fields: dict[str, str] = Field(default_factory=dict)
    next: str = ""

    @property
    def record_reading(self) -> tuple[object, ...]:
        """What decides how records are read."""
        return self.key, self.format, self.records, sorted(self.fields.items())


class ResultsConfig(SourceConfig):
    """A source that is asked queries: how the results are counted and numbered."""

    total: str = ""
    per_page: int = Field(default=10, ge=1, le=1000)
    first_page: int = Field(default=1, ge=0, le=1)
    first_offset: int = Field(default=0, ge=0, le=1)
    cap: int = Field(default=1000, ge=1, le=10**6)
