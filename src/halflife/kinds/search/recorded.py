"""A recorded search box: what a word found at a moment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from zlib import crc32

import numpy as np

from halflife.core.arrays import Ints
from halflife.recordings import textdb
from halflife.recordings.parquet import read_table
from halflife.replay.recorded_source import RecordedHistory, source_name
from halflife.replay.world import Asked, Recorded, Told, as_json
from halflife.stores import Store, summaries
from halflife.summary.metrics import weighted_recall
from halflife.summary.weekly import Weekly

WEEK = 7.0  # days
LAST_DAY = 20_076.0  # on which databases end of which nobody knows when they began


def search_box(
    find: Callable[[str, float], Sequence[str]], text: Callable[[str], str]
) -> Recorded:
    """Return a search at ``/search``; ``find`` names what a word finds, in order."""

    def answer(asked: Asked, now: float) -> Told:
        if asked.url.path != "/search":
            return as_json({"error": "no such page"}, 404)
        query = asked.url.query
        found = find(query.get("q", "").lower(), now)
        skip, count = int(query.get("from", "0")), int(query.get("size", "10"))
        hits = [
            {"_id": name, "_source": {"body": text(name)}}
            for name in found[skip : skip + count]
        ]
        total = {"value": len(found), "relation": "eq"}
        return as_json({"took": 1, "hits": {"total": total, "hits": hits}})

    return answer


@dataclass(frozen=True)
class RecordedSearch:
    """A text database that only answers queries, recorded week by week.

    Attributes:
        name: The name of the source.
        weekly: Its documents, and the weeks in which they were there.
        began: When week 0 began, in days.

    """

    name: str
    weekly: Weekly
    began: float
    kind: str = "search"
    measure: str = "recall of words"
    _scored: dict[tuple[int, int], float] = field(default_factory=dict)

    @property
    def span(self) -> tuple[float, float]:
        """The first week and the end of the last."""
        first = self.began + WEEK * self.weekly.since
        return first, self.began + WEEK * self.weekly.weeks

    def week(self, now: float) -> int:
        """Return the week of a moment."""
        last = self.weekly.weeks - 1
        return int(np.clip((now - self.began) // WEEK, self.weekly.since, last))

    def items(self, now: float) -> int:
        """Return how many documents there were."""
        return int(self._there(self.week(now)).size)

    def moved(self, days: float) -> "RecordedSearch":
        """Return the same database, with everything so many days later."""
        return replace(self, began=self.began + days, _scored={})

    def answer(self, asked: Asked, now: float) -> Told:
        """Return a page of what a query found at a moment."""
        return search_box(self._find, self._text)(asked, now)

    def settings(self, origin: str) -> str:
        """Return how it is searched."""
        asked = f"{origin}/search?q={{query}}&from={{offset}}&size={{count}}"
        return (
            f'kind = "search"\nsearch_url = "{asked}"\n'
            'engine = "elasticsearch"\nper_page = 20'
        )

    def quality(self, store: Store, now: float) -> float:
        """Return the share of the words' true counts on words that the summary has."""
        used = summaries.VERSIONS.load(store, self.name)
        if used is None or not used.current:
            return 0.0
        at = used.current, self.week(now)
        if at not in self._scored:
            kept = summaries.current(store, self.name)
            true = self.weekly.summary(self.weekly.sites[0], at[1])
            held = {} if kept is None else kept.summary.counts()
            self._scored[at] = weighted_recall(held, true.counts()) if held else 0.0
        return self._scored[at]

    @cached_property
    def _holders(self) -> dict[str, Ints]:
        """The documents with each word, in the order in which they are found."""
        weekly = self.weekly
        rows = np.repeat(np.arange(weekly.page.size), np.diff(weekly.start))
        place = np.array([crc32(str(p).encode()) for p in weekly.page.tolist()])
        order = np.lexsort((rows, place[rows], weekly.term))
        rows, term = rows[order], weekly.term[order]
        edges = np.flatnonzero(np.diff(term, prepend=-1, append=-1))
        words = weekly.words[term[edges[:-1]]].tolist()
        return dict(zip(words, np.split(rows, edges[1:-1]), strict=True))

    def _there(self, week: int) -> Ints:
        return self.weekly.present(self.weekly.sites[0], week)

    def _find(self, query: str, now: float) -> list[str]:
        week = self.week(now)
        found: Ints | None = None
        for word in query.split():
            rows = self._holders.get(word, np.zeros(0, dtype=np.intp))
            found = rows if found is None else found[np.isin(found, rows)]
        if found is None:
            return []
        weekly = self.weekly
        there = (weekly.week_from[found] <= week) & (week <= weekly.week_to[found])
        return [f"{weekly.page[i]}#{i}" for i in found[there].tolist()]

    def _text(self, name: str) -> str:
        (terms,) = self.weekly.terms(np.array([int(name.rpartition("#")[2])]))
        return " ".join(self.weekly.words[terms].tolist())


def text_histories(folder: Path) -> Sequence[RecordedHistory]:
    """Return the text databases of a folder with ``docs_weekly.parquet``."""
    sites, docs = folder / "sites.parquet", folder / "docs_weekly.parquet"
    if not (docs.is_file() and sites.is_file()):
        return ()
    names = read_table(sites, ("site",))["site"].unique().to_pylist()
    # All databases are in the same files: they are read once.
    load = cache(partial(textdb.load, folder))
    return [
        RecordedHistory(source_name(name), partial(_database, load, name))
        for name in sorted(map(str, names))
    ]


def _database(load: Callable[[], Weekly], name: str, _: float) -> RecordedSearch:
    weekly = load().select((name,))
    began = float(weekly.begin[0]) or LAST_DAY - WEEK * weekly.weeks
    return RecordedSearch(source_name(name), weekly, began)
