"""Made-up histories of pages: commits to sites, drawn like real ones.

Most commits touch one page or a few; pages differ in how often they are touched, and a
page that was just touched is soon touched again. A few large commits, which come in
series and touch pages with neighbouring names, make most of the changes. Sites rest at
weekends and have busy and quiet weeks. Pages come and go in batches; half of those
that go continue under another name.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.worlds.calibration import Statistics, draw, spread

DAYS = 430.0  # length of a history: 60 weeks of text databases, and a year of pages
YEAR = 360.0  # days covered by the published counts
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
SIZES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)
LARGE = 10  # pages of a large commit, at least
DOMAINS = ("com", "org", "edu", "gov", "misc")
# The constants below were set so that the statistics of worlds come out like those of
# the recorded sites (tests/test_worlds.py has the tolerances).
ALIKE = 0.4  # correlation between the size of a site and the number of its commits
WEEKLY = 0.6  # squared spread of how busy weeks are
GOES_ON = 0.28  # chance that another commit follows within the session
PAUSE = 0.012  # mean days between commits of a session
POPULAR = 0.7  # exponent of how unequally the pages of a site are touched
RECENT, HOT = 0.45, 12  # chance that a commit is of a page among the last so many
NEXT = 0.15  # chance that a small commit continues with the next page by name
RUN = 0.4  # chance that a large commit does
SERIES, BREAK = 0.4, 5.0  # chance that a large commit repeats the last; days between
AT_ONCE = 0.2  # chance that it does so within the hour
FOCUS = 0.6  # share of a site that its large commits cover
BATCH = 4.0  # pages that come, or go, together
RENAMED = 0.5  # share of pages that go under another name


class Edit(NamedTuple):
    """The edit of a page by a commit: ``kind`` is A, M or D, ``at`` in days."""

    page: int
    at: float
    kind: str
    commit: int
    rename: bool = False


@dataclass
class SiteHistory:
    """A made-up site with its history.

    Attributes:
        name: The name of the site.
        domain: Its domain.
        paths: Its pages, including those that came later.
        founders: How many of them existed from the beginning.
        edits: All edits.

    """

    name: str
    domain: str
    paths: list[str]
    founders: int
    edits: list[Edit] = field(default_factory=list)


def sites(rng: Generator, statistics: Statistics, count: int) -> list[SiteHistory]:
    """Return ``count`` sites with their histories.

    Sites are spread evenly over the published quantiles, so that a world of a few has
    small and large ones, quiet and busy ones.
    """
    pull = rng.standard_normal(count)
    pages, small, large = (
        spread(_even(rng, pull, likeness), LEVELS, statistics[name])
        for name, likeness in zip(
            ("pages_a_site", "small_commits_a_site", "large_commits_a_site"),
            (1.0, ALIKE, ALIKE),
            strict=True,
        )
    )
    return [
        _site(
            rng, statistics, number, (int(pages[number]), small[number], large[number])
        )
        for number in range(count)
    ]


def _even(rng: Generator, pull: Floats, likeness: float) -> Floats:
    """Return one chance per site, evenly spread; large sites have more commits."""
    other = rng.standard_normal(pull.size)
    mixed = likeness * pull + np.sqrt(1.0 - likeness**2) * other
    rank = np.argsort(np.argsort(mixed))
    return np.asarray((rank + rng.random(pull.size)) / pull.size)


def _site(
    rng: Generator, statistics: Statistics, number: int, size: tuple[int, float, float]
) -> SiteHistory:
    pages, small, large = size
    paths = _paths(rng, pages)
    name, domain = f"site{number:02d}", DOMAINS[number % len(DOMAINS)]
    site = SiteHistory(name, domain, paths, pages)
    days = _days(rng, statistics["weekday"])
    sessions = rng.poisson(small * DAYS / YEAR * (1.0 - GOES_ON))
    times = _sessions(rng, days, int(sessions))
    times.append(DAYS)  # a recorded site ends with its last change
    _small(rng, statistics, site, times)
    _large(rng, statistics, site, _series(rng, days, large * DAYS / YEAR))
    _renew(rng, statistics, site, days)
    site.edits.sort(key=lambda edit: edit.at)
    return site


def _paths(rng: Generator, pages: int) -> list[str]:
    """Return paths in folders, most of them small, in the order of their names."""
    found: list[str] = []
    folder = 0
    while len(found) < pages:
        folder += 1
        many = int(min(rng.pareto(0.8) + 1.0, 400.0, pages - len(found)))
        found += [f"part-{folder:04d}/page-{i:04d}.html" for i in range(many)]
    return found


def _days(rng: Generator, weekday: list[float]) -> Floats:
    """Return the share of commits on each day; day 0 of the story is a Monday."""
    weeks = rng.gamma(1.0 / WEEKLY, WEEKLY, int(DAYS // 7) + 1)
    busy = np.repeat(weeks, 7)[: int(DAYS)] * np.tile(weekday, weeks.size)[: int(DAYS)]
    return np.asarray(busy / busy.sum())


def _moments(rng: Generator, days: Floats, many: int) -> Floats:
    """Return moments of work: days by their share, mostly in the daytime."""
    hour = np.clip(rng.normal(14.5, 4.5, many), 0.0, 23.99) / 24.0
    return rng.choice(days.size, many, p=days) + hour


def _sessions(rng: Generator, days: Floats, many: int) -> list[float]:
    """Return the times of commits; some follow soon after the one before."""
    begin = np.sort(_moments(rng, days, many))
    more = rng.geometric(1.0 - GOES_ON, many)
    found: list[float] = []
    for at, count in zip(begin.tolist(), more.tolist(), strict=True):
        found += (at + np.cumsum(rng.exponential(PAUSE, count))).tolist()
    return sorted(at for at in found if at < DAYS)


def _series(rng: Generator, days: Floats, many: float) -> list[list[float]]:
    """Return the times of large commits, series by series."""
    count = int(rng.poisson(many))
    found: list[list[float]] = []
    while count > 0:
        length = min(int(rng.geometric(1.0 - SERIES)), count)
        soon = rng.random(length - 1) < AT_ONCE
        mean = np.where(soon, PAUSE, BREAK)
        wait = np.append(0.0, rng.exponential(mean))
        times = _moments(rng, days, 1)[0] + np.cumsum(wait)
        found.append([at for at in times.tolist() if at < DAYS])
        count -= length
    return found


def _small(
    rng: Generator, statistics: Statistics, site: SiteHistory, times: list[float]
) -> None:
    """Add commits of a page or a few."""
    sizes = draw(rng, SIZES, statistics["small_size"], len(times)).astype(np.intp)
    weight = (1.0 + np.arange(site.founders)) ** -POPULAR
    order = rng.permutation(site.founders)
    law = np.cumsum(weight / weight.sum())
    recent: list[int] = []
    for at, size in zip(times, sizes.tolist(), strict=True):
        touched: dict[int, None] = {}
        page = -1
        for part in range(max(size, 1)):
            if part and rng.random() < NEXT and page + 1 < site.founders:
                page += 1
            elif not part and recent and rng.random() < RECENT:
                page = recent[-1 - int(rng.integers(min(HOT, len(recent))))]
            else:
                place = min(int(np.searchsorted(law, rng.random())), law.size - 1)
                page = int(order[place])
            touched[page] = None
        recent = (recent + list(touched))[-HOT:]
        _commit(site, at, list(touched))


def _large(
    rng: Generator, statistics: Statistics, site: SiteHistory, series: list[list[float]]
) -> None:
    """Add commits of many pages; those of a series touch the same ones."""
    for times in series:
        size = int(draw(rng, SIZES, statistics["large_size"], 1)[0])
        chosen = _side_by_side(rng, site.founders, min(size, site.founders))
        for at in times:
            _commit(site, at, chosen.tolist())


def _side_by_side(rng: Generator, pages: int, size: int) -> Ints:
    """Return ``size`` pages, in runs of neighbours, all within one region."""
    region = min(pages, max(size, round(FOCUS * pages)))
    free = region - size
    runs = min(max(round(size * (1.0 - RUN)), 1), free + 1)
    length = 1 + _parts(rng, size - runs, runs)
    gap = _parts(rng, free - (runs - 1), runs + 1)[:-1]
    gap[1:] += 1
    start = np.cumsum(gap + length) - length
    inside = np.arange(size) - np.repeat(np.cumsum(length) - length, length)
    return int(rng.integers(pages - region + 1)) + np.repeat(start, length) + inside


def _parts(rng: Generator, total: int, parts: int) -> Ints:
    """Return random whole numbers with the given sum."""
    cuts = np.sort(rng.integers(total + 1, size=parts - 1))
    return np.diff(np.concatenate([[0], cuts, [total]])).astype(np.intp)


def _commit(site: SiteHistory, at: float, pages: list[int], kind: str = "M") -> None:
    number = len(site.edits)
    site.edits += [Edit(page, at, kind, number) for page in pages]


def _renew(
    rng: Generator, statistics: Statistics, site: SiteHistory, days: Floats
) -> None:
    """Add pages that come and go, in batches."""
    years = DAYS / YEAR
    gone = rng.permutation(site.founders)[
        : rng.poisson(statistics["died"] * site.founders * years)
    ]
    renamed = 0
    for batch in _cut(rng, gone):
        at, moves = float(_moments(rng, days, 1)[0]), rng.random() < RENAMED
        number = len(site.edits)
        for page in batch.tolist():
            site.edits.append(Edit(page, at, "D", number, moves))
            if moves:
                renamed += 1
                site.paths.append(f"moved/{site.paths[page]}")
                site.edits.append(Edit(len(site.paths) - 1, at, "A", number, moves))
    new = rng.poisson(max(statistics["born"] * site.founders * years - renamed, 0.0))
    first = len(site.paths)
    site.paths += [f"new/page-{i:04d}.html" for i in range(new)]
    for batch in _cut(rng, np.arange(first, first + new)):
        _commit(site, float(_moments(rng, days, 1)[0]), batch.tolist(), "A")


def _cut(rng: Generator, pages: Ints) -> list[Any]:
    """Return the pages in batches of random size."""
    size = rng.geometric(1.0 / BATCH, max(pages.size, 1))
    return [b for b in np.split(pages, np.cumsum(size)) if b.size]
