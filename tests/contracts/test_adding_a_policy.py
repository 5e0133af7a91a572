"""The example of docs/adding-a-policy.md, as a reader would write and install it."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from contracts import (
    test_form_policies as forms,
    test_listing_policies as listings,
    test_search_policies as searches,
)
from halflife import plugins
from halflife.cli import main
from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.pages import recorded_source as pages_recorded
from halflife.kinds.search.rules import bad_choices
from halflife.policies import laws
from halflife.policies.listings import ListingPolicy
from halflife.policies.texts.live import SearchPolicy
from halflife.queries.policies import NewPolicy
from halflife.replay.play import Play, play_recorded
from plugin_folder import install
from replay.worlds import BEGAN, HOME, text

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding-a-policy.md"
EXAMPLE = ROOT / "examples" / "policy"
URL = "http://127.0.0.1:8001"
HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 21600.0)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package of the page is on the path, with its entry points."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(install(folder, "policy"))
    return blocks("python")[1]


def test_the_page_shows_the_example_that_is_installed():
    module, test, _ = blocks("python")
    assert module == (EXAMPLE / "halflife_likely_stale.py").read_text()
    assert (EXAMPLE / "tests/test_likely_stale.py").read_text().endswith(test)
    shown = tomllib.loads(blocks("toml")[0])["project"]
    real = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    assert shown.items() <= real.items()


def test_the_policy_of_the_page_is_found_and_keeps_every_law(installed, capsys):
    named: dict[str, object] = {}
    exec(compile(installed, "test_likely_stale.py", "exec"), named)  # noqa: S102
    named["test_my_policy_keeps_the_laws"]()
    assert laws.broken(plugins.strategy("likely-stale")) == []
    assert main(["policies", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    (mine,) = [row for row in rows if row["name"] == "likely-stale"]
    assert mine["package"] == "halflife-likely-stale"
    assert mine["about"] == "Fetch what is most likely out of date."


@pytest.mark.usefixtures("installed")
def test_the_settings_of_the_page_choose_it(tmp_path):
    path = tmp_path / "halflife.toml"
    path.write_text(blocks("toml")[1])
    config = Config.load(path)
    assert config.policy.name == "likely-stale"
    assert config.source[0].policies == ("champion",)


@pytest.mark.usefixtures("installed")
def test_the_policy_of_the_page_runs_in_the_service(tmp_path, capsys):
    pages = ", ".join(f'"{URL}/{i}"' for i in range(4))
    path = tmp_path / "halflife.toml"
    path.write_text(
        '[budget]\nrequests = 96\nper = "day"\n[fetch]\ndelay = 0.0\n'
        f'[[source]]\nname = "news"\npolicy = "likely-stale"\n{HOME}pages = [{pages}]\n'
    )
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        world = {URL: pages_recorded.site(text)}
        play_recorded(config, store, world, Play(BEGAN, 0.2, rhythm=HOURLY))
        looks = store.evidence(("news",)).looks
    assert looks.min() > 1
    assert main(["plan", "--config", str(path), "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["results"]
    assert steps
    assert all("likely out of date" in step["why"] for step in steps)
    assert main(["explain", f"{URL}/1", "--config", str(path), "--json"]) == 0
    choice = json.loads(capsys.readouterr().out)["choice"]
    assert choice["policy"] == "likely-stale"


@pytest.fixture
def others(tmp_path, monkeypatch):
    """The policies of other kinds on the page are on the path."""
    site = tmp_path / "site"
    info = site / "halflife_my_policies-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "my_policies.py").write_text(blocks("python")[2])
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my\nVersion: 1.0\n")
    shown = tomllib.loads(blocks("toml")[2])["project"]["entry-points"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in found.items())
        for group, found in shown.items()
    )
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(site)
    yield
    sys.modules.pop("my_policies", None)


@pytest.mark.usefixtures("others")
def test_the_page_shows_a_policy_of_each_other_kind_that_keeps_its_contract():
    listing = plugins.load("halflife.policies.listing", "six-hours", ListingPolicy)
    known = listings.history("many")
    assert listing.due(known, listings.TERMS) == known.looks[-1] + 0.25
    form = plugins.load("halflife.policies.form", "all-again", NewPolicy)
    assert form.name == "all-again"
    done, asked, _ = forms.turn(form, forms.held_of(forms.table(30)), forms.table(40))
    assert asked
    assert done.stop == "nothing more is worth a request"
    search = plugins.load("halflife.policies.search", "monthly", SearchPolicy)
    databases = searches.known(3, 5)
    found = search.choose(databases)
    assert bad_choices(found, 5) == ""
    assert (found.due == (searches.NOW - databases.made >= 30.0)).all()


@pytest.mark.usefixtures("others")
def test_the_policies_of_other_kinds_on_the_page_are_listed(capsys):
    assert main(["policies", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    about = {row["name"]: row["about"] for row in rows if row["package"] == "my"}
    assert about == {
        "six-hours": "Fetch every six hours.",
        "all-again": "Read all records again.",
        "monthly": "Summarise again after 30 days.",
    }
