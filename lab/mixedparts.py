"""The sources of a mixed world: what each serves, and how good a copy of it is.

Every part knows what its history says of a moment. It serves that over HTTP, says with
which settings it is kept, and compares what a store holds with what is true: nothing of
the service's own beliefs goes into that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, floor, log10
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.forms import Form, Interface
from halflife.core.object_store import NEVER, Attributes
from halflife.core.search import Document, SearchAnswer
from halflife.kinds.form.recorded_pages import snippet
from halflife.kinds.form.recorded_source import form
from halflife.kinds.listing.recorded_source import listing
from halflife.kinds.pages.recorded_source import site
from halflife.kinds.search.client import words_of
from halflife.kinds.search.dictionary import COMMON
from halflife.kinds.search.kind import SUMMARY
from halflife.kinds.search.runner import RESERVE
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.sample_resample import WORDS
from halflife.probing.size import estimate_size
from halflife.queries.table_form import TableForm
from halflife.recordings.pages import Recording
from halflife.recordings.relations import Relation
from halflife.replay.world import RecordedAnswer, RecordedRequest
from halflife.stores import Store, summaries
from halflife.summary.drift import drift
from halflife.summary.weekly import Weekly
from lab.search_box import search_box

TAU = 0.05  # the divergence from which a summary has changed
DIGITS = 3  # of a count, as people are shown it
_HOME = 'allow = ["127.0.0.0/8"]\nrobots = false\n'


class Part(Protocol):
    """One source of a world; times are days since the world began."""

    @property
    def name(self) -> str:
        """Of the source."""
        ...

    @property
    def weight(self) -> float:
        """How much a point of its quality matters."""
        ...

    @property
    def measure(self) -> str:
        """What its quality is called."""
        ...

    @property
    def whole(self) -> float:
        """Requests that a look at all of it takes, about."""
        ...

    def answer(self, asked: RecordedRequest, at: float) -> RecordedAnswer:
        """Return what it answers to a request at a moment."""
        ...

    def settings(self, url: str) -> tuple[str, str]:
        """Return how it is kept: the head of its table, and the tables within it."""
        ...

    def copied(self, store: Store) -> Any:  # noqa: ANN401  (each has its own)
        """Return what a store holds of it."""
        ...

    def quality(self, copy: Any, at: float) -> float:  # noqa: ANN401  (the same)
        """Return how good such a copy is at a moment."""
        ...


@dataclass(frozen=True)
class Site:
    """Pages that change when the recording says so.

    Attributes:
        name: Of the source.
        recording: The history; its time begins with the world.
        weight: How much a point of its quality matters.
        began: The time of the store when the world begins.

    """

    name: str
    recording: Recording
    began: float
    weight: float = 1.0
    measure: str = "freshness"

    @property
    def whole(self) -> float:
        """One request a page."""
        return float(len(self.recording))

    def answer(self, asked: RecordedRequest, at: float) -> RecordedAnswer:
        """Return a page of the site."""

        def text(page: str, now: float) -> str | None:
            if not page.isdigit() or int(page) >= len(self.recording):
                return None
            version = self.recording.states(np.array([int(page)]), now)[0]
            return f"page {page} as it was changed for the {version}th time"

        return site(text)(asked, at)

    def settings(self, url: str) -> tuple[str, str]:
        """Return all pages by their addresses."""
        pages = ", ".join(f'"{url}/{i}"' for i in range(len(self.recording)))
        return f"keep = false\n{_HOME}pages = [{pages}]", ""

    def copied(self, store: Store) -> tuple[Ints, Floats]:
        """Return which pages there are, and when each was last seen."""
        evidence = store.evidence((self.name,))
        page = [int(key.rpartition("/")[2]) for key in evidence.keys]
        return np.array(page, dtype=np.intp), evidence.last_at - self.began

    def quality(self, copy: tuple[Ints, Floats], at: float) -> float:
        """Return the share of pages that are as they were when they were seen."""
        page, seen = copy
        then = self.recording.states(page, np.maximum(seen, -1.0))
        same = (then == self.recording.states(page, at)) & np.isfinite(seen)
        return float(same.sum()) / len(self.recording)


@dataclass(frozen=True)
class Table:
    """A recorded table, or some of it, as it was at a moment.

    Attributes:
        relation: The history.
        begin: The day of the history at which the world begins.
        columns: The columns that are shown.
        only: Which spells are in it; all if None.
        shown: How a value is shown.

    """

    relation: Relation
    begin: float
    columns: tuple[str, ...]
    only: Sequence[bool] | None = None
    shown: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    _known: dict[float, dict[str, Attributes]] = field(default_factory=dict)

    def at(self, at: float) -> dict[str, Attributes]:
        """Return what was there, by key."""
        look = self.relation.last_observation(self.begin + at)
        if look not in self._known:
            self._known[look] = self._read(look)
        return self._known[look]

    def look(self, at: float) -> float:
        """Return the last look until then: the same look shows the same."""
        return self.relation.last_observation(self.begin + at)

    def _read(self, look: float) -> dict[str, Attributes]:
        rows = self.relation.rows(look)
        if self.only is not None:
            rows = rows[np.asarray(self.only)[self.relation.spell[rows]]]
        names = [self.relation.keys[i] for i in self.relation.spell[rows].tolist()]
        columns = [
            [self.shown.get(c, _same)(v) for v in self.relation.columns[c][rows]]
            for c in self.columns
        ]
        values = zip(*columns, strict=True)
        return {
            name: dict(zip(self.columns, row, strict=True))
            for name, row in zip(names, values, strict=True)
        }


def _same(value: object) -> object:
    return value


def rounded(value: float) -> int:
    """Return a count as people are shown it: 12.3k is 12300.

    >>> [rounded(n) for n in (7, 12345, 987654)]
    [7, 12300, 988000]
    """
    whole = int(value)
    if whole < 10**DIGITS:
        return whole
    return int(round(whole, DIGITS - 1 - floor(log10(whole))))


def _present(store: Store, name: str) -> frozenset[str]:
    """Return the objects that a store takes to be there."""
    if name not in store.collections():
        return frozenset()
    spells = store.register(name).spells
    return frozenset(spell.key for spell in spells if spell.gone_by == NEVER)


@dataclass(frozen=True)
class Stock:
    """A listing whose objects come and go; its quality is recall."""

    name: str
    table: Table
    per_page: int
    weight: float = 1.0
    measure: str = "recall"

    @property
    def whole(self) -> float:
        """The pages of the listing."""
        return float(ceil(len(self.table.at(0.0)) / self.per_page))

    def answer(self, asked: RecordedRequest, at: float) -> RecordedAnswer:
        """Return a page of the listing."""
        return listing(self.table.at, self.per_page)(asked, at)

    def settings(self, url: str) -> tuple[str, str]:
        """Return where its objects are."""
        told = f'kind = "listing"\n{_HOME}url = "{url}/objects"\nformat = "json"\n'
        return told + 'records = "objects"\nkey = "_key"\nnext = "next"', ""

    def copied(self, store: Store) -> frozenset[str]:
        """Return the objects that are held."""
        return _present(store, self.name)

    def quality(self, copy: frozenset[str], at: float) -> float:
        """Return the share of what is there that is held."""
        there = self.table.at(at)
        return len(copy & there.keys()) / max(len(there), 1)


@dataclass(frozen=True)
class Desk:
    """A table behind a form: for new records (recall) or known ones (content)."""

    name: str
    table: Table
    interface: Interface
    purpose: str = "new"
    differs_by: str = ""
    weight: float = 1.0
    _forms: dict[float, Form] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """What is asked for."""
        return "recall" if self.purpose == "new" else "content"

    @property
    def whole(self) -> float:
        """The pages that all records fill."""
        return float(ceil(len(self.table.at(0.0)) / self.interface.page_size))

    def answer(self, asked: RecordedRequest, at: float) -> RecordedAnswer:
        """Return what the form answers, as a program asks it."""
        return form(self._form)(asked, at)

    def _form(self, at: float) -> Form:
        look = self.table.look(at)
        if look not in self._forms:
            there, rng = self.table.at(at), np.random.default_rng(0)
            places = {key: float(crc32(key.encode())) for key in there}
            form = TableForm(self.interface, there, rng=rng, places=places)
            self._forms[look] = form
        return self._forms[look]

    def settings(self, url: str) -> tuple[str, str]:
        """Return how it is asked."""
        told = snippet(url, self.interface, name=self.name)
        head, _, attributes = told.partition("[source.attributes]\n")
        wanted = f'purpose = "{self.purpose}"\nrobots = false\n'
        if self.differs_by:
            wanted += f'differs_by = "{self.differs_by}"\n'
        lines = head.splitlines()[2:]  # the first two say which source this is
        return wanted + "\n".join(lines), f"[source.attributes]\n{attributes}"

    def copied(self, store: Store) -> dict[str, Attributes]:
        """Return the records that are held, as they were last seen."""
        if self.name not in store.collections():
            return {}
        register = store.register(self.name)
        found = {s.key: s.attributes for s in register.spells if s.gone_by == NEVER}
        for version in register.versions:
            if version.key in found and version.attributes is not None:
                found[version.key] = version.attributes
        return found

    def quality(self, copy: Mapping[str, Attributes], at: float) -> float:
        """Return the share of records held, or of known ones that are true.

        A record that is gone is neither missing nor known any more.
        """
        there = self.table.at(at)
        if self.purpose == "new":
            return len(copy.keys() & there.keys()) / max(len(there), 1)
        known = copy.keys() & there.keys()
        column = self.differs_by.rpartition(":")[2]
        true = (copy[key].get(column) == there[key][column] for key in known)
        return sum(true) / max(len(known), 1)


@dataclass(frozen=True)
class Library:
    """A search over documents of the last weeks, whose summary is kept.

    Attributes:
        name: Of the source.
        weekly: The documents, as one database.
        begin: The week in which the world begins.
        began: The time of the store when the world begins.

    """

    name: str
    weekly: Weekly
    begin: int
    began: float
    weight: float = 1.0
    per_page: int = 20
    measure: str = "summary"
    _index: dict[int, dict[str, Ints]] = field(default_factory=dict)

    @property
    def _site(self) -> str:
        return self.weekly.sites[0]

    @cached_property
    def whole(self) -> float:
        """The requests of a summary as the service makes it, counted on the first week.

        300 documents, as far as three quarters of a first summary's requests find
        them, and 50 words for the size.
        """
        rng, most = np.random.default_rng(0), SUMMARY - SUMMARY // RESERVE
        sample = query_based_sample(
            self, COMMON, rng, shown=self.per_page, requests=most
        )
        size = estimate_size(self, sample, rng, words=WORDS, most=self.per_page)
        return float(sample.requests + size.requests)

    def search(self, query: str, most: int, skip: int = 0) -> SearchAnswer:
        """Return what a word finds in the first week, a page of it."""
        found = self.find(query, 0.0)
        texts = [(name, self.text(name)) for name in found[skip : skip + most]]
        shown = tuple(Document(name, words_of(text)) for name, text in texts)
        return SearchAnswer(len(found), shown)

    def week(self, at: float) -> int:
        """Return the week of the recording that a moment lies in."""
        return min(self.begin + int(at // 7.0), self.weekly.weeks - 1)

    @cached_property
    def apart(self) -> Floats:
        """The divergence of each week's summary from those before (made x week)."""
        found: Floats = drift(self.weekly, self._site).change.kl
        return found

    def answer(self, asked: RecordedRequest, at: float) -> RecordedAnswer:
        """Return what the search finds."""
        return search_box(self.find, self.text)(asked, at)

    def find(self, word: str, at: float) -> list[str]:
        """Return what a word finds, in an order of its own for each word."""
        week = self.week(at)
        if week not in self._index:
            self._index[week] = self._indexed(week)
        rows = self._index[week].get(word, np.zeros(0, np.intp))
        mixed = np.random.default_rng(crc32(word.encode())).permutation(rows)
        return [str(row) for row in mixed.tolist()]

    def text(self, name: str) -> str:
        """Return the words of a document."""
        (terms,) = self.weekly.terms(np.array([int(name)]))
        return " ".join(self.weekly.words[terms].tolist())

    def _indexed(self, week: int) -> dict[str, Ints]:
        rows = self.weekly.present(self._site, week)
        terms = [t.astype(np.intp) for t in self.weekly.terms(rows)]
        document = np.repeat(rows, [t.size for t in terms])
        term = np.concatenate([*terms, np.zeros(0, np.intp)])
        order = np.argsort(term, kind="stable")
        known, first = np.unique(term[order], return_index=True)
        groups = np.split(document[order], first[1:])
        words = self.weekly.words[known].tolist()
        return dict(zip(words, groups, strict=True))

    def settings(self, url: str) -> tuple[str, str]:
        """Return how it is searched."""
        asked = f"{url}/search?q={{query}}&from={{offset}}&size={{count}}"
        told = f'kind = "search"\n{_HOME}search_url = "{asked}"\n'
        return told + f'engine = "elasticsearch"\nper_page = {self.per_page}', ""

    def copied(self, store: Store) -> float:
        """Return when the summary in use was made."""
        kept = summaries.current(store, self.name)
        return -np.inf if kept is None else kept.at - self.began

    def quality(self, copy: float, at: float) -> float:
        """Return 1 if the database is still what it was when it was summarised."""
        if not np.isfinite(copy):
            return 0.0
        made, now = (self.week(t) - self.weekly.since for t in (max(copy, 0.0), at))
        return float(made == now or self.apart[made, now] <= TAU)
