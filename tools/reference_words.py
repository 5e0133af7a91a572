"""Words of the code as Markdown, for the pages that are made from it."""

import inspect
import re
from collections.abc import Iterable, Sequence

SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$", re.MULTILINE)
ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


class Undocumented(Exception):  # noqa: N818  (it says what is missing)
    """Something public has no words."""


def entries(text: str, section: str) -> dict[str, str]:
    r"""Return the entries of a section of a docstring, each in one line.

    >>> entries("Do it.\n\nArgs:\n    a: One\n        thing.\n    b: Two.", "Args")
    {'a': 'One thing.', 'b': 'Two.'}
    """
    parts = SECTION.split(inspect.cleandoc(text))
    found = dict(zip(parts[1::2], parts[2::2], strict=True)).get(section, "")
    return {name: " ".join(said.split()) for name, said in ENTRY.findall(found)}


def plain(text: str) -> str:
    """Return words of the code as Markdown of a table's cell."""
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    return " ".join(text.replace("|", "\\|").split())


def lowered(text: str) -> str:
    """Return a sentence as a cell says it: no capital, no full stop."""
    text = plain(text).removesuffix(".")
    first = re.match(r"\[?[A-Z](?=[a-z ])", text)
    return text[: first.end()].lower() + text[first.end() :] if first else text


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
