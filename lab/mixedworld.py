"""A mixed world on the loopback: a source of each kind, from recorded histories.

``Worlds(folder).draw(seed)`` makes a world; while it is ``opened`` its sources answer
HTTP as their histories were at the present of its clock. ``Stage.play`` lets the real
service keep them for some days under settings of one's choice, and measures what is
true.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.forms import Attribute, Interface
from halflife.engine.service import ServiceRhythm
from halflife.kinds.protocol import Report
from halflife.recordings import histories, textdb
from halflife.recordings.relations import Relation
from halflife.replay.world import serve
from halflife.stores.notes.income import SPENT_UNTIL
from halflife.stores.sqlite import SqliteStore
from halflife.stores.table_store import TableStore
from halflife.summary.weekly import RECENT, Weekly
from lab.mixedparts import Desk, Library, Part, Site, Stock, Table, rounded
from lab.mixedtime import Hands, Passing, passed
from lab.tables import MONTH, Table as Recorded, biggest, tables

BEGAN = 20_000.0  # the time of the store when a world begins
TRAIN, DAYS = 14.0, 10.0
PAGES, SITES = 80, 2
BUSY = (2.0, 40.0)  # changes a page in 180 days, of sites worth watching
# Records that there are when a world begins, at least.
LISTED, ASKED, COUNTED = 200, 300, 120
LIBRARY = 350  # documents that the search has at least
LEARNING = 600  # requests a day while learning; turns are so rare that few are used
SLOWLY = ServiceRhythm(
    shortest=21600.0,
    longest=21600.0,
    catch_up=21600.0,
    slice=21600.0,
    judged=86400.0,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a service is to do.

    Attributes:
        requests: A day.
        mode: ``quality`` or ``targets``.
        only: The sources; all if there is none.
        keys: More keys of sources, by name, such as ``target``.
        audit: The share of each turn of pages that goes to audits.

    """

    requests: float
    mode: str = "quality"
    only: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    audit: float = 0.02


@dataclass(frozen=True)
class Played:
    """What came of some days of service.

    Attributes:
        at: The moments that were looked at, in days since the world began.
        quality: The true quality of each source at these moments.
        requests: Requests by those who were worked at together.
        fullest: The most requests that any seven days took.
        events: What the service said, a line each.
        store: Where the state file lies.

    """

    at: Floats
    quality: Mapping[str, Floats]
    requests: Mapping[str, int]
    fullest: int
    events: Sequence[str]
    store: Path

    @property
    def spent(self) -> int:
        """All requests."""
        return sum(self.requests.values())


@dataclass(frozen=True)
class Stage:
    """A world that is open: its sources answer.

    Attributes:
        parts: Its sources.
        hands: Its clock.
        urls: Where the sources are.
        folder: Where state files go.

    """

    parts: tuple[Part, ...]
    hands: Hands
    urls: Mapping[str, str]
    folder: Path

    def settings(self, wanted: Wanted) -> str:
        """Return the settings of a service, as TOML."""
        lines = [
            "[budget]",
            f"requests = {max(round(7.0 * wanted.requests), 1)}",
            f'per = "week"\nmode = "{wanted.mode}"',
            "[fetch]\ndelay = 0.0",
            f"[audit]\nshare = {wanted.audit}",
        ]
        for part in self.parts:
            if wanted.only and part.name not in wanted.only:
                continue
            head, tables = part.settings(self.urls[part.name])
            lines.append(f'[[source]]\nname = "{part.name}"\nweight = {part.weight}')
            lines += [head, wanted.keys.get(part.name, ""), tables]
        return "\n".join(filter(None, lines)) + "\n"

    def learn(self, days: float = TRAIN) -> Path:
        """Keep all sources on ample means for some days; return the state file."""
        played = self.begin("taught", Wanted(LEARNING), Passing(days, days, SLOWLY))
        _forget_spending(played.store)
        return played.store

    def begin(self, name: str, wanted: Wanted, passing: Passing) -> Played:
        """Let a service that knows nothing keep sources from the world's beginning."""
        self.hands.now = BEGAN
        return self._run(name, wanted, passing)

    def play(
        self,
        name: str,
        wanted: Wanted,
        taught: Path,
        passing: Passing,
        *,
        begin: float = TRAIN,
    ) -> Played:
        """Let a service that was taught keep sources; return what came of it."""
        self.hands.now = BEGAN + begin
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(taught, folder / "halflife.db")
        return self._run(name, wanted, passing)

    def _run(self, name: str, wanted: Wanted, passing: Passing) -> Played:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "halflife.toml"
        path.write_text(self.settings(wanted))
        begin = self.hands.now
        parts = [p for p in self.parts if not wanted.only or p.name in wanted.only]
        truth = Truth(parts, self.hands)
        events = passed(path, self.hands, passing, truth.look, truth.hear)
        store = folder / "halflife.db"
        requests, fullest = _ledger(store, begin)
        at = np.array(truth.at)
        quality = {name: np.array(each) for name, each in truth.quality.items()}
        return Played(at, quality, requests, fullest, events, store)


