"""Links and terms of recorded pages, from files.

A folder with ``links.parquet`` (site, from_page, to_page) and ``page_terms.parquet``
(site, page, terms). Pages that the recording does not hold are left out, and so are
links from and to them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.categories import Categories
from halflife.grouping.topic import LinkMatrix
from halflife.recordings.pages import Recording
from halflife.recordings.parquet import read_table


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """What is known of pages besides their changes; rows are those of the recording.

    Attributes:
        links: Which page links to which, in the order of the file.
        terms: The pages that each term is on; terms are in alphabetical order.

    """

    links: LinkMatrix
    terms: Categories


def load_graph(folder: Path, recording: Recording) -> LinkGraph:
    """Return the links and terms of a recording's pages."""
    return LinkGraph(_links(folder, recording), _terms(folder, recording))


def _links(folder: Path, recording: Recording) -> LinkMatrix:
    columns = _columns(folder / "links.parquet", ("site", "from_page", "to_page"))
    row = recording.row
    ends = [
        (row.get(f"{site}/{source}", -1), row.get(f"{site}/{target}", -1))
        for site, source, target in zip(*columns, strict=True)
    ]
    source, target = _two(ends)
    known = (source >= 0) & (target >= 0)
    return LinkMatrix.of_pairs(source[known], target[known], len(recording))


def _terms(folder: Path, recording: Recording) -> Categories:
    columns = _columns(folder / "page_terms.parquet", ("site", "page", "terms"))
    pages: dict[str, list[int]] = {}
    for site, page, terms in zip(*columns, strict=True):
        row = recording.row.get(f"{site}/{page}")
        if row is not None:
            for term in terms or ():
                pages.setdefault(term, []).append(row)
    names = sorted(pages)
    pairs = [(code, row) for code, term in enumerate(names) for row in pages[term]]
    return Categories.of_pairs(names, *_two(pairs), len(recording))


def _columns(path: Path, names: tuple[str, ...]) -> list[list[Any]]:
    table = read_table(path, names)
    return [table[name].to_pylist() for name in names]


def _two(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    first, second = np.array(pairs, np.intp).reshape(-1, 2).T
    return first, second
