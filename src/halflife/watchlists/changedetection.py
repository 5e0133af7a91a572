"""changedetection.io: its backup, or the JSON file of its settings.

Up to 0.52 all watches are in ``url-watches.json``; later ones have files of their own,
``<uuid>/watch.json``, beside ``changedetection.json``. A backup is a ZIP of these.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping

from halflife.core.errors import UsageError
from halflife.readers.json_document import load_json
from halflife.watchlists.watch import MOST, WatchedParts, Watchlist, decode

ENTRY = 16 << 20  # bytes of one file in a backup
MOST_FILTERS = 100  # of one watch
TOTAL = 64 << 20  # bytes of all files that are read
_WATCH = re.compile(r"(?:.*/)?[0-9a-f-]{36}/watch\.json")
# Settings of a watch that have no counterpart here, if they are set.
IGNORED = {
    "ignore_text": "ignored texts", "trigger_text": "triggers",
    "headers": "headers (they may hold secrets)",
    "time_between_check": "intervals", "notification_urls": "notifications",
    "browser_steps": "browser steps", "body": "request bodies", "proxy": "proxies",
}  # fmt: skip


def read(body: bytes) -> Watchlist:
    """Return the watches of a backup or a settings file.

    Raise ``UsageError`` if it is neither, or its version is unknown.
    """
    found = Watchlist()
    watches = _from_zip(body) if body[:2] == b"PK" else _from_json(body)
    for count, watch in enumerate(watches):
        if count > MOST:
            raise UsageError(f"it has more than {MOST} watches")
        _take(found, watch)
    return found


def _take(found: Watchlist, watch: object) -> None:
    fields = watch if isinstance(watch, Mapping) else {}
    url = fields.get("url")
    shown = url if isinstance(url, str) else "a watch"
    if fields.get("paused") is True:
        found.refuse(shown, "it is paused")
    elif str(fields.get("method") or "GET").upper() != "GET":
        found.refuse(shown, f"it is asked by {str(fields['method'])[:20]}")
    elif found.add(url, rules=_rules(found, fields)):
        found.ignore({name for key, name in IGNORED.items() if _holds(fields.get(key))})


def _rules(found: Watchlist, fields: Mapping[str, object]) -> WatchedParts:
    """Return the filters of a watch that have a counterpart here."""
    only = [*_list(fields.get("include_filters")), *_list(fields.get("css_filter"))]
    ignore = _list(fields.get("subtractive_selectors"))
    return WatchedParts(
        found.usable(_as_rule(rule) for rule in only),
        found.usable(_as_rule(rule) for rule in ignore),
    )


def _list(value: object) -> list[object]:
    values = value if isinstance(value, list) else [value]
    return [element for element in values[:MOST_FILTERS] if element]


def _as_rule(rule: object) -> object:
    """Return a filter as a rule; None if its language is not supported here."""
    text = rule.strip() if isinstance(rule, str) else ""
    if text.startswith(("json:", "jq:", "jqraw:", "re:")):
        return None
    return f"xpath:{text[7:]}" if text.startswith("xpath1:") else text


def _holds(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(bool, value.values()))
    return bool(value)


def _from_json(body: bytes) -> Iterator[object]:
    document = _load(body)
    watching = document.get("watching")
    if isinstance(watching, Mapping):
        return iter(watching.values())
    if "settings" in document:
        raise UsageError(
            "its watches stand in files of their own; give the backup (ZIP) instead"
        )
    raise UsageError(
        "it is no file of changedetection.io known here: it has no 'watching'"
    )


def _load(body: bytes) -> Mapping[str, object]:
    try:
        document = load_json(decode(body))
    except (ValueError, RecursionError):
        raise UsageError("it is neither JSON nor a backup (ZIP)") from None
    if not isinstance(document, Mapping):
        raise UsageError("it is no file of changedetection.io known here")
    return document


def _from_zip(body: bytes) -> Iterator[object]:
    """Yield the watches of a backup, read in memory and never unpacked to disk."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as backup:
            yield from _watches(backup)
    except (
        zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError,
        OSError,
    ) as error:  # fmt: skip
        reason = str(error) or type(error).__name__
        raise UsageError(f"its ZIP cannot be read: {reason[:100]}") from None


def _watches(backup: zipfile.ZipFile) -> Iterator[object]:
    names = backup.namelist()
    old = [name for name in names if name.rpartition("/")[2] == "url-watches.json"]
    new = [name for name in names if _WATCH.fullmatch(name)]
    if not old and not new:
        raise UsageError(
            "it is no backup of changedetection.io known here: it has neither "
            "url-watches.json nor a watch.json"
        )
    left = TOTAL
    for name in new or old[:1]:
        with backup.open(name) as file:
            data = file.read(min(ENTRY, left) + 1)
        left -= len(data)
        if len(data) > ENTRY or left < 0:
            raise UsageError(f"its file {name[:100]!r} is too large")
        yield from (_from_json(data) if name in old else (_load(data),))
