"""Settings of databases behind forms: ``kind = "form"``."""

import re
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from halflife.config.answers import NO_HITS, RecordsConfig, ResultsConfig
from halflife.config.values import (
    FilePath,
    Line,
    SettingsTable,
    Url,
    filled,
    places,
)
from halflife.kinds.form.policy_jobs import check_jobs

_PLACES = frozenset({"page", "offset", "count"})
_PAIR = re.compile(r"[^=&#\s]+=[^=&#\s]*(?:&[^=&#\s]+=[^=&#\s]*)*")

Purpose: TypeAlias = Literal["new", "known", "both"]
AttributeName = Annotated[Line, Field(min_length=1, max_length=200)]


class AttributeConfig(SettingsTable):
    """Something that a form asks for, and how it is sent."""

    kind: Literal["select", "keyword", "range"] = "select"
    param: Line = ""
    values: tuple[Line, ...] = Field(default=(), strict=False, max_length=10_000)
    cuts: tuple[float, ...] = Field(default=(), strict=False, max_length=10_000)
    low: Line = ""
    high: Line = ""
    pattern: Line = "{low}-{high}"
    join: Line = " "
    step: float = Field(default=0.0, ge=0, le=1e9, allow_inf_nan=False)

    @model_validator(mode="after")
    def _is_of_its_kind(self) -> Self:
        if list(self.cuts) != sorted(set(self.cuts)):
            raise ValueError("cuts must ascend")
        ranged = {"cuts", "low", "high", "pattern", "step"} & self.model_fields_set
        if self.kind != "range" and ranged:
            raise ValueError(f'{min(ranged)} has a meaning only for kind = "range"')
        if self.values and self.kind != "select":
            raise ValueError('values have a meaning only for kind = "select"')
        if not {"low", "high"} <= set(places(self.pattern)):
            raise ValueError("pattern must hold {low} and {high}")
        return self


class FormConfig(RecordsConfig, ResultsConfig):
    """How a database behind a form is asked, and what is wanted from it."""

    measures: ClassVar[frozenset[str]] = frozenset({"recall", "content"})
    policy_group: ClassVar[str] = "halflife.policies.form"
    usual_policies: ClassVar[tuple[str, ...]] = ("expected", "index")
    most_policies: ClassVar[int] = 2  # for new records, and for known ones

    kind: Literal["form"] = "form"
    form_url: Url = ""
    attributes: dict[AttributeName, AttributeConfig] = Field(
        default_factory=dict, max_length=200
    )
    counts: Literal["exact", "rounded", "capped", "none"] = "exact"
    newest: Line = ""
    date: Line = ""
    lookup_url: Url | None = None
    lookup_records: str = ""
    together: int = Field(default=8, ge=1, le=100)
    everything: bool = False
    purpose: Purpose = "new"
    weight_by: Line = ""
    differs_by: Line = ""
    max_staleness: float = Field(default=0.1, gt=0, le=1e6, allow_inf_nan=False)
    corpus: FilePath | None = None

    @model_validator(mode="after")
    def _places_are_known(self) -> Self:
        if not (self.form_url and self.attributes):
            raise ValueError("a form needs form_url and attributes")
        found = set(places(self.form_url))
        odd = found - _PLACES - set(self.attributes)
        if odd or {"page", "offset"} <= found:
            raise ValueError(
                "form_url may hold {count}, {page} or {offset}, and the names of "
                "attributes; nothing else in braces"
            )
        if self.lookup_url is not None and places(self.lookup_url) != ["key"]:
            raise ValueError("lookup_url must hold {key}, and nothing else in braces")
        if self.newest and not _PAIR.fullmatch(self.newest):
            raise ValueError('newest must be a parameter and its value: "sort=date"')
        return self

    @model_validator(mode="after")
    def _policies_do_their_jobs(self) -> Self:
        if self.policies:
            can = {
                "newest": bool(self.newest and self.everything),
                "choices": any(a.kind != "keyword" for a in self.attributes.values()),
                "lookup": self.lookup_url is not None,
            }
            check_jobs(self.policy_group, self.policies, self.purpose, can)
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the form and of a record, with something in their places."""
        return tuple(filled(url) for url in (self.form_url, self.lookup_url) if url)

    @property
    def query_url(self) -> str:
        """The address that queries are put into."""
        return self.form_url

    @property
    def answer_format(self) -> str:
        """The format in which answers are asked for; empty if none is named."""
        return self.format

    @property
    def answer_reading(self) -> tuple[object, ...]:
        """What decides how answers are read."""
        return self.record_reading, NO_HITS, self.total, "", self.addresses
