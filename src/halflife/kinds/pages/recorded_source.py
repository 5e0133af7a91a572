"""Recorded sites: their pages at any time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from halflife.core.errors import NothingRecorded
from halflife.core.history import History
from halflife.core.observation import Seen
from halflife.recordings import histories
from halflife.recordings.pages import Recording
from halflife.recordings.parquet import read_table
from halflife.replay.recorded_source import RecordedHistory, source_name
from halflife.replay.world import RecordedAnswer, RecordedRequest, Responder, html
from halflife.stores import Store

LAST_DAY = 20_076.0  # the last day of every recorded site; the choice is arbitrary


def site(text: Callable[[str, float], str | None]) -> Responder:
    """Return a site; ``text`` returns the text of a path at a time, None if missing."""

    def answer(request: RecordedRequest, now: float) -> RecordedAnswer:
        content = text(request.url.path.removeprefix("/"), now)
        if content is None:
            return html("<!DOCTYPE html><p>there is no such page</p>", 404)
        return html(
            f"<!DOCTYPE html><title>A page</title><main><p>{content}</p></main>"
        )

    return answer


@dataclass(frozen=True)
class RecordedPages:
    """The pages of a recording; page ``n`` is its n-th item.

    Attributes:
        name: The name of the source.
        recording: The changes of each page.
        span: The first and last moment of the recording, in days.

    """

    name: str
    recording: Recording
    span: tuple[float, float]
    kind: str = "pages"
    measure: str = "freshness"

    def items(self, now: float) -> int:
        """Return the number of pages that were present."""
        rows = np.arange(len(self.recording))
        return int((self.recording.seen(rows, now) == Seen.PRESENT).sum())

    def moved(self, days: float) -> "RecordedPages":
        """Return the same pages with all times moved by so many days."""
        begin, end = self.span
        span = begin + days, end + days
        return replace(self, recording=self.recording.moved(days), span=span)

    def answer(self, asked: RecordedRequest, now: float) -> RecordedAnswer:
        """Return the answer of a page at a time."""
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
        """Return the settings of a source with all pages."""
        pages = ", ".join(f'"{origin}/{i}"' for i in range(len(self.recording)))
        # A recording has no noise, so second fetches would find none.
        return f'kind = "pages"\nkeep = false\nnoise = 0.0\npages = [{pages}]'

    def quality(self, store: Store, now: float) -> float:
        """Return the weighted share of pages unchanged since they were last seen."""
        evidence = store.evidence((self.name,))
        page = [int(key.rpartition("/")[2]) for key in evidence.keys]
        row, seen = np.array(page, dtype=np.intp), evidence.last_at
        is_seen = np.isfinite(seen)
        then = self.recording.states(row, np.where(is_seen, seen, now))
        same = is_seen & (then == self.recording.states(row, now))
        weight = self.recording.weight
        return float(weight[row[same]].sum() / weight.sum())


def site_histories(folder: Path) -> Sequence[RecordedHistory]:
    """Return the sites in a folder with ``pages.parquet`` and ``changes.parquet``."""
    pages = folder / "pages.parquet"
    if not (pages.is_file() and (folder / "changes.parquet").is_file()):
        return ()
    names = read_table(pages, ("site",))["site"].unique().to_pylist()
    # All sites are in the same two files, which are read once.
    load = cache(partial(histories.load, folder))
    return [
        RecordedHistory(source_name(name), partial(_site, load, name))
        for name in sorted(map(str, names))
    ]


def _site(
    load: Callable[..., histories.RecordedSpan], name: str, days: float
) -> RecordedPages:
    recorded = load(days=days)
    group = np.array(recorded.recording.group, dtype=np.object_)
    recording = recorded.recording.take(np.flatnonzero(group == name))
    if not len(recording):
        raise NothingRecorded(
            f"--sources: {name} has no page that was there {days:g} days before its "
            "last recorded change"
        )
    # The dates of recordings are unknown, so all sites end on the same day.
    begin = LAST_DAY - recorded.end
    pages = RecordedPages(source_name(name), recording, (recorded.begin, recorded.end))
    return pages.moved(begin)


def recording_of(history: History) -> Recording:
    """Return observations as a recording, as if they showed every change.

    A change counts from the time it was found, the latest that it can have happened: a
    copy never counts as stale before it is known to be.
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
