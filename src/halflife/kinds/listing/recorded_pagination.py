"""The ways in which a recorded listing is paged: what it answers, and how it is asked.

Every way of paging that settings can name has its counterpart here, so that a replay
sends what a live source is sent.
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
        settings: What is written into the settings, beside the address and the key.
        answer: Returns the answer to a request, of all records and so many on a page.

    """

    settings: str
    answer: Answer


def _part(rows: Rows, begin: int, size: int) -> tuple[list[dict[str, object]], bool]:
    return list(rows[begin : begin + size]), begin + size < len(rows)


def _from(asked: RecordedRequest, begin: int) -> URL:
    """Return the same address from another record on."""
    return asked.url.update_query({"from": str(begin)})


def _asked(asked: RecordedRequest) -> dict[str, Any]:
    return dict(json.loads(asked.body or b"{}"))


def _link(asked: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    begin = int(asked.url.query.get("from", "0"))
    some, more = _part(rows, begin, size)
    row: dict[str, object] = {"objects": some}
    if more:
        row["next"] = _from(asked, begin + size).raw_path_qs
    return as_json(row)


def _header(asked: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    begin = int(asked.url.query.get("from", "0"))
    some, more = _part(rows, begin, size)
    answer = as_json(some)
    said = {**answer.headers, "X-Total-Count": str(len(rows))}
    if more:
        after = _from(asked, begin + size).raw_query_string
        said["Link"] = f'<?{after}>; rel="next", <?from=0>; rel="first"'
    return answer._replace(headers=said)


def _cursor(asked: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    begin = int(asked.url.query.get("cursor", "c0")[1:])
    some, more = _part(rows, begin, size)
    token = f"c{begin + size}" if more else None
    return as_json({"objects": some, "meta": {"cursor": token, "total": len(rows)}})


def _page(asked: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    number = int(asked.url.query.get("page", "1"))
    some, _ = _part(rows, (number - 1) * size, size)
    return as_json({"objects": some})


def _offset(asked: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    query = asked.url.query
    limit = min(int(query.get("limit", size)), size)
    some, _ = _part(rows, int(query.get("offset", "0")), limit)
    return as_json({"objects": some, "total": len(rows)})


def _body(asked: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    if asked.method != "POST":
        return as_json({"error": "ask with POST"}, 405)
    begin = int(_asked(asked)["page"].get("after") or 0)
    some, more = _part(rows, begin, size)
    return as_json({"objects": some, "after": begin + size if more else None})


def _graphql(asked: RecordedRequest, rows: Rows, size: int) -> RecordedAnswer:
    given = _asked(asked)
    if "objects" not in given.get("query", ""):
        return as_json({"errors": [{"message": "no such field"}]})
    begin = int(given["variables"].get("after") or 0)
    some, more = _part(rows, begin, size)
    info = {"endCursor": str(begin + size), "hasNextPage": more}
    return as_json({"data": {"objects": {"nodes": some, "pageInfo": info}}})


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
