"""Replaced copies of pages, kept until the replacement has proved right.

The new text of a page with little text cannot be judged by itself and is believed at
the end of a sync. If other pages have the same text later, that text was an outage, and
the copy is restored. Until then it is stored in a note of its source.
"""

import zlib
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import replace

from halflife.engine.loop import Clock
from halflife.models.page_guard import WITNESSES
from halflife.stores import Run, Store
from halflife.stores.held_pages import HeldFetch, HeldPage
from halflife.stores.notes.replaced_copies import REPLACED_COPIES, ReplacedCopy

MOST = 8  # of a source; each is read at the start of every sync
LARGEST = 1 << 16  # bytes as packed; pages with hardly any text have a tenth of that


class ReplacedCopies:
    """The copies of a run's sources that may have to be restored."""

    def __init__(self, store: Store, run: Run, clock: Clock) -> None:
        self._store, self._run, self._clock = store, run, clock
        self._copies: dict[str, ReplacedCopy] = {}

    def __bool__(self) -> bool:
        return bool(self._copies)

    def read(self) -> Iterable[ReplacedCopy]:
        """Return the stored copies, those of other processes included."""
        notes = (REPLACED_COPIES.load(self._store, n) for n in self._run.sources)
        self._copies = {copy.key: copy for note in notes for copy in note or ()}
        return self._copies.values()

    def like(self, source: str, shape: str) -> list[ReplacedCopy]:
        """Return the copies of a source that were replaced by a text."""
        mine = source, shape
        return [o for o in self._copies.values() if (o.source, o.shape) == mine]

    def keep(self, row: HeldPage) -> bool:
        """Keep the copy that an answer will replace; return whether there was room.

        The first copy counts if a page changed twice since other pages worked.
        """
        if row.key in self._copies:
            first = self._copies[row.key]
            self._copies[row.key] = replace(first, shape=row.shape, since=row.since)
            if row.shape == first.was:  # the first text is back
                del self._copies[row.key]
            self._save(row.source)
            return True
        (copied,), content = self._store.held([row.key]), self._store.content(row.key)
        if copied is None or content is None:
            return True  # there is nothing to keep
        packed = zlib.compress(content.body, 6)
        kept = sum(copy.source == row.source for copy in self._copies.values())
        if len(packed) > LARGEST or kept >= MOST:
            return False
        body = b64encode(packed).decode()
        content_fields = (
            row.was,
            row.shape,
            copied.digest,
            copied.raw,
            content.media_type,
            body,
        )
        place = row.key, row.source, row.since
        self._copies[row.key] = ReplacedCopy(*place, *content_fields, content.head)
        self._save(row.source)
        return True

    def put_back(self, copy: ReplacedCopy, held: HeldPage) -> None:
        """Restore a copy, and hold back its replacement, as another answer is held.

        The log keeps the change, because the site did show it.
        """
        from halflife.readers.page_sketch import sketch  # noqa: PLC0415  (slow)

        self._forget([copy])
        (copied,), content = self._store.held([copy.key]), self._store.content(copy.key)
        if copied is None or content is None:
            return
        if sketch(copy.key, content).shape != copy.shape:
            return  # the page has changed since
        # At a new time: the log already has an observation at the first one.
        copied = replace(copied, at=self._clock(), content=content)
        answer = HeldFetch(copied, held.state, held.why, copy.was, copy.shape)
        self._store.held_answers.save(self._run.id, answer)
        self._store.held_answers.put_back(copy.observation)

    def forget_proven(self) -> None:
        """Drop copies that are not needed because other pages worked since."""
        proven = []
        for copy in self._copies.values():
            host = self._store.held_answers.host(copy.key)
            working = self._store.held_answers.well_since(copy.source, host, copy.since)
            if working > WITNESSES:  # the page itself is one of them
                proven.append(copy)
        self._forget(proven)

    def _forget(self, copies: Iterable[ReplacedCopy]) -> None:
        gone = {copy.key: copy.source for copy in copies}
        for key in gone:
            del self._copies[key]
        for source in sorted(set(gone.values())):
            self._save(source)

    def _save(self, source: str) -> None:
        mine = [copy for copy in self._copies.values() if copy.source == source]
        REPLACED_COPIES.save(self._store, mine, source)
