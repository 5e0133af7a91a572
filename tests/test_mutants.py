"""The mutation run: what it changes, what it leaves alone, what it reports."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = '''
"""A module. 1 + 1"""
LIMIT = 3

def f(a: int = 4, b=None) -> "1 + 2":
    """Return. 5 + 5"""
    if a < 2 and b:
        raise ValueError(f"no {a + 1}")
    while True:
        break
    return min(a * 2, -a) - 1e-9
'''


@pytest.fixture(scope="module")
def tool():
    place = ROOT / "tools" / "mutations.py"
    spec = importlib.util.spec_from_file_location("mutations", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutations"] = module
    spec.loader.exec_module(module)
    return module


def every(tool):
    return [m for place in tool.mutations("m", "m.py", TEXT) for m in place]


def test_each_mutation_changes_one_place_of_a_function(tool):
    plain = ast.dump(ast.parse(TEXT))
    seen = set()
    for mutation in every(tool):
        changed = tool.mutated(TEXT, mutation)
        compile(changed, "m.py", "exec")
        seen.add(ast.dump(changed))
        assert mutation.function == "f"
    assert plain not in seen
    assert len(seen) == len(every(tool))


def test_operators_conditions_numbers_and_twins_are_changed(tool):
    names = {mutation.name for mutation in every(tool)}
    assert {
        "a * 2 -> a / 2",
        "a * 2 -> a",
        "a < 2 -> a <= 2",
        "a < 2 and b -> a < 2 or b",
        "a < 2 and b -> a < 2",
        "if a < 2 and b -> if not (a < 2 and b)",
        "min -> max",
        "-a -> a",
        "2 -> 3",
        "2 -> 1",
        "break -> continue",
        "True -> False",
    } <= names


def test_words_settings_tolerances_and_what_is_raised_are_left_alone(tool):
    for mutation in every(tool):
        assert mutation.before not in {"1", "3", "4", "5", "a + 1", "1e-09", "1 + 2"}


INNER = """
class C:
    def g(self):
        def h():
            pass
        h()
"""


def test_marked_functions_tell_that_they_are_entered(tool):
    entered = []
    tree = tool.marked("m", f"{TEXT}{INNER}", "mark")
    space = {"mark": entered.append}
    exec(compile(tree, "m.py", "exec"), space)  # noqa: S102 - of our own making
    space["f"](9)
    space["C"]().g()
    assert entered == ["m:f", "m:C.g", "m:C.g.h"]
    assert space["f"].__doc__ == "Return. 5 + 5"


def test_what_failed_is_run_again_the_next_time(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    mutants = importlib.import_module("mutants")
    kept = {
        "a": {"failing": []},
        "b": {"failing": ["b::test"]},
        "c": {"failing": ["c"]},
    }
    assert mutants._passing(kept) == {"a": {"failing": []}}


def test_the_tests_of_the_pure_layers_import_nothing_beyond_them(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.chdir(ROOT)
    coverage = importlib.import_module("pure_coverage")
    chosen = importlib.import_module("mutant_tests")
    pure, other = "from halflife.core.wording import span\n", "import halflife.stores\n"
    for name, text in (("own", pure), ("more", pure + other), ("none", "import math")):
        (tmp_path / f"test_{name}.py").write_text(text)
    monkeypatch.setattr(chosen, "TESTS", tmp_path)
    modules = chosen.pure_modules(coverage.pure_packages())
    assert coverage.own_tests(modules) == [tmp_path / "test_own.py"]


@pytest.mark.timeout(300)
def test_a_run_reports_each_mutation_and_ends_with_what_was_killed(tmp_path):
    report = tmp_path / "report.json"
    options = [
        "--count",
        "3",
        "--seed",
        "5",
        "--jobs",
        "1",
        "--modules",
        "*.core.ranking",
        "--report",
    ]
    done = subprocess.run(
        [sys.executable, "tools/mutants.py", *options, str(report)],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=280,
    )  # fmt: skip
    last = done.stdout.splitlines()[-1]
    killed, of = map(int, re.fullmatch(r"killed (\d+) of (\d+)", last).groups())
    told = json.loads(report.read_text())
    assert (told["killed"], told["of"], told["seed"]) == (killed, of, 5)
    assert told["drawn"] == len(told["mutants"]) == 3
    for row in told["mutants"]:
        assert row["file"] == "src/halflife/core/ranking.py"
        assert row["verdict"] in {"killed", "survived", "timeout", "equivalent"}
        assert row["line"] > 0
        assert row["before"] != row["after"]
