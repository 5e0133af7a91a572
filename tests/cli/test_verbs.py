import json
import shutil
import subprocess
import sys

import pytest

from halflife.cli import main
from halflife.cli.app import VERBS
from halflife.config import Config
from site_settings import keep_site

BEGAN = 20_000.0


@pytest.fixture(scope="module")
def kept(site, tmp_path_factory):
    """A folder with the demo site, looked at twice, ten days apart for the site."""
    folder = tmp_path_factory.mktemp("kept")
    path = keep_site(folder, site)
    words = ["--json", "--config", str(path)]
    site.set_clock(BEGAN)
    assert main(["sync", *words]) == 0
    assert main(["sync", "--all", *words]) == 0
    site.set_clock(BEGAN + 10.0)
    assert main(["sync", "--all", *words]) == 0
    return folder


@pytest.fixture
def synced(kept, site, here):
    """A copy of that folder, to work in."""
    site.set_clock(BEGAN + 10.0)
    shutil.copytree(kept, here, dirs_exist_ok=True)
    return here / "halflife.toml"


def test_every_verb_has_help_and_answers_in_json(capsys):
    for verb in VERBS:
        assert main([verb, "--help"]) == 0
        out = capsys.readouterr().out
        assert "--json" in out
        assert len(out.splitlines()) > 5


def test_a_sync_finds_fetches_and_reports(settings, site, asked):
    site.set_clock(BEGAN)
    code, first = asked("sync")
    assert code == 0
    assert first["found"] >= 19
    assert first["looks"] + first["failed"] >= 20  # the map, and what it lists
    assert first["results"][0]["source"] == "demo"
    site.set_clock(BEGAN + 10.0)
    _, third = asked("sync", "--all")
    assert 0 < third["changed"] < third["looks"]


def test_a_sync_spends_no_more_than_it_is_told(settings, site, asked):
    site.set_clock(BEGAN)
    assert asked("sync", "--max-requests", 2)[1]["requests"] == 2
    assert asked("sync", "--max-requests", 5)[1]["requests"] == 5
    assert asked("status")[1]["budget"]["spent"] == 7


def test_a_sync_with_nothing_to_spend_says_so(synced, told):
    code, out, err = told("sync")
    assert code == 0
    if out.startswith("0 requests"):
        assert "next request available in" in err


def test_a_spent_budget_is_exit_code_6(settings, site, asked, fails):
    site.set_clock(BEGAN)
    text = settings.read_text().replace("requests = 500", "requests = 4")
    settings.write_text(text)
    assert asked("sync")[1]["requests"] == 4
    code, complaint = fails("sync")
    assert code == 6
    assert complaint.startswith("the budget of 4 requests per day is spent")


@pytest.mark.parametrize("verb", ["sync", "run"])
def test_a_dry_run_sends_and_writes_nothing(settings, here, asked, verb):
    code, answer = asked(verb, "--dry-run")
    assert code == 0
    assert [row["item"][-12:] for row in answer["results"]] == ["/sitemap.xml"]
    assert not (here / "halflife.db").exists()


def test_only_the_named_source_is_synced(synced, asked, fails):
    assert asked("sync", "demo")[0] == 0
    code, complaint = fails("sync", "dem")
    assert code == 2
    assert "did you mean 'demo'" in complaint


def test_status_adds_up(synced, asked):
    code, answer = asked("status")
    assert code == 0
    fresh = answer["freshness"]
    assert 0 <= fresh["low"] <= fresh["mean"] <= fresh["high"] <= 1
    (row,) = answer["results"]
    assert row["items"] >= row["held"] > 15
    assert row["looks"] > row["changes"] > 0
    budget = answer["budget"]
    assert budget["spent"] + budget["left"] == budget["requests"] == 500


def test_status_without_any_state_is_not_an_error(settings, asked):
    code, answer = asked("status")
    assert code == 0
    assert answer["results"][0]["held"] == 0
    assert answer["freshness"] is None  # as that of each source


def test_the_plan_is_in_order_and_says_why(synced, asked):
    code, answer = asked("plan", "--top", 5)
    assert code == 0
    gains = [row["gain"] for row in answer["results"]]
    assert len(gains) == 5
    assert gains == sorted(gains, reverse=True)
    assert all(row["why"] for row in answer["results"])
    assert asked("plan", "--top", 5)[1]["results"][0]["item"].startswith("http://")


def test_pages_written_by_hand_are_planned_at_once(synced, asked, site):
    text = synced.read_text() + f'pages = ["{site.url}/by/hand"]\n'
    synced.write_text(text)
    plan = asked("plan", "--top", 1)[1]["results"]
    assert plan[0]["item"] == f"{site.url}/by/hand"
    assert plan[0]["why"] == "never seen yet"


