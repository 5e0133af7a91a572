"""A site from the command line."""

import tomllib

import pytest

from site_parts import running, town


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


def test_a_site_is_added_crawled_and_told_of(ready, served, asked, told):
    allow = ("--allow", "127.0.0.0/8")
    code, answer = asked("add", "town", "--site", served.url, *allow, "--most", 30)
    assert code == 0
    assert answer["results"][0]["kind"] == "site"
    table = tomllib.loads(ready.read_text())["source"][0]
    assert table["name"] == "town"
    assert table["kind"] == "site"
    assert table["start"] == served.url + "/"
    assert table["most"] == 30
    assert "pages" not in table
    code, answer = asked("sync", "--max-requests", 5)
    assert code == 0
    assert answer["found"] >= 8
    code, answer = asked("status")
    (crawl,) = answer["sites"]
    assert crawl["source"] == "town"
    assert crawl["known"] == crawl["fetched"] + crawl["frontier"]
    assert crawl["frontier"] > 3
    _, out, _ = told("plan")
    assert f"found by a link from {served.url}/, never seen yet" in out
    code, _, _ = told("sync")
    assert code == 0
    _, out, _ = told("status")
    assert "30 pages known" in out
    assert "the limit of 30 pages is reached" in out


@pytest.mark.parametrize("kind", ["pages", "site"])
def test_pages_with_a_start_are_crawled_whatever_their_kind_is_called(
    ready, served, asked, kind
):
    with ready.open("a") as file:
        file.write(
            f'\n[[source]]\nname = "town"\nkind = "{kind}"\nmost = 30\n'
            f'start = "{served.url}/"\nallow = ["127.0.0.0/8"]\n'
        )
    assert asked("sync")[0] == 0
    assert asked("sync")[0] == 0
    (crawl,) = asked("status")[1]["sites"]
    assert (crawl["source"], crawl["known"]) == ("town", 30)


def test_scope_is_written_as_the_settings_have_it(ready, served, asked):
    words = ("--scope", "http://a.org/*", "--scope", "http://b.org/x", "--depth", "3")
    code, _ = asked("add", "--site", "http://a.org", *words, "--no-check")
    assert code == 0
    code, _ = asked(
        "add", "f", "--site", "http://c.org", "--scope", "folder", "--no-check"
    )
    first, second = tomllib.loads(ready.read_text())["source"]
    assert first["name"] == "a.org"
    assert first["scope"] == ["http://a.org/*", "http://b.org/x"]
    assert first["depth"] == 3
    assert second["scope"] == "folder"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["http://a.org/", "--most", "3"], "--most has no meaning without --site"),
        (["a", "b", "--site", "http://a.org/"], "one name at most"),
        (["http://b.org/", "--site", "http://a.org/"], "one name at most"),
        (["--site", "ftp://a.org/"], "http"),
        (["--site", "http://a.org/", "--scope", "planet"], "host"),
    ],
)
def test_what_cannot_be_meant_is_refused(ready, fails, words, said):
    code, why = fails("add", *words)
    assert code == 2
    assert said in why
