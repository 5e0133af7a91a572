"""What is true of the items of a recorded source, whatever its kind, as a recording."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.kinds.search.recorded import WEEK, RecordedSearch
from halflife.recordings import histories
from halflife.recordings.pages import Recording
from halflife.recordings.relations import Relation
from halflife.replay.recorded_source import source_name


def of_relation(relation: Relation) -> Recording:
    """Return the objects of a table; one that comes back is another item."""
    looks = np.append(relation.looks, np.inf)
    died = looks[np.searchsorted(relation.looks, relation.last_seen, side="right")]
    born = np.where(
        relation.first_seen <= relation.looks[0], -np.inf, relation.first_seen
    )
    later = relation.since > relation.first_seen[relation.spell]
    lives = born, died
    return _recording(
        relation.keys, relation.spell[later], relation.since[later], lives
    )


def of_search(source: RecordedSearch) -> Recording:
    """Return the documents of a text database; they change at the ends of weeks."""
    weekly, place = source.weekly, source.weekly.place(source.site)
    rows = np.arange(int(weekly.first[place]), int(weekly.first[place + 1]))
    number: dict[str, int] = {}
    pages = weekly.page[rows].tolist()
    item = np.array([number.setdefault(page, len(number)) for page in pages])
    begin = source.span[0] + WEEK * (weekly.week_from[rows] - weekly.since)
    end = source.span[0] + WEEK * (weekly.week_to[rows] + 1.0 - weekly.since)
    born, died = np.full(len(number), np.inf), np.full(len(number), -np.inf)
    np.minimum.at(born, item, begin)
    np.maximum.at(died, item, end)
    died[died >= source.span[1]] = np.inf
    later = begin > born[item]
    born[born <= source.span[0]] = -np.inf
    return _recording(tuple(number), item[later], begin[later], (born, died))


def _recording(
    keys: tuple[str, ...], item: Ints, at: Floats, lives: tuple[Floats, Floats]
) -> Recording:
    order = np.lexsort((at, item))
    start = np.zeros(len(keys) + 1, dtype=np.intp)
    np.cumsum(np.bincount(item, minlength=len(keys)), out=start[1:])
    return Recording(keys, start, at[order], np.ones(len(keys)), *lives)


def site_recordings(folder: Path, days: float) -> Iterator[tuple[str, Recording]]:
    """Yield the sites recorded in a folder, or below it, with pages that came later.

    Times are days before and after the last moment of each site.
    """
    for path in sorted(folder.glob("**/pages.parquet")):
        if not (path.parent / "changes.parquet").is_file():
            continue
        told = histories.load(path.parent, days=days, later=True)
        group = np.array(told.recording.group, dtype=object)
        for site in np.unique(group).tolist():
            rows = np.flatnonzero(group == site)
            yield source_name(site), told.recording.take(rows).moved(-told.end)
