"""Summary statistics of recorded histories: what a made-up world is calibrated to.

``python -m lab.world_summary DIR`` prints, as JSON, the statistics of a folder with
``sites/`` and ``objects/``, real or made up. ``src/halflife/worlds/calibration.json``
holds what it printed for the recorded histories.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.models.lifetime import WeibullLifetime
from halflife.recordings import textdb
from halflife.recordings.objects import load_parquet
from halflife.recordings.parquet import Table, read_table
from halflife.summary.drift import drift
from halflife.summary.weekly import Weekly

Summary: TypeAlias = dict[str, Any]

DAYS = 360.0  # of each site, the last ones
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # quantiles over sites
SIZES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)  # quantiles over commits
LARGE = 10  # pages of a commit that counts as large
AGAIN = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0}
MONDAY = 4  # the first Monday, in days since the epoch (a Thursday)
GROUPS = "owner", "company", "dealer", "provider", "region", "language", "topic"
LAGS = {"daily": (7.0, 30.0), "often": (1 / 24, 6 / 24)}
WEEKS = 5, 25  # lags at which summaries are compared
TEXT_SITES = 12  # databases that are compared: it takes a second each


@dataclass(frozen=True)
class SiteColumns:
    """Page histories as columns; times in days of a window that ends at ``DAYS``.

    Attributes:
        pages: Pages of each site that are there when the window opens.
        site: The site of each of these pages.
        rank: Its place among the names of its site's pages.
        row: The page of each modification in the window.
        at: When it was.
        stamp: The second in which it was, which names its commit.
        born: Pages that came within the window.
        died: Pages, there at the beginning, that went within the window.

    """

    pages: Ints
    site: Ints
    rank: Ints
    row: Ints
    at: Floats
    stamp: Ints
    born: int
    died: int


def site_columns(folder: Path) -> SiteColumns:
    """Return what the files of page histories say."""
    pages = read_table(folder / "pages.parquet", ("site", "page", "created_at"))
    changes = read_table(folder / "changes.parquet", ("site", "page", "timestamp"))
    names = sorted(set(changes["site"].to_pylist()))
    number = {name: i for i, name in enumerate(names)}
    site, its = (np.array([number[s] for s in t["site"].to_pylist()]) for t in
                 (pages, changes))  # fmt: skip
    stamp = _seconds(changes, "timestamp")
    end = np.full(len(names), -np.inf)
    np.maximum.at(end, its, stamp)

    def days(seconds: Floats, of: Ints) -> Floats:
        return np.asarray(DAYS + (seconds - end[of]) / 86400.0)

    born = days(_seconds(pages, "created_at"), site)
    died = days(_seconds(pages, "deleted_at"), site)
    died = np.where(np.isnan(died), np.inf, died)
    there = np.flatnonzero((born <= 0.0) & (died > 0.0))
    row, at, when = _modified(changes, its, days(stamp, its), pages, site, there)
    return SiteColumns(
        pages=np.bincount(site[there], minlength=len(names)),
        site=site[there],
        rank=_ranks(site[there], pages.take(there)["page"].to_pylist()),
        row=row,
        at=at,
        stamp=when,
        born=int(((born > 0.0) & (born <= DAYS)).sum()),
        died=int((died[there] <= DAYS).sum()),
    )


def _seconds(table: Table, column: str) -> Floats:
    return np.asarray(table[column].cast("float64").to_numpy())


def _modified(
    changes: Table, its: Ints, at: Floats, pages: Table, site: Ints, there: Ints
) -> tuple[Ints, Floats, Ints]:
    """Return page, time and second of each modification of a known page."""
    known = {
        key: row
        for row, key in enumerate(
            zip(
                site[there].tolist(),
                pages.take(there)["page"].to_pylist(),
                strict=True,
            )
        )
    }
    kind = np.array(changes["kind"].to_pylist(), dtype=object)
    rows = np.flatnonzero((kind == "M") & (at > 0.0))
    named = changes.take(rows)["page"].to_pylist()
    found = np.array(
        [known.get(key, -1) for key in zip(its[rows].tolist(), named, strict=True)],
        dtype=np.intp,
    )
    rows, found = rows[found >= 0], found[found >= 0]
    stamp = changes["timestamp"].to_numpy().astype(np.int64)
    return found, at[rows], stamp[rows]


def _ranks(site: Ints, names: Sequence[str]) -> Ints:
    order = np.lexsort((np.array(names, dtype=str), site))
    first = np.searchsorted(site[order], site[order])
    rank = np.empty(site.size, dtype=np.intp)
    rank[order] = np.arange(site.size) - first
    return rank


def site_summary(folder: Path) -> Summary:
    """Return the statistics of a folder of page histories."""
    told = site_columns(folder)
    sites = told.pages.size
    site = told.site[told.row]
    code, commit, size = np.unique(
        np.stack([site, told.stamp], axis=1),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    commit, large = commit.ravel(), size >= LARGE
    per_site = [np.bincount(code[m, 0], minlength=sites) for m in (~large, large)]
    share = size / np.maximum(told.pages[code[:, 0]], 1)
    pages, changes = int(told.pages.sum()), told.row.size
    weekday = (code[:, 1] // 86400 - MONDAY) % 7
    return {
        "sites": sites,
        "pages": pages,
        "pages_a_site": _quantiles(told.pages),
        "small_commits_a_site": _quantiles(per_site[0]),
        "large_commits_a_site": _quantiles(per_site[1]),
        "small_size": _quantiles(size[~large], SIZES),
        "large_size": _quantiles(size[large], SIZES),
        "changes_a_page": changes / max(pages, 1),
        "never": 1.0 - np.unique(told.row).size / max(pages, 1),
        "never_small": 1.0 - np.unique(told.row[~large[commit]]).size / max(pages, 1),
        "in_large": float(size[large].sum() / max(changes, 1)),
        "half_on": _half_on(site, told.at) / (sites * DAYS),
        "weekday": (np.bincount(weekday, minlength=7) / code.shape[0]).tolist(),
        "commit_again": _again(code[:, 0], code[:, 1] / 86400.0),
        "page_again": _again(told.row, told.at),
        "adjacent": _adjacent(commit, told.rank[told.row], size, share),
        "busiest_tenth": _busiest(told, ~large[commit]),
        "born": told.born / max(pages, 1),
        "died": told.died / max(pages, 1),
    }


def _quantiles(values: Ints | Floats, at: Sequence[float] = LEVELS) -> list[float]:
    return [round(float(v), 5) for v in np.quantile(values, at)] if values.size else []


def _half_on(site: Ints, at: Floats) -> int:
    """Return on how many days of sites half of all changes fall."""
    counts = np.sort(np.bincount(site * 1000 + np.floor(at).astype(np.intp)))[::-1]
    return int(np.searchsorted(np.cumsum(counts), at.size / 2) + 1)


def _again(thing: Ints, at: Floats) -> dict[str, float]:
    """Return the share of events that another one of the same thing follows soon."""
    order = np.lexsort((at, thing))
    gap = np.append(np.diff(at[order]), np.inf)
    gap[np.append(np.diff(thing[order]) != 0, True)] = np.inf
    return {name: float((gap <= most).mean()) for name, most in AGAIN.items()}


def _adjacent(commit: Ints, rank: Ints, size: Ints, share: Floats) -> dict[str, float]:
    """Return how often the next page by name is in the same commit, too."""
    order = np.lexsort((rank, commit))
    next_to = (np.diff(rank[order]) == 1) & (np.diff(commit[order]) == 0)
    pairs = np.bincount(commit[order][:-1][next_to], minlength=size.size)
    found = {}
    for name, low, high in (("small", 2, LARGE), ("large", LARGE, np.inf)):
        chosen = (size >= low) & (size < high) & (share <= 0.5)
        could = int((size[chosen] - 1).sum())
        found[name] = float(pairs[chosen].sum() / max(could, 1))
    return found


def _busiest(told: SiteColumns, small: Bools) -> float:
    """Return what share of a site's small changes its busiest tenth of pages has."""
    count = np.bincount(told.row[small], minlength=told.site.size)
    shares = []
    for number in range(told.pages.size):
        mine = np.sort(count[told.site == number])[::-1]
        if mine.sum() >= 100:
            shares.append(mine[: max(1, mine.size // 10)].sum() / mine.sum())
    return float(np.median(shares)) if shares else 0.0


def object_summary(folder: Path) -> Summary:
    """Return the statistics of one recorded listing."""
    source = load_parquet(folder, folder.name)
    lives, looks = source.lives, source.looks
    span = float(looks[-1] - looks[0])
    often = looks.size / span > 2.0
    came, went = ~lives.truncated, lives.ended
    exposed = float((np.minimum(lives.last_seen, looks[-1]) - lives.first_seen).sum())
    exposed += 0.5 * float(np.median(np.diff(looks))) * int(went.sum())
    fit = WeibullLifetime().fit(lives)
    middle = looks[looks.size // 4 :: max(looks.size // 20, 1)]
    first = lives.first_seen[came]
    return {
        "days": round(span, 1),
        "looks_a_day": round(looks.size / span, 4),
        "objects_at_first": int(lives.present(float(looks[0])).sum()),
        "objects": float(np.median([lives.present(float(t)).sum() for t in middle])),
        "arrivals": int(came.sum()) / span,
        "deaths": int(went.sum()) / max(exposed, 1e-9),
        "updates": source.changed.size / max(exposed, 1e-9),
        "shape": float(fit.shape_),
        "median_life": float(np.log(2.0) ** (1.0 / fit.shape_) / fit.rate_),
        "weekday": _weekdays(first),
        "arrivals_excess": _excess(first, looks, 1.0 if often else 7.0),
        "deaths_excess": _excess(lives.gone_by[went], looks, 1.0 if often else 7.0),
        **_batches(source, came),
        "kept": _kept(source, LAGS["often" if often else "daily"]),
    }


def _weekdays(at: Floats) -> list[float]:
    day = (np.floor(at).astype(np.int64) - MONDAY) % 7
    return [float(v) for v in np.bincount(day, minlength=7) / max(at.size, 1)]


def _excess(at: Floats, looks: Floats, width: float) -> float:
    """Return by how much counts spread more than chance: (variance - mean) / mean².

    It does not depend on how many objects there are.
    """
    bins = np.arange(looks[0] + width, looks[-1] + 1e-9, width)
    count = np.histogram(at, bins)[0]
    mean = float(count.mean()) if count.size else 0.0
    return float((count.var() - mean) / mean**2) if mean else 0.0


def _batches(source: Collection, came: Bools) -> Summary:
    """Return how many groups there are, and how many objects of one come at once."""
    lives = source.lives
    name = next((n for n in GROUPS if n in lives.attributes), "")
    if not name:
        return {"groups": 1, "batch": 1.0}
    group = lives.attributes[name].astype(str)
    pair = {*zip(group[came].tolist(), lives.first_seen[came].tolist(), strict=True)}
    batch = int(came.sum()) / max(len(pair), 1)
    return {"groups": int(np.unique(group).size), "batch": batch}


def _kept(source: Collection, lags: Sequence[float]) -> Summary:
    """Return precision and recall of a copy that was not refreshed for a while."""
    lives, looks = source.lives, source.looks
    found: Summary = {}
    starts = looks[: -1 : max(looks.size // 60, 1)]
    for lag in lags:
        pairs = []
        for begin in starts[starts + lag <= looks[-1]].tolist():
            then = float(looks[np.searchsorted(looks, begin + lag, "right") - 1])
            one, two = lives.present(begin), lives.present(then)
            held, there = (set(lives.object[p].tolist()) for p in (one, two))
            both = len(held & there)
            pairs.append((both / max(len(held), 1), both / max(len(there), 1)))
        precision, recall = np.mean(pairs, axis=0).tolist()
        found[f"{lag:.3g}"] = {"precision": precision, "recall": recall}
    return found


def text_summary(folder: Path) -> Summary:
    """Return the statistics of a folder of text databases."""
    weekly = textdb.load(folder)
    sizes = np.diff(weekly.start)
    step = max(len(weekly.sites) // TEXT_SITES, 1)
    told = [drift(weekly, site) for site in weekly.sites[::step]]
    moved: Summary = {}
    for lag in WEEKS:
        for name in ("kl", "ur"):
            each = [np.nanmean(np.diagonal(t.change.of(name), lag)) for t in told]
            moved[f"{name}_{lag}"] = {
                "mean": float(np.mean(each)), "median": float(np.median(each)),
            }  # fmt: skip
    return {
        "databases": len(weekly.sites),
        "weeks": weekly.weeks,
        "terms_a_document": _quantiles(sizes, SIZES),
        "words_a_database": _quantiles(np.array([t.words[-1] for t in told])),
        "versions_a_page": weekly.page.size / len(_pages(weekly)),
        **moved,
    }


def _pages(weekly: Weekly) -> set[tuple[int, str]]:
    site = np.repeat(np.arange(len(weekly.sites)), np.diff(weekly.first))
    return set(zip(site.tolist(), weekly.page.tolist(), strict=True))


def world_summary(folder: Path) -> Summary:
    """Return the statistics of all that a folder holds."""
    found: Summary = {}
    sites = folder / "sites"
    if (sites / "changes.parquet").is_file():
        found["sites"] = site_summary(sites)
    if (sites / "docs_weekly.parquet").is_file():
        found["texts"] = text_summary(sites)
    objects = sorted(folder.glob("objects/*/lifetimes.parquet"))
    if objects:
        found["objects"] = {p.parent.name: object_summary(p.parent) for p in objects}
    return found


def rounded(value: Any) -> Any:  # noqa: ANN401  (any JSON)
    """Return the same with numbers to five digits."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main(words: Sequence[str] | None = None) -> None:
    """Print the statistics of a folder."""
    parser = argparse.ArgumentParser(prog="lab.world_summary")
    parser.add_argument("folder", type=Path)
    found = world_summary(parser.parse_args(words).folder)
    sys.stdout.write(json.dumps(rounded(found), indent=1) + "\n")


if __name__ == "__main__":
    main()
