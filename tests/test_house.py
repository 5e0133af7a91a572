"""What lab/house.py measures."""

import ast
from pathlib import Path

import pytest

from lab.house import (
    imported,
    kind_imports,
    kind_tests,
    measure,
    sql_strings,
    store_checks,
    template_kind_tests,
)

SOURCE = Path(__file__).parent.parent / "src"


def test_every_way_to_ask_for_a_kind_is_counted():
    asked = """
if source.kind == "form": pass
if source.kind in {"listing", "form"}: pass
if source.kind in SETS: pass
if source.has_pages: pass
if isinstance(result, ListingOutcome): pass
if isinstance(done.result, upkeeping.FormOutcome | Outcome): pass
"""
    assert sum(1 for _ in kind_tests(ast.parse(asked))) == 6


@pytest.mark.parametrize(
    "asked",
    [
        "if kind_of(source).is_joint: pass",
        "alone = not kind.is_joint",
        "endless = endless or kind.is_open_ended",
        "if kind.view == 'pages': pass",
        "[s for s in chosen if not kind_of(s).view]",
        "if kind_of(s).view not in {'pages'}: pass",
        "x = kind.view != 'objects' or y",
        "x = {'syncs': kind_of(settings).verb == 'sync'}",
        "x = kind.planned_as[0] == 'queries'",
        "isinstance(source, PagesConfig)",
        "PagesConfig.among(sources)",
        "ListingConfig.of(source)",
        "of_kind(config, FormConfig, names, said, unsaid)",
        "settings.among(chosen)",
        "from halflife.kinds.form.client import FormClient\nisinstance(x, FormClient)",
        "from halflife.kinds.form import settings as f\nisinstance(x, f.FormConfig)",
        "keys.get(source.kind, 'records')",
        "KEYS[source.kind]",
        "HOW = {'listing': 'whole looks', 'form': 'records drawn'}",
        "source.kind != USUAL",
        "match source.kind:\n  case _: pass",
        "match source:\n  case PagesConfig(): pass",
    ],
)
def test_a_question_that_stands_for_the_kind_is_counted(asked):
    assert sum(1 for _ in kind_tests(ast.parse(asked))) == 1


@pytest.mark.parametrize(
    "other",
    [
        'a.dtype.kind == "f"',
        'token.kind == "name"',
        "isinstance(x, int)",
        "row.kind == kind",
        "[s for s in sources if kind_of(s) is kind]",
        "kind_named(source.kind)",
        "seen.view.rate[rows]",
        "if view.held: pass",
        'say(f"run `halflife {kind.verb} {source.name}`")',
        "section, what = kind.planned_as",
        "Asked.of(known, since)",
        "evidence_rows.among(mark, last)",
        "config.get(name)",
        "{'source': name, 'pages': 3}",
    ],
)
def test_other_kinds_and_mere_words_are_not_counted(other):
    assert not list(kind_tests(ast.parse(other)))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from halflife.kinds.form import runner", 1),
        ("from halflife.kinds.pages.settings import PagesConfig", 1),
        ("def f():\n  from halflife.kinds.listing.runner import incomplete", 1),
        ("import halflife.kinds.search.audit", 1),
        ("from halflife.kinds import form", 1),
        ("from halflife.kinds.protocol import Known", 0),
        ("from halflife.kinds import laws", 0),
        ("from halflife.kinds.registry import kind_of", 0),
        ("from halflife.config.kinds import KINDS", 0),
    ],
)
def test_imports_from_one_kind_are_counted(text, count):
    assert sum(1 for _ in kind_imports(ast.parse(text))) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('{% if answer.kind == "form" %}{{ answer.kind }}', 1),
        ('{% if answer.kind in ("pages", "site") %}', 1),
        ('{{ "word" if answer.kind == "search" else "object" }}', 1),
        ("{% if word == answer.kind %} selected{% endif %}", 0),
    ],
)
def test_a_template_that_asks_for_a_kind_is_counted(text, count):
    assert template_kind_tests(text) == count


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
    (package / "live" / "page.html").write_text('{% if row.kind == "form" %}')
    (package / "stores" / "sqlite.py").write_text(
        'class World: ...\nx = "DELETE FROM log"\n'
    )
    found = measure(tmp_path)
    assert found["kind_tests"] == 2
    assert found["kind_imports"] == 0
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
    assert found["where"]["study_modules"] == {
        "halflife.bench": 0,
        "halflife.bench.fit": 1,
        "halflife.core.oracle": 2,
    }
    assert (found["study_modules"], found["study_lines"]) == (3, 3)
    assert found["where"]["lab_only_modules"] == {"halflife.core.trial": 1}
    assert (found["lab_only_modules"], found["lab_only_lines"]) == (1, 1)
    assert found["where"]["dead_modules"] == {"halflife.core.ruin": 1}
    assert found["dead_modules"] == 1


def test_the_package_itself_can_be_measured():
    found = measure(SOURCE)
    assert int(str(found["modules"])) > 100
    for none in ("kind_tests", "dead_modules", "sql_outside_stores"):
        assert found[none] == 0, found["where"][none]
    assert int(str(found["duplicate_class_names"])) < 10
