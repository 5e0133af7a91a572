"""Outages that answer with 200 do not overwrite copies; what is well again is taken."""

import sqlite3
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from halflife.cli import main
from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.source_health import HealthJudge
from halflife.kinds.protocol import Memo
from halflife.stores.sqlite import SqliteStore
from listening import listening

TEXT = (
    "river stone cloud market ladder engine copper window harvest orbit velvet "
    "signal garden bridge lantern meadow anchor saddle thunder pepper violin "
    "canvas harbor winter candle forest mirror copper basket tunnel"
)
WORDS = TEXT.split()
PAGES = 12


def article(n, version=1):
    """Return a page with a text of its own, of some 1500 characters."""
    text = " ".join(
        f"{WORDS[(n * 7 + k * (n + 3)) % 30]}{'abcdefghijkl'[n]}"
        for k in range(200 + version)
    )
    return f"<html><title>Page {n}</title><p>{text}</p></html>"


class Site:
    """A site whose answers the test decides; ``answer`` takes a number and a count."""

    def __init__(self):
        self.answer = lambda n, _count: (200, article(n))
        self.asked = 0

    def __call__(self, path):
        self.asked += 1
        if not path.startswith("/p"):
            return (404, "") if path != "/login" else (200, LOGIN)
        return self.answer(int(path[2:]), self.asked)


STATES = ("open", "closed", "late", "full")
LOGIN = "<html><form><p>Members<input name=u><input type=password name=p></form>"


@contextmanager
def serving(site):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = site(self.path)
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", body)
                body = ""
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    go = threading.Event()
    go.set()
    with listening(server, go):
        yield f"http://127.0.0.1:{server.server_address[1]}"


@pytest.fixture
def site():
    return Site()


@pytest.fixture
def kept(here, site, told):
    """Keep the pages of the site, all fetched once."""
    with serving(site) as url:
        write(here, url, range(PAGES))
        assert told("sync")[0] == 0
        yield url


def write(here, url, numbers):
    pages = ", ".join(f'"{url}/p{n}"' for n in numbers)
    (here / "halflife.toml").write_text(
        "[fetch]\ndelay = 0.0\n[audit]\nshare = 0.0\n"
        f'[[source]]\nname = "s"\nallow = ["127.0.0.0/8"]\npages = [{pages}]\n'
    )


def copies(here, url, numbers=range(PAGES)):
    with SqliteStore.open(here / "halflife.db", readonly=True) as store:
        return [store.content(f"{url}/p{n}").body.decode() for n in numbers]


def changes(here):
    with sqlite3.connect(here / "halflife.db") as db:
        return db.execute("SELECT total(changes) FROM evidence").fetchone()[0]


def rested(here):
    """Let the pauses after failures be over: all that was tried was tried long ago."""
    with sqlite3.connect(here / "halflife.db") as db:
        db.execute("UPDATE evidence SET tried_at = tried_at - 2, last_at = last_at - 2")


OUTAGES = {
    "maintenance": lambda n, _: (200, "<p>We are down for maintenance.</p>"),
    "maintenance in another language": lambda n, _: (
        200,
        "<p>Wir sind gleich wieder da. Bitte etwas Geduld.</p>",
    ),
    "maintenance with a time and a request id": lambda n, count: (
        200,
        f"<p>Back soon. 2026-11-16T05:{count % 60:02d}Z, request {count:08x}-7f</p>",
    ),
    "a login page": lambda n, _: (200, LOGIN),
    "a redirect to a login": lambda n, _: (302, "/login"),
    "a soft 404 that repeats the address": lambda n, _: (
        200,
        f"<title>Oops</title><p>There is nothing at /p{n} here</p>",
    ),
    "an error page of a CDN": lambda n, count: (
        200,
        f"<h1>Error</h1><p>Ray ID: {count:016x}</p><p>Bad gateway</p>",
    ),
    "nothing at all": lambda n, _: (200, ""),
}


@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_that_answers_200_leaves_every_copy_as_it_was(
    outage, kept, here, site, told, asked
):
    before = copies(here, kept)
    site.answer = OUTAGES[outage]
    code, _, err = told("sync", "--all")
    assert code == 5
    assert "a decision is needed" in err
    assert copies(here, kept) == before
    assert changes(here) == 0  # no change was believed in
    status = asked("status")[1]
    (waiting,) = status["waiting"]
    assert waiting["source"] == "s"
    assert "--accept" in waiting["todo"]
    assert status["results"][0]["held"] == PAGES
    assert status["results"][0]["gone"] == 0
    assert told("verify")[0] == 0