def test_an_item_is_explained(synced, asked, told, site):
    code, answer = asked("explain", "/docs/0000.html")
    assert code == 0
    assert answer["key"] == f"{site.url}/docs/0000.html"
    rate = answer["rate_per_day"]
    assert 0 < rate["low"] < rate["mean"] < rate["high"]
    assert 0 <= answer["stale"] <= 1
    assert answer["looks"] >= 2
    assert answer["due_days"] >= 0 or answer["due_days"] is None
    same = asked(
        "explain", f"{site.url.upper().replace('HTTP', 'http')}/docs/0000.html"
    )
    assert same[1]["key"] == answer["key"]
    _, out, _ = told("explain", "/docs/0000.html")
    for words in ("changes", "95 % between", "weight 1", "price of a request", "due"):
        assert words in out


def test_an_explanation_names_the_alternatives(synced, asked):
    plan = asked("plan", "--top", 3)[1]["results"]
    said = asked("explain", plan[1]["item"])[1]
    assert said["rank"] < said["of"]
    assert sum(said["parts"].values()) == pytest.approx(said["gain"], rel=1e-6)
    before, after = said["alternatives"]
    assert before["gain"] >= said["gain"] >= after["gain"]


def test_an_unclear_item_is_asked_back(synced, fails):
    code, complaint = fails("explain", ".html")
    assert code == 2
    assert "could be" in complaint
    assert " more; give more of its name" in complaint
    code, complaint = fails("explain", "no such thing")
    assert "no item has" in complaint


def test_the_forecast_falls(synced, asked):
    code, answer = asked("forecast", "--days", 30)
    assert code == 0
    means = [row["freshness"]["mean"] for row in answer["results"]]
    assert means == sorted(means, reverse=True)
    assert answer["results"][0]["in"] == "now"
    at = asked("forecast", "--at", "+6h")[1]["results"]
    assert [row["in"] for row in at] == ["now", "6 h"]


def test_a_missed_target_is_exit_code_3(synced, told, asked):
    assert told("forecast", "--target", "0.999999")[0] == 3
    assert told("forecast", "--target", "0.0001", "--days", "0.01")[0] == 0
    _, answer = asked("forecast", "--target", "0.0001", "--days", "0.01")
    assert answer["below_target"] is None


@pytest.mark.parametrize("at", ["soon", "-3h", "6y", ""])
def test_a_time_that_is_none(synced, at, told):
    code, _, err = told("forecast", f"--at={at}")
    assert (code == 2 and "is not a time" in err) if at else code == 0


def test_the_copy_can_be_read(synced, asked, site):
    code, answer = asked("get", "/docs/0000.html")
    assert code == 0
    assert answer["media_type"] == "text/html"
    assert answer["text"].startswith("<!DOCTYPE html>")


