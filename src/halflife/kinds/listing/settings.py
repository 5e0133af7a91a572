"""Settings of listings: ``kind = "listing"``."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from halflife.config.answers import NO_HITS, RecordsConfig
from halflife.config.values import Url

CONFIRM_HOURS = 1.0  # between two complete looks that lack an object: it has gone


class ListingConfig(RecordsConfig):
    """Where a listing is, how its records are read, and when to believe it."""

    measures: ClassVar[frozenset[str]] = frozenset({"recall"})
    policy_group: ClassVar[str] = "halflife.policies.listing"
    usual_policies: ClassVar[tuple[str, ...]] = ("market-price",)

    kind: Literal["listing"] = "listing"
    python: str = Field(default="", pattern=r"^([\w.]+:\w+)?$")
    url: Url | None = None
    urls: tuple[Url, ...] = Field(default=(), strict=False)
    page_url: Url | None = None
    max_pages: int = Field(default=100, ge=1, le=10_000)
    complete: bool = True
    group: str = ""
    confirm_hours: float = Field(
        default=CONFIRM_HOURS, ge=0, le=8760, allow_inf_nan=False
    )
    recall: float = Field(default=0.9, gt=0, lt=1, allow_inf_nan=False)
    confidence: float = Field(default=0.95, gt=0, lt=1, allow_inf_nan=False)

    @model_validator(mode="after")
    def _pages_can_be_found(self) -> Self:
        if self.page_url is not None and "{n}" not in self.page_url:
            raise ValueError("page_url must hold {n}, the number of the page")
        if self.page_url is not None and (self.urls or self.next):
            raise ValueError("give page_url, or url and next; not both")
        if not (self.addresses or self.python):
            raise ValueError("a listing needs url, urls, page_url or python")
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address that the settings name; of numbered pages the first."""
        first = (self.page_url.replace("{n}", "1"),) if self.page_url else ()
        return (*((self.url,) if self.url else ()), *self.urls, *first)

    @property
    def where(self) -> str:
        """What messages name it by: its first address, or its function."""
        return next(iter(self.addresses), self.python or self.name)

    @property
    def answer_format(self) -> str:
        """The format in which answers are asked for; empty if none is named."""
        return self.format

    @property
    def answer_reading(self) -> tuple[object, ...]:
        """What decides how answers are read."""
        return self.record_reading, NO_HITS, "", "", self.addresses