class Truth:
    """Looks at the copies in a store, and compares them with what is true.

    Args:
        parts: The sources.
        hands: The clock.

    """

    def __init__(self, parts: Sequence[Part], hands: Hands) -> None:
        self._parts, self._hands = parts, hands
        self._copies: dict[str, Any] = {}
        self.at: list[float] = []
        self.quality: dict[str, list[float]] = {part.name: [] for part in parts}

    def hear(self, report: Report) -> None:
        """Forget the copies that have just been worked at."""
        for name in report.group:
            self._copies.pop(name, None)

    def look(self, store: TableStore) -> None:
        """Write down how good each copy is now."""
        now = self._hands.now - BEGAN
        self.at.append(now)
        for part in self._parts:
            if part.name not in self._copies:
                self._copies[part.name] = part.copied(store)
            quality = part.quality(self._copies[part.name], now)
            self.quality[part.name].append(quality)


def _ledger(path: Path, begin: float) -> tuple[dict[str, int], int]:
    """Return what was spent on whom since then, and the most in any seven days."""
    with SqliteStore.open(path) as store, store.reading() as db:
        rows = db.execute(
            "SELECT ledger.at, ledger.requests, run.sources FROM ledger"
            " JOIN run ON run.id = ledger.run WHERE ledger.at >= ?"
            " ORDER BY ledger.at",
            (begin,),
        ).fetchall()
    spent: dict[str, int] = {}
    for _, requests, sources in rows:
        spent[sources] = spent.get(sources, 0) + int(requests)
    at = np.array([row[0] for row in rows], dtype=np.float64)
    sums = np.concatenate([[0], np.cumsum([row[1] for row in rows])])
    since = np.searchsorted(at, at - 7.0, side="right")
    fullest = int(np.max(sums[1:] - sums[since], initial=0))
    return spent, fullest


def _forget_spending(path: Path) -> None:
    """Begin a new ledger: what learning cost is not of the budget that is tried."""
    with SqliteStore.open(path) as store, store.together() as db:
        db.execute("DELETE FROM ledger")
        SPENT_UNTIL.remove(store)


@contextmanager
def opened(parts: Sequence[Part], folder: Path) -> Iterator[Stage]:
    """Serve the sources of a world while the block runs."""
    hands = Hands(BEGAN)

    def moment() -> float:
        return hands.now - BEGAN

    with serve([part.answer for part in parts], moment) as urls:
        names = (part.name for part in parts)
        where = dict(zip(names, urls, strict=True))
        yield Stage(tuple(parts), hands, where, folder)


def chosen(folder: Path) -> tuple[Recorded, Recorded, Recorded]:
    """Return the tables that are listed, that are asked for new and for known records.

    All are recorded about daily and can be chosen from. The one with known records has
    a number that moves nearly every day, the one with new records is renewed within
    months and has texts; the listing is the smallest of the others.
    """
    daily = [t for t in tables(folder) if t.is_daily and t.choice]
    texts = [t for t in daily if t.text]
    counted = biggest([t for t in texts if t.counter], "daily with a counter")
    renewed = [t for t in texts if not t.counter and t.version == MONTH]
    asked = biggest(renewed, "daily with texts that is renewed each month")
    rest = [t for t in daily if t.name not in (counted.name, asked.name)] or [asked]
    return min(rest, key=lambda table: len(table.last)), asked, counted


