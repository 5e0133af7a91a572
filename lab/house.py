"""Measure how the package is built: the table in docs/architecture.md.

    python lab/house.py [--json] [--root DIR]

Every figure is read from the source text, so it is the same on every machine.

``lab_only_modules`` are in the wheel although no verb, no entry point and no public
name reaches them: only ``lab/`` does. Only tests reach ``dead_modules``. Only the verbs
``bench``, ``study`` and the studies among the options of ``replay`` reach
``study_modules``: they judge policies and forecasts, and keep no source.
"""

import argparse
import ast
import gc
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set as AbstractSet
from functools import lru_cache
from pathlib import Path

KINDS = frozenset({"pages", "site", "listing", "form", "search"})
# What belongs to all kinds: the protocol, and what finds, contains and checks a kind.
SHARED = frozenset(
    {"protocol", "hooks", "terms", "registry", "containment", "contained_worker"}
    | {"laws", "whole", "chosen", "page_view", "item_groups", "object_page"}
    | {"guesses", "trial"}
)
# Settings of one kind, and the types that work on one kind of source comes back in.
OF_A_KIND = frozenset(
    {"PagesConfig", "ListingConfig", "FormConfig", "SearchConfig"}
    | {"Outcome", "ListingOutcome", "FormOutcome", "SamplingOutcome", "CheckOutcome"}
    | {"PagesState", "ListingState", "FormState", "SearchState"}
)
# Whoever reads one of these asks of which kind a source is ...
FLAGS = frozenset({"has_pages", "is_joint", "is_open_ended"})
# ... and so does who compares one of these, or branches by it.
WORDS = frozenset({"view", "verb", "planned_as"})
# Constants that hold names of kinds.
NAMED = frozenset({"SETS", "USUAL"})
# Names under which a source, a row of one, or its kind goes by.
SOURCES = frozenset({"source", "s", "settings", "row", "config", "answer"})
# Modules that other programs and authors of plug-ins import, as the documents say.
OFFERED = (
    "halflife.demo.forms",
    "halflife.dlt_source",
    "halflife.policies.laws",
    "halflife.scrapy",
    "halflife.scrapy.middlewares",
    "halflife.scrapy.requests",
    "halflife.scrapy.revisits",
    "halflife.sinks.laws",
)
# The file that finds the settings of a kind by its name, the usual one included.
REGISTRY = ("config", "kinds.py")
TEMPLATE = re.compile(
    r"\.kind\s*(?:==|!=|(?:not\s+)?in\b)\s*[(\[{]?\s*[\"']"
    r"|[\"']\s*(?:==|!=)\s*\w+\.kind\b|\.(?:is_joint|is_open_ended|has_pages)\b"
)
GERUND = re.compile(r"[a-z]{2,}(?:ing|ed)")
# Nouns of the field that only look like gerunds or participles.
NOUNS = frozenset(
    {"grouping", "probing", "pacing", "decoding", "sampling", "ranking", "feed",
     "wording", "housekeeping"}
)  # fmt: skip
SQL = re.compile(
    r"\b(?:SELECT\s.+\sFROM|INSERT\s+(?:OR\s+\w+\s+)?INTO|DELETE\s+FROM"
    r"|UPDATE\s+\w+\s+SET|CREATE\s+(?:TABLE|INDEX|VIEW|TRIGGER)|PRAGMA\s)",
    re.DOTALL,
)
# What the verbs `bench`, `study` and the studies of `replay` run. The page draws with
# some of it, so only the way from the command line to it is cut.
STUDIES = ("halflife.bench", "halflife.study")
STUDY_VERBS = frozenset({"halflife.cli.queries"})


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


