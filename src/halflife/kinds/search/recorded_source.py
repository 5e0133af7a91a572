"""A recorded search box: the hits of a word at a time."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial, reduce
from math import nan
from pathlib import Path
from zlib import crc32

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.errors import UsageError
from halflife.kinds.search.settings import TAU
from halflife.recordings import textdb
from halflife.recordings.pages import Recording, recording_of_changes
from halflife.recordings.parquet import read_table
from halflife.replay.recorded_source import RecordedHistory, source_name
from halflife.replay.world import RecordedAnswer, RecordedRequest, as_json
from halflife.stores import Store, summaries
from halflife.summary.drift import SummaryDrift, drift
from halflife.summary.metrics import METRICS
from halflife.summary.weekly import Weekly

WEEK = 7.0  # days
FULL_TAU = 0.005  # divergence that half of all summaries reach in half of the weeks
LAST_DAY = 20_076.0  # the last day of databases without a known first day
PER_PAGE = 20  # documents on a page of results, as a search engine shows them
CAPPED, MOST_SHOWN = "capped-search", 50  # documents that such a search shows
SEARCH_FAULTS = {CAPPED: "a search shows and counts 50 documents at most"}
SUMMARY = "summary"
MEASURES = (SUMMARY, *(metric for metric in METRICS if metric != "kl"))


def results(
    request: RecordedRequest,
    found: Sequence[str],
    hit: Callable[[str], tuple[str, str]],
    cap: int | None = None,
) -> RecordedAnswer:
    """Return a page of results; ``hit`` returns the key and text of each.

    With a ``cap`` no more results are shown or counted, as in engines that save work.
    """
    if request.url.path != "/search":
        return as_json({"error": "no such page"}, 404)
    query = request.url.query
    skip, count = int(query.get("from", "0")), int(query.get("size", "10"))
    shown = found[:cap]
    page = [hit(key) for key in shown[skip : skip + count]]
    hits = [{"_id": name, "_source": {"body": body}} for name, body in page]
    exact = len(shown) == len(found)
    total = {"value": len(shown), "relation": "eq" if exact else "gte"}
    return as_json({"took": 1, "hits": {"total": total, "hits": hits}})


@dataclass(frozen=True)
class RecordedSearch:
    """A text database as it was week by week, behind a search box.

    Its quality at a time is that of the summary in use, judged by the truth: the
    complete summary of the week in which it was made against that of now. ``summary``
    is 1 as long as their divergence is no more than ``tau``, and 0 from then on, so
    that its mean is the share of time in which the summary was not out of date; ``ur``,
    ``up``, ``wr`` and ``wp`` are recall and precision of its words.

    Attributes:
        name: The name of the source.
        weekly: Recorded databases.
        site: Which of them it is.
        tau: The divergence from which a summary counts as out of date.
        measure: The quality measure.
        began: When its first whole week begins, in days; None: as recorded.
        policy: The rule that its settings name; empty if they name none.
        per_page: Documents on a page of results.
        faults: Its faults, of ``SEARCH_FAULTS``.

    """

    name: str
    weekly: Weekly
    site: str
    tau: float = TAU
    measure: str = SUMMARY
    began: float | None = None
    policy: str = ""
    per_page: int = PER_PAGE
    kind: str = "search"
    faults: frozenset[str] = frozenset()
    _made: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise UsageError(
                f"a summary is judged by {', '.join(MEASURES)}, not {self.measure!r}"
            )

    @property
    def span(self) -> tuple[float, float]:
        """The beginning of the first whole week, and the end of the last."""
        weekly = self.weekly
        begin = float(weekly.begin[weekly.place(self.site)]) + WEEK * weekly.since
        begin = begin if self.began is None else self.began
        return begin, begin + WEEK * (weekly.weeks - weekly.since)

    @cached_property
    def drift(self) -> SummaryDrift:
        """The complete summaries of all weeks, compared."""
        return drift(self.weekly, self.site)

    def week(self, now: float) -> int:
        """Return the recorded week of a time, from 0 for the first whole one."""
        passed = int((now - self.span[0]) // WEEK)
        return min(max(passed, 0), self.weekly.weeks - self.weekly.since - 1)

    def items(self, now: float) -> int:
        """Return how many documents there were at a time."""
        at = self.week(now) + self.weekly.since
        return int(self.weekly.present(self.site, at).size)

    def moved(self, days: float) -> "RecordedSearch":
        """Return the same database, shifted ``days`` later."""
        return replace(self, began=self.span[0] + days, _made={})

    def answer(self, request: RecordedRequest, now: float) -> RecordedAnswer:
        """Return the answer of the search box at a time."""
        query = request.url.query.get("q", "").lower()
        cap = MOST_SHOWN if CAPPED in self.faults else None
        return results(request, self._find(query, self.week(now)), self._hit, cap)

    def with_faults(self, faults: Collection[str]) -> "RecordedSearch":
        """Return the search with faults; see ``SEARCH_FAULTS``."""
        return replace(self, faults=frozenset(faults) & SEARCH_FAULTS.keys(), _made={})

    def _find(self, query: str, week: int) -> list[str]:
        """Return the documents with all words, in an order of the query."""
        none = np.zeros(0, dtype=np.intp)
        holders = [self._rows.get(word, none) for word in query.split()]
        if not holders:
            return []
        rows = reduce(np.intersect1d, holders)
        weekly, at = self.weekly, week + self.weekly.since
        present = (weekly.week_from[rows] <= at) & (at <= weekly.week_to[rows])
        pages = {str(row): str(weekly.page[row]) for row in rows[present].tolist()}
        return sorted(pages, key=lambda row: crc32(f"{query} {pages[row]}".encode()))

    def _hit(self, row: str) -> tuple[str, str]:
        (terms,) = self.weekly.terms(np.array([int(row)]))
        return str(self.weekly.page[int(row)]), " ".join(self.weekly.words[terms])

    @cached_property
    def _rows(self) -> dict[str, Ints]:
        """The documents of all weeks by word."""
        weekly, place = self.weekly, self.weekly.place(self.site)
        low, high = int(weekly.first[place]), int(weekly.first[place + 1])
        terms = weekly.term[weekly.start[low] : weekly.start[high]]
        row = np.repeat(np.arange(low, high), np.diff(weekly.start[low : high + 1]))
        order = np.argsort(terms, kind="stable")
        distinct, start = np.unique(terms[order], return_index=True)
        words = [str(word).lower() for word in weekly.words[distinct]]
        return dict(zip(words, np.split(row[order], start[1:]), strict=True))

    def truth(self) -> Recording:
        """Return when its documents came, changed and went: at the ends of weeks."""
        weekly, place = self.weekly, self.weekly.place(self.site)
        rows = np.arange(int(weekly.first[place]), int(weekly.first[place + 1]))
        number: dict[str, int] = {}
        pages = weekly.page[rows].tolist()
        item = np.array([number.setdefault(page, len(number)) for page in pages])
        begin = self.span[0] + WEEK * (weekly.week_from[rows] - weekly.since)
        end = self.span[0] + WEEK * (weekly.week_to[rows] + 1.0 - weekly.since)
        born, died = np.full(len(number), np.inf), np.full(len(number), -np.inf)
        np.minimum.at(born, item, begin)
        np.maximum.at(died, item, end)
        died[died >= self.span[1]] = np.inf
        later = begin > born[item]
        born[born <= self.span[0]] = -np.inf
        lives = born, died
        return recording_of_changes(tuple(number), item[later], begin[later], lives)

    def settings(self, origin: str) -> str:
        """Return the settings to query it."""
        address = f"{origin}/search?q={{query}}&from={{offset}}&size={{count}}"
        lines = [
            f'kind = "search"\nsearch_url = "{address}"\nengine = "elasticsearch"',
            f"per_page = {self.per_page}\ntau = {self.tau}",
        ]
        lines += [f'policy = "{self.policy}"'] if self.policy else []
        return "\n".join(lines)

    def quality(self, store: Store, now: float) -> float:
        """Return the quality of the summary in use; 0 if there is none."""
        made = self._made_in(store)
        if made is None:
            return 0.0
        if self.measure == SUMMARY:
            return float(self.divergence(store, now) <= self.tau)
        change = self.drift.change.of(self.measure)
        return float(np.nan_to_num(change[made, self.week(now)]))

    def divergence(self, store: Store, now: float) -> float:
        """Return the divergence of the truth since the summary in use was made."""
        made = self._made_in(store)
        return (
            nan if made is None else float(self.drift.change.kl[made, self.week(now)])
        )

    def _made_in(self, store: Store) -> int | None:
        """Return the week in which the summary in use was made."""
        version = summaries.current_version(store, self.name)
        if version and version not in self._made:
            kept = summaries.read(store, self.name, version)
            self._made.clear()
            self._made[version] = 0 if kept is None else self.week(kept.at)
        return self._made.get(version)


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


def _database(load: Callable[[], Weekly], site: str, _: float) -> RecordedSearch:
    weekly = load().select((site,))
    first = float(weekly.begin[0]) or LAST_DAY - WEEK * weekly.weeks
    began = first + WEEK * weekly.since
    return RecordedSearch(source_name(site), weekly, site, FULL_TAU, began=began)
