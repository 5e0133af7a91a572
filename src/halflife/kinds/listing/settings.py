"""Settings of listings: ``kind = "listing"``."""

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from halflife.config.answers import NO_HITS, RecordsConfig
from halflife.config.targets import Span
from halflife.config.values import Line, Url, placeholder_names
from halflife.kinds.listing.request_settings import GraphqlConfig, PagingConfig
from halflife.market.targets import days_of

LASTS = frozenset({"last", "last_date", "last_unix"})
FULL_DAYS = 1.0  # between full reads, which show what is gone
GROUP_FULL_DAYS = 7.0  # the same where group requests show most of that
CONFIRM_HOURS = 1.0  # between two complete fetches that lack an object until it is gone


class ListingConfig(RecordsConfig):
    """Where a listing is, how its records are read, and when to believe it.

    Attributes:
        kind: `listing`.
        python: Instead of an address: `module:function`, a [function that yields
            records](listings.md#a-function-as-a-listing).
        url: The listing's first page.
        urls: More first pages.
        page_url: Instead of `url`: an address with `{n}`, counted from 1 until a page
            holds nothing new or answers 404.
        method: The HTTP method. Default: `GET`; `POST` with a body.
        body: A table to send with each request, as JSON.
        body_format: `json`, or `form` to send a form, whose values must be plain.
        graphql: A [GraphQL query](#sourcegraphql) instead of a body.
        paging: Another way of paging, see [paging](#sourcepaging).
        total: Where an answer reports the number of records; an answer without that
            number is a failure. Default: under its usual names.
        total_header: Or the header that reports it: `X-Total-Count`, `Content-Range`.
        since: The parameter that asks for newer records only: `"updated_after={last}"`
            ([reading what is newer](listings.md#only-what-is-newer)).
        since_field: The field whose greatest value is `{last}`; without it, `{last}` is
            the time of the last pass minus five minutes.
        full_every: How often everything is read, which shows what has gone. Default:
            `"1 d"`; `"7 d"` with `group_request`.
        max_pages: The most pages that are read; a listing with more is incomplete.
        complete: Whether all pages together list every object.
        group: An attribute (company, dealer) whose objects may all be missing at once.
        group_request: The parameter that asks for one group: `"company={group}"`
            ([groups one by one](listings.md#groups-one-by-one)).
        confirm_hours: Hours between two complete fetches that both lack an object; then
            it is gone.
        recall: If set, a [target](service.md#targets): `halflife run` fetches again
            before recall may fall below it; otherwise only the level that the page
            shows as fine.
        confidence: The confidence with which `recall` is kept.

    """

    measures: ClassVar[frozenset[str]] = frozenset({"recall"})
    policy_group: ClassVar[str] = "halflife.policies.listing"
    usual_policies: ClassVar[tuple[str, ...]] = ("market-price",)
    plain_parameters: ClassVar[bool] = True

    kind: Literal["listing"] = "listing"
    python: str = Field(default="", pattern=r"^([\w.]+:\w+)?$")
    url: Url | None = None
    urls: tuple[Url, ...] = Field(default=(), strict=False)
    page_url: Url | None = None
    method: Literal["", "GET", "POST"] = ""
    body: dict[str, Any] = Field(default_factory=dict)
    body_format: Literal["json", "form"] = "json"
    graphql: GraphqlConfig | None = None
    paging: PagingConfig | None = None
    total: str = ""
    total_header: Line = ""
    since: Line = ""
    since_field: Line = ""
    full_every: Span = ""
    max_pages: int = Field(default=100, ge=1, le=10_000)
    complete: bool = True
    group: str = ""
    group_request: Line = ""
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
        if self.paging and (self.page_url or self.next):
            raise ValueError("give paging, or next, or page_url; only one of them")
        if self.total and self.total_header:
            raise ValueError("give total or total_header; not both")
        return self

    @model_validator(mode="after")
    def _request_is_sendable(self) -> Self:
        if self.graphql and (self.body or self.next or self.page_url or self.method):
            raise ValueError(
                "graphql says what is sent; leave out method, body, next and page_url"
            )
        if self.graphql and self.graphql.cursor and self.paging:
            raise ValueError("give graphql.cursor or paging; not both")
        if self.body and self.method == "GET":
            raise ValueError('a body needs method = "POST"')
        nested = any(isinstance(v, dict | list) for v in self.body.values())
        if self.body_format == "form" and nested:
            raise ValueError("a form holds plain values only; leave out body_format")
        inside = getattr(self.paging, "body", "") or getattr(
            self.paging, "limit_body", ""
        )
        if inside and not (self.body or self.graphql or self.method == "POST"):
            raise ValueError(
                'paging puts something into the body; give method = "POST"'
            )
        return self

    @model_validator(mode="after")
    def _since_has_a_moment(self) -> Self:
        if self.since and len(set(placeholder_names(self.since)) & LASTS) != 1:
            raise ValueError(
                "since must hold {last}, {last_date} or {last_unix}, such as "
                "since = 'updated_after={last}'"
            )
        if self.since and ("=" not in self.since or self.since.startswith("=")):
            raise ValueError("since must be name=value, such as updated_after={last}")
        if self.since_field and "last" not in placeholder_names(self.since):
            raise ValueError(
                "since_field goes with {last}, which is its greatest value"
            )
        if self.fields and self.since_field and self.since_field not in self.fields:
            raise ValueError("since_field must be one of the fields that are kept")
        if self.since and not self.complete:
            raise ValueError("since needs a listing that is complete; leave one out")
        if "since_field" in self.model_fields_set and not self.since:
            raise ValueError("since_field has a meaning only with since")
        if self.full_every and not (self.since or self.group_request):
            raise ValueError(
                "full_every has a meaning only with since or group_request"
            )
        if self.python and (self.since or self.paging or self.graphql or self.body):
            raise ValueError(
                "a function says itself what is sent; leave out since, paging, "
                "graphql and body"
            )
        return self

    @model_validator(mode="after")
    def _groups_can_be_asked_for(self) -> Self:
        pattern = self.group_request
        if not pattern:
            return self
        if not self.group:
            raise ValueError("group_request needs group, the attribute of the groups")
        if "{group}" not in pattern or "=" not in pattern or pattern.startswith("="):
            raise ValueError(
                "group_request must be name=value with {group} in it, such as "
                "group_request = 'company={group}'"
            )
        if self.python or self.since or not self.complete:
            raise ValueError(
                "group_request needs a listing that is complete and read from its "
                "addresses; leave out python, since and complete = false"
            )
        return self

    @property
    def full_days(self) -> float:
        """Days between reads of everything, including what has not changed."""
        usual = GROUP_FULL_DAYS if self.group_request else FULL_DAYS
        return days_of(self.full_every) if self.full_every else usual

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address in the settings; of numbered pages the first."""
        first = (self.page_url.replace("{n}", "1"),) if self.page_url else ()
        return (*((self.url,) if self.url else ()), *self.urls, *first)

    @property
    def where(self) -> str:
        """Its name in messages: its first address, or its function."""
        return next(iter(self.addresses), self.python or self.name)

    @property
    def answer_format(self) -> str:
        """The format that is requested; empty if none is named."""
        return self.format

    @property
    def answer_reading(self) -> tuple[object, ...]:
        """The settings that decide how answers are read."""
        sent = (self.body, self.graphql) if self.body or self.graphql else ()
        return self.record_reading, NO_HITS, "", "", self.addresses, *sent