@lru_cache(4096)
def walk(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return the nodes of a tree; of a module that is asked for several times."""
    return tuple(ast.walk(tree))


def kind_tests(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the places that ask of which kind a source or a result is.

    A comparison of two variables names no kind and is none: a filter by the kind that
    somebody typed, for one.

    >>> sum(1 for _ in kind_tests(ast.parse("s.kind == 'form' or s.has_pages")))
    2
    """
    own = OF_A_KIND | set(_imported_from_kinds(tree))
    branches = {id(node) for node in _branches(tree)}
    for node in walk(tree):
        if _asks_for_kind(node, own) or (id(node) in branches and _is_word(node)):
            yield node


def kind_imports(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the imports of what belongs to one kind alone.

    >>> text = "from halflife.kinds.form import runner; import halflife.kinds.laws"
    >>> sum(1 for _ in kind_imports(ast.parse(text)))
    1
    """
    for node in walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if _one_kind(module):
                yield node
            case ast.ImportFrom(module="halflife.kinds", names=names):
                if any(name.name not in SHARED for name in names):
                    yield node
            case ast.Import(names=names) if any(_one_kind(n.name) for n in names):
                yield node


def _one_kind(module: str) -> bool:
    head, _, rest = module.partition("halflife.kinds.")
    return not head and bool(rest) and rest.split(".")[0] not in SHARED


def _imported_from_kinds(tree: ast.AST) -> Iterator[str]:
    """Yield the names of classes that are imported from one kind."""
    for node in kind_imports(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (n.asname or n.name for n in node.names if n.name[0].isupper())


def _asks_for_kind(node: ast.AST, own: AbstractSet[str]) -> bool:
    match node:
        case ast.Compare():
            return _compares_kind(node)
        case ast.Call():
            return _asks_for_type(node, own) or _looks_kind_up(node)
        case ast.Attribute():
            return node.attr in FLAGS
        case ast.Subscript(slice=asked) | ast.Match(subject=asked):
            return _is_kind_of_source(asked)
        case ast.Dict(keys=[_, _, *_] as keys):
            return _names_kinds(keys)
    return isinstance(node, ast.MatchClass) and bool(_names(node.cls) & own)


def _names_kinds(keys: Iterable[ast.AST | None]) -> bool:
    """Say whether the keys of a table are names of kinds, all of them."""
    return all(isinstance(key, ast.Constant) and key.value in KINDS for key in keys)


def _compares_kind(node: ast.Compare) -> bool:
    sides = (node.left, *node.comparators)
    if any(_is_word(side) for side in sides):
        return True
    asked = any(isinstance(s, ast.Attribute) and s.attr == "kind" for s in sides)
    asked = asked or any(isinstance(s, ast.Name) and s.id == "kind" for s in sides)
    named = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)} & KINDS
    constant = any(isinstance(s, ast.Name) and s.id in NAMED for s in sides)
    return asked and bool(named or constant)


def _is_word(node: ast.AST) -> bool:
    """Say whether a word of a kind that stands for it is read, or a part of one."""
    match node:
        case ast.Subscript(value=value):
            return _is_word(value)
        case ast.UnaryOp(op=ast.Not(), operand=value):
            return _is_word(value)
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return attr in WORDS and "kind" in name
        case ast.Attribute(value=ast.Call(func=ast.Name(id=name)), attr=attr):
            return attr in WORDS and name in {"kind_of", "kind_named"}
    return False


def _branches(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the conditions of branches, and the parts of them."""
    for node in walk(tree):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield from _parts(test)
            case ast.BoolOp(values=values):
                yield from values
            case ast.comprehension(ifs=ifs):
                yield from (part for test in ifs for part in _parts(test))


def _parts(test: ast.AST) -> Iterator[ast.AST]:
    # The values of ``and`` and ``or`` are yielded on their own.
    if not isinstance(test, ast.BoolOp):
        yield test


def _asks_for_type(node: ast.Call, own: AbstractSet[str]) -> bool:
    """Say whether a call tells sources or results of one kind from others."""
    match node.func:
        case ast.Name(id="isinstance" | "issubclass") if len(node.args) == 2:
            return bool(_names(node.args[1]) & own)
        case ast.Name(id="of_kind") | ast.Attribute(attr="of_kind"):
            return True
        case ast.Attribute(value=value, attr="among" | "of"):
            named = {name for name in own if name.endswith("Config")}
            return bool(_names(value) & (named | {"settings"}))
    return False


def _names(tree: ast.AST) -> set[str]:
    nodes = list(ast.walk(tree))
    found = {n.id for n in nodes if isinstance(n, ast.Name)}
    return found | {n.attr for n in nodes if isinstance(n, ast.Attribute)}


def _looks_kind_up(node: ast.Call) -> bool:
    """Say whether a call looks something up in a table by a source's kind."""
    match node:
        case ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]):
            return _is_kind_of_source(key)
    return False


