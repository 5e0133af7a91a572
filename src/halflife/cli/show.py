"""Output of verbs: results on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, TypeAlias

from halflife.core.wording import (
    # The verbs take these from here, too.
    date as date,  # noqa: PLC0414
    finite,
    number,
    plain as plain,  # noqa: PLC0414
    span as span,  # noqa: PLC0414
)

Cell: TypeAlias = str | float | int | None
Row: TypeAlias = Mapping[str, Cell]
Advance: TypeAlias = Callable[[int, str], None]

# Keys of JSON stay as programs know them; people read these words.
HEADINGS = {
    "looks": "fetches",
    "first_look": "first fetch",
    "last_look": "last fetch",
    "gone_estimate": "gone (estimate)",
}


def say(text: str = "") -> None:
    """Write a line of the result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Write a line that is not part of the result."""
    sys.stderr.write(text + "\n")


def emit(answer: Mapping[str, object], *, one_line: bool = False) -> None:
    """Write the result as one JSON object; NaN and infinity become null."""
    indent = None if one_line else 2
    say(json.dumps(finite(answer), allow_nan=False, indent=indent))
    sys.stdout.flush()


def body(raw: bytes, text: str) -> None:
    """Write a copy: unchanged to a file or pipe, sanitised to a terminal."""
    if sys.stdout.isatty():
        for line in text.splitlines():
            say(plain(line))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def figure(mean: float, low: float, high: float) -> dict[str, float]:
    """Return a number with its interval, as every answer in JSON writes it."""
    return {"mean": float(mean), "low": float(low), "high": float(high)}


def flat(row: Mapping[str, object]) -> Row:
    """Return a row for people: a figure with an interval in one cell."""
    cells: dict[str, Cell] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            cells[name] = interval(value["mean"], value["low"], value["high"])
        elif value is None or isinstance(value, int | float):
            cells[name] = value
        else:
            cells[name] = str(value)
    return cells


def interval(mean: float, low: float, high: float) -> str:
    """Return a number with its bounds as people write it.

    >>> interval(0.91234, 0.9, 0.93), interval(0.5, 0.5, 0.5)
    ('0.912 [0.900, 0.930]', '0.500')
    """
    return f"{mean:.3f}" if low == high else f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def table(rows: Sequence[Row]) -> None:
    """Write rows under the names of their columns; nothing if there are none.

    A terminal gets a drawn table, a file or a pipe plain columns of full width.
    """
    if not rows:
        return
    names = list(rows[0])
    cells = [[_cell(row[name]) for name in names] for row in rows]
    right = [all(not isinstance(row[name], str) for row in rows) for name in names]
    heads = [heading(name) for name in names]
    if sys.stdout.isatty():
        _drawn(heads, cells, right)
        return
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for line in (heads, *cells):
        places = zip(line, widths, right, strict=True)
        padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in places)
        say("  ".join(padded).rstrip())


def heading(name: str) -> str:
    """Return the heading of a column of this name.

    >>> heading("quality_now"), heading("last_look")
    ('quality now', 'last fetch')
    """
    return HEADINGS.get(name, name.replace("_", " "))


def _cell(value: Cell) -> str:
    if value is None:
        return "-"
    return number(value, 4) if isinstance(value, float) else plain(str(value))


def _drawn(names: list[str], cells: list[list[str]], right: list[bool]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD)
    for name, numbers in zip(names, right, strict=True):
        side: Literal["left", "right"] = "right" if numbers else "left"
        drawn.add_column(name, justify=side, overflow="fold")
    for line in cells:
        drawn.add_row(*(Text(cell) for cell in line))
    Console(highlight=False).print(drawn)


@contextmanager
def progress(
    label: str, total: int | None, *, quiet: bool = False
) -> Iterator[Advance]:
    """Draw a bar on stderr while the block runs, if stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _done, _text: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)

        def advance(done: int, text: str) -> None:
            words = f"{label}  {plain(text)}" if text else label
            bar.update(task, advance=done, description=words)

        yield advance
