"""Made-up text databases: the texts of the pages of made-up sites, week by week.

Words follow Zipf's law; some are common to all sites and some belong to one. A commit
rewrites a small share of the words of the pages it touches.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints
from halflife.demo.pages import WORDS
from halflife.recordings.parquet import write_columns
from halflife.worlds.calibration import Statistics, draw
from halflife.worlds.site_files import alive
from halflife.worlds.sites import DAYS, LARGE, SIZES, Edit, SiteHistory

WEEKS = 60
COMMON, OWN = 30_000, 3_000  # words of all sites, and of each site besides
OWN_SHARE = 0.25  # share of a document's words that belong to its site
SHIFT = 2.7  # parameter of the Zipf-Mandelbrot law
REPEATED = 1.35  # words drawn for each distinct one
REWRITTEN, TOUCHED_UP = 0.04, 0.005  # share of words that a commit changes; a large one
LONGEST = 1100.0  # distinct words of a document: longer ones are lists, not texts
DOCUMENTS = 2400  # about, of all databases together: files stay small
FEWEST, MOST = 30, 200  # documents of one database


class Lexicon:
    """Draws words for the documents of one site."""

    def __init__(self, rng: Generator, site: int) -> None:
        self._rng, self._first = rng, COMMON + site * OWN
        self._laws = _law(COMMON), _law(OWN)

    def words(self, many: int) -> NDArray[np.int32]:
        """Return distinct words, ascending, from about ``many`` draws."""
        own = int(self._rng.binomial(many, OWN_SHARE))
        common = np.searchsorted(self._laws[0], self._rng.random(many - own))
        special = np.searchsorted(self._laws[1], self._rng.random(own)) + self._first
        return np.unique(np.concatenate([common, special])).astype(np.int32)

    def rewrite(self, old: NDArray[np.int32], share: float) -> NDArray[np.int32]:
        """Return a document with a share of its words replaced."""
        kept = old[self._rng.random(old.size) >= share]
        many = max(int(self._rng.poisson(share * old.size)), 1)
        return np.union1d(kept, self.words(many)).astype(np.int32)


def _law(words: int) -> Floats:
    chance = 1.0 / (np.arange(words) + 1.0 + SHIFT)
    law = np.cumsum(chance / chance.sum())
    law[-1] = 1.0
    return law


def write_texts(
    folder: Path, sites: Sequence[SiteHistory], statistics: Statistics, rng: Generator
) -> None:
    """Write ``docs_weekly`` and ``vocab``: the same sites as text databases."""
    rows: list[tuple[object, ...]] = []
    most = min(max(DOCUMENTS // max(len(sites), 1), FEWEST), MOST)
    for number, site in enumerate(sites):
        pages = rng.permutation(len(site.paths))[:most]
        law = SIZES, statistics["terms_a_document"]
        length = np.clip(draw(rng, *law, pages.size), 5.0, LONGEST)
        rows += _documents(site, Lexicon(rng, number), pages, length)
    names = "site", "page", "week_from", "week_to", "n_tokens", "terms"
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    write_columns(folder / "docs_weekly.parquet", columns)
    size = COMMON + OWN * len(sites)
    write_columns(
        folder / "vocab.parquet",
        {
            "term_id": np.arange(size, dtype=np.int32),
            "term": [word(i) for i in range(size)],
        },
    )


def word(number: int) -> str:
    """Return a made-up word, different for each number.

    >>> word(0), word(901)
    ('baba', 'baberbaba')
    """
    more, first = divmod(number, len(WORDS))
    return WORDS[first] + (WORDS[more - 1] if more else "")


def _documents(
    site: SiteHistory, lexicon: Lexicon, pages: Ints, sizes: Floats
) -> list[tuple[object, ...]]:
    """Return one row for each version of a page that existed at a week's end."""
    begin = DAYS - 7.0 * WEEKS
    every: dict[int, list[Edit]] = {}
    for edit in alive(site):
        every.setdefault(edit.page, []).append(edit)
    commits: dict[int, int] = {}
    for edit in site.edits:
        commits[edit.commit] = commits.get(edit.commit, 0) + 1
    rows: list[tuple[object, ...]] = []
    for page, size in zip(pages.tolist(), sizes.tolist(), strict=True):
        words = lexicon.words(int(REPEATED * size))
        since = 0 if page < site.founders else WEEKS
        for edit in sorted(every.get(page, []), key=lambda e: e.at):
            week = min(max(int((edit.at - begin) // 7.0), 0), WEEKS - 1)
            if since < week:
                rows.append(_row(site, page, since, week - 1, words))
            since = WEEKS if edit.kind == "D" else week
            share = TOUCHED_UP if commits[edit.commit] >= LARGE else REWRITTEN
            if edit.kind == "M":
                words = lexicon.rewrite(words, share)
        if since < WEEKS:
            rows.append(_row(site, page, since, WEEKS - 1, words))
    return rows


def _row(
    site: SiteHistory, page: int, begin: int, end: int, words: NDArray[np.int32]
) -> tuple[object, ...]:
    tokens = int(REPEATED * words.size)
    return site.name, site.paths[page], begin, end, tokens, words.tolist()
