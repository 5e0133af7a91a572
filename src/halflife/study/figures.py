"""The figures of a study: charts with a description and their numbers."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from halflife.core.lifetimes import Values
from halflife.study import svg

Column: TypeAlias = Sequence[object] | Values
Table: TypeAlias = Mapping[str, Column]
# The title of a picture, and the function that draws it, given a prefix for its ids.
Drawing: TypeAlias = tuple[str, Callable[[str], str]]
WIDEST = 34  # letters of a name in a legend


@dataclass(frozen=True)
class StudyFigure:
    """One figure of the study.

    Attributes:
        name: The name of its file and its anchor.
        title: Its title, in a line.
        said: The findings about this source, in plain sentences.
        charts: The charts.
        table: The numbers of the charts, by column.
        shown: A small table on the page itself.

    """

    name: str
    title: str
    said: tuple[str, ...]
    charts: tuple[Drawing, ...]
    table: Table
    shown: Table = field(default_factory=dict)


def drawing(chart: svg.Chart) -> Drawing:
    """Return a chart as a drawing."""
    return chart.title, lambda name: svg.chart(chart, name)


def short(name: str, most: int = WIDEST) -> str:
    """Return a name that fits a legend: its beginning and its end.

    >>> short("a very long category name that says a lot", 16)
    'a very…ays a lot'
    """
    name = " ".join(name.split())
    if len(name) <= most:
        return name
    head = (most - 1) * 2 // 5
    return f"{name[:head].rstrip()}…{name[head + 1 - most :].lstrip()}"


def cell(value: object) -> str:
    """Return the text of a table cell: short numbers, empty for none.

    >>> cell(0.123456789), cell(float("nan")), cell(3), cell(None), cell("a")
    ('0.123457', '', '3', '', 'a')
    """
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return str(value)


def as_csv(table: Table) -> str:
    r"""Return a table as CSV; text that a spreadsheet would take for a formula is not.

    >>> as_csv({"name": ["=1+1", "b"], "n": [1, 0.5]})
    "name,n\r\n'=1+1,1\r\nb,0.5\r\n"
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(table)
    for row in zip(*table.values(), strict=True):
        writer.writerow([_harmless(value) for value in row])
    return out.getvalue()


def _harmless(value: object) -> str:
    content = cell(value)
    risky = isinstance(value, str) and content[:1] in tuple("=+-@\t\r")
    return f"'{content}" if risky else content


def stack_tables(tables: Sequence[Table]) -> Table:
    """Return tables of the same columns one under the other."""
    if not tables:
        return {}
    return {
        name: [value for table in tables for value in table[name]] for name in tables[0]
    }
