"""Recorded text databases: a folder of three Parquet files.

- ``docs_weekly.parquet``: site, page, week_from, week_to (inclusive) and terms, the
  distinct term ids of the document, sorted;
- ``vocab.parquet``: term_id, term;
- ``sites.parquet``: site, domain, and, if known, window_start (Unix seconds), which
  is when week 0 was.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.recordings.parquet import Table, read_table
from halflife.summary.tables import vocabulary
from halflife.summary.weekly import STRATA, Weekly

SECONDS_A_DAY = 86400.0


def load(folder: Path) -> Weekly:
    """Return the databases recorded in a folder, in the order of their names."""
    path = folder / "docs_weekly.parquet"
    needed = ("site", "page", "week_from", "week_to", "terms")
    docs = read_table(path, needed)
    if docs.num_rows == 0:
        raise UsageError(f"{path}: holds no document")
    ids, words = _vocabulary(folder / "vocab.parquet")
    sites, site = np.unique(_text(docs, "site"), return_inverse=True)
    order = np.lexsort((np.arange(site.size), site))
    start, term = _ordered(*_terms(docs, path, ids), order)
    week_from, week_to = (_weeks(docs, name, path)[order] for name in needed[2:4])
    _check(week_from, week_to, path)
    names = tuple(str(s) for s in sites)
    stratum, begin = _facts(folder / "sites.parquet", names)
    return Weekly(
        sites=names,
        stratum=stratum,
        begin=begin,
        words=words,
        weeks=int(week_to.max()) + 1,
        since=0,
        first=np.searchsorted(site[order], np.arange(sites.size + 1)),
        page=_text(docs, "page")[order],
        week_from=week_from,
        week_to=week_to,
        start=start,
        term=term,
    )


def _text(table: Table, column: str) -> NDArray[np.object_]:
    return vocabulary(table[column].to_pylist())


def _weeks(table: Table, column: str, path: Path) -> Ints:
    if table[column].null_count:
        raise UsageError(f"{path}: column {column!r} has empty cells")
    return table[column].to_numpy().astype(np.intp)  # type: ignore[no-any-return]


def _check(week_from: Ints, week_to: Ints, path: Path) -> None:
    if week_from.min() < 0:
        raise UsageError(f"{path}: a week_from is below 0; weeks count from 0")
    if (week_to < week_from).any():
        raise UsageError(f"{path}: a document ends (week_to) before it starts")


def _vocabulary(path: Path) -> tuple[Ints, NDArray[np.object_]]:
    """Return the index of each term id, -1 for unused ids, and the words."""
    table = read_table(path, ("term_id", "term"))
    given = _weeks(table, "term_id", path)
    if given.size == 0 or given.min() < 0:
        raise UsageError(f"{path}: holds no term, or a term_id below 0")
    ids = np.full(int(given.max()) + 1, -1, dtype=np.intp)
    ids[given] = np.arange(given.size)
    return ids, _text(table, "term")


def _terms(docs: Table, path: Path, ids: Ints) -> tuple[Ints, NDArray[np.int32]]:
    """Return where each document's terms start, and the terms as indexes."""
    column = docs["terms"].combine_chunks()
    if column.null_count:
        raise UsageError(f"{path}: column 'terms' has empty cells; use empty lists")
    start = column.offsets.to_numpy().astype(np.intp)
    given = column.values.to_numpy()[start[0] : start[-1]]
    start = start - start[0]
    if given.size and (given.min() < 0 or given.max() >= ids.size):
        raise UsageError(f"{path}: a term id is not in vocab.parquet")
    inside = np.ones(given.size, dtype=np.bool_)
    inside[start[:-1][np.diff(start) > 0]] = False
    if (np.diff(given, prepend=-1)[inside] <= 0).any():
        raise UsageError(f"{path}: terms must ascend within a document, each once")
    term = ids[given]
    if (term < 0).any():
        raise UsageError(f"{path}: a term id is not in vocab.parquet")
    return start, term.astype(np.int32)


def _ordered(
    start: Ints, term: NDArray[np.int32], order: Ints
) -> tuple[Ints, NDArray[np.int32]]:
    """Return the documents' terms for another order of the documents."""
    sizes = np.diff(start)[order]
    begin = np.concatenate(([0], np.cumsum(sizes))).astype(np.intp)
    if (np.diff(order) != 1).any():
        shift = np.repeat(start[:-1][order] - begin[:-1], sizes)
        term = term[shift + np.arange(term.size)]
    return begin, term


def _facts(path: Path, names: tuple[str, ...]) -> tuple[tuple[str, ...], Floats]:
    """Return the stratum of each site, and the time of its week 0; 0 if unknown."""
    table = read_table(path, ("site", "domain"))
    row = {site: i for i, site in enumerate(table["site"].to_pylist())}
    missing = [name for name in names if name not in row]
    if missing:
        raise UsageError(f"{path}: has no row for the site {missing[0]!r}")
    domain = table["domain"].to_pylist()
    began = (
        table["window_start"].to_pylist()
        if "window_start" in table.column_names
        else [0] * table.num_rows
    )
    stratum = (domain[row[n]] if domain[row[n]] in STRATA else "misc" for n in names)
    begin = np.array([(began[row[n]] or 0) / SECONDS_A_DAY for n in names])
    return tuple(stratum), begin