@pytest.mark.parametrize("outage", ["maintenance", "a redirect to a login"])
def test_what_is_well_again_needs_nobody(outage, kept, here, site, told, asked):
    before = copies(here, kept)
    site.answer = OUTAGES[outage]
    assert told("sync", "--all")[0] == 5
    rested(here)
    site.answer = lambda n, _: (200, article(n))
    assert told("sync", "--all")[0] == 0
    assert asked("status")[1]["waiting"] == []
    assert copies(here, kept) == before
    assert changes(here) == 0


def test_held_answers_are_believed_when_somebody_accepts_them(
    kept, here, site, told, asked
):
    site.answer = OUTAGES["maintenance"]
    _, _, err = told("sync", "--all")
    run = err.partition("--accept ")[2].partition("`")[0]
    code, answer = asked("sync", "--accept", run)
    assert (code, answer["accepted"]) == (0, PAGES)
    assert all("maintenance" in copy for copy in copies(here, kept))
    assert changes(here) == PAGES
    assert asked("status")[1]["waiting"] == []
    assert told("sync", "--all")[0] == 0  # such a text is believed from now on
    assert told("verify")[0] == 0


def test_kept_copies_stay_and_nobody_is_asked_again(kept, here, site, told, asked):
    before = copies(here, kept)
    site.answer = OUTAGES["maintenance"]
    _, _, err = told("sync", "--all")
    run = err.partition("--accept ")[2].partition("`")[0]
    code, answer = asked("sync", "--keep", run)
    assert (code, answer["kept"]) == (0, PAGES)
    rested(here)
    assert told("sync", "--all")[0] == 0
    assert copies(here, kept) == before
    assert asked("status")[1]["waiting"] == []


def test_a_run_with_nothing_to_decide_is_a_slip(kept, fails):
    assert fails("sync", "--keep", 99)[0] == 2
    assert fails("sync", "--keep", 99, "--accept", 99)[0] == 2


def test_a_redesign_is_taken_at_once(kept, here, site, told):
    def redesigned(n, _):
        menu = "Home About Contact Imprint News Archive Shop"
        return 200, article(n, version=20).replace("<p>", f"<nav>{menu}</nav><p>")

    site.answer = redesigned
    assert told("sync", "--all")[0] == 0
    assert changes(here) == PAGES


@pytest.mark.parametrize("text", ["", "<p>This list is empty for now</p>"])
def test_one_page_that_turns_short_is_taken_when_the_others_are_well(
    text, kept, here, site, told, asked
):
    site.answer = lambda n, _: (200, article(n) if n != 5 else text)
    code, answer = asked("sync", "--all")
    assert code == 0
    assert answer["failed"] == 0
    assert copies(here, kept, [5])[0] == text
    assert changes(here) == 1


def test_pages_that_were_always_the_same_may_change_together(here, site, told):
    site.answer = lambda n, _: (200, "<p>" + "one text for all " * 40)
    with serving(site) as url:
        write(here, url, range(PAGES))
        assert told("sync")[0] == 0
        site.answer = lambda n, _: (200, "<p>" + "one newer text for all " * 40)
        assert told("sync", "--all")[0] == 0
        assert changes(here) == PAGES


def test_pages_that_show_a_state_which_many_share_may_change_together(here, site, told):
    menu = "<p>" + "the menu of this site has many words " * 20
    site.answer = lambda n, _: (200, f"{menu}<p>it is {STATES[n % 4]} now")
    with serving(site) as url:
        write(here, url, range(PAGES))
        assert told("sync")[0] == 0
        site.answer = lambda n, _: (200, f"{menu}<p>it is open now")
        assert told("sync", "--all")[0] == 0
        assert changes(here) == PAGES - PAGES // 4


def test_an_outage_that_is_met_page_by_page_is_held_too(kept, here, site, told):
    before = copies(here, kept)
    site.answer = OUTAGES["maintenance in another language"]
    codes = [told("sync", "--all", "--max-requests", 2)[0] for _ in range(5)]
    assert codes[-1] == 5
    assert copies(here, kept) == before


def test_a_lone_page_is_believed_when_it_says_the_same_a_day_later(here, site, told):
    with serving(site) as url:
        write(here, url, [1])
        told("sync")
        site.answer = lambda n, _: (200, "<p>gone fishing</p>")
        assert told("sync", "--all")[0] == 0
        assert changes(here) == 0
        with sqlite3.connect(here / "halflife.db") as db:
            db.execute("UPDATE held_page SET since = since - 2")
        rested(here)
        assert told("sync", "--all")[0] == 0
        assert changes(here) == 1
        assert "fishing" in copies(here, url, [1])[0]


def test_new_pages_are_not_taken_from_a_site_that_is_down(kept, here, site, told):
    site.answer = OUTAGES["maintenance"]
    assert told("sync", "--all")[0] == 5
    write(here, kept, range(PAGES + 0))
    text = (here / "halflife.toml").read_text()
    more = text.replace("pages = [", f'pages = ["{kept}/p0?new", ')
    site.answer = lambda n, _: OUTAGES["maintenance"](0, 0)
    (here / "halflife.toml").write_text(more)
    original = Site.__call__
    Site.__call__ = lambda self, path: original(self, path.partition("?")[0])
    try:
        assert told("sync")[0] == 5
    finally:
        Site.__call__ = original
    assert told("get", f"{kept}/p0?new")[0] == 2  # there is no copy


