"""Select elements of a web page by CSS selectors."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from halflife.core.errors import ConfigError
from halflife.readers import trees

Row: TypeAlias = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class MarkupQuery:
    """A query for values in a page.

    Attributes:
        selector: The selector of the elements.
        wanted: The values of each element: ``a.x@href`` is an attribute of the first
            such element in it, ``@id`` one of its own, ``h2`` a text, and an empty
            string its own text.
        most: The most elements.
        longest: The most characters of a value; longer ones are cut.

    """

    selector: str
    wanted: tuple[str, ...]
    most: int
    longest: int


def split(selector: str) -> tuple[str, str]:
    """Return the CSS selector and the attribute of a selector like ``a.x@href``.

    >>> split("a.x@href"), split("@id"), split("h2"), split("a[href*='@']")
    (('a.x', 'href'), ('', 'id'), ('h2', ''), ("a[href*='@']", ''))
    """
    css, at, attribute = selector.rpartition("@")
    if at and re.fullmatch(r"[A-Za-z_:][\w:.-]*", attribute):
        return css.strip(), attribute
    return selector.strip(), ""


def check_selector(selector: str) -> None:
    """Raise ``ConfigError`` unless this is a selector."""
    css, _ = split(selector)
    if css:
        try:
            LexborHTMLParser("<p>").css(css)
        except SelectolaxError:
            raise ConfigError(f"{selector!r} is no CSS selector") from None


def select(page: str, queries: Iterable[MarkupQuery]) -> list[list[Row]]:
    """Return, for each query, a row of values for each element that it finds.

    Raise ``SourceError`` if the page exceeds the limits of time or memory.

    >>> select("<p id=a>x <b>y</b>", [MarkupQuery("p", ("@id", "b", ""), 10, 100)])
    [[['a', 'y', 'x y']]]
    """
    found: list[list[Row]] = trees.ask(
        "select",
        page,
        [
            (split(q.selector)[0], [split(w) for w in q.wanted], q.most, q.longest)
            for q in queries
        ],
    )
    return found


def first(selector: str, *, default: str = "", longest: int = 4096) -> MarkupQuery:
    """Return a query for a value of the first such element.

    ``default`` is the attribute to use if the selector names none.
    """
    attribute = split(selector)[1] or default
    return MarkupQuery(selector, (f"@{attribute}" if attribute else "",), 1, longest)


def only(rows: Sequence[Row]) -> str | None:
    """Return the value found by the query of ``first``."""
    return rows[0][0] if rows else None
