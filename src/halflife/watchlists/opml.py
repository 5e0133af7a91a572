"""OPML: the subscription lists of feed readers."""

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import quoteattr

from halflife.core.errors import UsageError
from halflife.readers import xml_stream
from halflife.watchlists.watch import Watchlist

VERSIONS = frozenset({"1.0", "1.1", "2.0", ""})


class _Outlines:
    """Collects the outlines of a document; see ``xml_stream.Handler``."""

    def __init__(self) -> None:
        self.version = ""
        self.found = Watchlist()

    def start(self, name: str, attributes: list[str]) -> None:
        values = dict(zip(attributes[::2], attributes[1::2], strict=True))
        values = {key.lower(): value for key, value in values.items()}
        if name.lower() == "opml":
            self.version = values.get("version", "").strip()
        if name.lower() != "outline":
            return
        if values.get("xmlurl"):
            self.found.add(values["xmlurl"], feed=True)
        elif values.get("url") or values.get("htmlurl"):
            self.found.add(values.get("url") or values["htmlurl"])

    def end(self, _: str) -> None:
        return

    def text(self, _: str) -> None:
        return


def read(body: bytes) -> Watchlist:
    """Return the feeds and pages of a subscription list.

    Raise ``UsageError`` if it is not one, or its version is unknown.
    """
    if xml_stream.root_name(body).lower() != b"opml":
        raise UsageError("it is not OPML")
    outlines, trouble = xml_stream.parse(xml_stream.whole(body), _Outlines)
    if outlines.version not in VERSIONS:
        raise UsageError(
            f"it is OPML of version {outlines.version[:20]!r}; known are 1.0, 1.1 and"
            " 2.0"
        )
    if trouble:
        raise UsageError(f"it cannot be read: {trouble}")
    return outlines.found


def write(title: str, feeds: Iterable[str], pages: Sequence[str] = ()) -> str:
    """Return a subscription list, with pages as links.

    >>> print(write("mine", ["http://a.example/feed"]).splitlines()[3])
        <outline type="rss" text="http://a.example/feed" xmlUrl="http://a.example/feed"/>
    """
    lines = [
        f'    <outline type="rss" text={quoteattr(url)} xmlUrl={quoteattr(url)}/>'
        for url in feeds
    ]
    lines += [
        f'    <outline type="link" text={quoteattr(url)} url={quoteattr(url)}/>'
        for url in pages
    ]
    head = f"  <head><title>{quoteattr(title)[1:-1]}</title></head>"
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<opml version="2.0">'
    return "\n".join((f"{start}", f"{head}<body>", *lines, "  </body>\n</opml>\n"))