def test_a_crash_after_an_answer_was_put_aside_loses_no_copy(kept, here, site, told):
    """Rows are written before the failures; either alone changes no copy."""
    before = copies(here, kept)
    site.answer = OUTAGES["maintenance"]
    told("sync", "--all")
    with sqlite3.connect(here / "halflife.db") as db:
        db.execute("DELETE FROM held_page")
    rested(here)
    assert told("sync", "--all")[0] == 5
    assert copies(here, kept) == before


def test_an_alarm_is_raised_and_ends_when_the_pages_are_well(
    kept, here, site, told, asked
):
    def health():
        config = Config.load(here / "halflife.toml")
        with bootstrap.reading(config) as store:
            judge = HealthJudge(config, store, bootstrap.clock(), {}, Memo())
            return judge.health(config.source[0])

    site.answer = OUTAGES["maintenance"]
    told("sync", "--all")
    assert "the new answers of 12 pages are not believed" in health().held
    found = [r for r in asked("doctor")[1]["results"] if r["about"] == "held"]
    assert "12 pages" in found[0]["text"]
    rested(here)
    site.answer = lambda n, _: (200, article(n))
    told("sync", "--all")
    assert health().held == ""


def test_a_site_that_is_crawled_keeps_its_copies_when_all_leads_to_a_login(
    here, told, asked
):
    site = Site()
    links = "".join(f'<a href="/p{n}">x</a>' for n in range(1, PAGES))
    site.answer = lambda n, _: (200, article(n) + (links if n == 0 else ""))
    with serving(site) as url:
        (here / "halflife.toml").write_text(
            "[fetch]\ndelay = 0.0\n[audit]\nshare = 0.0\n[[source]]\n"
            'name = "s"\nkind = "site"\nallow = ["127.0.0.0/8"]\n'
            f'start = "{url}/p0"\n'
        )
        assert told("sync")[0] == 0
        before = copies(here, url)
        site.answer = OUTAGES["a redirect to a login"]
        assert told("sync", "--all")[0] == 5
        assert copies(here, url) == before
        assert changes(here) == 0
        assert told("verify")[0] == 0
        rested(here)
        site.answer = lambda n, _: (200, article(n) + (links if n == 0 else ""))
        assert told("sync", "--all")[0] == 0
        assert changes(here) == 0


def test_what_is_kept_of_an_outage_is_bounded(kept, here, site, told, monkeypatch):
    monkeypatch.setattr("halflife.stores.held_pages.MOST", 4)
    site.answer = OUTAGES["maintenance"]
    _, _, err = told("sync", "--all")
    with sqlite3.connect(here / "halflife.db") as db:
        query = "SELECT count(*), count(body) FROM held_page"
        assert db.execute(query).fetchone() == (PAGES, 4)
    run = err.partition("--accept ")[2].partition("`")[0]
    assert main(["sync", "--accept", run]) == 0
    assert told("sync", "--all")[0] == 0
    assert all("maintenance" in copy for copy in copies(here, kept))
    assert told("verify")[0] == 0


def card(n):
    """Return a page with a text of its own, of a few characters."""
    return f"<html><p>{WORDS[n]} {WORDS[n + 12]}</p></html>"


@pytest.fixture
def cards(here, site, told):
    """Keep pages with hardly any text, all fetched once."""
    site.answer = lambda n, _count: (200, card(n))
    with serving(site) as url:
        write(here, url, range(PAGES))
        assert told("sync")[0] == 0
        yield url


@pytest.mark.parametrize("outage", OUTAGES)
def test_pages_with_hardly_any_text_keep_their_copies_in_an_outage(
    outage, cards, here, site, told, asked
):
    before = copies(here, cards)
    site.answer = OUTAGES[outage]
    assert told("sync", "--all")[0] == 5
    assert copies(here, cards) == before
    assert changes(here) == 0
    assert asked("status")[1]["results"][0]["held"] == PAGES
    assert told("verify")[0] == 0
    rested(here)
    site.answer = lambda n, _: (200, card(n))
    assert told("sync", "--all")[0] == 0
    assert copies(here, cards) == before
    assert changes(here) == 0


def one_by_one(told, syncs):
    """Fetch one page in each sync: its robots.txt is known."""
    return [told("sync", "--all", "--max-requests", 1)[0] for _ in range(syncs)]


MASKED = "maintenance in another language"


