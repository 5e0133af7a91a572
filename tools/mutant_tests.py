"""Choose the tests that are to notice a mutation of a module.

A test file names a module when it imports it, imports something that a package hands
on from it, or imports a helper in ``tests/`` that does so. A module's own doctests are
always among its tests.
"""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

SOURCES = Path("src")
TESTS = Path("tests")
# Whole processes, browsers, recorded data: slow, and not about the pure layers.
ELSEWHERE = ("cli", "faults", "live", "real", "study", "web")


def module_of(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def path_of(module: str) -> Path:
    """Return the source file of a dotted name."""
    path = SOURCES.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def pure_modules(packages: Iterable[str]) -> list[str]:
    """Return every module at or below one of the packages."""
    names = sorted(module_of(path) for path in SOURCES.rglob("*.py"))
    wanted = tuple(packages)
    return [n for n in names if any(n == p or n.startswith(f"{p}.") for p in wanted)]


def test_files() -> list[Path]:
    """Return the test files that are about modules rather than whole programs."""
    return sorted(
        path
        for path in TESTS.rglob("test_*.py")
        if path.relative_to(TESTS).parts[0] not in ELSEWHERE
    )


def naming(module: str) -> list[Path]:
    """Return the test files that name a module, its own doctests first."""
    named = [path for path in test_files() if module in modules_named(path)]
    source = path_of(module)
    return [source, *named] if ">>>" in source.read_text("utf-8") else named


@cache
def modules_named(path: Path) -> frozenset[str]:
    """Return the modules of the package that a test file or its helpers import."""
    found: set[str] = set()
    for target, name in _imports(path):
        helper = TESTS / f"{target.replace('.', '/')}.py"
        if target.split(".")[0] == "halflife":
            found |= _resolved(target, name)
        elif helper.exists() and helper != path:
            found |= modules_named(helper)
    return frozenset(found)


@cache
def _imports(path: Path) -> tuple[tuple[str, str], ...]:
    """Return (module, name) for each name that a file imports."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return tuple(found)


def _resolved(target: str, name: str) -> set[str]:
    """Return the module that a name is imported from, and the one it was made in."""
    inner = f"{target}.{name}" if name else target
    if path_of(inner).exists():
        return {inner}
    found = {target}
    source = path_of(target)
    if source.exists():
        for further, other in _imports(source):
            if other == name and further.startswith("halflife") and further != target:
                found |= _resolved(further, name)
    return found


def neighbouring(module: str) -> list[Path]:
    """Return the test files that name a module which imports this one directly."""
    near = {other for other in _all_modules() if module in _imported(other)}
    return [p for p in test_files() if near & modules_named(p)]


@cache
def _all_modules() -> tuple[str, ...]:
    return tuple(module_of(path) for path in SOURCES.rglob("*.py"))


@cache
def _imported(module: str) -> frozenset[str]:
    """Return the modules that a module of the package imports directly."""
    found: set[str] = set()
    for target, name in _imports(path_of(module)):
        if target.split(".")[0] == "halflife":
            found |= _resolved(target, name)
    return frozenset(found - {module})
