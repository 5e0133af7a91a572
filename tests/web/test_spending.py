"""What can be spent, as the pages say it; and what a sync by hand may draw."""

import time

import pytest

from halflife.config import Config
from halflife.core.errors import BudgetSpent
from halflife.engine import bootstrap
from halflife.engine.wallet import DRAWN, Wallet
from halflife.web import actions, showcase, survey
from halflife.web.board import Board

SITE = """
[budget]
requests = {requests}
per = "day"
[fetch]
delay = 0
[[source]]
name = "site"
allow = ["127.0.0.0/8"]
robots = false
pages = ["{url}/a", "{url}/b"]
"""


@pytest.fixture
def site(tmp_path, server):
    """Settings of two pages, each fetched once, so that nothing has come in since."""

    def written(requests=1000):
        server.pages |= {f"/{n}": ("text/html", f"<p>{n}".encode()) for n in "ab"}
        path = tmp_path / "halflife.toml"
        url = f"http://127.0.0.1:{server.server_port}"
        path.write_text(SITE.format(requests=requests, url=url))
        assert "2 fetches" in actions.sync(Config.load(path), "site").text
        return path

    return written


def waited(visitor):
    for _ in range(400):
        job = visitor.get("/jobs.json").json["results"][0]
        if job["state"] != "running":
            return job
        time.sleep(0.02)
    raise AssertionError(job)


def test_sync_now_draws_on_the_window_when_nothing_has_come_in(site, visit):
    here = visit(site())
    answer = here.get("/overview.json").json
    spend = answer["spend"]
    assert spend["now"] == 0
    assert 0 < spend["next"] <= 1 / 1000
    assert spend["window"] == {
        "requests": 1000, "per": "day", "spent": 2, "left": 998,
        "refill": 0.0, "refill_at": answer["at"],
    }  # fmt: skip
    assert "998 left" not in here.get("/overview").text
    here.post("/sync", "source=site")
    job = waited(here)
    assert (job["state"], "2 requests" in job["said"]) == ("done", True)
    assert here.get("/overview.json").json["spend"]["window"]["spent"] == 4


def test_a_sync_by_hand_never_draws_more_than_the_window_has(site, visit):
    path = site(requests=3)
    here = visit(path)
    assert here.get("/source.json?name=site").json["spend"]["sync_now"] == 1
    here.post("/sync", "source=site")
    assert "1 request" in waited(here)["said"]
    assert here.get("/source.json?name=site").json["spend"]["sync_now"] == 0
    page = here.get("/source?name=site").text
    assert "disabled>Sync now" in page
    assert "the next request is available in 24 h" in page
    here.post("/sync", "source=site")
    job = waited(here)
    assert job["state"] == "failed"
    assert "is spent; wait 24 h" in job["said"]


def test_a_wallet_says_what_can_be_spent_and_when(tmp_path):
    path = tmp_path / "halflife.toml"
    path.write_text('[budget]\nrequests = 240\nper = "day"\n')
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        wallet, now = Wallet(store, config.budget), 20_000.0
        wallet.take_income(now)
        assert wallet.spend(now) == (0, DRAWN, pytest.approx(0.1 / 24), 0, 240, 0.0)
        assert wallet.spend(now + 0.25)[:2] == (60, DRAWN)
        run = store.begin(["x"], now, lease=9.0)
        store.charge(run, 230, now + 0.25)
        assert wallet.spend(now + 0.5)[:2] == (10, 10)
        store.charge(run, 10, now + 0.5)
        full = wallet.spend(now + 0.5)
        assert (full.now, full.drawn, full.left) == (0, 0, 0)
        assert full.wait == pytest.approx(0.75)
        assert full.refill == pytest.approx(0.75)
        store.finish(run, now + 0.5)


def test_nothing_can_be_drawn_from_a_window_that_is_spent(site):
    path = site(requests=2)
    with pytest.raises(BudgetSpent, match="wait 24 h"):
        actions.sync(Config.load(path), "site")


def test_the_sample_world_never_spends_more_than_its_budget(tmp_path):
    config = Config.load(actions.demo(tmp_path, pages=8, days=2))
    seen = Board(config.path).survey()
    assert seen.spend.spent <= config.budget.requests
    with bootstrap.reading(config) as store:
        days = survey.by_day(store, seen.now, most=2)
    assert max(days) <= config.budget.pace
    assert sum(days[-2:]) >= showcase.FURNISHED
