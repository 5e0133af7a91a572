"""Elements of a web page, found by CSS selectors."""

import re
from collections.abc import Callable, Iterator
from functools import partial

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from halflife.errors import ConfigError, SourceError

DEEPEST = 1000  # elements inside each other
LONGEST = 1 << 16  # characters of a tag
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)")
_HUGE = re.compile(rf"<[a-zA-Z][^<>]{{{LONGEST}}}")
# Elements that need no end tag, or have none.
_OPEN_ENDED = frozenset(
    {
        "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head",
        "hr", "html", "img", "input", "li", "link", "meta", "optgroup", "option", "p",
        "param", "path", "rect", "rp", "rt", "source", "tbody", "td", "tfoot", "th",
        "thead", "tr", "track", "use", "wbr",
    }
)  # fmt: skip


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


class Elements:
    """A page whose elements can be asked for."""

    def __init__(self, text: str) -> None:
        _check_shape(text)
        self._tree = LexborHTMLParser(text)

    def records(self, selector: str) -> Iterator[Callable[[str], str | None]]:
        """Return, for each element, what finds things in it."""
        for node in self._tree.css(split(selector)[0]):
            yield partial(_find, node)

    def address(self, selector: str) -> str:
        """Return the address that the first such element leads to, if any."""
        css, attribute = split(selector)
        node = self._tree.css_first(css) if css else None
        found = node.attributes.get(attribute or "href") if node is not None else None
        return (found or "").strip()


def _find(node: LexborNode, wanted: str) -> str | None:
    css, attribute = split(wanted)
    # Only what lies inside: a search may return the element itself.
    found = node.css_first(css) if css else node
    if found is None:
        return None
    if attribute:
        return found.attributes.get(attribute)
    return " ".join(found.text(separator=" ").split())


def _check_shape(text: str) -> None:
    """Raise for a page that would take a parser longer than it is worth.

    Building a tree takes a time that grows with the square of its depth, or of
    the attributes of a tag.
    """
    if _HUGE.search(text):
        raise SourceError(f"it has a tag of more than {LONGEST} characters")
    depth = 0
    for tag in _TAG.finditer(text):
        if tag[2].lower() not in _OPEN_ENDED:
            depth = max(depth + (-1 if tag[1] else 1), 0)
            if depth > DEEPEST:
                raise SourceError(f"its elements lie more than {DEEPEST} deep")
