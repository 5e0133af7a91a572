"""What lab/house.py measures."""

import ast
from pathlib import Path

from lab.house import imported, kind_tests, measure, sql_strings, store_checks

SOURCE = Path(__file__).parent.parent / "src"


def test_every_way_to_ask_for_a_kind_is_counted():
    asked = """
if source.kind == "form": pass
if source.kind in {"listing", "form"}: pass
if source.kind in SETS: pass
if source.has_pages: pass
if isinstance(result, Looked): pass
if isinstance(done.result, upkeeping.Turned | Outcome): pass
"""
    assert sum(1 for _ in kind_tests(ast.parse(asked))) == 6


def test_other_kinds_are_not_counted():
    other = 'a.dtype.kind == "f"\ntoken.kind == "name"\nisinstance(x, int)'
    assert not list(kind_tests(ast.parse(other)))


def test_sql_in_prose_is_not_counted():
    text = '"""SELECT a FROM b"""\nrun("SELECT a FROM b")\nrun("a FROM b")'
    assert sum(1 for _ in sql_strings(ast.parse(text))) == 1


def test_a_question_for_one_store_is_counted():
    text = "isinstance(store, SqliteStore)\nisinstance(store, Store)"
    assert sum(1 for _ in store_checks(ast.parse(text))) == 1


def test_a_small_package_is_measured_exactly(tmp_path):
    package = tmp_path / "halflife"
    for folder in ("kinds", "stores", "live"):
        (package / folder).mkdir(parents=True)
    (package / "__init__.py").write_text('__all__ = ["open_project", "sync"]\n')
    (package / "kinds" / "form.py").write_text('x = s.kind == "form"\n')
    (package / "live" / "deciding.py").write_text(
        'class World: ...\nx = s.kind == "form"\n'
    )
    (package / "stores" / "sqlite.py").write_text(
        'class World: ...\nx = "DELETE FROM log"\n'
    )
    found = measure(tmp_path)
    assert found["kind_tests"] == 1
    assert found["modules"] == 4
    assert found["wheel_lines"] == 6
    assert found["duplicate_class_names"] == 1
    assert found["gerund_modules"] == 1
    assert found["sql_outside_stores"] == 0
    assert found["public_names"] == 2


def test_an_import_in_a_function_and_a_name_in_a_string_count():
    text = """
def verb():
    \"\"\"halflife.prose is no import.\"\"\"
    from halflife.engine import once, turn
    import halflife.web
    load("halflife.kinds.form:KIND")
"""
    assert set(imported(ast.parse(text))) == {
        "halflife.engine.once",
        "halflife.engine.turn",
        "halflife.web",
        "halflife.kinds.form",
    }


def test_what_only_studies_and_only_tests_reach_is_told_apart(tmp_path):
    written = {
        "pyproject.toml": '[project.scripts]\nhalflife = "halflife.cli:main"\n',
        "src/halflife/__init__.py": "",
        "src/halflife/cli/__init__.py": (
            "from halflife.cli import verbs\n"
            "def bench():\n    from halflife.bench import fit\n"
        ),
        "src/halflife/cli/verbs.py": "from halflife.core import item\n",
        "src/halflife/core/__init__.py": "",
        "src/halflife/core/item.py": "",
        "src/halflife/bench/__init__.py": "",
        "src/halflife/bench/fit.py": "from halflife.core import item, oracle\n",
        "src/halflife/core/oracle.py": "ONE = 1\nTWO = 2\n",
        "src/halflife/core/trial.py": "ONE = 1\n",
        "src/halflife/core/ruin.py": "from halflife.core import item\n",
        "lab/trial.py": "from halflife.core.trial import ONE\n",
    }
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = measure(tmp_path / "src")
    assert found["where"]["lab_only_modules"] == {
        "halflife.bench": 0,
        "halflife.bench.fit": 1,
        "halflife.core.oracle": 2,
        "halflife.core.trial": 1,
    }
    assert (found["lab_only_modules"], found["lab_only_lines"]) == (4, 4)
    assert found["where"]["dead_modules"] == {"halflife.core.ruin": 1}
    assert found["dead_modules"] == 1


def test_the_package_itself_can_be_measured():
    found = measure(SOURCE)
    assert int(str(found["modules"])) > 100
