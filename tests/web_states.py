"""States that the pages are looked at in: nothing, imported, many, failing."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from halflife.config import Config
from halflife.core.item import Item
from halflife.core.lifetimes import Collection, Lives
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.engine import bootstrap

LONG = "the-municipal-gazette-of-a-town-with-a-very-long-name-and-no-short-form"
MANY = 104  # sources: more than stand on one page


def empty(folder: Path) -> Path:
    """Return settings that are not there."""
    return folder / "halflife.toml"


def imported(folder: Path) -> Path:
    """Return settings without an address, and a state with two listings' lives."""
    path = _settings(folder, "")
    for name, ago in (("ads", 40.0), ("yearbook", 800.0)):
        _history(path, name, bootstrap.clock(), ago)
    return path


def _history(path: Path, name: str, now: float, ago: float) -> None:
    looks = now - np.arange(9.0, -1.0, -1.0) - ago
    n = 60
    first = np.arange(n) % 5
    last = np.minimum(first + np.arange(n) % 6, 9)
    edges = np.r_[-np.inf, looks, np.inf]
    lives = Lives(
        tuple(f"{name}-{i}" for i in range(n)),
        edges[first],
        looks[first],
        looks[last],
        edges[last + 2],
        {},
    )
    with bootstrap.writing(Config.load(path)) as store:
        run = store.begin([name], now, lease=1.0)
        none = np.zeros(0)
        store.save_collection(
            run, Collection(name, looks, lives, none.astype(np.intp), none)
        )
        store.finish(run, now)


def large(folder: Path) -> Path:
    """Return many sources, one with a long name, each with a few pages."""
    names = [LONG, *(f"site-{i:03}" for i in range(MANY - 1))]
    text = "".join(
        f'[[source]]\nname = "{name}"\ntarget = "freshness >= 0.9"\n'
        f'pages = ["https://{name[:40].rstrip("-")}.example/"]\n'
        for name in names
    )
    return _observed(_settings(folder, text), failing=False)


def failing(folder: Path) -> Path:
    """Return two sources whose last fetches all failed, one of them from the start."""
    text = "".join(
        f'[[source]]\nname = "{name}"\npages = ["https://{name}.example/"]\n'
        for name in ("lost", "gone")
    )
    return _observed(_settings(folder, text), failing=True)


def _settings(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "halflife.toml"
    path.write_text(f'[budget]\nrequests = 50\nper = "day"\n{text}', encoding="utf-8")
    return path


def _observed(path: Path, *, failing: bool) -> Path:
    config, now = Config.load(path), bootstrap.clock()
    with bootstrap.writing(config) as store:
        for k, source in enumerate(config.source):
            (key,) = source.addresses
            run = store.begin([source.name], now - 6.0, lease=9.0)
            store.add([Item(key, source.name, group="host")])
            looks = [_look(key, now - 5.0 + day, day * k // 90) for day in range(5)]
            if failing:
                good = looks[:3] if k else []
                note = "503 Service Unavailable"
                looks = good + [
                    replace(one, seen=Seen.FAILED, digest="", content=None, note=note)
                    for one in looks[len(good) :]
                ]
            store.charge(run, len(looks), now - 1.0)
            store.append(run, Observations.of(looks))
            store.finish(run, now - 0.9)
    return path


def _look(key: str, at: float, version: int) -> Observation:
    body = Content("text/html", f"<h1>{key}</h1><p>{version}</p>".encode())
    return Observation(key, at, Seen.PRESENT, f"{key}-{version}", content=body)


STATES = {"empty": empty, "imported": imported, "large": large, "failing": failing}
