"""Kinds of source that plug-ins bring: their settings, found by entry points."""

import sys

import pytest

from halflife.config import Config, SourceConfig
from halflife.config.kinds import kinds, settings_of
from halflife.core.errors import ConfigError
from halflife.kinds.pages.settings import PagesConfig

CENSUS = '''
"""A kind of source that counts, in one file."""

from typing import ClassVar, Literal

from pydantic import Field

from halflife.config import SourceConfig


class CensusConfig(SourceConfig):
    measures: ClassVar[frozenset[str]] = frozenset({"recall"})

    kind: Literal["census"] = "census"
    census_url: str
    districts: int = Field(default=10, ge=1)

    @property
    def addresses(self):
        return (self.census_url,)


class Census:
    Settings = CensusConfig
'''
USED = """
[[source]]
name = "people"
kind = "census"
census_url = "http://a.example/"
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a plug-in as pip would: a module, and a folder of metadata."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(code, points="census = census_kind:Census", module="census_kind"):
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / "halflife_census-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: halflife-census\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(f"[halflife.kinds]\n{points}\n")
        monkeypatch.delitem(sys.modules, module, raising=False)

    return put


def complaint(text=USED):
    with pytest.raises(ConfigError) as caught:
        Config.parse(text)
    said = str(caught.value)
    assert "\n" not in said
    return said.removeprefix("halflife.toml: ")


def test_a_source_of_a_plug_in_is_read_by_the_plug_ins_settings(install):
    install(CENSUS)
    config = Config.parse(USED + "districts = 3\nweight = 2.0\n[source.headers]\nX='1'")
    (source,) = config.source
    assert type(source) is settings_of("census")
    assert type(source).__name__ == "CensusConfig"
    assert (source.districts, source.weight, source.kind) == (3, 2.0, "census")
    assert source.where == "http://a.example/"
    assert source.item_urls == ()
    assert source.secrets()["X"].reveal() == "1"
    assert config.model_dump()["source"][0]["districts"] == 3


def test_the_kinds_there_are_include_those_of_plug_ins(install):
    ours = ("pages", "site", "listing", "search", "form")
    assert kinds() == ours
    install(CENSUS)
    assert kinds() == (*ours, "census")
    assert "census_kind" not in sys.modules
    said = complaint("[[source]]\nname='s'\nkind='cencus'")
    assert said == (
        "source[1].kind: unknown kind 'cencus'; kinds are pages, site, listing, "
        "search, form, census"
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("districts = 0", "source[1].districts: input should be greater than or equal"),
        ("weight = 0", "source[1].weight: input should be greater than 0"),
        ("distrcts = 1", "source[1].distrcts: unknown key; did you mean 'districts'?"),
        ("zzz = 1", "source[1].zzz: unknown key; keys of kind 'census' are name, kind"),
        ("depth = 1", "source[1]: depth has no meaning for a source of kind 'census'"),
        ("target = 'recall > 2'", "source[1].target: "),
        (
            "target = 'freshness >= 0.9'",
            "source[1]: a source of kind 'census' has a target of age or recall, not",
        ),
    ],
)
def test_slips_in_the_settings_of_a_plug_in_are_told_as_ours_are(install, more, said):
    install(CENSUS)
    assert complaint(USED + more).startswith(said)


def test_a_key_of_a_plug_in_is_unknown_elsewhere(install):
    install(CENSUS)
    said = complaint("[[source]]\nname='s'\ndistricts = 1")
    assert said.startswith("source[1].districts: unknown key; ")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_s"),
        ("def (", "SyntaxError: "),
        ("raise SystemExit('no licence')", "SystemExit: no licence"),
        ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
        ("", "AttributeError: module 'census_kind' has no attribute 'Census'"),
    ],
)
def test_a_plug_in_that_cannot_be_imported_is_named_with_the_reason(install, code, why):
    install(code)
    said = complaint()
    assert said.startswith(
        "source[1].kind: kind 'census' comes from the package halflife-census, and "
        f"census_kind:Census cannot be imported: {why}"
    )


def test_a_plug_in_that_cannot_be_imported_harms_nobody_who_does_not_use_it(install):
    install("import no_such_module_at_all")
    config = Config.parse("[[source]]\nname='s'\npages=['http://a.example/']")
    assert type(config.source[0]) is PagesConfig
    assert kinds()[-1] == "census"


@pytest.mark.parametrize(
    "code",
    [
        "class Census: pass",
        "class Census:\n    Settings = dict",
        "class Census:\n    Settings = 3",
    ],
)
def test_a_plug_in_needs_settings_that_are_those_of_a_source(install, code):
    install(code)
    said = complaint()
    assert "census_kind:Census has no Settings, a subclass of halflife.config.S" in said
    assert "halflife-census" in said


def test_a_plug_in_does_not_take_the_place_of_a_kind_of_ours(install):
    install(CENSUS, "pages = census_kind:Census")
    (source,) = Config.parse("[[source]]\nname='s'\nkind='pages'").source
    assert type(source) is PagesConfig
    assert kinds().count("pages") == 1
    assert "census_kind" not in sys.modules


def test_settings_of_a_plug_in_are_settings_of_a_source(install):
    install(CENSUS)
    (source,) = Config.parse(USED).source
    assert isinstance(source, SourceConfig)
    assert Config(source=(source,)).source == (source,)
