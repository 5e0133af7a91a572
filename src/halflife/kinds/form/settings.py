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
    fill_placeholders,
    placeholder_names,
)
from halflife.kinds.form.policy_jobs import check_jobs

_PLACES = frozenset({"page", "offset", "count"})
_PAIR = re.compile(r"[^=&#\s]+=[^=&#\s]*(?:&[^=&#\s]+=[^=&#\s]*)*")

Purpose: TypeAlias = Literal["new", "known", "both"]
AttributeName = Annotated[Line, Field(min_length=1, max_length=200)]


class AttributeConfig(SettingsTable):
    """Something that a form asks for, and how it is sent.

    Attributes:
        kind: `select` for one of several values, `keyword` for words in a text, `range`
            for numbers.
        param: The parameter that carries it. Default: its name.
        values: The known values that can be selected.
        cuts: Numbers at which the range is cut, ascending.
        low: The parameter for the lower end of a range.
        high: The parameter for its upper end.
        pattern: How a range is written in one parameter, where `low` and `high` are not
            given.
        join: What joins several words of a keyword.
        step: Subtracted from the upper end before it is sent, because our ranges
            exclude it and many forms include it; 1 for whole numbers.

    """

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
        if not {"low", "high"} <= set(placeholder_names(self.pattern)):
            raise ValueError("pattern must hold {low} and {high}")
        return self


class FormConfig(RecordsConfig, ResultsConfig):
    """How a database behind a form is asked, and what is wanted from it.

    Attributes:
        kind: `form`.
        form_url: The address to query, with `{page}` or `{offset}` and `{count}` if it
            has them. The name of an attribute in braces is replaced by its value; the
            other attributes become parameters. Default: required.
        attributes: The attributes that can be queried, a [table](#a-form) each.
            Default: required.
        total: Where the number of hits is: a number, or words such as "1-10 of 3,850".
            Default: none.
        cap: The most results of a query that can be reached. Default: none.
        counts: How the number of hits at `total` is to be read: `exact`, `rounded`,
            `capped` or `none`.
        newest: The parameter and value that sort the newest first: `"sort=date"`.
        date: The attribute that says how new a record is and that `newest` sorts by; it
            lets halflife find new records among others of the same date.
        lookup_url: The address of one record, with `{key}` in it.
        lookup_records: Where the record is in that answer. Default: the answer itself;
            in HTML as `records`.
        together: The most conditions in one query.
        everything: Whether a query without conditions is answered.
        purpose: What to fetch: `new` records, `known` records to keep fresh, or `both`.
        weight_by: The attribute whose number is the weight of a known record.
        differs_by: The attribute whose difference measures how wrong the copy of a
            record is.
        max_staleness: With `policy = "order-interval"`: the staleness per record and
            day that is allowed.
        corpus: With `policy = "method-1-corpus"` or `"method-2-corpus"`: the full path
            of a file of lines `word,count`, the number of records of a similar
            collection that hold each word; a line without a word gives the number of
            all records. Default: the copy.

    """

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
        placeholders = set(placeholder_names(self.form_url))
        unknown = placeholders - _PLACES - set(self.attributes)
        if unknown or {"page", "offset"} <= placeholders:
            raise ValueError(
                "form_url may hold {count}, {page} or {offset}, and the names of "
                "attributes; nothing else in braces"
            )
        if self.lookup_url is not None and placeholder_names(self.lookup_url) != [
            "key"
        ]:
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
        """The addresses of the form and of a record, with sample values."""
        return tuple(
            fill_placeholders(url) for url in (self.form_url, self.lookup_url) if url
        )

    @property
    def query_url(self) -> str:
        """The address of queries."""
        return self.form_url

    @property
    def answer_format(self) -> str:
        """The format that is requested; empty if none is named."""
        return self.format

    @property
    def answer_reading(self) -> tuple[object, ...]:
        """The settings that decide how answers are read."""
        return self.record_reading, NO_HITS, self.total, "", self.addresses