def test_a_copy_goes_to_a_pipe_byte_for_byte(synced, asked):
    command = [sys.executable, "-m", "halflife", "get", "/docs/0000.html"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout.decode() == asked("get", "/docs/0000.html")[1]["text"]


def test_what_was_never_fetched_cannot_be_read(settings, fails):
    code, complaint = fails("get", "sitemap")
    assert code == 2
    assert "no item has" in complaint


def test_adding_tells_maps_from_pages(here, site, asked):
    site.set_clock(BEGAN)
    (here / "halflife.toml").write_text("# mine\n[fetch]\ndelay = 0.0\n")
    page, sitemap = f"{site.url}/docs/0000.html", f"{site.url}/sitemap.xml"
    words = ["--source", "demo", "--allow", "127.0.0.0/8", "--weight", "3"]
    code, answer = asked("add", sitemap, f"{page}#top", *words)
    assert code == 0
    kinds = {row["url"]: row["kind"] for row in answer["results"]}
    assert kinds == {sitemap: "map", page: "page"}
    config = Config.load(here / "halflife.toml")
    (source,) = config.source
    assert (source.pages, source.maps, source.weight) == ((page,), (sitemap,), 3.0)
    assert (here / "halflife.toml").read_text().startswith("# mine\n")
    row = asked("status")[1]["results"][0]
    assert row["held"] == 2
    assert row["items"] >= 20
    assert asked("explain", "/guide/0001.html")[1]["weight"] == 3.0


def test_adding_twice_changes_nothing(here, site, asked):
    (here / "halflife.toml").write_text("[fetch]\ndelay = 0.0\n")
    words = [f"{site.url}/sitemap.xml", "--allow", "127.0.0.0/8"]
    assert asked("add", *words)[0] == 0
    before = (here / "halflife.toml").read_text()
    assert asked("add", *words)[0] == 0
    assert (here / "halflife.toml").read_text() == before


def test_adding_from_a_file_without_a_look(here, asked):
    (here / "halflife.toml").write_text("")
    (here / "urls").write_text("# mine\nhttps://a.example/\n\nhttps://b.example/x\n")
    code, answer = asked("add", "--from", "urls", "--no-check")
    assert code == 0
    assert [row["source"] for row in answer["results"]] == ["a.example", "b.example"]
    assert asked("status")[1]["budget"]["spent"] == 0


def test_a_page_that_is_gone_is_not_added(here, site, told):
    site.set_clock(BEGAN)
    (here / "halflife.toml").write_text("[fetch]\ndelay = 0.0\n")
    good, bad = f"{site.url}/docs/0000.html", f"{site.url}/nothing"
    code, out, err = told("add", good, bad, "--allow", "127.0.0.0/8")
    assert code == 4
    assert good in out
    assert f"not added: {bad}: there is no such page" in err
    assert "nothing" not in (here / "halflife.toml").read_text()


def test_add_needs_a_url(settings, fails):
    assert fails("add")[0] == 2
    assert fails("add", "--from", "missing.txt")[0] == 2


def test_a_secret_stays_secret_also_when_things_go_wrong(here, site, told, monkeypatch):
    monkeypatch.setenv("CANARY", "hunter2")
    (here / "halflife.toml").write_text(
        '[fetch]\ndelay = 0.0\n[[source]]\nname = "s"\nallow = ["127.0.0.0/8"]\n'
        f'pages = ["{site.url}/docs/0000.html", "{site.url}/nothing"]\n'
        '[source.headers]\nAuthorization = {env = "CANARY"}\n'
    )
    said = ""
    for words in (["sync"], ["status"], ["plan"], ["get", "0000", "--json"]):
        said += "".join(map(str, told(*words)))
    monkeypatch.delenv("CANARY")
    code = main(["sync", "--debug"])
    assert code == 2
    assert "hunter2" not in said
    for path in here.glob("halflife.db*"):
        assert b"hunter2" not in path.read_bytes()


def test_a_secret_goes_to_one_host_only(here, fails, monkeypatch):
    monkeypatch.setenv("CANARY", "hunter2")
    (here / "halflife.toml").write_text(
        '[[source]]\nname = "s"\npages = ["https://a.example/", "https://b.example/"]\n'
        '[source.headers]\nAuthorization = {env = "CANARY"}\n'
    )
    code, complaint = fails("sync")
    assert code == 2
    assert "make a source for each host" in complaint


@pytest.fixture
def history(here):
    lines = [f"p{i},{day + i / 10}" for i in range(10) for day in range(0, 30, i + 1)]
    path = here / "history.csv"
    path.write_text("\n".join(["key,at", *lines]) + "\n")
    return path


def test_policies_are_compared_on_a_recording(history, asked):
    words = ["--policies", "index,uniform", "--budgets", "0.1,0.5", "--seeds", "3"]
    code, answer = asked("replay", history, *words)
    assert code == 0
    rows = answer["results"]
    assert [(r["policy"], r["budget"]) for r in rows] == [
        ("index", 0.1),
        ("uniform", 0.1),
        ("index", 0.5),
        ("uniform", 0.5),
    ]
    for row in rows:
        fresh = row["freshness"]
        assert fresh["low"] <= fresh["mean"] <= fresh["high"]
        assert fresh["mean"] <= row["hindsight"] + 1e-9
        assert row["blind"] <= row["hindsight"] + 1e-9
    assert rows[2]["freshness"]["mean"] > rows[0]["freshness"]["mean"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policies", "nope"], "no policy is named 'nope'; known policies: age, "),
        (["--budgets", "0.1,x"], "--budgets: 'x' is not a number above 0"),
        (["--budgets", "-1"], "--budgets: '-1' is not a number above 0"),
    ],
)
def test_a_replay_that_cannot_be(history, fails, words, said):
    code, complaint = fails("replay", history, *words)
    assert code == 2
    assert complaint.startswith(said)


def test_a_history_that_is_not_there(here, fails):
    assert fails("replay", "no.csv")[0] == 2


def test_an_unknown_policy_in_the_settings(settings, fails):
    settings.write_text('[policy]\nname = "magic"\n' + settings.read_text())
    code, complaint = fails("sync")
    assert code == 2
    assert complaint.startswith("no policy is named 'magic'")


def test_the_bench_prints_a_flat_row(asked):
    code, answer = asked("bench", "allocate", "--items", "60")
    assert code == 0
    (row,) = answer["results"]
    assert row["items"] == 60


def test_an_unknown_bench(fails):
    code, complaint = fails("bench", "nope")
    assert code == 2
    assert "there is allocate" in complaint


def test_answers_for_people_are_not_json(synced, told):
    for verb in ("status", "plan", "forecast"):
        _, out, _ = told(verb)
        with pytest.raises(json.JSONDecodeError):
            json.loads(out)
