"""A recorded site: its pages as they were at a moment."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from halflife.core.history import History
from halflife.core.observation import Seen
from halflife.recordings.pages import Recording
from halflife.replay.world import Asked, Recorded, Told, html
from halflife.stores.sqlite import SqliteStore


def site(text: Callable[[str, float], str | None]) -> Recorded:
    """Return a site; ``text`` says what a path shows at a time, None if nothing."""

    def answer(asked: Asked, now: float) -> Told:
        said = text(asked.url.path.removeprefix("/"), now)
        if said is None:
            return html("<!DOCTYPE html><p>there is no such page</p>", 404)
        return html(f"<!DOCTYPE html><title>A page</title><main><p>{said}</p></main>")

    return answer


@dataclass(frozen=True)
class RecordedPages:
    """Pages that change when a recording says so; page ``n`` is its n-th item.

    Attributes:
        name: The name of the source.
        recording: What happened to each page.
        span: The first and last moment that it knows, in days.

    """

    name: str
    recording: Recording
    span: tuple[float, float]
    kind: str = "pages"
    measure: str = "freshness"

    def answer(self, asked: Asked, now: float) -> Told:
        """Return the page of a moment."""
        return site(self._text)(asked, now)

    def _text(self, page: str, now: float) -> str | None:
        if not page.isdecimal() or int(page) >= len(self.recording):
            return None
        row = np.array([int(page)])
        if self.recording.seen(row, now)[0] != Seen.PRESENT:
            return None
        version = int(self.recording.states(row, now)[0])
        return f"{self.recording.keys[int(page)]} in version {version}"

    def settings(self, origin: str) -> str:
        """Return all pages by their addresses."""
        pages = ", ".join(f'"{origin}/{i}"' for i in range(len(self.recording)))
        return f'kind = "pages"\nkeep = false\npages = [{pages}]'

    def quality(self, store: SqliteStore, now: float) -> float:
        """Return the weighted share of pages that are as they were when last seen."""
        evidence = store.evidence((self.name,))
        page = [int(key.rpartition("/")[2]) for key in evidence.keys]
        row, seen = np.array(page, dtype=np.intp), evidence.last_at
        known = np.isfinite(seen)
        then = self.recording.states(row, np.where(known, seen, now))
        same = known & (then == self.recording.states(row, now))
        weight = self.recording.weight
        return float(weight[row[same]].sum() / weight.sum())


def recording_of(history: History) -> Recording:
    """Return what observations show as if it were all that happened.

    A change that was found counts as made when it was found, which is the latest that
    it can have been made: a copy is never taken for stale before we know that it was.
    """
    item, gaps = history.item, np.diff(history.at)
    inside = (item[1:] == item[:-1]) & (gaps > 0)
    here = history.seen[1:] == Seen.PRESENT
    there = history.seen[:-1] == Seen.PRESENT
    changed = inside & here & there & (np.diff(history.digest) != 0)
    start = np.zeros(len(history) + 1, dtype=np.intp)
    np.cumsum(np.bincount(item[1:][changed], minlength=len(history)), out=start[1:])
    died = np.full(len(history), np.inf)
    gone = np.flatnonzero(inside & ~here & there)[::-1]
    died[item[1:][gone]] = history.at[1:][gone]  # the first time that it was gone
    return Recording(
        keys=history.keys,
        start=start,
        at=history.at[1:][changed],
        weight=np.ones(len(history)),
        born=np.full(len(history), -np.inf),
        died=died,
    )
