"""The notebook runs from its first cell to its last, without Jupyter."""

import ast
import asyncio
import json
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
NOTEBOOK = json.loads((HOME / "freshness.ipynb").read_text(encoding="utf-8"))
CELLS = ["".join(c["source"]) for c in NOTEBOOK["cells"] if c["cell_type"] == "code"]


def run(cell, names):
    """Run a cell; return the value of its last line if that is an expression."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """What each cell shows; a kernel runs them in a loop."""

    async def kernel():
        return [run(cell, names) for cell in CELLS]

    monkeypatch.chdir(HOME)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "path", sys.path[:])
    names = {}
    return asyncio.run(kernel())


def test_every_cell_shows_what_the_text_before_it_says(shown):
    _, imported, synced, cast, plan, bought, seen, _ = shown
    assert imported == 0
    assert synced == ["fine"]
    assert "<svg" in cast._repr_html_()
    assert 1.0 >= cast.mean[0] > cast.mean[-1] > 0.3
    assert plan[0][2]
    assert bought[0][0] == "jobs"
    assert [kind for _, kind, _ in seen].count("new") >= 1


def test_the_notebook_is_kept_without_what_it_showed():
    assert NOTEBOOK["nbformat"] == 4
    for cell in NOTEBOOK["cells"]:
        assert not cell.get("outputs")
