"""A name that two packages register is an error that names both of them."""

import pytest

from halflife import plugins
from halflife.config import Config
from halflife.config.kinds import kinds
from halflife.config.registrations import only_entry_point, registered
from halflife.core.errors import ConfigError, HalflifeError
from halflife.policies import Strategy

PAGES = '[[source]]\nname = "a"\npages = ["http://a.example/"]\n'
FORM = """
[[source]]
name = "b"
kind = "form"
form_url = "http://b.example/?page={page}"
per_page = 10
key = "id"
policy = "expected"
[source.attributes]
title = {kind = "keyword"}
"""
SINK = '[[sink]]\nname = "s"\nkind = "jsonl"\npath = "f.jsonl"\n'


@pytest.fixture
def register(tmp_path, monkeypatch):
    """Install a package that registers one thing."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(package, group, point):
        info = tmp_path / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(f"[{group}]\n{point}\n")

    return put


def complaint(call, *names):
    with pytest.raises(HalflifeError) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    for name in names:
        assert name in said
    return said


def test_two_packages_with_one_kind_are_both_named(register):
    register("first-census", "halflife.kinds", "census = json:loads")
    register("second-census", "halflife.kinds", "census = json:dumps")
    text = '[[source]]\nname = "a"\nkind = "census"\n'
    said = complaint(lambda: Config.parse(text), "census", "halflife.kinds")
    assert "the package first-census (json:loads)" in said
    assert "the package second-census (json:dumps); uninstall one of them" in said
    assert kinds().count("census") == 1


def test_others_work_where_two_packages_share_a_name(register):
    register("first-census", "halflife.kinds", "census = json:loads")
    register("second-census", "halflife.kinds", "census = json:dumps")
    assert len(Config.parse(PAGES).source) == 1


@pytest.mark.parametrize(
    ("group", "name", "text"),
    [
        ("halflife.policies", "uniform", PAGES + 'policy = "uniform"\n'),
        ("halflife.policies.form", "expected", FORM),
        ("halflife.sinks", "jsonl", SINK),
    ],
)
def test_a_package_that_takes_a_name_of_ours_is_named(register, group, name, text):
    assert Config.parse(text)
    register("usurper", group, f"{name} = json:loads")
    complaint(lambda: Config.parse(text), name, "package halflife ", "package usurper ")


def test_a_policy_of_two_packages_is_not_loaded_and_both_are_listed(register):
    register("usurper", plugins.POLICIES, "uniform = json:loads")
    complaint(
        lambda: plugins.load(plugins.POLICIES, "uniform", Strategy),
        "package halflife ",
        "package usurper ",
    )
    pages = [p for p in plugins.describe_policies() if p.kind == "pages"]
    listed = [p.package for p in pages if p.name == "uniform"]
    assert sorted(listed) == ["halflife", "usurper"]


def test_every_name_of_ours_is_registered_once():
    groups = ["policies", "policies.listing", "policies.form", "policies.search"]
    for group in (*groups, "sinks"):
        found = registered(f"halflife.{group}")
        assert found
        for points in found.values():
            only_entry_point(points)


def test_a_name_that_is_registered_by_nobody_known_is_told_plainly(register):
    register("one", "halflife.kinds", "census = json:loads")
    (point,) = registered("halflife.kinds")["census"]
    with pytest.raises(ConfigError, match=r"by the package one .* and by the package"):
        only_entry_point((point, point))
