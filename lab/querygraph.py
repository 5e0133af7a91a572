"""How fast Eq. 4 is for all records of a table, and whether it says anything.

``python -m lab.querygraph [FOLDER] [--quick] [--only A,B]`` prints time and memory for
tables of 10 000 and 100 000 records with five attributes, beside networkx on a graph
that is written down; and, for the tables of a folder, how much Sel differs between
records and whether records with a higher one have more new neighbours. ``--quick``
leaves out the larger table.
"""

import argparse
import json
import sys
import tracemalloc
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from halflife.bench.newrecords_play import infer, task
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.forms import Interface, Term
from halflife.queries.graph import selection
from halflife.queries.incidence import Incidence
from lab.tables import Table, listed, searched

DOMAINS = (100, 300, 1000, 3000, 5000)  # values of the attributes, for 10 000 records
SKEW = 0.7
SOURCES = 12  # of which networkx walks the graph


def table(n: int, seed: int = 0) -> Incidence:
    """Return records with five values each, some common and most rare."""
    rng, columns, known = np.random.default_rng(seed), [], 0
    for size in DOMAINS:
        values = size * n // 10_000
        chance = np.arange(1, values + 1) ** -SKEW
        columns.append(known + rng.choice(values, n, p=chance / chance.sum()))
        known += values
    start = np.arange(n + 1) * len(DOMAINS)
    terms = tuple(Term("value", str(i)) for i in range(known))
    term = np.stack(columns, axis=1).ravel()
    return Incidence(tuple(map(str, range(n))), terms, start, term)


def timed(n: int) -> dict[str, Any]:
    """Return the time and memory that Eq. 4 takes for n records, and networkx's."""
    incidence, rng = table(n), np.random.default_rng(1)
    sample = rng.random(n) < 0.15
    history = (rng.random(n) < 0.9) | ~sample
    tracemalloc.start()
    before = process_time()
    found = selection(incidence, history, sample)
    took = process_time() - before
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "records": n,
        "cpu_s": took,
        "peak_mb": peak / 1e6,
        "sel_sd": float(found.sel.std()),
        **(_networkx(incidence, took) if n <= 10_000 else {}),
    }


def _networkx(incidence: Incidence, took: float) -> dict[str, Any]:
    """Return what a graph that is written down takes, from a few sources."""
    try:
        import networkx as nx  # noqa: PLC0415 - an oracle that need not be there
    except ModuleNotFoundError:
        return {}
    before = process_time()
    graph = nx.Graph()
    graph.add_nodes_from(range(len(incidence)))
    for number in range(len(incidence.terms)):
        rows = incidence.of_term(number).tolist()
        graph.add_edges_from((a, b) for a in rows for b in rows if a < b)
    built = process_time() - before
    before = process_time()
    for row in range(SOURCES):
        nx.single_source_shortest_path_length(graph, row)
    walks = (process_time() - before) * len(incidence) / SOURCES
    return {
        "networkx_edges": graph.number_of_edges(),
        "networkx_cpu_s": built + walks,
        "ratio": (built + walks) / took,
    }


def told(recorded: Table) -> dict[str, Any]:
    """Return how Sel differs between records of a table, and with what it goes.

    The truth is the share of new records among a record's neighbours in the last
    version; a draw in proportion to Sel is compared with an even one.
    """
    end = recorded.end
    work = task(recorded.relation, end - recorded.version, end, insert_only=True)
    attributes = infer(work.now.values(), recorded.names)
    incidence = Incidence.of(Interface(tuple(attributes)), work.now)
    old = np.array([key in work.before for key in incidence.keys])
    sample = np.random.default_rng(0).random(old.size) < 0.15
    rows = np.flatnonzero(old | sample)
    known = _rows(incidence, rows)
    sel = selection(known, old[rows], sample[rows]).sel
    share, number = (column[rows] for column in neighbours(incidence, ~old))
    even, drawn = float(share.mean()), float((share * sel).sum() / sel.sum())
    return {
        "table": recorded.name,
        "records": len(rows),
        "sel_mean": float(sel.mean()),
        "sel_sd": float(sel.std()),
        "sel_range": [float(sel.min()), float(sel.max())],
        "correlation_with_new_neighbours": _correlation(sel, number),
        "correlation_with_share_of_new": _correlation(sel, share),
        "share_of_new_when_drawn_evenly": even,
        "share_of_new_when_drawn_by_sel": drawn,
    }


def _rows(incidence: Incidence, rows: Ints) -> Incidence:
    sizes = np.diff(incidence.start)[rows]
    start = np.concatenate([np.zeros(1, np.intp), np.cumsum(sizes)])
    parts = [incidence.of_record(row) for row in rows.tolist()]
    keys = tuple(incidence.keys[row] for row in rows.tolist())
    return Incidence(keys, incidence.terms, start, np.concatenate(parts))


def neighbours(incidence: Incidence, new: Bools) -> tuple[Floats, Floats]:
    """Return the share of new records among each record's neighbours, and how many."""
    share, number = np.zeros(len(incidence)), np.zeros(len(incidence))
    for row in range(len(incidence)):
        near = [incidence.of_term(i) for i in incidence.of_record(row).tolist()]
        others = np.setdiff1d(np.concatenate(near), row) if near else np.zeros(0, int)
        number[row] = np.count_nonzero(new[others])
        share[row] = number[row] / max(others.size, 1)
    return share, number


def _correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's rank correlation."""
    ranks = [np.argsort(np.argsort(x)).astype(np.float64) for x in (a, b)]
    return float(np.asarray(np.corrcoef(ranks))[0, 1])


def main(arguments: list[str]) -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(prog="python -m lab.querygraph")
    parser.add_argument("folder", type=Path, nargs="?", help="recorded tables")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="A,B,...", help="some of the tables")
    given = parser.parse_args(arguments)
    found = searched(given.folder, listed(given.only)) if given.folder else []
    sizes = (10_000,) if given.quick else (10_000, 100_000)
    answer = {
        "speed": [timed(n) for n in sizes],
        "tables": [told(one) for one in found],
    }
    sys.stdout.write(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
