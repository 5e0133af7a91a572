"""Settings of what a listing is sent, and of how it goes on from page to page."""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from halflife.config.values import Line, SettingsTable

Name = Annotated[Line, Field(min_length=1, max_length=200)]


class PlacedPaging(SettingsTable):
    """Something is put into the next request: a parameter, or a part of the body.

    Attributes:
        parameter: The parameter of the next request that it is put into. Default: this
            or `body`.
        body: Its path in the body of the next request, such as `"variables.after"`.
            Default: this or `parameter`.

    """

    parameter: Line = ""
    body: Line = ""

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if bool(self.parameter) == bool(self.body):
            raise ValueError(
                "say with parameter or with body where it is put, with one of them"
            )
        return self


class LinkPaging(SettingsTable):
    """The address of the next page stands in the answer.

    Attributes:
        kind: `link`.
        at: Where the address of the next page is; the same as `next`.

    """

    kind: Literal["link"]
    at: Name


class HeaderPaging(SettingsTable):
    """The address of the next page stands in the header ``Link``.

    Attributes:
        kind: `header`.
        relation: The relation in the header `Link`.

    """

    kind: Literal["header"]
    relation: Name = "next"


class CursorPaging(PlacedPaging):
    """A token in the answer is sent back for the next page.

    Attributes:
        kind: `cursor`.
        at: Where the token for the next page is.
        more: Where the answer says whether there is another page.

    """

    kind: Literal["cursor"]
    at: Name
    more: Line = ""


class PagePaging(PlacedPaging):
    """Pages are counted.

    Attributes:
        kind: `page`.
        first: The number of the first page.

    """

    kind: Literal["page"]
    first: int = Field(default=1, ge=0, le=10**6)


class OffsetPaging(PlacedPaging):
    """The records before the next page are counted.

    Attributes:
        kind: `offset`.
        first: The number of the first record.
        limit: The number of records to ask for. Default: none.
        limit_parameter: The parameter that sends `limit`. Default: this or
            `limit_body`.
        limit_body: The path in the body that sends `limit`. Default: this or
            `limit_parameter`.

    """

    kind: Literal["offset"]
    first: int = Field(default=0, ge=0, le=10**6)
    limit: int = Field(default=0, ge=0, le=10**6)
    limit_parameter: Line = ""
    limit_body: Line = ""

    @model_validator(mode="after")
    def _limit_has_a_place(self) -> Self:
        if bool(self.limit) != bool(self.limit_parameter or self.limit_body):
            raise ValueError("limit and limit_parameter (or limit_body) go together")
        if self.limit_parameter and self.limit_body:
            raise ValueError("give limit_parameter or limit_body; not both")
        return self


PagingConfig: TypeAlias = Annotated[
    LinkPaging | HeaderPaging | CursorPaging | PagePaging | OffsetPaging,
    Field(discriminator="kind"),
]


class GraphqlConfig(SettingsTable):
    """A question in GraphQL, and where its answer says how it goes on.

    Attributes:
        query: The query.
        variables: A table of its variables.
        cursor: Where the answer holds the cursor: `"data.jobs.pageInfo.endCursor"`.
        more: Where the answer says whether there is another page. Default:
            `hasNextPage` beside an `endCursor`.
        variable: The variable that carries the cursor.

    """

    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    variables: dict[str, Any] = Field(default_factory=dict)
    cursor: Line = ""
    more: Line = ""
    variable: Name = "after"

    @property
    def has_more(self) -> str:
        """Where the answer says whether there is more; by default beside the cursor."""
        if self.more or not self.cursor.endswith(".endCursor"):
            return self.more
        return f"{self.cursor.removesuffix('.endCursor')}.hasNextPage"
