"""A machine that lacks a program: tests are skipped, and say how to get it."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import postgres_server
import powerloss
from missing_programs import PACKAGES, reason

TESTS = Path(__file__).parent
ELSEWHERE = {"tests/servers/", "server_parts.py"}  # `make test-servers` installs these


@pytest.fixture
def ours(pytestconfig):
    """Return the plugin that speaks at the end of a run of these tests."""
    known = {
        getattr(p, "__file__", ""): p for p in pytestconfig.pluginmanager.get_plugins()
    }
    return known[str(TESTS / "conftest.py")]


def test_the_end_of_a_run_names_each_package_and_its_tests(ours):
    skipped = [
        SimpleNamespace(longrepr=("a.py", 1, f"Skipped: {why}"))
        for why in (reason("chromium"), reason("strace"), reason("chromium"), "slow")
    ]
    said = []
    terminal = SimpleNamespace(stats={"skipped": skipped}, write_line=said.append)
    ours.pytest_terminal_summary(terminal)
    assert said == [
        "skipped: needs chromium (apt-get install chromium): 2 tests",
        "skipped: needs strace (apt-get install strace): 1 test",
    ]


def test_tests_are_skipped_where_a_program_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="apt-get install strace"):
        powerloss.need_recorder()
    monkeypatch.setattr(postgres_server, "HOME", tmp_path)
    with pytest.raises(pytest.skip.Exception, match="apt-get install postgresql"):
        postgres_server.need()


def test_every_program_that_tests_look_for_has_a_package():
    sought = {
        name
        for path in TESTS.rglob("*.py")
        if not any(place in path.as_posix() for place in ELSEWHERE)
        for name in re.findall(r'which\("([\w-]+)"\)', path.read_text())
    }
    # uv comes with `make setup`, node with `make peers`, unshare with every Debian.
    assert sought - {"uv", "node", "unshare"} <= {name.lower() for name in PACKAGES}
    assert {"strace", "openssl"} <= sought


def test_ci_installs_what_most_tests_would_be_skipped_without():
    run = (TESTS.parent / ".ci" / "run").read_text()
    for package in ("chromium", "strace", "postgresql"):
        assert f"missing+=({package})" in run
