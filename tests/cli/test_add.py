"""One address is fetched once, recognised, shown and written."""

import json
from urllib.parse import urlsplit

import pytest

from halflife.config import Config

JSON = "application/json"
ALLOW = ("--allow", "127.0.0.0/8")
TEAS = [{"id": n, "name": f"tea {n}", "price": n % 7} for n in range(95)]


@pytest.fixture
def empty(here):
    """Settings without sources, and no delay."""
    path = here / "halflife.toml"
    path.write_text("[fetch]\ndelay = 0.0\n")
    return path


@pytest.fixture
def api(server):
    """An API with 95 records on three pages, at /teas."""
    for n in (1, 2, 3):
        body = {
            "count": 95,
            "next": f"{server.url}/teas?page={n + 1}" if n < 3 else None,
            "results": TEAS[(n - 1) * 40 : n * 40],
        }
        path = "/teas" if n == 1 else f"/teas?page={n}"
        server.pages[path] = ("application/json", json.dumps(body).encode())
    return f"{server.url}/teas"


def test_a_listing_is_written_and_its_copy_equals_the_truth(empty, api, server, asked):
    code, answer = asked("add", api, *ALLOW, "--source", "teas", "--yes")
    assert code == 0
    assert answer["written"] is True
    assert answer["source"]["records"] == "results"
    assert answer["recognised"]["what"] == "JSON listing"
    assert answer["cost"]["requests_per_read"] == 3
    assert answer["cost"]["requests_a_month"] == 90
    assert server.asked == ["/robots.txt", "/teas", "/teas?page=2"]
    (source,) = Config.load(empty).source
    assert (source.kind, source.key, source.next) == ("listing", "id", "next")
    (row,) = asked("sync")[1]["listings"]
    assert (row["listed"], row["arrived"]) == (95, 95)


def test_every_request_of_a_trial_is_paid_for(empty, api, asked):
    asked("add", api, *ALLOW, "--yes")
    assert asked("status")[1]["budget"]["spent"] == 3


def test_without_a_yes_a_program_gets_what_would_be_written(empty, api, told):
    before = empty.read_text()
    code, out, err = told("add", api, *ALLOW)
    assert code == 2
    assert 'records = "results"' in out
    assert "'id' is in all 40 records" in out
    assert "90 a month" in out
    assert "tea 2" in out
    assert err == "halflife: nothing was written; give --yes to write it\n"
    assert empty.read_text() == before
    code, out, _ = told("add", api, *ALLOW, "--json")
    assert (code, json.loads(out)["written"]) == (2, False)
    assert empty.read_text() == before


