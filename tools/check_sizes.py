"""Fail when a module or a function has grown past what a reader can hold."""

import ast
import sys
from pathlib import Path

MODULE_LINES = 500
FUNCTION_LINES = 40


def too_long(path: Path) -> list[str]:
    """Return one complaint for each module or function over its limit."""
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    found = [] if lines <= MODULE_LINES else [f"{path}: {lines} lines"]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            length -= _docstring_lines(node)
            if length > FUNCTION_LINES:
                found.append(f"{path}:{node.lineno}: {node.name} has {length} lines")
    return found


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines the docstring takes; words are not complexity."""
    first = node.body[0]
    if ast.get_docstring(node) is None or not isinstance(first, ast.Expr):
        return 0
    return (first.end_lineno or first.lineno) - first.lineno + 1


def main() -> int:
    """Check the package; return the exit code."""
    roots = ("src", "lab", "tools")
    paths = sorted(p for root in roots for p in Path(root).rglob("*.py"))
    complaints = [line for path in paths for line in too_long(path)]
    print("\n".join(complaints) or f"sizes: {len(paths)} modules within limits")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
