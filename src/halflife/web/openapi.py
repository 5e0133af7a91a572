"""The OpenAPI 3.1 description of the API, from the table of its routes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

JSON = "application/json"
_NOT_OK = {"$ref": "#/components/schemas/Error"}


@dataclass(frozen=True, slots=True)
class ApiParameter:
    """A parameter of a route: of the path if that names it, else of the query.

    Attributes:
        name: Its name.
        about: Its meaning.
        schema: Its JSON Schema.
        required: Whether it is required.

    """

    name: str
    about: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    required: bool = False


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """A route of the API.

    Attributes:
        method: ``GET``, which changes nothing, ``POST``, ``PATCH`` or ``DELETE``.
        path: The address, after the prefix.
        name: Its operation id.
        about: A description of its answer.
        endpoint: The function that answers.
        parameters: Its parameters.
        body: The required properties of the JSON body, as JSON Schema.
        optional: Its optional properties.
        media_type: The media type of the answer.

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
        """The scope that a token needs."""
        return "read" if self.method == "GET" else "act"


def describe(prefix: str, routes: Sequence[ApiRoute]) -> dict[str, Any]:
    """Return the description of all routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(prefix + route.path, {})[route.method.lower()] = _operation(
            route
        )
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


def _operation(route: ApiRoute) -> dict[str, Any]:
    """Return the description of one route."""
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.about,
        "security": [{"token": [route.scope]}],
        "parameters": [_parameter(route, parameter) for parameter in route.parameters],
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
        content = {JSON: {"schema": schema}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameter(route: ApiRoute, parameter: ApiParameter) -> dict[str, Any]:
    in_path = f"{{{parameter.name}}}" in route.path
    return {
        "name": parameter.name,
        "in": "path" if in_path else "query",
        "description": parameter.about,
        "required": in_path or parameter.required,
        "schema": dict(parameter.schema),
    }
