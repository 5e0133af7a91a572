"""Recognise pages: a page, a sitemap or feed, and links to the same as data."""

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
    header_hints,
)

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
    "there is hardly any without JavaScript; write "
    'render = "browser" into its table (needs halflife[browser])'
)


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return guesses how an answer could be a page, or a map of pages."""
    if answer.corrections.given:  # corrections are about records
        return []
    page_map = read_map(answer.body, answer.url) if may_be_map(answer.body) else None
    if page_map is not None and page_map.entries:
        return [_map(answer, page_map)]
    return _page(answer)


def _map(answer: TrialAnswer, page_map: MapEntries) -> SourceGuess:
    dated = sum(entry.modified is not None for entry in page_map.entries)
    total = len(page_map.entries)
    what = "maps" if page_map.kind == "sitemapindex" else "pages"
    reasons = {
        "format": "its root element or version says that it is a "
        f"{_WHAT[page_map.kind]}",
        "records": f"it names {total} {what}; pages it will name later are found too",
    }
    if page_map.left_out:
        reasons["trouble"] = (
            f"{page_map.left_out} entries are on other hosts or no URLs"
        )
    dates = f"dates of {dated} of {total} {what} (lastmod or updated)"
    return SourceGuess(
        "pages",
        _WHAT[page_map.kind],
        SURE,
        {"maps": (answer.url,)},
        reasons,
        sample=tuple({"url": entry.key} for entry in page_map.entries[:SAMPLE]),
        records=total,
        total=total,
        reads=total + 1,
        hints=(*header_hints(answer), *((dates,) if dated else ())),
    )


def _page(answer: TrialAnswer) -> list[SourceGuess]:
    html = is_html(answer.content_type, answer.body)
    text = to_text(answer.content_type, answer.body) if html else ""
    hints, same_data = list(header_hints(answer)), ""
    for name, attributes in read_tags(text):
        link = _joined(answer.url, attributes.get("href", ""))
        media_type = attributes.get("type", "").partition(";")[0].strip().lower()
        is_alternate = (
            name == "link" and "alternate" in attributes.get("rel", "").lower().split()
        )
        if is_alternate and media_type in _FEEDS and link and len(hints) < 8:
            hints.append(f"a feed at {link}: `halflife add {link}`")
        if not same_data and _same_as_data(
            answer.url, link, media_type if is_alternate else ""
        ):
            same_data = link
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
            instead=same_data,
        )
    ]


def _joined(url: str, link: str) -> str:
    try:
        return urljoin(url, link.strip()) if link else ""
    except ValueError:
        return ""


def _same_as_data(url: str, link: str, kind: str) -> bool:
    """Return whether a link leads to the same content as JSON."""
    try:
        here, there = urlsplit(url), urlsplit(link)
    except ValueError:
        return False
    if not link or here[:2] != there[:2] or there.fragment:
        return False
    is_same_path = there.path in {here.path, f"{here.path.rstrip('/')}.json"}
    asks_for_json = "format=json" in there.query.split("&") or there.path.endswith(
        ".json"
    )
    return is_same_path and there[:4] != here[:4] and (asks_for_json or "json" in kind)
