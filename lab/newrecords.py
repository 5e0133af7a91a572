"""Find the new records of recorded tables through a form, by rival policies.

``python -m lab.newrecords FOLDER [OUT] [--quick] [--only A,B]`` plays versions of the
tables in a folder that have a text to search, month by month or, where a month brings
little, year by year (``lab.tables``), behind a form and prints what each policy found
for how many requests; with OUT it writes the curves of the first table there as
``new-records.svg``. ``--quick`` plays the last version of each, in the main settings,
with fewer requests.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from halflife.bench.newrecords_play import Game, Task, infer, play, replay, task
from halflife.core.forms import Attribute
from halflife.study.axes import linear, percent
from halflife.study.marks import LineMark
from halflife.study.svg import Chart, chart
from lab.tables import Table, listed, searched

__all__ = ["Game", "experiments", "infer", "replay", "summary"]

Row: TypeAlias = dict[str, Any]

EVERYBODY = (
    "paper",
    "uniform",
    "sharpened",
    "gamma-poisson",
    "exhaustive",
    "default",
    "undated",
    "oracle",
    "newest",
)
RIVALS = ("paper", "default")
SHARES = (0.05, 0.1, 0.2, 0.3)
MOST = 2000  # requests in a game
QUICK = 400  # the same with --quick
WIDEST = 1000.0  # requests on the picture
ALWAYS = ("as it is", "nothing goes", "drilled sample")  # played on every version
SETTINGS: Mapping[str, tuple[tuple[str, ...], Game]] = {
    "as it is": (EVERYBODY, Game(most=MOST)),
    "nothing goes": (("paper", "default"), Game(most=MOST, insert_only=True)),
    **{
        f"sample of {share:.0%}": (("paper",), Game(most=MOST, share=share))
        for share in SHARES
    },
    "biased sample": (("paper",), Game(most=MOST, biased=True)),
    "drilled sample": (RIVALS, Game(most=MOST, drilled="weighted")),
    "naive drilled sample": (("paper",), Game(most=MOST, drilled="naive")),
    "no counts": (RIVALS, Game(most=MOST, counts="none")),
    "counts off by up to 2": (RIVALS, Game(most=MOST, lies=2.0)),
    "100 results at most": (RIVALS, Game(most=MOST, cap=100)),
}


def experiments(
    folder: Path, *, quick: bool = False, only: Sequence[str] = ()
) -> list[Row]:
    """Return one row for each table, version, setting, policy and seed."""
    return [
        row
        for table in searched(folder, only)
        for end in (table.ends[:1] if quick else table.ends)
        for row in _version(table, end, quick=quick)
    ]


def _version(table: Table, end: float, *, quick: bool) -> Iterator[Row]:
    for setting, (policies, game) in SETTINGS.items():
        if setting not in ALWAYS and (quick or end != table.ends[0]):
            continue
        some = replace(game, most=QUICK) if quick else game
        work = task(
            table.relation, end - table.version, end, insert_only=game.insert_only
        )
        labels = {"table": table.name, "end": end, "setting": setting}
        attributes = infer(work.now.values(), table.names)
        for row in _play(work, attributes, policies, some):
            yield {**labels, **row}


def _play(
    work: Task, attributes: Sequence[Attribute], policies: Sequence[str], game: Game
) -> list[Row]:
    new = len(work.now.keys() - work.before.keys())
    sizes = {"before": len(work.before), "now": len(work.now), "new": new}
    return [{**sizes, **row} for row in play(work, attributes, policies, game)]


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return means over versions, with 95 % intervals, by table, setting and policy.

    Seeds of one version are averaged first: versions are what varies. Where a level
    was not reached in all games its requests are not told.
    """
    groups = dict.fromkeys((r["table"], r["setting"], r["policy"]) for r in rows)
    told = []
    for table, setting, name in groups:
        key = (table, setting, name)
        mine = [r for r in rows if (r["table"], r["setting"], r["policy"]) == key]
        told.append(
            {
                "table": table,
                "setting": setting,
                "policy": name,
                "games": len(mine),
                **{f: _interval(mine, f) for f in ("icr", "pnr", "ccr", "requests")},
                "requests_to": {
                    level: _interval(mine, level) for level in mine[0]["requests_to"]
                },
            }
        )
    return told


def _interval(rows: Sequence[Row], field: str) -> list[float | None] | None:
    """Return the mean and half its interval; None if a game has no value."""
    values: dict[float, list[float]] = {}
    for row in rows:
        value = row["requests_to"].get(field, row.get(field))
        if value is None:
            return None
        values.setdefault(row["end"], []).append(value)
    means = np.array([np.mean(found) for found in values.values()])
    if means.size < 2:
        return [round(float(means[0]), 4), None]
    from scipy.stats import t  # noqa: PLC0415 - slow to import

    half = t.ppf(0.975, means.size - 1) * means.std(ddof=1) / sqrt(means.size)
    return [round(float(means.mean()), 4), round(float(half), 4)]


def savings(rows: Sequence[Row], level: str = "0.9") -> list[Row]:
    """Return the default's requests to a level for each one of the paper's, by game."""
    needed = {
        (r["table"], r["setting"], r["end"], r["seed"], r["policy"]): r["requests_to"]
        for r in rows
    }
    told = []
    for (*game, name), levels in needed.items():
        other = needed.get((*game, "paper"))
        if name != "default" or other is None:
            continue
        mine, theirs = levels[level], other[level]
        ratio = mine / theirs if mine and theirs else None
        labels = dict(zip(("table", "setting", "end", "seed"), game, strict=True))
        told.append({**labels, "default": mine, "paper": theirs, "ratio": ratio})
    return told


def picture(rows: Sequence[Row], table: str) -> str:
    """Return the curves of one table's last version as an SVG that can stand alone."""
    shown = ("paper", "uniform", "gamma-poisson", "exhaustive", "default", "oracle")
    end = max(r["end"] for r in rows if r["table"] == table)
    games = [
        r
        for r in rows
        if (r["table"], r["setting"], r["end"], r["seed"])
        == (table, "as it is", end, 0)
    ]
    curves = {r["policy"]: np.array(r["curve"], float) for r in games}
    widest = max(curves[name][:, 0].max() for name in shown if name in curves)
    marks = tuple(
        LineMark(curves[name][:, 0], curves[name][:, 1], name, tone)
        for tone, name in enumerate(shown)
        if name in curves
    )
    drawn = Chart(
        title=f"New records found by requests: {table}",
        about="The share of the new records that each policy has found.",
        x=linear("requests, samples and probes included", 0.0, min(widest, WIDEST)),
        y=percent("share of the new records found"),
        marks=marks,
    )
    return chart(drawn, "new-records", styled=True)


def main(arguments: list[str]) -> None:
    """Play, print, and draw if asked to."""
    parser = argparse.ArgumentParser(prog="python -m lab.newrecords")
    parser.add_argument("folder", type=Path, help="recorded tables")
    parser.add_argument("out", type=Path, nargs="?", help="where the picture goes")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="A,B,...", help="some of the tables")
    given = parser.parse_args(arguments)
    rows = experiments(given.folder, quick=given.quick, only=listed(given.only))
    answer = {"summary": summary(rows), "savings": savings(rows), "results": rows}
    sys.stdout.write(json.dumps(answer, allow_nan=False) + "\n")
    if given.out and rows:
        given.out.mkdir(parents=True, exist_ok=True)
        drawn = picture(rows, rows[0]["table"])
        (given.out / "new-records.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
