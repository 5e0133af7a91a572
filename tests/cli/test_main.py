import inspect
import json
import subprocess
import sys

import pytest

import halflife.core.errors
from halflife.cli import exits, main
from halflife.core.errors import HalflifeError

ERRORS = [
    kind
    for _, kind in inspect.getmembers(halflife.core.errors, inspect.isclass)
    if issubclass(kind, HalflifeError)
]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_has_an_exit_code(kind):
    assert exits.code_of(kind("x")) in {1, 2, 5, 6, 7}


def test_no_words_show_the_help(capsys):
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Usage: halflife")
    assert "init" in out
    assert err == ""


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"halflife {halflife.__version__}\n"


@pytest.mark.parametrize("words", [["nonsense"], ["init", "--nonsense"], ["init", "x"]])
def test_a_wrong_command_line_is_one_line_and_exit_2(words, capsys):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("halflife: ")
    assert err.count("\n") == 1


def test_init_writes_settings_once(here, capsys):
    assert main(["init"]) == 0
    assert (here / "halflife.toml").exists()
    assert "halflife add" in capsys.readouterr().out
    assert main(["init"]) == 2
    assert capsys.readouterr().err.startswith("halflife: halflife.toml exists already")


def test_init_writes_where_it_is_told(here, capsys, monkeypatch):
    assert main(["init", "--config", "a.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"config": "a.toml"}
    monkeypatch.setenv("HALFLIFE_CONFIG", "b.toml")
    assert main(["init"]) == 0
    assert (here / "b.toml").exists()


def test_the_cause_of_an_error_is_shown_only_when_asked_for(here, capsys):
    words = ["init", "--config", "no/such/place.toml"]
    assert main(words) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert main([*words, "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_policies_are_listed(capsys):
    assert main(["policies", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert {"index", "uniform", "round-robin", "nutch-adaptive"} <= {
        row["policy"] for row in rows
    }


def test_help_imports_nothing_heavy():
    heavy = ("numpy", "scipy", "pydantic", "rich", "aiohttp", "sqlite3", "tomlkit")
    code = (
        "import sys; from halflife.cli import main; main(['--help']);"
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_the_package_can_be_run(here):
    done = subprocess.run(
        [sys.executable, "-m", "halflife", "init", "--nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("halflife: ")
