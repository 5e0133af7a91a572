"""Requests and responses as JSON."""

import json
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from halflife.core.wording import finite
from halflife.web.charts import ChartFigure
from halflife.web.guard import LARGEST
from halflife.web.pages import Answer


def as_json(answer: Answer, status: int = 200) -> Response:
    """Return an answer as JSON; charts become their tables."""
    text = json.dumps(finite(_plain(answer)), allow_nan=False, indent=1)
    return Response(text, status, media_type="application/json")


def _plain(value: object) -> object:
    if isinstance(value, ChartFigure):
        about = {"name": value.name, "title": value.title, "about": value.about}
        return {**about, "table": _plain(dict(value.table))}
    if isinstance(value, Markup):
        return None  # a drawing
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if not isinstance(v, Markup)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


async def read_json(request: Request, largest: int = LARGEST) -> Any:  # noqa: ANN401  (JSON)
    """Return the body of a request; raise ``ValueError`` if it is no JSON.

    The limit holds for chunked bodies, too, which do not declare their length.
    """
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > largest:
            raise HTTPException(413, "the request is too large")
    return json.loads(body)
