"""Descriptions of search pages: the fields of their forms."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urljoin

from halflife.core.errors import SourceError, UsageError
from halflife.core.forms import Attribute
from halflife.kinds.form.addresses import LONGEST, Place
from halflife.net.addresses import parse_url
from halflife.readers import trees

_TEXTS = frozenset({"", "text", "search"})
_CHOICES = frozenset({"radio", "checkbox"})
_NUMBERS = frozenset({"number", "range"})
_ENDS = {
    **dict.fromkeys(("min", "from", "low", "gte", "ge", "after"), "low"),
    **dict.fromkeys(("max", "to", "high", "lte", "le", "before", "until"), "high"),
}
_PAGING = frozenset({"page", "start", "offset"})


@dataclass(frozen=True, slots=True)
class DescribedForm:
    """The form of a search page.

    Attributes:
        url: Where it is sent, with its hidden fields.
        attributes: The attributes that it can query.
        places: How each is sent.

    """

    url: str
    attributes: tuple[Attribute, ...]
    places: Mapping[str, Place] = field(default_factory=dict)


def describe_form(html: str, url: str) -> DescribedForm:
    """Return the form of a web page; of several, the one with most attributes.

    Texts are taken for keywords, choices for selects with their values, and two
    numbers whose names differ by ``min`` and ``max`` (``from`` and ``to``) for a
    range. Raise ``SourceError`` if no form can be queried by an address alone.
    """
    forms: list[dict[str, Any]] = trees.ask("forms", html)
    by_get = [form for form in forms if form["method"].strip().lower() == "get"]
    described = [_form(form, url) for form in by_get]
    usable = [form for form in described if form is not None and form.attributes]
    if not usable:
        reason = "it is sent by POST" if forms and not by_get else "none"
        reason = "its action is no address" if None in described else reason
        raise SourceError(f"it has no form that an address can ask ({reason})")
    return max(usable, key=lambda form: len(form.attributes))


def _form(form: dict[str, Any], url: str) -> DescribedForm | None:
    """Return the description of a form; None if its action is not an address."""
    address = _address(form["action"], url)
    if not address:
        return None
    hidden: list[tuple[str, str]] = []
    texts: dict[str, None] = {}
    numbers: dict[str, None] = {}
    choices: dict[str, list[str]] = {}
    for field_ in form["fields"]:
        name, kind = field_["name"].strip(), field_["type"].strip().lower()
        value = field_["value"]
        if not 0 < len(name) <= LONGEST or _turns(name, kind, field_["tag"]):
            continue
        if field_["tag"] == "select":
            options = [text for text in field_["options"] if 0 < len(text) <= LONGEST]
            choices.setdefault(name, []).extend(options)
        elif kind in _CHOICES and value:
            choices.setdefault(name, []).append(value)
        elif kind in _NUMBERS or (kind in _TEXTS and _ended(name)):
            numbers.setdefault(name)
        elif kind in _TEXTS:
            texts.setdefault(name)
        elif kind == "hidden":
            hidden.append((name, value[:LONGEST]))
    address += f"?{urlencode(hidden, errors='replace')}" if hidden else ""
    attributes = [*_selects(choices), *_keywords(texts), *_ranges(numbers)]
    return DescribedForm(
        address,
        tuple(attribute for attribute, _ in attributes),
        {attribute.name: place for attribute, place in attributes},
    )


def _turns(name: str, kind: str, tag: str) -> bool:
    """Say whether a field selects the page of results.

    A text field named ``p`` or ``P`` has the search words instead, as in Xapian Omega.
    """
    if name.lower() == "p":
        return tag == "input" and kind not in _TEXTS
    return name.lower() in _PAGING


def _address(action: str, url: str) -> str:
    """Return the action of a form without a query; empty if it is not an address."""
    try:
        address = urljoin(url, action.strip()).partition("#")[0].partition("?")[0]
        parse_url(address)
    except (UsageError, ValueError):
        return ""
    return address


def _selects(choices: Mapping[str, list[str]]) -> Iterator[tuple[Attribute, Place]]:
    for name, values in choices.items():
        distinct = tuple(dict.fromkeys(values))
        yield Attribute(_plain(name), "select", distinct), Place(name)


def _keywords(texts: Mapping[str, None]) -> Iterator[tuple[Attribute, Place]]:
    for name in texts:
        yield Attribute(_plain(name), "keyword"), Place(name)


def _ranges(numbers: Mapping[str, None]) -> Iterator[tuple[Attribute, Place]]:
    """Return the ranges; a number without another end is a plain value."""
    ends: dict[str, dict[str, str]] = {}
    for name in numbers:
        parted = _ended(name)
        if parted:
            ends.setdefault(parted[0], {})[parted[1]] = name
        else:
            yield Attribute(_plain(name), "select"), Place(name)
    for name, end in ends.items():
        place = Place("", end.get("low", ""), end.get("high", ""))
        yield Attribute(_plain(name), "range"), place


def _ended(name: str) -> tuple[str, str] | None:
    """Return the attribute of a range whose end a parameter is, and which end.

    >>> _ended("price_min"), _ended("maxPrice"), _ended("title")
    (('price', 'low'), ('price', 'high'), None)
    """
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)
    for at in (0, -1):
        end = _ENDS.get(words[at].lower()) if len(words) > 1 else None
        if end:
            rest = words[1:] if at == 0 else words[:-1]
            return "_".join(rest).lower(), end
    return None


def _plain(name: str) -> str:
    """Return the attribute name of a parameter: ``filter[city]`` is ``city``."""
    words = re.findall(r"\w+", name)
    return words[-1] if words else name
