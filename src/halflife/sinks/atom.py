"""A sink that keeps the latest changes in a feed, for any feed reader."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal
from xml.etree.ElementTree import (
    Element,
    ParseError,
    SubElement,
    fromstring,
    register_namespace,
    tostring,
)

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.config.values import Line
from halflife.core.change import Change
from halflife.sinks import files
from halflife.sinks.event import stamp
from halflife.sinks.protocol import Batch, DeliveryError, Outlet

ATOM = "http://www.w3.org/2005/Atom"
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHOWN = 200  # characters of a value


class AtomConfig(SinkConfig):
    """A feed file, and how many of the latest changes are in it.

    Attributes:
        kind: `atom`.
        path: The file or folder.
        title: The title of the feed.
        entries: The number of latest changes in the feed.

    """

    kind: Literal["atom"]
    path: str = Field(min_length=1)
    title: Line = "Changes"
    entries: int = Field(default=100, ge=1, le=10_000)


class AtomFeed:
    """Replaces the feed by a new one; each change is in it once.

    Args:
        settings: The file and the number of entries.
        outlet: Resolves relative paths.

    """

    Settings: ClassVar[type[SinkConfig]] = AtomConfig

    def __init__(self, settings: AtomConfig, outlet: Outlet) -> None:
        self._settings, self._path = settings, outlet.path(settings.path)
        self._entries: dict[int, Element] = {}

    def open(self) -> None:
        """Read the entries of the existing file."""
        register_namespace("", ATOM)
        prefix = _id(self._settings.name, "")
        for entry in _entries(self._path):
            name = entry.findtext(f"{{{ATOM}}}id", "")
            number = name.removeprefix(prefix)
            if name.startswith(prefix) and number.isdecimal():
                self._entries[int(number)] = entry

    def deliver(self, batch: Batch) -> None:
        """Write the feed again, with the changes."""
        most = self._settings.entries
        for change in batch.changes[-most:]:
            self._entries[change.seq] = _entry(self._settings.name, change)
        kept = sorted(self._entries, reverse=True)[:most]
        self._entries = {number: self._entries[number] for number in kept}
        files.replace_file(self._path, self._feed(batch.changes[-1]))

    def close(self) -> None:
        """Do nothing: the file is closed."""

    def cancel(self) -> None:
        """Do nothing: a write does not take long."""

    def _feed(self, newest: Change) -> bytes:
        feed = Element(f"{{{ATOM}}}feed")
        _add(feed, "id", _id(self._settings.name, ""))
        _add(feed, "title", self._settings.title)
        _add(feed, "updated", stamp(newest.at))
        _add(SubElement(feed, f"{{{ATOM}}}author"), "name", "halflife")
        feed.extend(self._entries.values())
        return bytes(tostring(feed, encoding="utf-8", xml_declaration=True))


def _entries(path: Path) -> Iterable[Element]:
    try:
        feed = fromstring(path.read_bytes())  # noqa: S314  (we wrote it)
    except FileNotFoundError:
        return ()
    except ParseError:
        feed = None
    if feed is None or feed.tag != f"{{{ATOM}}}feed":
        raise DeliveryError(f"{path} is no feed of ours; name another file in path")
    return feed.findall(f"{{{ATOM}}}entry")


def _id(sink: str, number: int | str) -> str:
    return f"urn:halflife:{sink}:{number}"


def _entry(sink: str, change: Change) -> Element:
    entry = Element(f"{{{ATOM}}}entry")
    _add(entry, "id", _id(sink, change.seq))
    _add(entry, "title", f"{change.source}: {change.kind} {change.key}".strip())
    _add(entry, "updated", stamp(change.at))
    if change.key.startswith(("http://", "https://")):
        SubElement(entry, f"{{{ATOM}}}link", href=_xml(change.key))
    SubElement(entry, f"{{{ATOM}}}category", term=change.kind)
    pairs = change.fields.items()
    text = "\n".join(f"{n}: {_short(old)} → {_short(new)}" for n, (old, new) in pairs)
    _add(entry, "content", text)
    return entry


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, f"{{{ATOM}}}{name}").text = _xml(text)


def _xml(text: str) -> str:
    """Return text without the characters that XML cannot contain."""
    return _NOT_XML.sub("\ufffd", text)


def _short(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
