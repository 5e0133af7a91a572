"""Sample data for the page: sources of every kind.

Nothing is fetched. Pages change and objects come and go at random, from a seed; the
observations of them are written to the store as a sync would write them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.config import Config, SourceConfig
from halflife.core.change import Change
from halflife.core.item import Item
from halflife.core.lifetimes import Collection, Lives
from halflife.core.object_store import Attributes, Listing
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.engine import bootstrap
from halflife.kinds.listing import runner as listing_runner
from halflife.stores import summaries
from halflife.stores.summaries import StoredSummary
from halflife.stores.table_store import TableStore
from halflife.summary import Summary

Visit: TypeAlias = tuple[float, str, list[Observation]]  # time, source, observations

DAYS = 30  # days of history
LOGGED = 7.0  # days with logged arrivals and departures
DEMO_TARGET = "freshness >= 0.7"  # near what its budget keeps: sometimes missed
SETS = """
[[source]]
name = "jobs"
kind = "listing"
key = "id"
url = "https://jobs.example/open.json"
target = "recall >= 0.9 with confidence 0.95"
[[source]]
name = "rentals"
kind = "listing"
key = "id"
url = "https://rentals.example/flats.json"
target = "recall >= 0.5"
[[source]]
name = "cars"
kind = "form"
form_url = "https://cars.example/find"
key = "id"
target = "recall >= 0.8"
attributes = { city = { param = "city", values = ["Oslo", "Rome", "Lima"] } }
[[source]]
name = "library"
kind = "search"
search_url = "https://library.example.org/?q={query}"
target = "summary >= 0.6"
"""
NEWS = """\
[[source]]
name = "news"
target = "freshness >= 0.65"
pages = ["https://news.example/"]
"""
BUDGET = re.compile(r"^requests = (\d+)$", re.MULTILINE)
LISTED, ASKED = 3, 22  # requests of a list and of a form, in the last day
SHAPES = {  # pages, median changes a day, days between fetches
    "handbook": (80, 0.02, 2.0),
    "news": (40, 1.5, 0.5),
    "wiki": (60, 0.1, 1.0),
    "gazette": (12, 0.2, 1.0),
}
READ = 80  # requests of the news, in the last day
FURNISHED = 2 * LISTED + ASKED + READ  # requests of the added sources in the last day
CITIES = ("Oslo", "Rome", "Lima")
WORDS = ("cotton", "engine", "harbour", "lantern", "meadow", "orbit", "river", "stone")


def extend(path: Path) -> Path:
    """Add a target, the sources without pages, and news, to the state of the demo.

    The pages of the demo hold random words; those of the news are readable text.
    """
    text = path.read_text(encoding="utf-8")
    text = text.replace('name = "demo"', f'name = "demo"\ntarget = "{DEMO_TARGET}"', 1)
    text = BUDGET.sub(lambda found: f"requests = {int(found[1]) + FURNISHED}", text, 1)
    path.write_text(text + NEWS + SETS, encoding="utf-8")
    config, now = Config.load(path), bootstrap.clock()
    rng = np.random.default_rng(1)
    with bootstrap.writing(config) as store:
        furnish(config, store, now, rng)
        write_pages(store, list(page_visits("news", now, rng)), now)
    return path


def furnish(config: Config, store: TableStore, now: float, rng: Generator) -> None:
    """Write the histories of the sources without pages."""
    named = {source.name: source for source in config.source}
    _listing(store, named["rentals"], now, rng)
    _listing(store, named["jobs"], now, rng)
    _shrunk_answer(store, named["jobs"], now)
    _form(store, now, rng)
    _summary(store, now)


def page_visits(name: str, now: float, rng: Generator) -> Iterator[Visit]:
    """Yield fetches of pages at regular times; each page has its own change rate."""
    count, middle, every = SHAPES[name]
    rate = middle * rng.lognormal(0.0, 1.0, count)
    first = now - DAYS - rng.uniform(0.0, 0.4)
    version = np.zeros(count, dtype=int)
    for at in np.arange(first, now - 0.2 * every, every).tolist():
        version += rng.poisson(rate * every)
        observed = [_observe(name, i, at, int(v)) for i, v in enumerate(version)]
        if name == "gazette" and at > now - 3.0:
            note = "503 Service Unavailable"
            observed = [
                Observation(o.key, at, Seen.FAILED, note=note) for o in observed
            ]
        yield at, name, observed


def write_pages(
    store: TableStore,
    visits: Sequence[tuple[float, str, list[Observation]]],
    now: float,
) -> None:
    """Write the observations of pages, in order of time."""
    runs = {}
    for at, name, observed in sorted(visits, key=lambda visit: visit[:2]):
        if name not in runs:
            runs[name] = store.begin([name], at, lease=2.0 * DAYS)
            store.add(Item(o.key, name, group=f"{name}.example") for o in observed)
        store.charge(runs[name], len(observed), at)
        store.append(runs[name], Observations.of(observed))
    for name, run in runs.items():
        store.finish(run, now - 0.1 * SHAPES[name][2])


def _observe(name: str, i: int, at: float, version: int) -> Observation:
    content = Content("text/html", _body(name, i, version).encode())
    digest = f"{name}-{i}-{version}"
    return Observation(page_key(name, i), at, Seen.PRESENT, digest, content=content)


def _body(name: str, i: int, version: int) -> str:
    """Return the text of a page; its versions differ in a few words."""
    word, other = WORDS[(i + version) % len(WORDS)], WORDS[(i + 3) % len(WORDS)]
    notes = "".join(
        f"<li>Note {n}: the {WORDS[n % len(WORDS)]} was checked.</li>"
        for n in range(max(version - 2, 0), version + 1)
    )
    return (
        f"<title>{name} {i}</title><h1>{name.capitalize()}, page {i}</h1>"
        f"<p>Edition {version} is about the {word} and the {other}.</p>"
        "<p>It is free to read, and may be copied with its source named.</p>"
        f"<h2>Prices</h2><p>A printed copy costs {12 + (i + version) % 9} euros; "
        f"orders reach you within {3 + version % 4} days.</p><h2>Notes</h2>"
        f"<ul>{notes}</ul><p>Write to the editors of the {name} with questions.</p>"
    )


def page_key(name: str, i: int) -> str:
    """Return the address of a page of a source."""
    return f"https://{name}.example/{f'page-{i}' if i else ''}"


def _listing(
    store: TableStore, source: SourceConfig, now: float, rng: Generator
) -> None:
    """Write a listing whose objects arrive evenly and leave at random, read daily."""
    rate, arrivals = (0.05, 9.0) if source.name == "jobs" else (0.02, 2.0)
    initial = int(arrivals / rate)
    born = np.r_[np.full(initial, -1.0), rng.uniform(0, 60, int(arrivals * 60))]
    died = np.maximum(born, 0.0) + rng.exponential(1.0 / rate, born.size)
    fetched = np.arange(60.0) + (now - 59.6)
    start = np.asarray(np.ceil(np.maximum(born, 0.0)), dtype=np.intp)
    stop = np.asarray(np.minimum(np.ceil(died), 60.0) - 1.0, dtype=np.intp)
    seen = np.flatnonzero(stop >= start)
    start, stop = start[seen], stop[seen]
    padded = np.r_[-np.inf, fetched, np.inf]
    city = rng.choice(np.array(CITIES, dtype=object), seen.size)
    lives = Lives(
        tuple(f"{source.name}-{i}" for i in seen.tolist()),
        padded[start],
        fetched[start],
        fetched[stop],
        padded[stop + 2],
        {"city": city},
    )
    run = store.begin([source.name], now - 0.5, lease=1.0)
    none = np.zeros(0)
    kept = Collection(source.name, fetched, lives, none.astype(np.intp), none)
    store.save_collection(run, kept)
    store.charge(run, LISTED, now - 0.5)
    store.finish(run, now - 0.4)
    store.changes.append(_recent_changes(source.name, lives, now))


def _recent_changes(source: str, lives: Lives, now: float) -> list[Change]:
    """Return the arrivals and departures of the last days, in order of time."""
    changes = []
    for i, key in enumerate(lives.keys):
        first, gone = float(lives.first_seen[i]), float(lives.gone_by[i])
        city = lives.attributes["city"][i]
        if first > now - LOGGED:
            changes.append(Change(first, source, key, "new", {"city": (None, city)}))
        if now - LOGGED < gone < now:
            changes.append(Change(gone, source, key, "gone"))
    return sorted(changes, key=lambda change: change.at)


def _shrunk_answer(store: TableStore, source: SourceConfig, now: float) -> None:
    """Write an answer with a fraction of a listing's objects, which the guard holds."""
    held = listing_runner.tracker(store, source).held
    kept = dict(list(held.items())[: len(held) // 8])
    run = store.begin([source.name], now - 0.1, lease=1.0)
    listing_runner.put_aside(store, run, source, Listing(now - 0.1, kept))
    store.finish(run, now - 0.09)


def _form(store: TableStore, now: float, rng: Generator) -> None:
    """Write a form that was read in full every few days."""
    tracker = Tracker()
    everything = [_car(i, rng) for i in range(260)]
    for k, at in enumerate(np.arange(now - 20.3, now, 4.0)):
        listed: dict[str, Attributes] = dict(everything[k * 3 : 200 + k * 10])
        tracker.take(Listing(float(at), listed))
    run = store.begin(["cars"], now - 0.5, lease=1.0)
    store.save_register(run, "cars", tracker.register(), anew=True)
    store.charge(run, ASKED, now - 0.5)
    store.finish(run, now - 0.4)


def _car(i: int, rng: Generator) -> tuple[str, Attributes]:
    city = CITIES[int(rng.integers(len(CITIES)))]
    return f"car-{i}", {"city": city, "price": float(rng.integers(1, 40))}


def _summary(store: TableStore, now: float) -> None:
    shares = np.linspace(40.0, 5.0, len(WORDS))
    summary = Summary(WORDS, shares, 5200.0, 300)
    kept = StoredSummary(
        source="library",
        at=now - 26.0,
        method="qbs",
        ending="300 documents were read",
        whole=True,
        summary=summary,
        low=4100.0,
        high=6900.0,
        sized="sample-resample",
        told="the totals agree with each other",
        requests=214,
        documents=(),
    )
    summaries.save(store, kept)
    summaries.save(store, replace(kept, at=now - 12.0))