def _is_kind_of_source(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr="kind"):
            return owner in SOURCES
    return False


def template_kind_tests(text: str) -> int:
    """Return how often a template of the page asks of which kind a source is.

    >>> template_kind_tests('{% if answer.kind == "form" %} {{ answer.kind }}')
    1
    """
    return sum(1 for _ in TEMPLATE.finditer(text))


def sql_strings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the string constants that hold SQL, docstrings aside."""
    prose = {id(node.value) for node in walk(tree) if isinstance(node, ast.Expr)}
    for node in walk(tree):
        match node:
            case ast.Constant(value=str(text)) if SQL.search(text):
                if id(node) not in prose:
                    yield node


def store_checks(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that ask whether a store is the one in SQLite."""
    for node in walk(tree):
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


def _asked(modules: Iterable[Module], root: Path) -> dict[str, int]:
    """Return how often each file outside ``kinds`` asks for a kind."""
    outside = [m for m in modules if _is_outside(m)]
    asked = {str(m.path): sum(1 for _ in kind_tests(m.tree)) for m in outside}
    for path in sorted((root / "halflife").rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        asked[str(path.relative_to(root))] = template_kind_tests(text)
    return {path: count for path, count in asked.items() if count}


def _is_outside(module: Module) -> bool:
    """Say whether a module is outside ``kinds`` and is not what finds kinds by name."""
    return not module.is_inside("kinds") and module.path.parts[1:] != REGISTRY


def _imported(modules: Iterable[Module]) -> dict[str, int]:
    """Return how often each file outside ``kinds`` imports from one kind."""
    found = {
        str(m.path): sum(1 for _ in kind_imports(m.tree))
        for m in modules
        if _is_outside(m)
    }
    return {path: count for path, count in found.items() if count}


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a module imports, in functions too.

    A string such as ``"halflife.plugins:load"`` counts: it is imported later.

    >>> list(imported(ast.parse("from a import b")))
    ['a.b']
    """
    prose = {id(node.value) for node in walk(tree) if isinstance(node, ast.Expr)}
    for node in walk(tree):
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
    """Return the lines of the modules that only studies, ``lab/`` or tests reach."""
    project = root.parent
    beside = read_package(project, "lab")
    graph = import_graph([*modules, *beside])
    entries = ["halflife", "halflife.__main__", *OFFERED, *entry_modules(project)]
    product = reached(without_studies(graph), entries)
    verbs = reached(graph, entries)
    studied = reached(graph, [module.name for module in beside])
    rest = {m.name: m.lines for m in modules if m.name not in product}
    beyond = {n: c for n, c in rest.items() if n not in verbs}
    return {
        "study_modules": {n: c for n, c in rest.items() if n in verbs},
        "lab_only_modules": {n: c for n, c in beyond.items() if n in studied},
        "dead_modules": {n: c for n, c in beyond.items() if n not in studied},
    }


def measure(root: Path) -> dict[str, object]:
    """Return the measurements of the package below ``root``."""
    gc.disable()  # a million nodes that stay: looking for what may go takes longest
    try:
        return _measured(root)
    finally:
        gc.enable()


def _measured(root: Path) -> dict[str, object]:
    modules = read_package(root)
    asked, imported = _asked(modules, root), _imported(modules)
    inner = [m for m in modules if not m.is_inside("stores")]
    sql = {str(m.path): sum(1 for _ in sql_strings(m.tree)) for m in inner}
    names = Counter(name for m in modules for name in public_classes(m))
    stems = [m.path.stem for m in modules]
    apart = unreached(root, modules)
    gerunds = [s for s in stems if GERUND.fullmatch(s) and s not in NOUNS]
    return {
        "kind_tests": sum(asked.values()),
        "kind_test_files": len(asked),
        "kind_imports": sum(imported.values()),
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
        "study_modules": len(apart["study_modules"]),
        "study_lines": sum(apart["study_modules"].values()),
        "lab_only_modules": len(apart["lab_only_modules"]),
        "lab_only_lines": sum(apart["lab_only_modules"].values()),
        "dead_modules": len(apart["dead_modules"]),
        "where": {
            **apart,
            "kind_tests": asked,
            "kind_imports": imported,
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
