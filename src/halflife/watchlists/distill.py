"""Distill: the JSON file that it exports."""

from collections.abc import Mapping

from halflife.core.errors import UsageError
from halflife.readers.json_document import load_json
from halflife.watchlists.watch import NO_RULES, WatchedParts, Watchlist, decode

MOST_PARTS = 20  # selections, frames or parts of one monitor
FEEDS = frozenset({"feed", "rss", "atom"})


def read(body: bytes) -> Watchlist:
    """Return the monitors of an export; raise ``UsageError`` if it is not one."""
    try:
        document = load_json(decode(body))
    except (ValueError, RecursionError):
        raise UsageError("it is not JSON") from None
    entries = document.get("data") if isinstance(document, Mapping) else None
    if not isinstance(entries, list):
        raise UsageError("it is no export of Distill known here: it has no list 'data'")
    found = Watchlist()
    for entry in entries:
        fields = entry if isinstance(entry, Mapping) else {}
        kind = str(fields.get("content_type", "")).lower()
        rules = _rules(found, fields.get("config"))
        added = found.add(fields.get("uri"), feed=kind in FEEDS, rules=rules)
        if added and fields.get("schedule"):
            found.ignore(["schedules"])
    return found


def _rules(found: Watchlist, config: object) -> WatchedParts:
    """Return the parts of the page that a monitor watches."""
    if isinstance(config, str):
        try:
            config = load_json(config)
        except (ValueError, RecursionError):
            return NO_RULES
    only: list[object] = []
    ignore: list[object] = []
    for selection in _objects(config, "selections"):
        for frame in _objects(selection, "frames"):
            only += map(_rule, _objects(frame, "includes"))
            ignore += map(_rule, _objects(frame, "excludes"))
    return WatchedParts(found.usable(only), found.usable(ignore))


def _objects(value: object, name: str) -> list[Mapping[str, object]]:
    inner = value.get(name) if isinstance(value, Mapping) else None
    listed = inner[:MOST_PARTS] if isinstance(inner, list) else []
    return [element for element in listed if isinstance(element, Mapping)]


def _rule(part: Mapping[str, object]) -> object:
    expression = part.get("expr")
    prefix = {"css": "css:", "xpath": "xpath:"}.get(str(part.get("type")))
    return f"{prefix}{expression}" if prefix and expression else None
