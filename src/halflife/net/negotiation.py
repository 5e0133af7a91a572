"""Which formats a source is asked for: the Accept header of a request.

Many APIs answer the same address in several formats and choose by this header; one
that is asked for HTML sends a page for people instead of the data.
"""

from collections.abc import Mapping

PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"  # a browser's
_ANY = "*/*;q=0.1"  # better any answer than 406: what cannot be read is reported

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
    # Where the settings name no format, data is wanted rather than pages for people.
    "data": (
        "application/json, application/x-ndjson;q=0.9, text/csv;q=0.9, "
        "application/atom+xml;q=0.8, application/rss+xml;q=0.8, text/html;q=0.5, "
        f"{_ANY}"
    ),
}
_ENGINES = {"elasticsearch": "json", "solr": "json", "meilisearch": "json"}


def accept(form: str = "") -> str:
    """Return the Accept header for data of a format, or of a search engine.

    It is empty for ``page``: pages are asked for as a browser asks (``PAGE``), which
    is what the gate does if nothing is said.

    >>> accept("page")
    ''
    >>> accept("csv").partition(",")[0]
    'text/csv'
    >>> accept("solr").partition(",")[0]
    'application/json'
    """
    return "" if form == "page" else ACCEPT[_ENGINES.get(form, form) or "data"]


def as_page(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that ask for a page where others ask for data.

    What a user wrote stays as it is.

    >>> as_page({"Accept": accept()}) == {"Accept": PAGE}
    True
    >>> as_page({"Accept": "text/plain"})
    {}
    """
    return {"Accept": PAGE} if headers.get("Accept") in ACCEPT.values() else {}