def test_a_person_is_asked(empty, api, told, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    for agrees, many in ((False, 0), (True, 1)):
        monkeypatch.setattr("typer.confirm", lambda *_, agrees=agrees, **__: agrees)
        told("add", api, *ALLOW)
        assert len(Config.load(empty).source) == many


def test_a_page_is_added_as_before_with_one_request(empty, server, asked):
    server.pages["/a"] = ("text/html", b"<!doctype html><title>x</title><p>hello")
    code, answer = asked("add", f"{server.url}/a", *ALLOW)
    assert code == 0
    assert answer["results"] == [
        {"url": f"{server.url}/a", "source": f"{server.url[7:]}", "kind": "page",
         "pages": 0}
    ]  # fmt: skip
    assert answer["recognised"]["what"] == "page"
    assert server.asked == ["/robots.txt", "/a"]
    assert asked("status")[1]["results"][0]["held"] == 1


def test_a_page_that_shows_data_is_kept_as_data(empty, server, asked):
    page = b"<!doctype html><a href='/api/?format=json'>json</a><p>pretty"
    server.pages["/api/"] = ("text/html", page)
    server.pages["/api/?format=json"] = ("application/json", json.dumps(TEAS).encode())
    code, answer = asked("add", f"{server.url}/api/", *ALLOW, "--yes")
    assert code == 0
    assert answer["source"]["url"] == f"{server.url}/api/?format=json"
    assert "has the same as data" in answer["recognised"]["reasons"]["format"]
    code, answer = asked(
        "add", f"{server.url}/api/", *ALLOW, "--kind", "pages", "--source", "as-page"
    )
    assert answer["recognised"]["what"] == "page"


def test_what_is_known_better_is_believed(empty, server, asked):
    body = {"others": [{"no": f"a{n}"} for n in range(3)], "results": TEAS[:20]}
    server.pages["/x"] = ("application/json", json.dumps(body).encode())
    words = ("--records", "others", "--key", "no", "--next", "more", "--yes")
    code, answer = asked("add", f"{server.url}/x", *ALLOW, *words)
    assert code == 0
    source = answer["source"]
    assert (source["records"], source["key"]) == ("others", "no")
    assert source["next"] == "more"


@pytest.mark.parametrize(
    ("answer", "words", "said"),
    [
        ((JSON, b'[{"a": 1}, {"a": 1}]'), ("--kind", "listing"), "--key"),
        (("text/xml", b"<OAI-PMH></OAI-PMH>"), (), "install halflife-oai"),
        (("text/html", b"<p>hello"), ("--kind", "tea"), "cannot be kept as tea"),
        ((JSON, b"[]"), ("--records", "x.y"), "with the given options"),
        ((JSON, b"[1]"), ("--header", "nonsense"), "--header"),
        ((JSON, b"[1]"), ("--header", "Authorization: hunter2"), "environment"),
    ],
)
def test_what_cannot_be_kept_is_one_clear_line(
    empty, server, fails, answer, words, said
):
    server.pages["/x"] = answer
    code, complaint = fails("add", f"{server.url}/x", *ALLOW, *words, "--yes")
    assert code == 2
    assert said in complaint
    assert "hunter2" not in complaint
    assert Config.load(empty).source == ()


@pytest.mark.parametrize(
    "words",
    [
        ("{}",),
        ("{}", "--kind", "listing"),
        ("{}", "{}x"),
        ("--form", "{}"),
        ("--search", "{}"),
    ],
)
def test_an_address_that_is_not_public_names_the_option(empty, api, told, words):
    code, _, err = told("add", *(word.format(api) for word in words), "--yes")
    assert code != 0
    assert "its address is not public; name its network with --allow" in err
    assert "source's allow" not in err


def test_a_secret_header_comes_from_the_environment(empty, server, asked, monkeypatch):
    monkeypatch.setenv("TEA_TOKEN", "Token hunter2")
    server.pages["/x"] = ("application/json", json.dumps(TEAS).encode())
    words = ("--header", "Authorization: env:TEA_TOKEN", "--header", "X-Shop: 7")
    code, answer = asked("add", f"{server.url}/x", *ALLOW, *words, "--yes")
    assert code == 0
    assert "hunter2" not in json.dumps(answer) + empty.read_text()
    (source,) = Config.load(empty).source
    assert source.headers["X-Shop"] == "7"
    assert source.from_env == {"Authorization"}


def test_options_of_one_address_have_no_meaning_for_several(empty, fails):
    for words in (("--key", "id"), ("--header", "A: b"), ("--kind", "pages")):
        code, said = fails("add", "http://a.example/1", "http://a.example/2", *words)
        assert (code, words[0] in said) == (2, True)


def test_a_second_source_of_a_host_has_a_name_of_its_own(empty, server, api, asked):
    asked("add", api, *ALLOW, "--yes")
    server.pages["/b/c"] = ("text/csv", b"id,name\n1,a\n2,b\n")
    server.pages["/p"] = ("text/html", b"<!doctype html><p>hello")
    asked("add", f"{server.url}/b/c", *ALLOW, "--yes")
    asked("add", f"{server.url}/p", *ALLOW)
    host = server.url[7:]
    names = {source.name: source.kind for source in Config.load(empty).source}
    assert names == {host: "listing", f"{host}-b-c": "listing", f"{host}-p": "pages"}


def test_a_list_that_goes_on_elsewhere_is_read_only_here(empty, server, asked):
    body = {"next": "http://b.example/2", "results": TEAS[:9]}
    server.pages["/x"] = ("application/json", json.dumps(body).encode())
    code, answer = asked("add", f"{server.url}/x", *ALLOW, "--yes")
    assert code == 0
    assert answer["notes"] == ["its next page lies on another host and is not read"]
    assert {urlsplit(path).path for path in server.asked} == {"/robots.txt", "/x"}


def test_an_address_that_robots_forbid_is_not_tried(empty, server, fails):
    server.pages["/robots.txt"] = ("text/plain", b"User-agent: *\nDisallow: /x\n")
    server.pages["/x"] = ("application/json", json.dumps(TEAS).encode())
    code, said = fails("add", f"{server.url}/x", *ALLOW, "--yes")
    assert code == 1
    assert "robots.txt" in said
    assert server.asked == ["/robots.txt"]


def test_a_person_is_told_what_a_sitemap_offers_and_costs(empty, server, told):
    entries = "".join(
        f"<url><loc>{server.url}/{n}</loc><lastmod>2026-01-0{n}</lastmod></url>"
        for n in range(1, 4)
    )
    server.pages["/map"] = ("text/xml", f"<urlset>{entries}</urlset>".encode())
    code, out, _ = told("add", f"{server.url}/map", *ALLOW)
    assert code == 0
    assert "is a sitemap" in out
    assert "changes: dates of 3 of 3 pages" in out
    assert "cost: 4 requests for a full read" in out
    assert out.split()[-2:] == ["map", "3"]


def test_what_a_stranger_wrote_gives_no_orders_to_a_terminal(empty, server, told):
    odd = "\x1b]0;x\x07\u202e"
    body = {odd: [{"id": n, odd: odd} for n in range(3)]}
    server.pages["/x"] = ("application/json", json.dumps(body).encode())
    code, out, err = told("add", f"{server.url}/x", *ALLOW)
    assert code == 2
    assert "3 objects" in out
    assert all(c.isprintable() or c == "\n" for c in out + err)


def test_a_page_that_needs_a_browser_is_named(empty, server, told):
    body = b"<!doctype html><title>App</title><div id=root></div><script src=/a.js>"
    server.pages["/app"] = ("text/html", body)
    code, said, _ = told("add", f"{server.url}/app", *ALLOW)
    assert code == 0
    assert 'without JavaScript; write render = "browser"' in said


def test_a_graphql_server_without_a_question_is_told_of_the_option(
    empty, server, fails
):
    code, complaint = fails("add", f"{server.url}/graphql", *ALLOW, "--yes")
    assert code == 1
    assert "give it with --graphql FILE" in complaint
    assert Config.load(empty).source == ()
