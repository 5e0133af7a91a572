"""The Accept header of requests.

Many APIs answer the same address in several formats and choose by this header: for HTML
they send a page for people instead of the data.
"""

from collections.abc import Mapping

PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"  # a browser's
_ANY = "*/*;q=0.1"  # rather any answer than 406: unreadable formats are reported

ACCEPT = {
    "json": f"application/json, application/*+json;q=0.9, {_ANY}",
    "jsonl": (
        "application/x-ndjson, application/jsonl, application/jsonlines;q=0.9, "
        f"application/json;q=0.8, text/plain;q=0.5, {_ANY}"
    ),
    "csv": f"text/csv, text/tab-separated-values;q=0.9, text/plain;q=0.5, {_ANY}",
    "html": f"text/html, application/xhtml+xml;q=0.9, {_ANY}",
    "feed": (
        "application/atom+xml, application/rss+xml, application/feed+json;q=0.9, "
        f"application/xml;q=0.8, text/xml;q=0.8, {_ANY}"
    ),
    # Without a format in the settings, data is preferred over pages for people.
    "data": (
        "application/json, application/x-ndjson;q=0.9, text/csv;q=0.9, "
        "application/atom+xml;q=0.8, application/rss+xml;q=0.8, text/html;q=0.5, "
        f"{_ANY}"
    ),
}
_ENGINES = {"elasticsearch": "json", "solr": "json", "meilisearch": "json"}


def accept(form: str = "") -> str:
    """Return the Accept header for data of a format, or of a search engine.

    It is empty for ``page``: the gate then sends the header of a browser (``PAGE``).

    >>> accept("page")
    ''
    >>> accept("csv").partition(",")[0]
    'text/csv'
    >>> accept("solr").partition(",")[0]
    'application/json'
    """
    return "" if form == "page" else ACCEPT[_ENGINES.get(form, form) or "data"]


def as_page(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that replace a request for data by one for a page.

    A header that a user set stays as it is.

    >>> as_page({"Accept": accept()}) == {"Accept": PAGE}
    True
    >>> as_page({"Accept": "text/plain"})
    {}
    """
    return {"Accept": PAGE} if headers.get("Accept") in ACCEPT.values() else {}
