"""Measure how the package is built: the table in docs/architecture.md.

    python lab/house.py [--json] [--root DIR]

Every figure is read from the source text, so it is the same on every machine.

``lab_only_modules`` are in the wheel although no verb of the product, no entry point
and no public name reaches them: only ``bench``, ``study``, the studies among the
options of ``replay``, ``lab/`` or the tests do. Only tests reach ``dead_modules``.
"""

import argparse
import ast
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

KINDS = frozenset({"pages", "site", "listing", "form", "search"})
# The types that work on one kind of source comes back in.
RESULTS = frozenset({"Outcome", "Looked", "Turned", "Summarized", "Checked"})
GERUND = re.compile(r"[a-z]{2,}(?:ing|ed)")
# Nouns of the field that only look like gerunds or participles.
NOUNS = frozenset(
    {"grouping", "probing", "pacing", "decoding", "sampling", "feed", "wording",
     "housekeeping"}
)  # fmt: skip
SQL = re.compile(
    r"\b(?:SELECT\s.+\sFROM|INSERT\s+(?:OR\s+\w+\s+)?INTO|DELETE\s+FROM"
    r"|UPDATE\s+\w+\s+SET|CREATE\s+(?:TABLE|INDEX|VIEW|TRIGGER)|PRAGMA\s)",
    re.DOTALL,
)
# What the verbs `bench`, `study` and the studies of `replay` run. The page draws with
# some of it, so only the way from the command line to it is cut.
STUDIES = ("halflife.bench", "halflife.study")
STUDY_VERBS = frozenset({"halflife.cli.bench", "halflife.cli.queries"})


class Module:
    """One module of the package: its name, text and syntax tree."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path.relative_to(root)
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)

    @property
    def name(self) -> str:
        """The name that the module is imported by."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def lines(self) -> int:
        """The number of lines of the file."""
        return self.text.count("\n")

    def is_inside(self, *packages: str) -> bool:
        """Say whether the module lies in one of these packages."""
        return self.path.parts[1] in packages


def read_package(root: Path, name: str = "halflife") -> list[Module]:
    """Return every module below ``root/name``."""
    return [Module(path, root) for path in sorted((root / name).rglob("*.py"))]


