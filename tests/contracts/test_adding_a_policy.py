"""The example of docs/adding-a-policy.md, as a reader would write and install it."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from halflife import plugins
from halflife.cli import main
from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.pages import recorded_source as pages_recorded
from halflife.policies import laws
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
    module, test = blocks("python")
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
