"""The tables that say how each thing a paper asks for is switched on."""

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
TABLES = {
    "papers/sampling-with-correlation.md": [f"SC{i}" for i in range(1, 8)],
    "one-budget.md": [f"ONE{i}" for i in range(1, 6)],
}


def rows(page):
    text = (HERE / "docs" / page).read_text()
    _, _, table = text.partition(
        "| id | setting | command | test |\n|---|---|---|---|\n"
    )
    lines = table.partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("page", TABLES)
def test_everything_asked_for_has_a_setting_a_command_and_a_test(page):
    table = rows(page)
    assert [row[0] for row in table] == TABLES[page]
    for _, setting, command, test in table:
        assert setting
        assert re.fullmatch(r"`(halflife \w+|python -m lab\.\w+)`", command)
        for path, _, name in (
            one.partition("::") for one in re.findall("`(.+?)`", test)
        ):
            text = (HERE / path).read_text()
            assert not name or f"def {name}(" in text, name


@pytest.mark.parametrize("page", TABLES)
def test_every_policy_that_is_named_is_registered(page):
    known = set(entry_points(group="halflife.policies").names)
    for row in rows(page):
        if row[1].startswith("`policy = "):
            named = set(re.findall(r'"([a-z-]+)"', row[1]))
            assert named
            assert named <= known
