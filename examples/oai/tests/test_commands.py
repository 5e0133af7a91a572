"""Every command works for a repository; services have processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from repository import Repository, serving

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.listing import runner
from halflife.replay.play import Play, play_recorded
from inside import run_inside
from processes import wait_for
from replay.worlds import papers, settings

HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)
DAYS = 1.25


class Program:
    """The program in a folder, with the plug-in installed."""

    def __init__(self, folder, site):
        self.folder, self.path = folder, folder / "halflife.toml"
        self._env = {**os.environ, "PYTHONPATH": str(site), "PYTHONUNBUFFERED": "1"}

    def start(self, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "halflife", *words],
            cwd=self.folder,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words, code=0):
        found, out, err = run_inside(self.folder, *map(str, words), "--json")
        assert found == code, out + err
        assert "Traceback" not in err
        return json.loads(out)

    @contextmanager
    def running(self, *words):
        process = self.start(*words)
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=30)
        assert process.returncode in {128 + signal.SIGTERM, -signal.SIGTERM}

    @property
    def held(self):
        config = Config.load(self.path)
        with bootstrap.reading(config) as store:
            found = runner.tracker(store, config.source[0]).held
        return {key: told["title"] for key, told in found.items()}


def truth(repository):
    return {key: told["title"] for key, told in repository.truth.items()}


@pytest.fixture(scope="module", autouse=True)
def installed(site):
    """The package is installed for as long as these tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        yield


@pytest.fixture(scope="module")
def kept(site, tmp_path_factory):
    """A repository that was kept for thirty hours until now."""
    ask = Program(tmp_path_factory.mktemp("kept"), site)
    began = time.time() / 86400.0 - DAYS
    part, url = papers(began), "http://papers.invalid"
    ask.path.write_text(settings([part], [url], 240, 0.0) + 'target = "recall >= 0.8"')
    config = Config.load(ask.path)
    play = Play(began, DAYS, audits=True, rhythm=HOURLY)
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        play_recorded(config, store, {url: part.source}, play)
    return ask


@pytest.fixture
def live(site, tmp_path):
    """A repository on loopback, and the program in a folder with its settings."""
    repository = Repository()
    for i in range(25):
        repository.put(f"oai:x:{i:02}", title=f"Title {i}")
    ask = Program(tmp_path, site)
    with serving(repository) as url:
        ask.path.write_text(
            "[budget]\nrequests = 100000\n[fetch]\ndelay = 0.0\n"
            '[[source]]\nname = "papers"\nkind = "oai"\nallow = ["127.0.0.0/8"]\n'
            f'url = "{url}"\nconfirm_hours = 0\n'
        )
        yield repository, ask


def test_syncs_hold_the_truth_after_changes_deletions_and_expired_tokens(live):
    repository, ask = live
    (done,) = ask("sync")["listings"]
    assert (done["listed"], done["trouble"]) == (25, "")
    assert ask.held == truth(repository)
    for i in range(12):
        repository.put(f"oai:x:{i:02}", title=f"Changed {i}")
    repository.put("oai:x:77", title="New")
    repository.delete("oai:x:20")
    repository.expires = 1
    (done,) = ask("sync")["listings"]
    assert (done["arrived"], done["updated"], done["missing"]) == (1, 12, 1)
    assert ask.held == truth(repository)
    (done,) = ask("sync")["listings"]
    assert done["gone"] == 1
    assert ask.held == truth(repository)
    (row,) = ask("status")["sets"]
    assert (row["source"], row["held"]) == ("papers", 25)


def test_add_recognises_a_repository_by_its_address_alone(live):
    repository, ask = live
    text = ask.path.read_text()
    url = text.partition('url = "')[2].partition('"')[0]
    ask.path.write_text(text.partition("[[source]]")[0])
    allow = ("--allow", "127.0.0.0/8")
    said = ask("add", f"{url}?verb=Identify", *allow, "--source", "papers", "--yes")
    assert said["source"]["kind"] == "oai"
    assert said["source"]["url"] == url
    assert "root element is OAI-PMH" in said["recognised"]["reasons"]["format"]
    ask("sync")
    assert ask.held == truth(repository)


def test_run_keeps_the_copy_and_explains_itself(live):
    repository, ask = live
    with ask.running("run"):
        wait_for(lambda: len(repository.asked) >= 4)
        wait_for(lambda: ask.held == truth(repository))
    assert ask("status")["sets"][0]["held"] == 25


def test_the_pages_of_serve_know_a_repository(kept):
    with kept.running("serve", "--port", "0") as process:
        address = urlsplit(process.stdout.readline().strip())
        wait_for(lambda: _page(address, "ready")["ready"])
        told = _page(address, "overview")
        (row,) = [*told["attention"], *told["next"]]
        assert (row["source"], row["kind"]) == ("papers", "oai")
        assert row["rate"] > 0.0
        assert 0.0 < row["quality"]["mean"] <= 1.0


def _page(address, name):
    token = address.query.removeprefix("token=")
    asked = urllib.request.Request(
        f"http://{address.netloc}/{name}.json",
        headers={"Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(asked, timeout=20) as answer:
        return json.load(answer)


def test_plan_explain_and_forecast_know_a_repository(kept):
    (step,) = kept("plan")["listings"]
    assert step["source"] == "papers"
    assert step["requests"] == 2
    said = kept("explain", "papers")
    assert (said["kind"], said["measure"]) == ("oai", "recall")
    assert said["items"] > 50
    (row,) = kept("forecast", "papers", "--at", "+2d")["results"]
    assert 0.0 < row["recall"]["mean"] < 1.0


def test_budget_and_whatif_price_a_repository(kept):
    rows = kept("whatif", "--budget", "480")["results"]
    assert [row["source"] for row in rows] == ["papers"]
    assert "papers" in json.dumps(kept("budget"))


def test_audit_and_doctor_have_no_complaint(kept):
    (row,) = kept("audit")["results"]
    assert (row["source"], row["kind"]) == ("papers", "oai")
    assert row["found_by"] == "whole looks"
    found = kept("doctor")
    assert not [c for c in found["results"] if "papers" in c["text"]]


def test_what_was_harvested_can_be_replayed(kept):
    usual = ("--policies", "market-price")
    found = kept("replay", "--store", "--budgets", "24,48", *usual)
    assert found["sources"] == [{"source": "papers", "kind": "oai"}]
    few, many = found["results"]
    assert few["requests"] < many["requests"]
    assert 0.5 < few["quality"] <= many["quality"] <= 1.0
