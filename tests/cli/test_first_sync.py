"""The first sync goes on with what it found; a lost state file is not fresh."""

import pytest

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


@pytest.mark.parametrize("name", [(), ("town",)])
def test_a_site_whose_start_was_kept_as_a_page_is_crawled(
    name, ready, served, asked, told
):
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
