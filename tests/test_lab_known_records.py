"""The experiment on known records takes any folder of tables."""

import json

import pytest

pytest.importorskip("pyarrow")

from lab import known_records
from objects_folder import tables, write


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "any_name").mkdir()
    write(tmp_path / "any_name", tables())
    return tmp_path


def rows(capsys, *words):
    known_records.main([str(word) for word in words])
    return json.loads(capsys.readouterr().out)


def test_what_is_searched_follows_from_the_table(folder, capsys):
    found = rows(capsys, folder, "--quick")
    assert {row["source"] for row in found} == {"any_name"}
    assert {row["policy"] for row in found} >= {"naive1", "greedy", "index", "oracle"}
    assert all(row["staleness"]["mean"] >= 0.0 for row in found)


def test_one_may_say_what_is_searched_and_how_versions_differ(folder, capsys):
    asked = "--keywords", "maker", "--measure", "price", "--budgets", "2", "--share", 1
    found = rows(capsys, folder, *asked)
    assert {row["measure"] for row in found} == {"price"}
    assert {row["budget"] for row in found} == {2.0}
