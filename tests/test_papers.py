"""Every piece of the papers has a setting, code, a command and a test."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest
import typer.main

from halflife import plugins
from halflife.bench import newrecords_play
from halflife.cli.app import app
from halflife.config import BudgetConfig, Config, PolicyConfig
from halflife.kinds.form.settings import AttributeConfig, FormConfig
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.search.settings import SearchConfig

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
PAGES = [*sorted((ROOT / "docs" / "papers").glob("*.md")), ROOT / "docs/one-budget.md"]
COUNTS = {"QR": 12, "CS": 12, "IC": 9, "SC": 7, "CF": 9, "ONE": 5}
TABLES = (
    Config, BudgetConfig, PolicyConfig, PagesConfig, ListingConfig, SearchConfig,
    FormConfig, AttributeConfig,
)  # fmt: skip
IDS = [f"{name}{n + 1}" for name, many in COUNTS.items() for n in range(many)]


def settings_rows(text):
    """Return the rows of the tables under ``## Settings``, cell by cell."""
    section = text.partition("\n## Settings\n")[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 6 and cells[0] != "id":
            yield cells


def ids_of(cell):
    """Return the ids that a cell names; ``QR1-QR3`` are three.

    >>> ids_of("QR1, QR3-QR5")
    ['QR1', 'QR3', 'QR4', 'QR5']
    """
    found = []
    for name, first, last in re.findall(r"([A-Z]+)(\d+)(?:\s*-\s*[A-Z]*(\d+))?", cell):
        found += [f"{name}{n}" for n in range(int(first), int(last or first) + 1)]
    return found


@pytest.fixture(scope="module")
def rows():
    return [row for page in PAGES for row in settings_rows(page.read_text())]


def test_every_piece_has_a_setting_code_a_command_and_a_test(rows):
    listed = {one for row in rows for one in ids_of(row[0])}
    assert not set(IDS) - listed
    assert all(all(row) for row in rows)


def test_every_policy_that_is_named_exists(rows):
    known = {part.name for part in plugins.describe_policies()}
    named = {
        name
        for row in rows
        for given in re.findall(r"policy = (\[[^\]]*\]|\"[^\"]*\")", row[2])
        for name in re.findall(r'"([^"]+)"', given)
    }
    assert named
    assert not named - known


def test_every_command_that_is_named_exists(rows):
    verbs = {c.name or c.callback.__name__ for c in app.registered_commands}
    verbs |= {group.name for group in app.registered_groups}
    named = {
        verb for row in rows for verb in re.findall(r"halflife ([a-z][a-z-]*)", row[4])
    }
    assert named
    assert not named - verbs


def test_every_policy_after_an_option_can_be_replayed(rows):
    known = {part.name for part in plugins.describe_policies()} | {
        *newrecords_play.POLICIES
    }
    named = {
        name
        for row in rows
        for given in re.findall(r"--policies ([\w,-]+)", row[4])
        for name in given.split(",")
    }
    assert named
    assert not named - known


def test_every_setting_that_is_named_exists(rows):
    known = {key for table in TABLES for key in table.model_fields}
    known |= set(get_args(AttributeConfig.model_fields["kind"].annotation))
    named = {
        key
        for row in rows
        for key in re.findall(r"`(?:\[\w+\] |\[(?:\w+\.)?)?([a-z_]+)[`\] ]", row[2])
    }
    assert len(named) > 20
    assert not named - known


def test_every_option_that_is_named_exists(rows):
    verbs = [*typer.main.get_command(app).commands.values()]
    verbs += [part for verb in verbs for part in getattr(verb, "commands", {}).values()]
    options = {name for verb in verbs for part in verb.params for name in part.opts}
    named = {
        option
        for row in rows
        for cell in (row[2], row[4])
        if "lab." not in cell
        for option in re.findall(r"--[a-z][a-z-]*", cell)
    }
    assert len(named) > 8
    assert not named - options


def test_every_experiment_that_is_named_can_be_run(rows):
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    cells = [row[4] for row in rows]
    modules = {m for cell in cells for m in re.findall(r"python -m (lab\.\w+)", cell)}
    assert modules
    assert not [name for name in modules if find_spec(name) is None]
    made = {name for cell in cells for name in re.findall(r"make ([a-z-]+)", cell)}
    assert made
    assert not made - targets


def exists(name):
    """Say whether a dotted name is a module, or something in one."""
    place, _, last = name.rpartition(".")
    if last[0].islower() and not hasattr(import_module(place), last):
        return find_spec(name) is not None
    return hasattr(import_module(place), last)


def test_all_code_that_is_named_exists(rows):
    named = {name for row in rows for name in re.findall(r"`([\w.]+)`", row[3])}
    assert len(named) > 80
    assert not [name for name in sorted(named) if not exists(name)]


def test_one_page_has_every_piece(rows):
    text = (ROOT / "docs/spec.md").read_text()
    assert sorted(re.findall(r"^\| \[(\w+)\]", text, re.MULTILINE)) == sorted(IDS)


def test_every_test_that_is_named_exists(rows):
    named = [
        t for row in rows for t in re.findall(r"tests/[\w/]+\.py(?:::\w+)?", row[5])
    ]
    assert named
    for one in named:
        path, _, name = one.partition("::")
        assert (ROOT / path).exists(), one
        if name:
            assert f"def {name}(" in (ROOT / path).read_text(), one


def modules():
    """Return the dotted names of all modules, by the last part of each."""
    found = {}
    for root, top in ((ROOT / "src", "halflife"), (ROOT, "lab")):
        for path in (root / top).rglob("*.py"):
            name = ".".join(path.relative_to(root).with_suffix("").parts)
            name = name.removesuffix(".__init__")
            found.setdefault(name.rpartition(".")[2], []).append(name)
    return found


def reaches(module, rest):
    """Say whether the names of ``rest`` lead on from a module."""
    inner = import_module(module)
    for name in rest:
        if name in getattr(inner, "__annotations__", {}):
            return True
        place = f"{inner.__name__}.{name}"
        if not hasattr(inner, name):
            if not hasattr(inner, "__path__") or not find_spec(place):
                return False
            import_module(place)
        inner = getattr(inner, name)
    return True


@pytest.mark.parametrize("page", PAGES[:-1], ids=lambda page: page.stem)
def test_every_place_in_the_code_that_a_paper_names_is_there(page):
    known, text = modules(), re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    named = set(re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)[`(]", text))
    named = {n for n in named if not n.endswith((".md", ".py")) and n[:5] != "view."}
    places = {
        n: known[n.partition(".")[0]] for n in named if n.partition(".")[0] in known
    }
    assert len(places) > 5
    for name, homes in places.items():
        rest = name.split(".")[1:]
        assert any(reaches(home, rest) for home in homes), name
