import os

import pytest

from server_parts import Copy

collect_ignore = ["graph", "shop"]  # imported by their servers only
FROM_PYPI = {"test_datasette.py", "test_graphql.py", "test_rest_framework.py"}
# Of these a user's first quarter of an hour is tried wherever they are installed.
FIRST_QUARTER = {"test_hugo.py", "test_mediawiki.py"}


def pytest_collection_modifyitems(items):
    """Mark what needs servers from Debian or npm, and skip it unless it is wanted."""
    wanted = os.environ.get("HALFLIFE_SERVERS")
    for item in items:
        if "tests/servers/" not in item.path.as_posix() or item.path.name in FROM_PYPI:
            continue
        item.add_marker("servers")
        first = item.path.name in FIRST_QUARTER and item.name.startswith("test_add")
        if not (wanted or first):
            item.add_marker(pytest.mark.skip("run by `make test-servers`"))


@pytest.fixture
def copy(request, tmp_path):
    """An empty folder in which halflife keeps a copy."""
    here = tmp_path / "copy"
    here.mkdir()
    copy = Copy(here)
    yield copy
    request.node.user_properties.append(("requests", copy.requests))


def pytest_terminal_summary(terminalreporter):
    """Say what each command of halflife has sent, test by test."""
    if not os.environ.get("HALFLIFE_SERVERS"):
        return
    terminalreporter.section("requests sent, command by command")
    for report in terminalreporter.getreports(""):
        for name, sent in report.user_properties:
            if name == "requests" and report.when == "teardown":
                place = report.nodeid.removeprefix("tests/servers/")
                terminalreporter.write_line(f"{place}: {sent}")
