"""The address that sends a query to a form."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from urllib.parse import quote

from yarl import URL

from halflife.core.errors import SourceError, UsageError
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.net.addresses import parse_url

LONGEST = 500  # characters of a value or key; some come from records
_PLACE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Place:
    """How a condition on an attribute is written into an address.

    A placeholder of the same name in braces in the address takes precedence.

    Attributes:
        param: The parameter; the attribute's own name if empty.
        low: The parameter for the lower end of a range.
        high: The parameter for its upper end; both take precedence over ``param``.
        pattern: How a range is written in one parameter.
        join: The separator between several words.
        step: Subtracted from the upper end before it is sent, for forms that include
            it: 1 for whole numbers.

    """

    param: str = ""
    low: str = ""
    high: str = ""
    pattern: str = "{low}-{high}"
    join: str = " "
    step: float = 0.0

    def pairs(self, attribute: Attribute, terms: list[Term]) -> Iterator[list[str]]:
        """Return the parameters and values for all of these terms."""
        name = self.param or attribute.name
        if attribute.kind == "keyword":
            yield [name, self.join.join(term.value for term in terms)]
        elif attribute.kind == "select":
            yield from ([name, term.value] for term in terms)
        else:
            yield from self._range(name, terms)

    def _range(self, name: str, terms: list[Term]) -> Iterator[list[str]]:
        low = max(term.bounds[0] for term in terms)
        high = min(term.bounds[1] for term in terms) - self.step
        if self.low or self.high:
            pairs = [self.low, _end(low)], [self.high, _end(high)]
            yield from (pair for pair in pairs if all(pair))
        else:
            ends = {"low": _end(low), "high": _end(high)}
            yield [name, _PLACE.sub(lambda at: ends.get(at[1], ""), self.pattern)]


def _end(number: float) -> str:
    """Return the end of a range as text; empty if it is open.

    >>> _end(1e6), _end(0.5), _end(float("inf"))
    ('1000000', '0.5', '')
    """
    if abs(number) == inf:
        return ""
    return f"{number:.0f}" if number == int(number) else repr(number)


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a form.

    Attributes:
        url: The address for queries, with the placeholders ``{page}`` or ``{offset}``,
            ``{count}``, and the names of attributes. Attributes without a placeholder
            become parameters.
        places: How attributes are written; under their own names if not listed.
        newest: The parameter and value (``sort=date``) that sort the newest first.
        lookup: The address of a record, with ``{key}`` in it.
        first_page: The number of the first page.
        first_offset: The number of the first result.

    """

    url: str
    places: Mapping[str, Place] = field(default_factory=dict)
    newest: str = ""
    lookup: str = ""
    first_page: int = 1
    first_offset: int = 0

    @property
    def paged(self) -> bool:
        """Whether more than the first page can be requested."""
        return "{page}" in self.url or "{offset}" in self.url

    def query_url(
        self, interface: Interface, query: Query, page: int, *, newest: bool
    ) -> URL:
        """Return the address of a page of results; the first is number 0.

        Every value is quoted, so that none can change the rest of the query. Raise
        ``SourceError`` for a value that is too long to be sent.
        """
        places = {
            "page": str(page + self.first_page),
            "offset": str(page * interface.page_size + self.first_offset),
            "count": str(interface.page_size),
        }
        placeholders = set(_PLACE.findall(self.url))
        params: list[str] = []
        for name, value in self._conditions(interface, query):
            if name in placeholders:
                places[name] = _quoted(value)
            else:
                params.append(f"{_quoted(name)}={_quoted(value)}")
        url = _PLACE.sub(lambda place: places.get(place[1], ""), self.url)
        return _with(url, [*params, *([self.newest] if newest else [])])

    def _conditions(self, interface: Interface, query: Query) -> Iterator[list[str]]:
        grouped: dict[str, list[Term]] = {}
        for term in query:
            grouped.setdefault(term.attribute, []).append(term)
        for name, terms in grouped.items():
            place = self.places.get(name, Place())
            if f"{{{name}}}" in self.url:
                place = Place(name, "", "", place.pattern, place.join, place.step)
            yield from place.pairs(interface.attribute(name), terms)

    def record_url(self, key: str) -> URL:
        """Return the address of a record; raise ``SourceError`` if there is none."""
        if not 0 < len(key) <= LONGEST:
            raise SourceError(f"a key of {len(key)} characters cannot be looked up")
        return _parsed(self.lookup.replace("{key}", _quoted(key)))


def _quoted(text: str) -> str:
    if len(text) > LONGEST:
        raise SourceError(f"a value of {len(text)} characters is too long to ask for")
    return quote(text, safe="", errors="replace")


def _with(url: str, params: list[str]) -> URL:
    if params:
        joined = "&".join(params)
        mark = "" if url[-1:] in {"?", "&"} else "&" if "?" in url else "?"
        url = f"{url}{mark}{joined}"
    return _parsed(url)


def _parsed(url: str) -> URL:
    try:
        return parse_url(url)
    except UsageError as error:
        raise SourceError(f"the address is not valid: {error}") from None
