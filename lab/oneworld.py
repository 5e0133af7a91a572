"""A mixed world from recorded histories: sources of every kind on one grid of days.

Every source is made of units that are renewed whole: a page, a listing, what a form
answers for one company, a page of search results with known tuples, the summary of a
database. ``kept[u, s, t]`` says how many of the things that unit ``u`` showed on day
``s`` are still true on day ``t``; the quality of a copy on day t is the sum of these
over the number of things that are there on day t. All of it is recorded truth. How
many requests a unit takes is modelled: records a page are ``PER_PAGE``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from halflife.bench.textcounts import RecordedCounts
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.recordings import histories, textdb
from halflife.recordings.objects import load_parquet
from halflife.recordings.pages import Recording
from halflife.summary.drift import drift
from halflife.summary.weekly import Weekly
from lab.tables import Table, tables

DAYS, TRAIN = 180, 60
PER_PAGE = {"listing": 100, "small listing": 50, "form": 50, "tuples": 100}
LARGE = 1000  # records of a listing that shows more on a page
GONE = 0.001  # of the records go in a day, or there is nothing to keep up with
PAGES, SITES = 400, 3
TEXTS, SUMMARY = 4, 40  # databases, and requests for a summary
TAU = 0.05  # the divergence from which a summary of recent items has changed
CLOSE = 0.005  # a count is true if it is off by no more than this share
BUSY = (0.5, 20.0)  # changes a page in the whole time, of sites worth watching
Counts = NDArray[np.uint16]


@dataclass(frozen=True)
class Part:
    """One source of the world.

    Attributes:
        name: Of the source.
        measure: What its quality is.
        weight: How much a point of it matters.
        cost: Requests that each unit takes.
        kept: Things still true (units x day made x day).
        flows: Whether things come and go, so that what is new can be counted.
        every: Days between the looks from which all rules learn at first.
        far: How far a summary is from a later one, in units of the divergence from
            which it has changed (day made x day); empty if this is no summary.
        keys: The names of pages; empty if these are none.
        counts: The match counts that a database tells, if this is its summary.
        weeks: Which of its weeks each day is in.

    """

    name: str
    measure: str
    weight: float
    cost: Floats
    kept: Counts
    flows: bool
    every: int
    far: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    keys: tuple[str, ...] = ()
    counts: RecordedCounts | None = None
    weeks: Ints = field(default_factory=lambda: np.zeros(0, np.intp))

    def __len__(self) -> int:
        return self.cost.size

    def quality(self, made: Ints, day: int) -> float:
        """Return the quality on a day of copies made on other days."""
        kept = self.kept[np.arange(len(self)), made, day]
        return float(kept.sum(dtype=np.float64) / self.total_on(day))

    def total_on(self, day: int) -> float:
        """Return how many things there are on a day, at least 1."""
        return max(float(self.kept[:, day, day].sum(dtype=np.float64)), 1.0)


class Worlds:
    """Worlds from one folder; which sites and databases are in one is left to chance.

    Args:
        folder: With ``objects`` and ``sites``.
        quick: Whether sites are cut to a quarter.
        pages: Pages of a site, at most.

    """

    def __init__(
        self, folder: Path, *, quick: bool = False, pages: int = PAGES
    ) -> None:
        objects = folder / "objects"
        self.pages = pages // 4 if quick else pages
        self.recording = histories.load(folder / "sites", days=float(DAYS)).recording
        self.weekly = textdb.load(folder / "sites").recent()
        self.fixed = table_parts(objects)

    def draw(self, rng: Generator) -> list[Part]:
        """Return a world."""
        sites = _sites(self.recording, rng, self.pages)
        return [*sites, *self.fixed, *_texts(self.weekly, rng)]

    def every(self, rng: Generator, step: int = 1, *, first: int = 0) -> Iterator[Part]:
        """Yield the sources of the folder, each of weight 1; every ``step``-th."""
        some = slice(first, None, step)
        for name in site_names(self.recording)[some].tolist():
            yield site_part(self.recording, name, rng, self.pages, 1.0)
        yield from self.fixed[some]
        for site in self.weekly.sites[some]:
            part = text_part(self.weekly, site, 1.0)
            if part is not None:
                yield part


def table_parts(objects: Path) -> list[Part]:
    """Return the recorded tables, each as the kind of source that it suits.

    Tuples with a number that moves daily are known, and read off pages of results. Of
    the other tables, as far as records come and go, the largest is behind a form and
    the rest are listings.
    """
    found = [t for t in tables(objects) if t.is_daily and t.length >= DAYS]
    known = [t for t in found if t.counter and t.choice]
    flowing = [t for t in found if t not in known and t.gone >= GONE]
    largest = max(flowing, key=lambda t: len(t.relation.keys), default=None)
    forms = [largest] if largest and largest.choice and len(flowing) > 1 else []
    return [
        *(_listing(table) for table in flowing if table not in forms),
        *(_form(objects, table.name, table.choice) for table in forms),
        *(_tuples(table) for table in known),
    ]


def _sites(recording: Recording, rng: Generator, most: int) -> list[Part]:
    """Return the pages of some sites, each a source, all together of weight 1."""
    worth = site_names(recording)
    some = min(SITES, worth.size)
    names = sorted(rng.choice(worth, some, replace=False).tolist())
    return [site_part(recording, name, rng, most, 1 / some) for name in names]


def site_names(recording: Recording) -> NDArray[np.str_]:
    """Return the sites that are worth watching, and large enough."""
    alive = recording.died > DAYS
    names, place = np.unique(np.array(recording.group), return_inverse=True)
    pages = np.bincount(place, alive)
    changed = np.bincount(place, np.diff(recording.start) * alive)
    rate = changed / np.maximum(pages, 1)
    return names[(pages >= 100) & (rate > BUSY[0]) & (rate < BUSY[1])]


def site_part(
    recording: Recording, name: str, rng: Generator, most: int, weight: float
) -> Part:
    """Return so many pages of a site, drawn at random."""
    mine = np.array(recording.group) == name
    rows = np.flatnonzero(mine & (recording.died > DAYS))
    rows = np.sort(rng.permutation(rows)[:most])
    drawn = recording.take(rows)
    item = np.repeat(np.arange(rows.size), np.diff(drawn.start))
    day = np.clip(np.ceil(drawn.at), 0, DAYS).astype(np.intp)
    count = np.zeros((rows.size, DAYS + 1), dtype=np.intp)
    np.add.at(count, (item, day), 1)
    version = np.cumsum(count, axis=1)
    kept = (version[:, :, None] == version[:, None, :]).astype(np.uint16)
    cost = np.ones(rows.size)
    return Part(
        f"pages of {name}", "freshness", weight, cost, kept, flows=False, every=6,
        keys=tuple(f"https://{key}" for key in drawn.keys),
    )  # fmt: skip


def _days(collection: Collection) -> Floats:
    """Return the look that tells each of the last days: the last one until then."""
    looks = collection.looks
    days = looks[-1] - DAYS + np.arange(DAYS + 1)
    at = np.searchsorted(looks, days, side="right") - 1
    return np.asarray(looks[np.maximum(at, 0)])


def _present(collection: Collection) -> Bools:
    """Return which objects were there on each day (objects x days)."""
    lives, days = collection.lives, _days(collection)
    order = np.argsort(lives.object, kind="stable")
    first, last = lives.first_seen[order, None], lives.last_seen[order, None]
    begin = np.flatnonzero(np.diff(lives.object[order], prepend=-1))
    return np.logical_or.reduceat((first <= days) & (days <= last), begin, axis=0)


def _shared(present: Bools) -> Counts:
    there = present.astype(np.float32)
    return np.asarray((there.T @ there).astype(np.uint16))


def _pages(size: Floats, per_page: int) -> Floats:
    return np.maximum(np.ceil(size / per_page), 1.0)


def _listing(table: Table) -> Part:
    name, large = table.name, len(table.last) >= LARGE
    per_page = PER_PAGE["listing" if large else "small listing"]
    kept = _shared(_present(load_parquet(table.folder, name)))[None]
    cost = _pages(kept[:, TRAIN, TRAIN].astype(np.float64), per_page)
    return Part(name, "recall", 1.0, cost, kept, flows=True, every=3)


def _form(objects: Path, name: str, by: str) -> Part:
    """Return what a form shows that is asked for the values of one attribute."""
    collection = load_parquet(objects / name, name)
    present = _present(collection)
    number, first = np.unique(collection.lives.object, return_index=True)
    value = np.empty(number.size, dtype=object)
    value[number] = collection.lives.attributes[by][first].astype(str)
    kept = np.stack([_shared(present[value == v]) for v in sorted(set(value))])
    cost = _pages(kept[:, TRAIN, TRAIN].astype(np.float64), PER_PAGE["form"])
    title = f"{name} by form"
    return Part(title, "recall", 1.0, cost, kept, flows=True, every=3)


def _tuples(table: Table) -> Part:
    """Return known tuples whose counts are read off pages of results, by group."""
    relation = table.relation
    number: dict[str, int] = {}
    row = np.array([number.setdefault(k, len(number)) for k in relation.keys])
    counts = np.full((len(number), DAYS + 1), np.nan)
    group = np.full(len(number), "", dtype=object)
    for day in range(DAYS + 1):
        at = max(relation.looks[-1] - DAYS + day, relation.looks[0])
        rows = relation.rows(float(at))
        mine = row[relation.spell[rows]]
        counts[mine, day] = relation.columns[table.counter][rows].astype(np.float64)
        group[mine] = [str(v) for v in relation.columns[table.choice][rows]]
    kept = np.stack([_close(counts[group == v]) for v in sorted(set(group) - {""})])
    size = kept[:, TRAIN, TRAIN].astype(np.float64)
    cost = _pages(size, PER_PAGE["tuples"])
    return Part(table.name, "content", 1.0, cost, kept, flows=False, every=3)


def _close(value: Floats) -> Counts:
    """Return how many values of one day (row) are about the same on another."""
    off = np.abs(value[:, :, None] - value[:, None, :])
    with np.errstate(invalid="ignore"):
        return np.asarray((off <= CLOSE * value[:, :, None]).sum(axis=0), np.uint16)


def _texts(weekly: Weekly, rng: Generator) -> list[Part]:
    """Return summaries of databases, recent items, all together of weight 1."""
    found: list[Part] = []
    for at in rng.permutation(len(weekly.sites)).tolist():
        part = text_part(weekly, weekly.sites[at], 1 / TEXTS)
        found += [] if part is None else [part]
        if len(found) == TEXTS:
            break
    return found


def text_part(weekly: Weekly, site: str, weight: float) -> Part | None:
    """Return the summary of a database; None if its history is too short or small."""
    one = drift(weekly, site)
    weeks = one.week.size - 1 - (DAYS - np.arange(DAYS + 1)) // 7
    far = one.change.kl[np.ix_(weeks, weeks)]
    if np.isnan(np.triu(far)).any() or one.size.min() < 10:
        return None
    holds = np.nan_to_num(far, nan=np.inf) <= TAU
    kept = (holds | np.eye(DAYS + 1, dtype=bool))[None].astype(np.uint16)
    apart = np.maximum(np.nan_to_num(far, nan=np.inf) / TAU, 1e-6)
    return Part(
        f"summary of {one.name}", "summary", weight, np.full(1, float(SUMMARY)), kept,
        flows=False, every=7, far=apart,
        counts=RecordedCounts(weekly, (site,)), weeks=weeks,
    )  # fmt: skip
