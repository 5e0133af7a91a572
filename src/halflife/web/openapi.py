"""The API described: OpenAPI 3.1, out of the table of its routes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

JSON = "application/json"
_NOT_OK = {"$ref": "#/components/schemas/Error"}


@dataclass(frozen=True, slots=True)
class ApiParameter:
    """A parameter of a route, in its path if that names it, else in the query.

    Attributes:
        name: Its name.
        about: What it means.
        schema: Which values it takes, as JSON Schema.
        required: Whether there is no answer without it.

    """

    name: str
    about: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """An address of the API.

    Attributes:
        method: ``GET``, which changes nothing, ``POST``, ``PATCH`` or ``DELETE``.
        path: The address, after the prefix.
        name: What programs made from the description call it.
        about: What it answers with.
        endpoint: What answers.
        parameters: What may be asked for.
        body: The properties of the JSON that is sent, as JSON Schema; all are needed.
        optional: Further properties, which may be left out.
        media_type: What the answer is.

    """

    method: str
    path: str
    name: str
    about: str
    endpoint: Callable[..., Any]
    parameters: tuple[ApiParameter, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)
    media_type: str = JSON

    @property
    def scope(self) -> str:
        """What a token must be allowed to do."""
        return "read" if self.method == "GET" else "act"


def describe(prefix: str, routes: Sequence[ApiRoute]) -> dict[str, Any]:
    """Return the description of all routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(prefix + route.path, {})[route.method.lower()] = _said(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "halflife",
            "version": version("halflife"),
            "description": "What the page of `halflife serve` shows and does.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["status", "said"],
                    "properties": {
                        "status": {"type": "integer"},
                        "said": {"type": "string"},
                    },
                }
            },
        },
    }


def _said(route: ApiRoute) -> dict[str, Any]:
    """Return the description of one route."""
    said: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.about,
        "security": [{"token": [route.scope]}],
        "parameters": [_parameter(route, one) for one in route.parameters],
        "responses": {
            "200" if route.method == "GET" else "2XX": {
                "description": route.about,
                "content": {route.media_type: {}},
            },
            "default": {
                "description": "What went wrong.",
                "content": {JSON: {"schema": _NOT_OK}},
            },
        },
    }
    if route.body or route.optional:
        schema = {
            "type": "object",
            "properties": {**route.body, **route.optional},
            "required": list(route.body),
        }
        said["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return said


def _parameter(route: ApiRoute, one: ApiParameter) -> dict[str, Any]:
    in_path = f"{{{one.name}}}" in route.path
    return {
        "name": one.name,
        "in": "path" if in_path else "query",
        "description": one.about,
        "required": in_path or one.required,
        "schema": dict(one.schema),
    }
