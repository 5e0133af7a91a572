"""Descriptions of page changes: the title, and how much of the page differs."""

from collections.abc import Sequence

from halflife.core.change import Change
from halflife.core.observation import Content
from halflife.core.text_diff import count_differences, split_words
from halflife.core.wording import count
from halflife.stores import Store

MOST = 500  # pages that are described at once: a few milliseconds each
LARGEST = 1 << 20  # bytes of a body that is described
_LONGEST = 60  # letters of a title


class PageStories:
    """Describes changes of pages whose versions are kept.

    Args:
        store: The store.
        most: How many changes are described.

    """

    def __init__(self, store: Store, most: int = MOST) -> None:
        self._store, self._left = store, most

    def describe(self, change: Change) -> str | None:
        """Return what a person wants to know; None if the change is not of a page.

        It is empty if no more is known than that something differs.
        """
        if set(change.fields) != {"text"} or self._store.source_of(change.key) is None:
            return None
        if not self._left:
            return ""
        self._left -= 1
        old, new = (self._content(change.key, text) for text in change.fields["text"])
        if new is None:
            return ""
        parts = [_title(new), _amount(old, new, is_new=change.kind != "changed")]
        return ", ".join(part for part in parts if part)

    def _content(self, key: str, text: str | None) -> Content | None:
        """Return the newest kept version of a page with this text."""
        if not text:
            return None
        found = (one for one in self._store.versions.of(key) if one.digest == text)
        version = next(found, None)
        if version is None:
            return None
        content = self._store.versions.content(key, version)
        return None if content is None or len(content.body) > LARGEST else content


def _title(content: Content) -> str:
    from halflife.readers.text import is_html, to_text  # noqa: PLC0415  (slow)
    from halflife.readers.titles import title  # noqa: PLC0415

    if not is_html(content.media_type, content.body):
        return ""
    found = title(to_text(content.media_type, content.body))
    short = found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…"
    return f"“{short}”" if short else ""


def _lines(content: Content) -> list[str] | None:
    from halflife.readers.text import readable  # noqa: PLC0415  (slow)

    text = readable(content.media_type, content.body)
    return None if text is None else text.splitlines()


def _amount(old: Content | None, new: Content, *, is_new: bool) -> str:
    """Return the size of a new page, or of a difference: in words if it is one line."""
    after = _lines(new)
    if after is None:
        return f"{len(new.body)} bytes"
    if is_new:
        return count(len(after), "line")
    before = _lines(old) if old is not None else None
    if before is None:
        return ""
    added, removed = count_differences(before, after)
    if max(added, removed) > 1:
        return f"+{added} -{removed} lines"
    added, removed = count_differences(_words(before), _words(after))
    return f"+{added} -{removed} words" if added or removed else ""


def _words(lines: Sequence[str]) -> list[str]:
    return [word for line in lines for word in split_words(line)]
