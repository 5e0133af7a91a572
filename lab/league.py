"""The league of page policies, written down.

``python -m lab.league FOLDER OUT`` takes a folder with ``pages.parquet`` and
``changes.parquet``, replays every installed policy and the ``oracle`` at five budgets,
and writes ``league.json``, ``league.md`` and ``league.svg`` to the folder OUT.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from halflife.bench.league import (
    DAYS,
    SHARES,
    TICKS,
    LeagueRules,
    all_policies,
    compare,
    report,
)
from halflife.bench.standings import UNIFORM, Figure, Row
from halflife.recordings import histories
from halflife.study.league import picture

HEAD = (
    "policy", "freshness", "against uniform", "staleness cut", "requests for uniform's",
    "age (days)", "change ratio", "starved", "of B0", "of B2",
)  # fmt: skip


def markdown(told: Sequence[Row]) -> str:
    """Return the rows as Markdown, a table for each budget, the freshest first."""
    parts = []
    for share in dict.fromkeys(row["budget"] for row in told):
        some = [row for row in told if row["budget"] == share]
        some.sort(key=lambda row: -float(row["freshness"]["mean"]))
        one = some[0]
        parts.append(
            f"### {share:.1%} of the pages a day\n\n"
            f"Bounds: blind (B0) {one['blind']:.4f}, told (B1) {one['told']:.4f}, "
            f"hindsight (B2) {one['hindsight']:.4f}.\n\n"
            f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}\n"
            + "".join(f"| {' | '.join(_cells(row))} |\n" for row in some)
        )
    return "\n".join(parts)


def _cells(row: Row) -> list[str]:
    gain, cut = row["gain"].get(UNIFORM), row["staleness_cut"].get(UNIFORM)
    saved = row["requests_share"].get(UNIFORM)
    return [
        row["policy"],
        _figure(row["freshness"], ".4f"),
        _figure(gain, "+.4f") if gain else "",
        "" if cut is None else f"{cut:.1%}",
        "" if saved is None else f"{saved:.0%}",
        _figure(row["age"], ".3g"),
        _figure(row["change_ratio"], ".3f"),
        f"{row['starved']:.1%}",
        f"{row['closeness']['blind']:.3f}",
        f"{row['closeness']['hindsight']:.3f}",
    ]


def _figure(figure: Figure, form: str) -> str:
    mean, low, high = (format(figure[k], form) for k in ("mean", "low", "high"))
    return mean if low == high else f"{mean} [{low}, {high}]"


def write(answer: Mapping[str, object], rows: Sequence[Row], out: Path) -> None:
    """Write the league as JSON, as a table and as a picture."""
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(answer, indent=1, allow_nan=False) + "\n"
    (out / "league.json").write_text(text, encoding="utf-8")
    (out / "league.md").write_text(markdown(rows), encoding="utf-8")
    (out / "league.svg").write_text(picture(rows), encoding="utf-8")


def main(words: Sequence[str] | None = None) -> None:
    """Play the whole league and write it down."""
    parser = argparse.ArgumentParser(prog="lab.league")
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--policies", default=",".join(all_policies()))
    parser.add_argument("--budgets", default=",".join(map(str, SHARES)))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ticks", type=int, default=TICKS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(words)
    shares = [float(word) for word in given.budgets.split(",")]
    rules = LeagueRules(
        shares, given.seeds, given.ticks, executor=f"local:{given.jobs}"
    )
    recorded = histories.load(given.folder, days=DAYS)
    names = given.policies.split(",")
    rows = compare(recorded, names, rules, _tell)
    write(report(recorded, rules, rows), rows, given.out)
    sys.stdout.write(markdown(rows))


def _tell(_done: int, said: str) -> None:
    sys.stderr.write(f"{said}\n")


if __name__ == "__main__":
    main()
