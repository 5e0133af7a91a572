"""The fields of a record as JSON.

The records of a listing have the same few names and plain values. So the names are
written once, as a template, and each value by a function of its type: less than half of
what a general encoder takes, with the same result.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from json.encoder import encode_basestring
from types import NoneType

from halflife.core.object_store import Attributes, Scalar

_TEMPLATES = 256  # kept; listings have one each, a hostile one as many as it likes
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
    """Return a record as JSON; a number that is none becomes nothing.

    >>> of_record({"id": 7, "name": "x", "price": float("nan")})
    '{"id":7,"name":"x","price":null}'
    """
    return _template(tuple(attributes), "%s") % _values(attributes)


def of_new_record(attributes: Attributes) -> str:
    """Return the fields of a record that was not there before, as pairs in JSON.

    >>> of_new_record({"id": 7, "name": "x"})
    '{"id":[null,7],"name":[null,"x"]}'
    """
    return _template(tuple(attributes), "[null,%s]") % _values(attributes)


def _values(attributes: Attributes) -> tuple[str, ...]:
    return tuple([_BY_TYPE.get(type(v), _other)(v) for v in attributes.values()])


def _other(value: Scalar) -> str:
    """Return a value of a type that plain records do not have."""
    if isinstance(value, float):  # numpy has one that is a float, too
        return _number(value)
    return _WRITE(value)


@lru_cache(maxsize=_TEMPLATES)
def _template(names: tuple[str, ...], slot: str) -> str:
    inner = ",".join(f"{_WRITE(name).replace('%', '%%')}:{slot}" for name in names)
    return f"{{{inner}}}"
