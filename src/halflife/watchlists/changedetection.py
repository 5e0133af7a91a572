"""changedetection.io: its backup, or the JSON file of its settings.

Up to 0.52 all watches stand in ``url-watches.json``; later ones are files of their own,
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
TOTAL = 64 << 20  # bytes of all that are read
_WATCH = re.compile(r"(?:.*/)?[0-9a-f-]{36}/watch\.json")
# Settings of a watch that have no counterpart, if they hold anything.
IGNORED = {
    "ignore_text": "ignored texts", "trigger_text": "triggers",
    "headers": "headers (they may hold secrets)",
    "time_between_check": "intervals", "notification_urls": "notifications",
    "browser_steps": "browser steps", "body": "request bodies", "proxy": "proxies",
}  # fmt: skip


def read(body: bytes) -> Watchlist:
    """Return the watches of a backup or a settings file.

    Raise ``UsageError`` if it is neither, or of a version that is not known.
    """
    found = Watchlist()
    watches = _from_zip(body) if body[:2] == b"PK" else _from_json(body)
    for many, watch in enumerate(watches):
        if many > MOST:
            raise UsageError(f"it has more than {MOST} watches")
        _take(found, watch)
    return found


def _take(found: Watchlist, watch: object) -> None:
    given = watch if isinstance(watch, Mapping) else {}
    url = given.get("url")
    shown = url if isinstance(url, str) else "a watch"
    if given.get("paused") is True:
        found.refuse(shown, "it is paused")
    elif str(given.get("method") or "GET").upper() != "GET":
        found.refuse(shown, f"it is asked by {str(given['method'])[:20]}")
    elif found.add(url, rules=_rules(found, given)):
        found.ignore({said for key, said in IGNORED.items() if _holds(given.get(key))})


def _rules(found: Watchlist, given: Mapping[str, object]) -> WatchedParts:
    """Return the filters of a watch that can be followed here."""
    only = [*_list(given.get("include_filters")), *_list(given.get("css_filter"))]
    ignore = _list(given.get("subtractive_selectors"))
    return WatchedParts(
        found.usable(_renamed(rule) for rule in only),
        found.usable(_renamed(rule) for rule in ignore),
    )


def _list(value: object) -> list[object]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values[:MOST_FILTERS] if one]


def _renamed(rule: object) -> object:
    """Return a filter as a rule; nothing for a language that is not known here."""
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
    """Return the watches of a backup, read in memory and never unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as backup:
            yield from _watches(backup)
    except (
        zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError,
        OSError,
    ) as error:  # fmt: skip
        said = str(error) or type(error).__name__
        raise UsageError(f"its ZIP cannot be read: {said[:100]}") from None


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
