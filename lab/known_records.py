"""Known records of recorded tables kept fresh through keyword search, by rival rules.

    python -m lab.known_records FOLDER [--quick] [--only A,B]

replays the last looks of every daily table in a folder that has words to search. What
is searched and how versions differ follows from the table (``lab.tables``): if a number
moves nearly every day, by how far it is off, whether it is off, and by how far with
records weighed by it; else by whether anything changed. One may say so instead:

    python -m lab.known_records FOLDER --only TABLE --keywords A,B --measure stars
        [--weight stars] [--share 0.3] [--budgets 20,5]

The rows are JSON, written as they come: it takes minutes.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from halflife.bench.contentfreshness import replay
from lab.tables import Table, listed, tables

Row: TypeAlias = dict[str, Any]

LOOKS, FEW = 100, 40  # looks that are replayed; with --quick
KNOWN = 0.3  # of the records are known at the start
DAILY = (0.02, 0.005)  # requests a day for each of these, unless somebody says how many


@dataclass(frozen=True)
class Question:
    """What is asked of a table.

    Attributes:
        keywords: The columns that are searched.
        measure: How versions differ.
        weight: How much records matter; all alike if None.

    """

    keywords: Sequence[str]
    measure: str
    weight: str | None = None


@dataclass(frozen=True)
class Setting:
    """How tables are replayed.

    Attributes:
        question: What is asked of every table; by default it follows from the table.
        budgets: Requests a day; by default shares of what is known.
        share: Of the records are known at the start.
        quick: Few looks, one draw, one budget.

    """

    question: Question | None = None
    budgets: Sequence[float] = ()
    share: float = KNOWN
    quick: bool = False

    def days(self, table: Table) -> Sequence[float]:
        """Return the requests a day that are tried."""
        known = self.share * len(table.last)
        tried = self.budgets or [max(share * known, 1.0) for share in DAILY]
        return tried[:1] if self.quick else tried


def questions(table: Table) -> list[Question]:
    """Return what can be asked of a table."""
    words = [one.name for one in table.words[:3]]
    counter = table.counter
    if not counter:
        return [Question(words, "changed")]
    return [
        Question(words, counter),
        Question(words, f"changed:{counter}"),
        Question(words, counter, counter),
    ]


def experiments(
    folder: Path, setting: Setting, only: Sequence[str] = ()
) -> Iterator[Row]:
    """Yield a row for each table, question, budget and rule."""
    for table in tables(folder, only):
        if not (table.words and table.is_daily):
            continue
        asked = [setting.question] if setting.question else questions(table)
        for question in asked[:1] if setting.quick else asked:
            yield from _replayed(table, question, setting)


def _replayed(table: Table, question: Question, setting: Setting) -> Iterator[Row]:
    looks = table.relation.looks
    begin = float(looks[-min(FEW if setting.quick else LOOKS, looks.size)])
    for budget in setting.days(table):
        rows = replay(
            table.relation,
            question.keywords,
            budget=budget,
            measure=question.measure,
            weight=question.weight,
            share=setting.share,
            begin=begin,
            seeds=range(1 if setting.quick else 2),
        )
        head = {
            "source": table.name,
            "budget": budget,
            "measure": question.measure,
            "weight": question.weight,
            "share": setting.share,
            "begin": begin,
        }
        yield from ({**head, **row} for row in rows)


def main(words: Sequence[str] | None = None) -> None:
    """Print the rows, without their curves."""
    parser = argparse.ArgumentParser(prog="lab.known_records", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only")
    parser.add_argument("--keywords")
    parser.add_argument("--measure", default="changed")
    parser.add_argument("--weight")
    parser.add_argument("--share", type=float, default=KNOWN)
    parser.add_argument("--budgets", default="")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args(words)
    question = None
    if given.keywords:
        question = Question(listed(given.keywords), given.measure, given.weight)
    budgets = [float(word) for word in listed(given.budgets)]
    setting = Setting(question, budgets, given.share, given.quick)
    sys.stdout.write("[")
    for place, row in enumerate(experiments(given.folder, setting, listed(given.only))):
        told = {name: value for name, value in row.items() if name != "curve"}
        sys.stdout.write((",\n" if place else "\n") + json.dumps(told))
        sys.stdout.flush()
    sys.stdout.write("\n]\n")


if __name__ == "__main__":
    main()
