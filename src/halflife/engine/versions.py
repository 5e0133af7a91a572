"""Versions of one page or record, and the differences between two."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halflife.core.errors import UsageError
from halflife.core.observation import Content
from halflife.core.text_diff import by_words, unified
from halflife.core.wording import date
from halflife.stores import Store
from halflife.stores.record_changes import field_changes

LARGEST = 16 << 20  # bytes of a body that is compared; twice what is ever fetched


@dataclass(frozen=True, slots=True)
class VersionChoice:
    """The choice of a version.

    Attributes:
        back: How many versions before the current one.
        at: The moment at which it was current, in days; used instead if given.

    """

    back: int = 0
    at: float | None = None


@dataclass(frozen=True, slots=True)
class ItemVersion:
    """A version of a page or a record.

    Attributes:
        key: The page or record.
        begins: When this version was first observed, in days.
        content: The body of a page.
        fields: The fields of a record.

    """

    key: str
    begins: float
    content: Content | None = None
    fields: dict[str, Any] | None = None


def page(store: Store, key: str, chosen: VersionChoice) -> ItemVersion:
    """Return a version of a page; raise ``UsageError`` if it is not kept."""
    kept = store.versions.of(key)
    if not kept:
        raise UsageError(f"there is no copy of {key} yet; run `halflife sync`")
    version = kept[_place(key, [version.at for version in kept], chosen)]
    content = store.versions.content(key, version)
    if content is None:
        raise UsageError(f"that version of {key} was just removed; try again")
    return ItemVersion(key, version.at, content)


def record(store: Store, source: str, key: str, chosen: VersionChoice) -> ItemVersion:
    """Return a version of a record; raise ``UsageError`` if there is none."""
    rows = list(store.holdings.record_history(source, key))[::-1]
    if not rows:
        raise UsageError(f"{source} has no record {key!r}")
    row = rows[_place(key, [row.begins for row in rows], chosen)]
    return ItemVersion(key, row.begins, fields=json.loads(row.text))


def _place(key: str, times: Sequence[float], chosen: VersionChoice) -> int:
    """Return the index of the chosen version in times, newest first."""
    if chosen.at is not None:
        for place, begins in enumerate(times):
            if begins <= chosen.at:
                return place
        raise UsageError(f"no version of {key} is kept that is so old")
    if chosen.back >= len(times):
        if len(times) == 1:
            raise UsageError(
                f"only the current version of {key} is kept ([keep] page_versions)"
            )
        raise UsageError(
            f"only {len(times)} versions of {key} are kept, 0 to {len(times) - 1} "
            "counted back from the current one ([keep] page_versions)"
        )
    return chosen.back


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """The differences between two versions.

    Attributes:
        lines: A diff of the texts of a page, line by line.
        fields: The fields of a record that differ, with old and new values.
        note: Why there is no diff; empty if there is one.

    """

    lines: Sequence[str] = ()
    fields: dict[str, tuple[Any, Any]] | None = None
    note: str = ""


def compare(old: ItemVersion, new: ItemVersion, *, words: bool = False) -> VersionDiff:
    """Return the differences between two versions, by lines or by ``words``."""
    if old.fields is not None and new.fields is not None:
        return VersionDiff(fields=field_changes(old.fields, new.fields))
    if old.content is None or new.content is None:
        raise UsageError("a page and a record cannot be compared")
    return _texts(old.content, new.content, words=words)


def row(old: ItemVersion, new: ItemVersion, found: VersionDiff) -> dict[str, object]:
    """Return the differences between two versions as a JSON object."""
    return {
        "key": old.key,
        "from": date(old.begins),
        "to": date(new.begins),
        "lines": list(found.lines),
        "fields": {name: list(pair) for name, pair in (found.fields or {}).items()},
        "note": found.note,
    }


def _texts(old: Content, new: Content, *, words: bool) -> VersionDiff:
    from halflife.readers.text import readable  # noqa: PLC0415  (slow)

    sizes = f"{len(old.body)} bytes became {len(new.body)}"
    if max(len(old.body), len(new.body)) > LARGEST:
        return VersionDiff(note=f"too large to be compared: {sizes}")
    texts = [readable(content.media_type, content.body) for content in (old, new)]
    if texts[0] is None or texts[1] is None:
        kind = new.media_type or "an unknown type"
        same = "nothing differs" if old.body == new.body else sizes
        return VersionDiff(note=f"not text but {kind}: {same}")
    before, after = (text.splitlines() for text in texts if text is not None)
    lines = by_words(before, after) if words else unified(before, after)
    return VersionDiff(lines=tuple(lines))
