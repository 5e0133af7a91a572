"""Policies that a source names, per kind."""

import json

import pytest

from halflife.cli import main
from halflife.config import Config
from halflife.core.errors import ConfigError

PAGES = '[[source]]\nname = "a"\npages = ["http://a.example/"]\n'
LISTING = '[[source]]\nname = "a"\nkind = "listing"\nurl = "http://a.example/"\n'


def loaded(tmp_path, text):
    path = tmp_path / "halflife.toml"
    path.write_text(text)
    return Config.load(path)


def test_a_source_names_its_policy(tmp_path):
    config = loaded(tmp_path, PAGES + 'policy = "uniform"\n')
    assert config.source[0].policies == ("uniform",)


def test_an_unknown_name_is_refused_with_those_that_exist(tmp_path):
    with pytest.raises(ConfigError, match=r"known policies: .*champion") as said:
        loaded(tmp_path, PAGES + 'policy = "champoin"\n')
    assert "no policy of kind 'pages' is named 'champoin'" in str(said.value)


def test_a_policy_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="no policy of kind 'listing'"):
        loaded(tmp_path, LISTING + 'policy = "nutch-adaptive"\n')


def test_one_policy_is_enough_for_pages(tmp_path):
    with pytest.raises(ConfigError, match="names one policy at most"):
        loaded(tmp_path, PAGES + 'policy = ["uniform", "champion"]\n')


def test_programs_read_kind_paper_and_default_of_each_policy(capsys):
    assert main(["policies", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert all({"name", "kind", "paper", "default", "about"} <= set(r) for r in rows)
    usual = [r["name"] for r in rows if r["kind"] == "pages" and r["default"]]
    assert usual == ["champion"]
