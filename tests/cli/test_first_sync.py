"""The first sync goes on with what it found; a lost state file is not fresh."""

import pytest

from lab.tea_shop import Shop, serving
from site_parts import running, town

ALLOW = ("--allow", "127.0.0.0/8")


@pytest.fixture
def served():
    with running(town()) as site:
        yield site


@pytest.fixture
def ready(here, told):
    assert told("init")[0] == 0
    path = here / "halflife.toml"
    path.write_text(path.read_text().replace("delay = 1.0", "delay = 0.0"))
    return path


def test_a_sync_of_a_map_goes_on_with_the_pages_it_lists(settings, asked):
    code, answer = asked("sync")
    assert code == 0
    (row,) = asked("status")[1]["results"]
    assert row["items"] > 10
    assert row["held"] + row["gone"] + row["failing"] == row["items"]
    assert row["held"] > 10
    assert answer["looks"] == row["held"] + row["gone"]


def test_what_a_map_lists_is_fetched_within_the_budget(settings, asked):
    settings.write_text(settings.read_text().replace("500", "8"))
    _, answer = asked("sync")
    assert answer["requests"] == 8
    assert asked("status")[1]["budget"]["spent"] == 8


def test_a_sync_of_a_map_heeds_the_limit_that_was_given(settings, asked):
    assert asked("sync", "--max-requests", 5)[1]["requests"] <= 5


@pytest.mark.parametrize("share", [0.02, 0.5])  # of requests, for checks at random
@pytest.mark.parametrize("name", [(), ("town",)])
def test_a_site_whose_start_was_kept_as_a_page_is_crawled(
    name, share, ready, served, asked, told
):
    ready.write_text(f"{ready.read_text()}\n[audit]\nshare = {share}\n")
    assert asked("add", served.url, *ALLOW)[0] == 0
    assert asked("sync")[0] == 0
    words = ("add", *name, "--site", served.url, *ALLOW, "--most", 30)
    code, _ = asked(*words)
    assert code == 0
    assert asked("sync")[0] == 0
    (crawl,) = asked("status")[1]["sites"]
    assert crawl["known"] == 30
    assert crawl["fetched"] > 25
    assert told("verify")[0] == 0


def test_a_start_whose_links_were_read_is_not_fetched_for_them_again(
    ready, served, asked
):
    asked("add", "town", "--site", served.url, *ALLOW, "--most", 30)
    asked("sync")
    assert asked("sync")[1]["requests"] == 0


@pytest.fixture
def spent(settings, asked):
    """Settings under which something was spent; and how much."""
    assert asked("sync")[0] == 0
    return asked("status")[1]["budget"]["spent"]


def test_a_state_file_that_is_named_anew_does_not_forget_what_was_spent(
    spent, settings, asked, told, here
):
    text = settings.read_text()
    settings.write_text('store = "other.db"\n' + text)
    code, _, err = told("status")
    assert code == 0
    assert "what was known is in" in err
    assert "halflife.db" in err
    _, _, err = told("sync", "--max-requests", 2)
    assert "everything begins anew" in err
    assert f"{spent} requests of the last 31 days still count as spent" in err
    assert asked("status")[1]["budget"]["spent"] == spent + 2
    assert told("status")[2] == ""  # said once, and by doctor for a week
    assert any("begins anew" in r["text"] for r in asked("doctor")[1]["results"])
    assert told("verify")[0] == 0
    settings.write_text(text)
    assert "anew" not in told("sync")[2]


def test_a_state_file_that_was_moved_away_is_missed(spent, asked, told, here):
    for path in here.glob("halflife.db*"):
        path.rename(path.with_name(f"moved-{path.name}"))
    code, _, err = told("status")
    assert (code, "which no longer exists" in err) == (0, True)
    _, _, err = told("sync", "--max-requests", 1)
    assert "everything begins anew" in err
    assert asked("status")[1]["budget"]["spent"] == spent + 1


def test_a_spent_budget_stays_spent_without_its_state_file(settings, asked, told, here):
    settings.write_text(settings.read_text().replace("500", "8"))
    asked("sync")
    for path in here.glob("halflife.db*"):
        path.unlink()
    assert told("sync")[0] == 6


def test_new_settings_begin_without_a_word(settings, told):
    code, _, err = told("sync")
    assert (code, err) == (0, "")


def test_a_record_that_cannot_be_read_is_as_good_as_none(spent, told, here):
    (here / ".halflife.toml.state").write_text("{")
    for path in here.glob("halflife.db*"):
        path.unlink()
    assert told("sync", "--max-requests", 1)[0] == 0


def test_a_sync_of_all_fetches_known_pages_too_when_a_map_names_new_ones(here, asked):
    shop = Shop()
    shop.fill()
    with serving(shop):
        (here / "halflife.toml").write_text(
            "[budget]\nrequests = 1000\n[fetch]\ndelay = 0.0\n[[source]]\n"
            f'name = "teas"\nmaps = ["{shop.url}/sitemap.xml"]\n'
            'allow = ["127.0.0.0/8"]\n'
        )
        asked("sync")
        shop.change()  # 3 teas come, 3 change, one goes
        code, answer = asked("sync", "--all")
    assert code == 0
    assert answer["looks"] == 1 + 25 + 3  # the map, what was known, what is new
    kinds = sorted(one["kind"] for one in answer["changes"])
    assert kinds == ["changed"] * 4 + ["gone"] + ["new"] * 3