def kind_tests(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the places that ask of which kind a source or a result is.

    >>> sum(1 for _ in kind_tests(ast.parse("s.kind == 'form' or s.has_pages")))
    2
    """
    return (node for node in ast.walk(tree) if _asks_for_kind(node))


def _asks_for_kind(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            return _compares_kind(node)
        case ast.Call():
            return _asks_for_result(node)
        case ast.Attribute():
            return node.attr == "has_pages"
    return False


def _compares_kind(node: ast.Compare) -> bool:
    sides = (node.left, *node.comparators)
    asked = any(isinstance(s, ast.Attribute) and s.attr == "kind" for s in sides)
    asked = asked or any(isinstance(s, ast.Name) and s.id == "kind" for s in sides)
    named = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)} & KINDS
    many = any(isinstance(s, ast.Name) and s.id == "SETS" for s in sides)
    return asked and bool(named or many)


def _asks_for_result(node: ast.Call) -> bool:
    if not (isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
        return False
    named = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
    named |= {n.attr for n in ast.walk(node.args[1]) if isinstance(n, ast.Attribute)}
    return bool(named & RESULTS)


def sql_strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the string constants that hold SQL, docstrings aside."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if SQL.search(text):
                if id(node) not in prose:
                    yield node


def store_checks(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that ask whether a store is the one in SQLite."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance")):
                if "SqliteStore" in ast.dump(node):
                    yield node


def public_classes(module: Module) -> list[str]:
    """Return the names of the public classes that a module defines."""
    found = (n for n in module.tree.body if isinstance(n, ast.ClassDef))
    return [node.name for node in found if not node.name.startswith("_")]


def public_names(root: Path) -> int:
    """Return how many names ``import halflife`` offers."""
    tree = ast.parse((root / "halflife" / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(id="__all__")], ast.List(names)):
                return len(names)
    return 0


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a module imports, in functions too.

    A string such as ``"halflife.plugins:load"`` counts: it is imported later.

    >>> list(imported(ast.parse("from a import b")))
    ['a.b']
    """
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Constant(value=str(text)) if id(node) not in prose:
                if text.startswith("halflife."):
                    yield text.partition(":")[0]


def import_graph(modules: Iterable[Module]) -> dict[str, set[str]]:
    """Return which of these modules each of them imports, packages included."""
    trees = {module.name: module.tree for module in modules}
    return {name: set(_known(imported(tree), trees)) for name, tree in trees.items()}


def _known(names: Iterable[str], modules: Mapping[str, object]) -> Iterator[str]:
    for name in names:
        parts = name.split(".")
        wholes = (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        yield from (whole for whole in wholes if whole in modules)


def reached(graph: Mapping[str, set[str]], entries: Iterable[str]) -> set[str]:
    """Return all that the entries import, directly or not, and the entries.

    >>> sorted(reached({"a": {"b"}, "b": {"a"}, "c": {"a"}}, ["a"]))
    ['a', 'b']
    """
    found: set[str] = set()
    left = [name for name in entries if name in graph]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(graph[name] - found)
    return found


def entry_modules(project: Path) -> list[str]:
    """Return the modules that the entry points in pyproject.toml name."""
    path = project / "pyproject.toml"
    if not path.exists():
        return []
    told = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    groups = [told.get("scripts", {}), *told.get("entry-points", {}).values()]
    return [where.partition(":")[0] for group in groups for where in group.values()]


def without_studies(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the graph without the way from the command line to the studies."""
    cut = {name for name in graph if name in STUDY_VERBS or name.startswith(STUDIES)}
    return {
        name: wanted - cut if name.startswith("halflife.cli") else wanted
        for name, wanted in graph.items()
    }


def unreached(root: Path, modules: list[Module]) -> dict[str, dict[str, int]]:
    """Return the lines of the modules that only studies, and only tests, reach."""
    project = root.parent
    beside = read_package(project, "lab")
    graph = import_graph([*modules, *beside])
    entries = ["halflife", "halflife.__main__", *entry_modules(project)]
    product = reached(without_studies(graph), entries)
    verbs = reached(graph, entries)
    studied = reached(graph, [module.name for module in beside])
    rest = {m.name: m.lines for m in modules if m.name not in product}
    return {
        "lab_only_modules": {n: c for n, c in rest.items() if n in studied | verbs},
        "dead_modules": {n: c for n, c in rest.items() if n not in studied | verbs},
    }


def measure(root: Path) -> dict[str, object]:
    """Return the measurements of the package below ``root``."""
    modules = read_package(root)
    outside = [m for m in modules if not m.is_inside("kinds")]
    asked = {str(m.path): sum(1 for _ in kind_tests(m.tree)) for m in outside}
    asked = {path: count for path, count in asked.items() if count}
    inner = [m for m in modules if not m.is_inside("stores")]
    sql = {str(m.path): sum(1 for _ in sql_strings(m.tree)) for m in inner}
    names = Counter(name for m in modules for name in public_classes(m))
    stems = [m.path.stem for m in modules]
    apart = unreached(root, modules)
    gerunds = [s for s in stems if GERUND.fullmatch(s) and s not in NOUNS]
    return {
        "kind_tests": sum(asked.values()),
        "kind_test_files": len(asked),
        "wheel_lines": sum(m.lines for m in modules),
        "modules": len(modules),
        "duplicate_class_names": sum(1 for n in names.values() if n > 1),
        "gerund_modules": len(gerunds),
        "sql_outside_stores": sum(sql.values()),
        "store_checks_outside_stores": sum(
            1 for m in inner for _ in store_checks(m.tree)
        ),
        "live_modules": sum(1 for m in modules if m.is_inside("live")),
        "public_names": public_names(root),
        "lab_only_modules": len(apart["lab_only_modules"]),
        "lab_only_lines": sum(apart["lab_only_modules"].values()),
        "dead_modules": len(apart["dead_modules"]),
        "where": {
            **apart,
            "kind_tests": asked,
            "sql_outside_stores": {p: c for p, c in sql.items() if c},
            "gerund_modules": sorted(gerunds),
            "duplicate_class_names": {n: c for n, c in names.items() if c > 1},
        },
    }


def main() -> None:
    """Print the measurements, as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    here = Path(__file__).resolve().parent.parent / "src"
    parser.add_argument("--root", type=Path, default=here, help="the folder src")
    given = parser.parse_args()
    found = measure(given.root)
    if given.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        if name != "where":
            print(f"{name.replace('_', ' '):28} {value}")


if __name__ == "__main__":
    main()
