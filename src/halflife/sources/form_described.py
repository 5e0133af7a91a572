"""Search pages: what their forms ask for."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urljoin

from selectolax.lexbor import LexborHTMLParser, LexborNode

from halflife.errors import SourceError
from halflife.forms import Attribute
from halflife.sources.form_addresses import LONGEST, Place
from halflife.sources.markup import Elements

MOST_VALUES = 1000  # options of one choice
MOST_FIELDS = 100
_TEXTS = frozenset({"", "text", "search"})
_CHOICES = frozenset({"radio", "checkbox"})
_NUMBERS = frozenset({"number", "range"})
_ENDS = {
    **dict.fromkeys(("min", "from", "low", "gte", "ge", "after"), "low"),
    **dict.fromkeys(("max", "to", "high", "lte", "le", "before", "until"), "high"),
}
_PAGING = frozenset({"page", "p", "start", "offset"})


@dataclass(frozen=True, slots=True)
class Described:
    """What the form of a search page asks for.

    Attributes:
        url: Where it is sent, with what it sends unseen.
        attributes: What can be asked for.
        places: How each is sent.

    """

    url: str
    attributes: tuple[Attribute, ...]
    places: Mapping[str, Place] = field(default_factory=dict)


def described(html: str, url: str) -> Described:
    """Return what the form of a web page asks for; of several, the largest.

    Texts are taken for keywords, choices for selects with their values, and two
    numbers whose names differ by ``min`` and ``max`` (``from`` and ``to``) for a
    range. Raise ``SourceError`` if no form can be asked by its address alone.
    """
    Elements(html)  # refuses what would take a parser too long
    tree = LexborHTMLParser(html)
    forms = [form for form in tree.css("form") if _gets(form)]
    read = [_form(form, url) for form in forms]
    usable = [form for form in read if form.attributes]
    if not usable:
        posted = "it is sent by POST" if tree.css("form") and not forms else "none"
        raise SourceError(f"it has no form that an address can ask ({posted})")
    return max(usable, key=lambda form: len(form.attributes))


def _gets(form: LexborNode) -> bool:
    return (form.attributes.get("method") or "get").lower() == "get"


def _form(form: LexborNode, url: str) -> Described:
    unseen: list[tuple[str, str]] = []
    texts: dict[str, None] = {}
    numbers: dict[str, None] = {}
    choices: dict[str, list[str]] = {}
    for node in form.css("input, select")[:MOST_FIELDS]:
        name = (node.attributes.get("name") or "").strip()
        if not 0 < len(name) <= LONGEST or name.lower() in _PAGING:
            continue
        kind = (node.attributes.get("type") or "").lower()
        value = node.attributes.get("value") or ""
        if node.tag == "select":
            choices.setdefault(name, []).extend(_options(node))
        elif kind in _CHOICES and value:
            choices.setdefault(name, []).append(value)
        elif kind in _NUMBERS or (kind in _TEXTS and _ended(name)):
            numbers.setdefault(name)
        elif kind in _TEXTS:
            texts.setdefault(name)
        elif kind == "hidden":
            unseen.append((name, value[:LONGEST]))
    try:
        address = urljoin(url, form.attributes.get("action") or "")
    except ValueError:
        raise SourceError("the address that the form is sent to is no URL") from None
    address = address.partition("#")[0].partition("?")[0]
    address += f"?{urlencode(unseen)}" if unseen else ""
    found = [*_selects(choices), *_keywords(texts), *_ranges(numbers)]
    return Described(
        address,
        tuple(attribute for attribute, _ in found),
        {attribute.name: place for attribute, place in found},
    )


def _options(node: LexborNode) -> Iterator[str]:
    for option in node.css("option")[:MOST_VALUES]:
        value = option.attributes.get("value")
        value = option.text(strip=True) if value is None else value
        if 0 < len(value) <= LONGEST:
            yield value


def _selects(choices: Mapping[str, list[str]]) -> Iterator[tuple[Attribute, Place]]:
    for name, values in choices.items():
        known = tuple(dict.fromkeys(values))
        yield Attribute(_plain(name), "select", known), Place(name)


def _keywords(texts: Mapping[str, None]) -> Iterator[tuple[Attribute, Place]]:
    for name in texts:
        yield Attribute(_plain(name), "keyword"), Place(name)


def _ranges(numbers: Mapping[str, None]) -> Iterator[tuple[Attribute, Place]]:
    """Return the ranges; a number that has no other end is asked for as it is."""
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
    """Return the attribute that a parameter is an end of, and which.

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
    """Return a parameter's name as an attribute's: ``filter[city]`` as ``city``."""
    words = re.findall(r"\w+", name)
    return words[-1] if words else name
