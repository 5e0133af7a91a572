"""The fields of a record as JSON.

The records of a listing have the same few names and plain values. So the names are
written once, as a template, and each value by a function of its type. That takes less
than half the time of a general encoder, with the same result.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from json.encoder import encode_basestring
from types import NoneType

from halflife.core.object_store import Attributes, Scalar

_TEMPLATES = 256  # that are cached; a listing has one, a hostile one any number
_WRITE = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False
).encode


def _number(value: float) -> str:
    return float.__repr__(value) if math.isfinite(value) else "null"


_BY_TYPE: Mapping[type, Callable[..., str]] = {
    str: encode_basestring,
    int: int.__repr__,
    float: _number,
    bool: {False: "false", True: "true"}.__getitem__,
    NoneType: lambda _: "null",
}


def of_record(attributes: Attributes) -> str:
    """Return a record as JSON; a number that is not finite becomes null.

    >>> of_record({"id": 7, "name": "x", "price": float("nan")})
    '{"id":7,"name":"x","price":null}'
    """
    return _template(tuple(attributes), "%s") % _values(attributes)


def of_new_record(attributes: Attributes) -> str:
    """Return the fields of a new record as JSON, each as a pair of null and value.

    >>> of_new_record({"id": 7, "name": "x"})
    '{"id":[null,7],"name":[null,"x"]}'
    """
    return _template(tuple(attributes), "[null,%s]") % _values(attributes)


def _values(attributes: Attributes) -> tuple[str, ...]:
    return tuple([_BY_TYPE.get(type(v), _other)(v) for v in attributes.values()])


def _other(value: Scalar) -> str:
    """Return a value of a type that is not in plain records."""
    if isinstance(value, float):  # a numpy float, for example
        return _number(value)
    return _WRITE(value)


@lru_cache(maxsize=_TEMPLATES)
def _template(names: tuple[str, ...], slot: str) -> str:
    inner = ",".join(f"{_WRITE(name).replace('%', '%%')}:{slot}" for name in names)
    return f"{{{inner}}}"