class Worlds:
    """Worlds from one folder; which sites, times and values is left to chance.

    Args:
        folder: With ``objects`` and ``sites``.
        days: How long a world lasts.

    """

    def __init__(self, folder: Path, days: float = TRAIN + DAYS) -> None:
        self.days = days
        objects = folder / "objects"
        self.recording = histories.load(folder / "sites", days=days + 1.0).recording
        self.weekly = textdb.load(folder / "sites").recent(RECENT)
        self.listed, self.asked, self.counted = chosen(objects)

    def draw(self, seed: int) -> tuple[Part, ...]:
        """Return the sources of a world."""
        rng = np.random.default_rng(seed)
        return (
            *self._sites(rng),
            self._stock(rng),
            self._form(rng),
            self._tuples(rng),
            self._library(rng),
        )

    def _sites(self, rng: Generator) -> list[Site]:
        """Return the pages of some sites, all together of weight 1."""
        recording, found = self.recording, []
        group = np.array(recording.group)
        alive = recording.died > self.days
        names, place = np.unique(group, return_inverse=True)
        pages = np.bincount(place, alive)
        changes = np.bincount(place, np.diff(recording.start) * alive)
        rate = changes / np.maximum(pages, 1) * 180.0 / self.days
        worth = names[(pages >= PAGES) & (rate > BUSY[0]) & (rate < BUSY[1])]
        for i, name in enumerate(rng.choice(worth, SITES, replace=False).tolist()):
            rows = np.flatnonzero((group == name) & alive)
            some = np.sort(rng.permutation(rows)[:PAGES])
            mine = recording.take(some)
            found.append(Site(f"site{i + 1}", mine, BEGAN, weight=1 / SITES))
        return found

    def _stock(self, rng: Generator) -> Stock:
        """Return a listing of the objects that share some values."""
        kept, relation = self.listed, self.listed.relation
        begin = self._begin(relation, rng)
        only = _some(relation, kept.choice, LISTED, begin, rng)
        names = [one.name for one in kept.words[:2]]
        columns = (*dict.fromkeys([kept.choice, *names]), kept.number)
        table = Table(relation, begin, tuple(filter(None, columns)), only)
        return Stock(kept.name, table, per_page=25)

    def _form(self, rng: Generator) -> Desk:
        """Return a form that is asked for the records of one value."""
        kept, relation = self.asked, self.asked.relation
        begin, columns = self._begin(relation, rng), (kept.choice, kept.text)
        only = _some(relation, kept.choice, ASKED, begin, rng)
        table = Table(relation, begin, columns, only)
        names = _values(table, self.days, kept.choice)
        asked = (Attribute(kept.choice, "select", names),)
        return Desk(kept.name, table, Interface(asked, page_size=25))

    def _tuples(self, rng: Generator) -> Desk:
        """Return records with a counter, found by a choice or by words."""
        kept, relation = self.counted, self.counted.relation
        begin, shown = self._begin(relation, rng), {kept.counter: rounded}
        only = _some(relation, kept.choice, COUNTED, begin, rng)
        columns = (kept.choice, kept.text, kept.counter)
        table = Table(relation, begin, columns, only, shown)
        names = _values(table, self.days, kept.choice)
        asked = (
            Attribute(kept.choice, "select", names),
            Attribute(kept.text, "keyword"),
        )
        interface = Interface(asked, page_size=25, together=1, lookup=True)
        return Desk(kept.name, table, interface, "known", f"changed:{kept.counter}")

    def _library(self, rng: Generator) -> Library:
        """Return a search over the recent documents of several sites."""
        weeks = int(np.ceil(self.days / 7.0))
        since, last = self.weekly.since, self.weekly.weeks - weeks
        begin = int(rng.integers(since, last + 1))
        chosen: list[str] = []
        for name in rng.permutation(self.weekly.sites).tolist():
            chosen.append(name)
            one = _together(self.weekly, tuple(chosen))
            sizes = [one.present("all", begin + k).size for k in range(weeks)]
            if min(sizes) >= LIBRARY:
                break
        return Library("library", one, begin, BEGAN)

    def _begin(self, relation: Relation, rng: Generator) -> float:
        """Return a day from which on the history lasts as long as the world."""
        looks = relation.looks
        return float(rng.uniform(looks[0] + 1.0, looks[-1] - self.days - 1.0))


def _together(weekly: Weekly, sites: tuple[str, ...]) -> Weekly:
    """Return some databases as one."""
    some = weekly.select(sites)
    first = np.array([0, some.page.size], dtype=np.intp)
    return replace(
        some, sites=("all",), stratum=("misc",), begin=np.zeros(1), first=first
    )


def _some(
    relation: Relation, column: str, least: int, begin: float, rng: Generator
) -> list[bool]:
    """Return which spells have one of some values of a column, drawn by chance.

    So many values that there are enough records when the world begins.
    """
    value = np.full(len(relation.keys), "", dtype=object)
    value[relation.spell] = [str(v) for v in relation.columns[column]]
    there = value[relation.spell[relation.rows(begin)]]
    names = rng.permutation(sorted(set(value) - {"", "None"}))
    counts = np.cumsum([np.count_nonzero(there == name) for name in names])
    chosen = set(names[: int(np.searchsorted(counts, least)) + 1].tolist())
    return [each in chosen for each in value]


def _values(table: Table, days: float, column: str) -> tuple[str, ...]:
    """Return the values that a column takes while the world lasts."""
    found = {
        str(record[column])
        for at in np.arange(0.0, days + 1.0)
        for record in table.at(float(at)).values()
    }
    return tuple(sorted(found - {"None", ""}))


def total(parts: Sequence[Part], quality: Mapping[str, Floats]) -> Floats:
    """Return the weighted mean over sources, moment by moment."""
    weight = np.array([part.weight for part in parts])
    return np.asarray(
        weight @ np.stack([quality[part.name] for part in parts]) / weight.sum()
    )
