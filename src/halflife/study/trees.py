"""A tree of rules, one line for each rule or group, with rates of groups as bars."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from halflife.study import svg
from halflife.study.axes import Axis, linear
from halflife.study.figures import short
from halflife.study.svg import number, text

WIDTH = 900.0
LINE = 26.0
TOP, BOTTOM = 30.0, 40.0
TEXT_END, BAR_END = 520.0, WIDTH - 130.0
INDENT = 22.0


@dataclass(frozen=True)
class TreeLine:
    """One line of the tree.

    Attributes:
        depth: How many rules lead to it.
        label: Its text: a rule, or the number of a group.
        rate: Ends per object and day, if it is a group: mean, low, high.
        remark: The text beside the bar.

    """

    depth: int
    label: str
    rate: tuple[float, float, float] | None = None
    remark: str = ""


def tree(title: str, about: str, lines: list[TreeLine], name: str) -> str:
    """Return the tree as an ``<svg>`` element."""
    highest = svg.highest(np.array([r.rate[2] for r in lines if r.rate]), least=1e-9)
    axis = linear("ends per object and day", 0.0, highest, most=4)
    base = TOP + LINE * len(lines)
    parts = [*_grid(axis, base)]
    for row, line in enumerate(lines):
        parts += _drawn(line, TOP + LINE * (row + 0.5), axis)
    parts += _links(lines)
    return svg.element(name, title, about, parts, size=(WIDTH, base + BOTTOM))


def _across(axis: Axis, value: float) -> float:
    return float(axis.place(np.array([value]), TEXT_END, BAR_END)[0])


def _grid(axis: Axis, base: float) -> Iterator[str]:
    for value, label in axis.ticks:
        x = number(_across(axis, value))
        yield (
            f'<path class="grid" d="M{x} {number(TOP - 4)}V{number(base)}"/>'
            f'<text class="middle" x="{x}" y="{number(base + 15)}">{text(label)}</text>'
        )
    middle = number((TEXT_END + BAR_END) / 2)
    yield (
        f'<text class="middle" x="{middle}" y="{number(base + 33)}">'
        f"{text(axis.label)}</text>"
    )


def _drawn(line: TreeLine, y: float, axis: Axis) -> Iterator[str]:
    x = 14 + INDENT * line.depth
    room = int((TEXT_END - x - 24) / svg.CHARACTER)
    yield (
        f'<text x="{number(x)}" y="{number(y + 4)}"><title>{text(line.label)}</title>'
        f"{text(short(line.label, room))}</text>"
    )
    if line.rate is None:
        return
    mean, low, high = (_across(axis, value) for value in line.rate)
    yield (
        f'<rect class="bar t0" x="{number(TEXT_END)}" y="{number(y - 7)}" '
        f'width="{number(max(mean - TEXT_END, 1.0))}" height="14"/>'
        f'<path class="whisker t0" d="M{number(low)} {number(y)}H{number(high)}"/>'
        f'<text x="{number(max(high, mean) + 8)}" y="{number(y + 4)}">'
        f"{text(line.remark)}</text>"
    )


def _links(lines: list[TreeLine]) -> Iterator[str]:
    """Yield the connections of each line with the rule that leads to it."""
    parent: dict[int, int] = {}
    for row, line in enumerate(lines):
        parent[line.depth] = row
        if line.depth == 0:
            continue
        x = 14 + INDENT * (line.depth - 1) + 6
        top = TOP + LINE * (parent[line.depth - 1] + 0.5) + 9
        y = TOP + LINE * (row + 0.5)
        yield (
            f'<path class="frame" d="M{number(x)} {number(top)}V{number(y)}'
            f'h{number(INDENT - 9)}"/>'
        )
