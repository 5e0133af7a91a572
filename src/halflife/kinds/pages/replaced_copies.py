"""Copies of pages that were replaced, kept until it is clear that this was right.

A page with hardly any text whose new text nobody can judge is believed at the end of a
sync. If other pages turn out to have the same text later, that text was an outage, and
the copy is put back. Until then it lies in a note of its source.
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
    """The copies of a run's sources that may have to be put back."""

    def __init__(self, store: Store, run: Run, clock: Clock) -> None:
        self._store, self._run, self._clock = store, run, clock
        self._copies: dict[str, ReplacedCopy] = {}

    def __bool__(self) -> bool:
        return bool(self._copies)

    def read(self) -> Iterable[ReplacedCopy]:
        """Return what is kept, as another process may have left it."""
        notes = (REPLACED_COPIES.load(self._store, n) for n in self._run.sources)
        self._copies = {one.key: one for note in notes for one in note or ()}
        return self._copies.values()

    def like(self, source: str, shape: str) -> list[ReplacedCopy]:
        """Return the copies of a source that a text has replaced."""
        mine = source, shape
        return [o for o in self._copies.values() if (o.source, o.shape) == mine]

    def keep(self, row: HeldPage) -> bool:
        """Keep the copy that an answer is about to replace; say if there was room.

        Of a page that has changed twice since others were well, the first copy counts.
        """
        if row.key in self._copies:
            first = self._copies[row.key]
            self._copies[row.key] = replace(first, shape=row.shape, since=row.since)
            if row.shape == first.was:  # it is as it was
                del self._copies[row.key]
            self._save(row.source)
            return True
        (look,), content = self._store.held([row.key]), self._store.content(row.key)
        if look is None or content is None:
            return True  # there is nothing to keep
        packed = zlib.compress(content.body, 6)
        kept = sum(one.source == row.source for one in self._copies.values())
        if len(packed) > LARGEST or kept >= MOST:
            return False
        body = b64encode(packed).decode()
        said = (row.was, row.shape, look.digest, look.raw, content.media_type, body)
        place = row.key, row.source, row.since
        self._copies[row.key] = ReplacedCopy(*place, *said, content.head)
        self._save(row.source)
        return True

    def put_back(self, one: ReplacedCopy, held: HeldPage) -> None:
        """Put a copy back, and aside what replaced it, as another answer is held.

        The log says that the page changed, which is true of what the site showed.
        """
        from halflife.readers.page_sketch import sketch  # noqa: PLC0415  (slow)

        self._forget([one])
        (look,), content = self._store.held([one.key]), self._store.content(one.key)
        if look is None or content is None:
            return
        if sketch(one.key, content).shape != one.shape:
            return  # it has become another since
        # At a time of its own: the log has an observation of the first already.
        look = replace(look, at=self._clock(), content=content)
        answer = HeldFetch(look, held.state, held.why, one.was, one.shape)
        self._store.held_answers.save(self._run.id, answer)
        self._store.held_answers.put_back(one.observation)

    def forget_proven(self) -> None:
        """Forget copies that nobody needs: other pages were well since."""
        proven = []
        for one in self._copies.values():
            host = self._store.held_answers.host(one.key)
            well = self._store.held_answers.well_since(one.source, host, one.since)
            if well > WITNESSES:  # the page itself is one of them
                proven.append(one)
        self._forget(proven)

    def _forget(self, copies: Iterable[ReplacedCopy]) -> None:
        gone = {one.key: one.source for one in copies}
        for key in gone:
            del self._copies[key]
        for source in sorted(set(gone.values())):
            self._save(source)

    def _save(self, source: str) -> None:
        mine = [one for one in self._copies.values() if one.source == source]
        REPLACED_COPIES.save(self._store, mine, source)
