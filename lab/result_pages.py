"""Pages and result files held together: every figure of a page has a file behind it.

Three marks, all of them comments that no reader sees:

- ``<!-- result: league.json#PATH as FORM; PATH as FORM -->`` stands behind figures in
  a text or a row: the last figures before it are those of the file, in this order, and
  ``python -m lab.results --pages`` renews them.
  ``rows[policy=champion,budget=0.005].gain.uniform.low as 100*+.1f`` picks a row of a
  list by what it holds, goes on by names, and prints a hundred times the number; a
  path that begins with a dot goes on from the row that was picked last;
- ``<!-- result: league.json table=standings -->`` to ``<!-- end of result -->``
  encloses what the same command wrote from the file;
- ``<!-- result: fetch.json -->`` below a heading says in which file the figures of the
  section are.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

MARK = re.compile(r"<!-- result: ([\w-]+\.json)(#[^>]*?)?(?: table=([\w-]+))? -->")
END = "<!-- end of result -->"
MINUS, TIMES, THIN = "\u2212", "\u00d7", "\u202f"  # as pages write them
FIGURE = re.compile(rf"(?<![\w.])[-+{MINUS}]?\d+(?:[ {THIN}]\d{{3}}(?!\d))*(?:\.\d+)?")
CLAIM = re.compile(rf"\d\.\d|\d ?%|\d ?{TIMES}|\d points")
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", re.DOTALL)
# In a sentence a figure with a unit is a claim, too; the confidence of bounds is none.
CLAIM_IN_WORDS = re.compile(rf"{CLAIM.pattern}|\d (?:s|ms|MB|KB|kB|times)\b")
LEVEL = re.compile(r"95 % (?=bounds|intervals)")
COMMAND = re.compile(
    r"`(?:\.venv/bin/|time |for )*(?:python3? |halflife |make |pytest |tests/|s in )"
)
MEASURED = "measured"


class Mark(NamedTuple):
    """A mark in a page: the file, the paths in it, and the table it holds."""

    file: str
    paths: tuple[str, ...]
    table: str
    begin: int
    end: int


def marks(text: str) -> Iterator[Mark]:
    """Yield the marks of a text."""
    for found in MARK.finditer(text):
        paths = (found[2] or "").removeprefix("#").split(";")
        kept = tuple(_whole([path.strip() for path in paths if path.strip()]))
        yield Mark(found[1], kept, found[3] or "", *found.span())


def _whole(paths: Sequence[str]) -> Iterator[str]:
    """Yield paths; one that begins with a dot goes on from the row picked last."""
    row = ""
    for path in paths:
        whole = row + path if path.startswith(".") else path
        row = whole[: whole.rindex("]") + 1] if "]" in whole else ""
        yield whole


def looked_up(told: Any, path: str) -> str:  # noqa: ANN401  (any JSON)
    """Return the figure at a path, as it is to be printed.

    >>> rows = [{"at": 1}, {"at": 2, "mean": 0.921}]
    >>> looked_up({"rows": rows}, "rows[at=2].mean as 100*.1f")
    '92.1'
    """
    place, _, form = path.partition(" as ")
    value = told
    for name, picked in re.findall(r"([\w-]+)(?:\[([^\]]*)\])?", place):
        value = value[name]
        if picked:
            value = _picked(value, picked)
    factor, star, rest = form.partition("*")
    number = float(value) * float(factor) if star else value
    return format(number, rest if star else form)


def _picked(rows: Any, wanted: str) -> Any:  # noqa: ANN401  (any JSON)
    pairs = [pair.partition("=")[::2] for pair in wanted.split(",")]
    for row in rows:
        if all(str(row.get(name)) == value for name, value in pairs):
            return row
    raise KeyError(f"no row with {wanted}")


def wrong_marks(text: str, results: Path) -> Iterator[str]:
    """Yield what is wrong with the marked figures of a page."""
    last = 0
    for mark in marks(text):
        before, last = text[last : mark.begin], mark.end
        path = results / mark.file
        if not path.is_file():
            yield f"results/{mark.file} is not there"
            continue
        told = json.loads(path.read_text(encoding="utf-8"))
        if not mark.paths:
            continue
        if told["status"] != MEASURED:
            yield f"results/{mark.file} is not measured, but figures point into it"
            continue
        shown = figures(before)[-len(mark.paths) :]
        known = [looked_up(told, one) for one in mark.paths]
        if shown != known:
            yield f"results/{mark.file} has {known}, the page {shown}"


def figures(text: str) -> list[str]:
    r"""Return the figures in a text, code and addresses left out.

    >>> figures("`x 1` keeps 92.1 % of 51 489 pages [+5.2, \u22120.4]")
    ['92.1', '51489', '+5.2', '-0.4']
    """
    plain = CODE.sub(" ", text)
    found = (re.sub(rf"[ {THIN}]", "", one) for one in FIGURE.findall(plain))
    return [one.replace(MINUS, "-") for one in found]


def unbacked_rows(text: str) -> Iterator[str]:
    """Yield the rows of tables that claim a figure with no mark to go by."""
    section, inside = False, False
    for line in text.splitlines():
        found = list(marks(line))
        if line.startswith("#"):
            section = False
        if found and not line.startswith("|"):
            inside = inside or any(mark.table for mark in found)
            section = section or not any(mark.table or mark.paths for mark in found)
        inside = inside and line != END
        is_row = line.startswith("|") and CLAIM.search(CODE.sub(" ", line))
        if is_row and not (found or inside or section):
            yield line


def unbacked_claims(text: str) -> Iterator[str]:
    """Yield the paragraphs that claim a figure and do not say where it comes from.

    In a section with a result file, that is a mark with its path, or a command of the
    paragraph's own; in one without, a command in its heading will do. Tables have
    ``unbacked_rows``. A list is a paragraph for each of its points.
    """
    for section in re.split(r"^(?=## )", _without_tables(text), flags=re.MULTILINE):
        heading, _, body = section.partition("\n")
        found = list(marks(section))
        excused = bool(COMMAND.search(heading)) and not found
        for one in re.split(r"\n{2,}|\n(?=- )", body):
            claimed = CLAIM_IN_WORDS.search(LEVEL.sub(" ", CODE.sub(" ", one)))
            backed = COMMAND.search(one) or any(mark.paths for mark in marks(one))
            if claimed and not (excused or backed):
                yield one.strip()


def _without_tables(text: str) -> str:
    """Return a page without its tables; of those of files the marks are left."""
    enclosed = re.compile(
        rf"(<!-- result: \S+ table=\S+ -->)\n.*?{re.escape(END)}", re.DOTALL
    )
    kept = enclosed.sub(lambda found: found[1], text)
    return "\n".join(line for line in kept.splitlines() if not line.startswith("|"))


Render = Callable[[Mapping[str, Any]], str]


def rendered(text: str, results: Path, tables: Mapping[str, Render]) -> str:
    """Return a page with its tables and marked figures made again from the files.

    What stands for a file that is not there, or not measured, stays.
    """
    parts, last = [], 0
    for mark in marks(text):
        path = results / mark.file
        told = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        before, end = text[last : mark.begin], mark.end
        if told.get("status") == MEASURED:
            before = _refilled(before, [looked_up(told, one) for one in mark.paths])
        parts += [before, text[mark.begin : mark.end]]
        if mark.table and told.get("status") == MEASURED:
            end = text.index(END, mark.end)
            made = tables[mark.table](told).strip("\n")
            parts.append(f"\n{made}\n")
        last = end
    return "".join([*parts, text[last:]])


def _refilled(text: str, known: Sequence[str]) -> str:
    r"""Return a text whose last figures are these.

    >>> _refilled("`1` of 3 pages, 0.5 [+0, 9]", ["0.75", "+0.1", "-20000"])
    '`1` of 3 pages, 0.75 [+0.1, \u221220 000]'
    """
    plain = CODE.sub(lambda found: " " * len(found[0]), text)
    places = list(FIGURE.finditer(plain))[len(figures(text)) - len(known) :]
    for place, value in reversed(list(zip(places, known, strict=True))):
        if figures(place[0]) != [value]:
            whole, dot, rest = value.replace("-", MINUS).partition(".")
            grouped = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", " ", whole)
            shown = grouped if len(whole) > _LONGEST_WHOLE else whole
            text = f"{text[: place.start()]}{shown}{dot}{rest}{text[place.end() :]}"
    return text


_LONGEST_WHOLE = 4  # digits of a number that is written without spaces
