"""The ways of paging of recorded listings: their answers, and their settings.

Every way of paging in the settings has its counterpart here, so that a replay sends the
same requests as a live source.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from yarl import URL

from halflife.replay.world import RecordedAnswer, RecordedRequest, as_json

Rows: TypeAlias = Sequence[dict[str, object]]
Answer: TypeAlias = Callable[[RecordedRequest, Rows, int], RecordedAnswer]


class RecordedPaging(NamedTuple):
    """A way of paging.

    Attributes:
        settings: Lines for the settings, besides the address and the key.
        answer: Returns the answer to a request, from all records and the page size.

    """

    settings: str
    answer: Answer


def _part(rows: Rows, begin: int, size: int) -> tuple[list[dict[str, object]], bool]:
    return list(rows[begin : begin + size]), begin + size < len(rows)


def _from(request: RecordedRequest, begin: int) -> URL:
    """Return the same address for the page that starts at a record."""
    return request.url.update_query({"from": str(begin)})


def _body_of(request: RecordedRequest) -> dict[str, Any]:
    return dict(json.loads(request.body or b"{}"))


def _link(request: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    begin = int(request.url.query.get("from", "0"))
    page, more = _part(rows, begin, size)
    row: dict[str, object] = {"objects": page}
    if more:
        row["next"] = _from(request, begin + size).raw_path_qs
    return as_json(row)


def _header(request: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    begin = int(request.url.query.get("from", "0"))
    page, more = _part(rows, begin, size)
    answer = as_json(page)
    headers = {**answer.headers, "X-Total-Count": str(len(rows))}
    if more:
        after = _from(request, begin + size).raw_query_string
        headers["Link"] = f'<?{after}>; rel="next", <?from=0>; rel="first"'
    return answer._replace(headers=headers)


def _cursor(request: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    begin = int(request.url.query.get("cursor", "c0")[1:])
    page, more = _part(rows, begin, size)
    token = f"c{begin + size}" if more else None
    return as_json({"objects": page, "meta": {"cursor": token, "total": len(rows)}})


def _page(request: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    number = int(request.url.query.get("page", "1"))
    page, _ = _part(rows, (number - 1) * size, size)
    return as_json({"objects": page})


def _offset(request: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    query = request.url.query
    limit = min(int(query.get("limit", size)), size)
    page, _ = _part(rows, int(query.get("offset", "0")), limit)
    return as_json({"objects": page, "total": len(rows)})


def _body(request: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    if request.method != "POST":
        return as_json({"error": "ask with POST"}, 405)
    begin = int(_body_of(request)["page"].get("after") or 0)
    page, more = _part(rows, begin, size)
    return as_json({"objects": page, "after": begin + size if more else None})


def _graphql(request: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    body = _body_of(request)
    if "objects" not in body.get("query", ""):
        return as_json({"errors": [{"message": "no such field"}]})
    begin = int(body["variables"].get("after") or 0)
    page, more = _part(rows, begin, size)
    info = {"endCursor": str(begin + size), "hasNextPage": more}
    return as_json({"data": {"objects": {"nodes": page, "pageInfo": info}}})


_OBJECTS = 'records = "objects"\n'
PAGINGS = {
    "link": RecordedPaging(f'{_OBJECTS}next = "next"', _link),
    "header": RecordedPaging(
        'total_header = "X-Total-Count"\npaging = {kind = "header"}', _header
    ),
    "cursor": RecordedPaging(
        f'{_OBJECTS}total = "meta.total"\n'
        'paging = {kind = "cursor", at = "meta.cursor", parameter = "cursor"}',
        _cursor,
    ),
    "page": RecordedPaging(
        f'{_OBJECTS}paging = {{kind = "page", parameter = "page"}}', _page
    ),
    "offset": RecordedPaging(
        f'{_OBJECTS}total = "total"\npaging = {{kind = "offset", parameter = "offset", '
        'limit = 1000, limit_parameter = "limit"}',
        _offset,
    ),
    "body": RecordedPaging(
        f'{_OBJECTS}method = "POST"\nbody = {{page = {{size = 50}}}}\n'
        'paging = {kind = "cursor", at = "after", body = "page.after"}',
        _body,
    ),
    "graphql": RecordedPaging(
        'records = "data.objects.nodes"\n'
        "graphql = {query = 'query ($after: String) { objects(after: $after) "
        "{ nodes { _key } pageInfo { endCursor hasNextPage } } }', "
        'cursor = "data.objects.pageInfo.endCursor"}',
        _graphql,
    ),
}
