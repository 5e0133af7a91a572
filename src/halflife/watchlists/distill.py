"""Distill: the JSON file that it exports."""

from collections.abc import Mapping

from halflife.core.errors import UsageError
from halflife.readers.json_document import load_json
from halflife.watchlists.watch import Watchlist, decode

FEEDS = frozenset({"feed", "rss", "atom"})


def read(body: bytes) -> Watchlist:
    """Return the monitors of an export; raise ``UsageError`` if it is none."""
    try:
        document = load_json(decode(body))
    except (ValueError, RecursionError):
        raise UsageError("it is not JSON") from None
    entries = document.get("data") if isinstance(document, Mapping) else None
    if not isinstance(entries, list):
        raise UsageError("it is no export of Distill known here: it has no list 'data'")
    found = Watchlist()
    for entry in entries:
        given = entry if isinstance(entry, Mapping) else {}
        kind = str(given.get("content_type", "")).lower()
        if not found.add(given.get("uri"), feed=kind in FEEDS):
            continue
        if _selects(given.get("config")):
            found.ignore(["selections of parts of a page"])
        if given.get("schedule"):
            found.ignore(["schedules"])
    return found


def _selects(config: object) -> bool:
    """Say whether a monitor watches a part of its page."""
    if isinstance(config, str):
        try:
            config = load_json(config)
        except (ValueError, RecursionError):
            return False
    return isinstance(config, Mapping) and bool(config.get("selections"))
