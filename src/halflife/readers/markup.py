"""Elements of a web page, found by CSS selectors."""

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
    """What is wanted of a page.

    Attributes:
        selector: The elements.
        wanted: What is wanted of each: ``a.x@href`` is an attribute of the first such
            element in it, ``@id`` one of its own, ``h2`` a text, nothing its own text.
        most: Elements at most.
        longest: Characters of a value at most; what is longer is cut.

    """

    selector: str
    wanted: tuple[str, ...]
    most: int
    longest: int


def split(selector: str) -> tuple[str, str]:
    """Return the CSS selector and the attribute that ``a.x@href`` asks for.

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
    """Return, for each query, a row of what is wanted for each element it finds.

    Raise ``SourceError`` if the page takes more time or memory than any should.

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

    ``default`` is the attribute that is meant if the selector names none.
    """
    attribute = split(selector)[1] or default
    return MarkupQuery(selector, (f"@{attribute}" if attribute else "",), 1, longest)


def only(rows: Sequence[Row]) -> str | None:
    """Return what the query of ``first`` found."""
    return rows[0][0] if rows else None
