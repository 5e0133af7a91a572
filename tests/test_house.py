"""What lab/house.py measures."""

import ast
from pathlib import Path

from lab.house import kind_tests, measure, sql_strings, store_checks

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


def test_the_package_itself_can_be_measured():
    found = measure(SOURCE)
    assert int(str(found["modules"])) > 100
