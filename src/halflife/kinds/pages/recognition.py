"""Pages recognised: a page, a sitemap or feed that names pages, and other spellings."""

from urllib.parse import urljoin, urlsplit

from halflife.kinds.pages.links import read_tags
from halflife.readers.maps import MapEntries, may_be_map, read_map
from halflife.readers.script_pages import needs_script
from halflife.readers.text import is_html, to_text
from halflife.readers.titles import title
from halflife.recognition.guess import (
    PAGE,
    SAMPLE,
    SURE,
    USABLE,
    SourceGuess,
    TrialAnswer,
)
from halflife.recognition.header_hints import header_hints

_FEEDS = frozenset({
    "application/rss+xml", "application/atom+xml", "application/feed+json",
})  # fmt: skip
_WHAT = {
    "urlset": "sitemap",
    "sitemapindex": "index of sitemaps",
    "feed": "feed (RSS, Atom or JSON Feed)",
}

NO_RECORDS = "no records were recognised in it, so it is kept as one document"
NO_TEXT = (
    "it shows hardly any without JavaScript; write "
    'render = "browser" into its table (needs halflife[browser])'
)


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return how an answer could be kept as a page, or as a map of pages."""
    if answer.corrections.given:  # they speak of records
        return []
    listed = read_map(answer.body, answer.url) if may_be_map(answer.body) else None
    if listed is not None and listed.entries:
        return [_map(answer, listed)]
    return _page(answer)


def _map(answer: TrialAnswer, listed: MapEntries) -> SourceGuess:
    dated = sum(entry.modified is not None for entry in listed.entries)
    many = len(listed.entries)
    what = "maps" if listed.kind == "sitemapindex" else "pages"
    reasons = {
        "format": f"its root element or version says that it is a {_WHAT[listed.kind]}",
        "records": f"it names {many} {what}; pages it will name later are found too",
    }
    if listed.left_out:
        reasons["trouble"] = f"{listed.left_out} entries are on other hosts or no URLs"
    dates = f"dates of {dated} of {many} {what} (lastmod or updated)"
    return SourceGuess(
        "pages",
        _WHAT[listed.kind],
        SURE,
        {"maps": (answer.url,)},
        reasons,
        sample=tuple({"url": one.key} for one in listed.entries[:SAMPLE]),
        records=many,
        total=many,
        reads=many + 1,
        hints=(*header_hints(answer), *((dates,) if dated else ())),
    )


def _page(answer: TrialAnswer) -> list[SourceGuess]:
    html = is_html(answer.content_type, answer.body)
    text = to_text(answer.content_type, answer.body) if html else ""
    hints, instead = list(header_hints(answer)), ""
    for name, given in read_tags(text):
        link = _joined(answer.url, given.get("href", ""))
        kind = given.get("type", "").partition(";")[0].strip().lower()
        named = name == "link" and "alternate" in given.get("rel", "").lower().split()
        if named and kind in _FEEDS and link and len(hints) < 8:
            hints.append(f"a feed at {link}: `halflife add {link}`")
        if not instead and _same_as_data(answer.url, link, kind if named else ""):
            instead = link
    heading = title(text)
    reasons = {"format": "a web page" if html else NO_RECORDS}
    if html and needs_script(answer.content_type, answer.body):
        reasons["text"] = NO_TEXT
    return [
        SourceGuess(
            "pages",
            "page" if html else "document",
            PAGE if html else USABLE,
            {"pages": (answer.url,)},
            reasons,
            sample=({"title": heading},) if heading else (),
            records=1,
            total=1,
            reads=1,
            hints=tuple(hints),
            instead=instead,
        )
    ]


def _joined(url: str, link: str) -> str:
    try:
        return urljoin(url, link.strip()) if link else ""
    except ValueError:
        return ""


def _same_as_data(url: str, link: str, kind: str) -> bool:
    """Say whether a link has the same as JSON: same path, another format."""
    try:
        here, there = urlsplit(url), urlsplit(link)
    except ValueError:
        return False
    if not link or here[:2] != there[:2] or there.fragment:
        return False
    same = there.path in {here.path, f"{here.path.rstrip('/')}.json"}
    asks = "format=json" in there.query.split("&") or there.path.endswith(".json")
    return same and there[:4] != here[:4] and (asks or "json" in kind)