def test_a_copy_that_an_outage_replaced_is_put_back_when_the_next_pages_show_it(
    cards, here, site, told, asked
):
    before = copies(here, cards)
    site.answer = OUTAGES[MASKED]
    assert one_by_one(told, 1) == [0]
    assert len(set(before) - set(copies(here, cards))) == 1  # taken for a change
    assert one_by_one(told, 3)[-1] == 5
    assert copies(here, cards) == before
    assert told("verify")[0] == 0
    # Such an answer of the page whose copy was put back is still not believed.
    rested(here)
    assert told("sync", "--all")[0] == 5
    assert copies(here, cards) == before
    rested(here)
    site.answer = lambda n, _: (200, card(n))
    assert told("sync", "--all")[0] == 0
    assert copies(here, cards) == before
    assert asked("status")[1]["waiting"] == []


def test_what_replaced_a_copy_that_was_put_back_can_be_accepted(
    cards, here, site, told, asked
):
    site.answer = OUTAGES[MASKED]
    one_by_one(told, 3)
    _, _, err = told("sync", "--all")
    run = err.partition("--accept ")[2].partition("`")[0]
    assert asked("sync", "--accept", run)[0] == 0
    assert all("Geduld" in copy for copy in copies(here, cards))
    assert told("sync", "--all")[0] == 0
    assert told("verify")[0] == 0


@pytest.mark.parametrize("order", [["--all"], ["--all", "--max-requests", 1]])
def test_a_page_with_hardly_any_text_that_changes_alone_is_taken_in_the_same_sync(
    order, cards, here, site, told
):
    site.answer = lambda n, _: (200, card(n) if n else "<p>sold out")
    found = []
    while not found or (changes(here) == 0 and len(found) < PAGES):
        found.append(told("sync", *order)[0])
        is_taken = changes(here) == 1
        assert is_taken == ("sold out" in copies(here, cards, [0])[0])
    assert set(found) == {0}
    assert changes(here) == 1
    assert "sold out" in copies(here, cards, [0])[0]


def test_pages_with_hardly_any_text_that_all_change_are_taken_in_the_same_sync(
    cards, here, site, told
):
    site.answer = lambda n, _: (200, f"<p>{WORDS[n + 5]} anew {WORDS[n + 13]}")
    assert told("sync", "--all")[0] == 0
    assert changes(here) == PAGES
    site.answer = lambda n, _: (200, f"<p>{WORDS[n + 2]} again {WORDS[n + 9]}")
    assert told("sync", "--all")[0] == 0
    assert changes(here) == 2 * PAGES


def test_two_pages_with_hardly_any_text_may_become_the_same(cards, here, site, told):
    site.answer = lambda n, _: (200, card(n) if n > 1 else "<p>sold out")
    assert told("sync", "--all")[0] == 0
    assert changes(here) == 2


def test_a_page_that_shows_one_text_after_another_is_never_put_off_twice(
    cards, here, site, told
):
    """Its copy must not lag for ever where other pages are hardly ever fetched."""
    site.answer = lambda n, count: (200, f"<p>{WORDS[count % 30]} {WORDS[count // 2]}")
    for _ in range(5):
        one_by_one(told, 1)
    with sqlite3.connect(here / "halflife.db") as db:
        assert db.execute("SELECT count(*) FROM held_page").fetchone()[0] == 0


def test_pages_with_hardly_any_text_may_show_a_state_that_many_share(here, site, told):
    site.answer = lambda n, _: (200, f"<p>{STATES[n % 4]}")
    with serving(site) as url:
        write(here, url, range(PAGES))
        assert told("sync")[0] == 0
        site.answer = lambda n, _: (200, "<p>open")
        assert told("sync", "--all")[0] == 0
        assert changes(here) == PAGES - PAGES // 4


def test_a_source_of_two_pages_is_never_put_off(here, site, told):
    site.answer = lambda n, _count: (200, card(n))
    with serving(site) as url:
        write(here, url, range(2))
        assert told("sync")[0] == 0
        site.answer = lambda n, _: (200, "<p>sold out")
        assert told("sync", "--all")[0] == 0
        assert changes(here) == 2


def test_a_copy_that_was_replaced_is_forgotten_when_the_site_is_well(
    cards, here, site, told
):
    kept = "SELECT body FROM note WHERE kind = 'replaced_copies'"
    site.answer = lambda n, _: (200, "<p>sold out")
    one_by_one(told, 1)
    with sqlite3.connect(here / "halflife.db") as db:
        assert "sold" not in str(db.execute(kept).fetchone())
        assert "body" in str(db.execute(kept).fetchone())
    site.answer = lambda n, _: (200, card(n))
    for _ in range(2):  # in the first its change back may be seen last of all
        assert told("sync", "--all")[0] == 0
    with sqlite3.connect(here / "halflife.db") as db:
        assert db.execute(kept).fetchone()[0] == "[]"
