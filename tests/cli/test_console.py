"""Every ``console`` block of the book is run, and prints what the page shows."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread

import pytest

from console_blocks import Reader, Shown, same, steps
from set_folders import spells, write_git

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCRIPT = "examples/tutorial/world.py"
PAGES = sorted(p for p in DOCS.rglob("*.md") if "\n```console" in p.read_text())


@pytest.fixture(scope="module")
def practice():
    """The program that serves the small web of the tutorial."""
    spec = spec_from_file_location("practice_world", ROOT / SCRIPT)
    module = module_from_spec(spec)
    sys.modules["practice_world"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def reader(here, told, monkeypatch, web, practice, port):
    """Somebody who does what a page says."""
    tools = {
        f"python {SCRIPT} --snapshots": lambda name: practice.snapshots(Path(name)),
        "git clone": lambda _: scraped(here / "car-scraper"),
    }
    return Reader(here, told, monkeypatch, web.moving(p8000=port), tools)


@pytest.fixture
def port(practice):
    """The port on which a fresh small web is served."""
    server = practice.serve(practice.Web(), 0)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_six_steps_of_the_tutorial_are_run():
    names = {path.stem for path in PAGES if path.parent.name == "tutorial"}
    assert names == {"site", "listing", "api", "form", "search", "budget"}


def scraped(folder):
    """Write the repository that the page on imports clones."""
    write_git(folder, list(spells()), range(61))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(DOCS)))
def test_every_command_prints_what_the_page_shows(page, reader):
    shown = 0
    for step in steps(page.read_text()):
        if not isinstance(step, Shown):
            reader.write(step)
            continue
        shown += 1
        printed = reader.run(step.command)
        said = f"$ {step.command}\n{printed}\n--- the page shows\n{step.printed}"
        assert same(step.printed, printed, about=step.about), said
    assert shown


def test_the_example_of_the_library_runs(here, told, practice, port, capsys):
    (here / "halflife.toml").write_text(
        '[fetch]\ndelay = 0.0\n[[source]]\nname = "jobs"\nkind = "listing"\n'
        f'url = "http://127.0.0.1:{port}/jobs.json"\nrecords = "jobs"\nkey = "id"\n'
        'allow = ["127.0.0.0/8"]\n'
    )
    practice.snapshots(here / "days")
    assert told("import", "snapshots", "days", "--key", "id", "--as", "jobs")[0] == 0
    page = (DOCS / "library.md").read_text().partition("```python\n")[2]
    names = {}
    exec(page.partition("rows = ")[0], names)  # noqa: S102  (a replay takes long)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "('jobs',) 2 fine"
    assert printed[1].startswith("jobs 0.99")
    assert len(printed) > 40
    assert names["cast"].mean[0] > names["cast"].mean[-1]
    assert names["steps"]


def test_what_differs_is_noticed():
    page = "<!-- file: a.toml -->\n```toml\nx = 1\n```\n```console\n$ do it\n3 a\n```\n"
    settings, command = steps(page)
    assert (settings.name, settings.text) == ("a.toml", "x = 1\n")
    assert (command.command, command.printed) == ("do it", "3 a\n")
    assert same("3 a", "3   a\n")
    assert not same("3 a", "4 a")
    assert not same("3.0 a", "4.0 a", about=True)
    assert not same("3.0 a", "3.1 b", about=True)
    assert same("3.0 a ... z", "3.1 a b\nz", about=True)
