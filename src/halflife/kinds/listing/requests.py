"""From the settings of a listing to its requests and its paging."""

from halflife.config.values import SettingsTable
from halflife.kinds.listing.client import ListingSettings
from halflife.kinds.listing.pagination import (
    Cursor,
    LinkHeader,
    ListingRequest,
    NextLink,
    Offset,
    PageNumber,
    Paging,
    TokenPlace,
)
from halflife.kinds.listing.request_settings import (
    CursorPaging,
    HeaderPaging,
    LinkPaging,
    OffsetPaging,
    PagePaging,
)
from halflife.kinds.listing.settings import ListingConfig
from halflife.net.access import Access
from halflife.readers.records import RecordReader


def settings(source: ListingConfig, access: Access) -> ListingSettings:
    """Return how a listing is requested and read."""
    way = paging(source)
    link = way.at if isinstance(way, NextLink) else source.next
    wanted = way.wanted if way and not isinstance(way, NextLink) else ()
    reader = RecordReader(
        source.key,
        source.format,
        source.records,
        source.fields,
        link,
        (*wanted, source.total) if source.total else wanted,
        "errors" if source.graphql else "",
    )
    return ListingSettings(
        reader=reader,
        urls=(*((source.url,) if source.url else ()), *source.urls),
        page_url=source.page_url or "",
        access=access,
        max_pages=source.max_pages,
        complete=source.complete,
        request=request(source),
        parameters={n: v for n, v in source.parameters.items() if isinstance(v, str)},
        paging=way,
        total=source.total,
        total_header=source.total_header,
    )


def request(source: ListingConfig) -> ListingRequest:
    """Return what every request has besides its address."""
    if source.graphql:
        body = {"query": source.graphql.query, "variables": source.graphql.variables}
        return ListingRequest("", "POST", body)
    if source.body or source.method == "POST":
        return ListingRequest("", "POST", source.body, source.body_format == "form")
    return ListingRequest("")


def paging(source: ListingConfig) -> Paging | None:
    """Return the way of paging, if the settings have a table for it."""
    if source.graphql and source.graphql.cursor:
        query = source.graphql
        into = TokenPlace(body=f"variables.{query.variable}")
        return Cursor(query.cursor, into, query.has_more)
    return None if source.paging is None else way_of(source.paging)


def way_of(given: SettingsTable) -> Paging:
    """Return the way of paging that a table of the settings describes."""
    match given:
        case LinkPaging(at=at):
            return NextLink(at)
        case HeaderPaging(relation=relation):
            return LinkHeader(relation)
        case CursorPaging():
            return Cursor(given.at, TokenPlace(given.parameter, given.body), given.more)
        case PagePaging():
            return PageNumber(TokenPlace(given.parameter, given.body), given.first)
        case OffsetPaging():
            into = TokenPlace(given.parameter, given.body)
            size = TokenPlace(given.limit_parameter, given.limit_body)
            return Offset(into, given.limit, size, given.first)
    raise TypeError(f"{type(given).__name__} is not a way of paging")
