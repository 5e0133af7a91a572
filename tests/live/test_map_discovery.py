"""Pages that maps name have a share of the budget and a limit, as crawls have."""

import json
import sqlite3
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from halflife.cli import main
from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.engine import bootstrap
from halflife.kinds.pages import (
    map_limits as pages_map_limits,
)
from service_parts import HOME, Play, fullest, ledger

REQUESTS = '240\nper = "hour"'


@contextmanager
def serving(answer):
    """Serve what a function of the path returns; give the address and a log."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            server.asked.append(self.path)
            body = answer(server.url, self.path)
            self.send_response(200 if body is not None else 404)
            kind = "text/xml" if (body or b"").startswith(b"<") else "text/plain"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.url = [], f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def urlset(urls):
    inside = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"<urlset>{inside}</urlset>".encode()


def index(urls):
    inside = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{inside}</sitemapindex>".encode()


def huge(pages):
    def answer(url, path):
        if path == "/sitemap.xml":
            return urlset(f"{url}/{i}" for i in range(pages))
        return None if path == "/robots.txt" else path.encode()

    return answer


def map_source(server, name="huge", more=""):
    maps = f'maps = ["{server.url}/sitemap.xml"]\n'
    return f'[[source]]\nname = "{name}"\n{HOME}{maps}{more}'


def plain_source(server, pages, name="calm"):
    urls = json.dumps([f"{server.url}/{i}" for i in range(pages)])
    return f'[[source]]\nname = "{name}"\n{HOME}pages = {urls}\n'


def test_a_huge_sitemap_leaves_other_sources_their_part_of_the_window(write):
    with serving(huge(1500)) as big, serving(huge(0)) as calm:
        path = write(map_source(big), plain_source(calm, 20), requests=REQUESTS)
        play = Play(path).run(1.0 / 24)
    assert fullest(ledger(path), 1 / 24) <= 240
    found = {path for path in big.asked if path[1:].isdecimal()}
    assert 30 <= len(found) <= 45  # an eighth of the window; all of it before
    calm_at = [at for at, r in play.results if "calm" in r.sources]
    assert len(calm.asked) >= 70
    assert max(calm_at) > play.now - 0.4 / 24


def test_several_huge_sitemaps_get_equal_parts(write):
    def answer(url, path):
        if path.endswith("/sitemap.xml"):
            which = path.removesuffix("/sitemap.xml")
            return urlset(f"{url}{which}/{i}" for i in range(600))
        return None if path == "/robots.txt" else path.encode()

    with serving(answer) as many, serving(huge(0)) as calm:
        maps = [map_source(many, f"huge{i}") for i in range(3)]
        parts = [
            text.replace("/sitemap.xml", f"/m{i}/sitemap.xml")
            for i, text in enumerate(maps)
        ]
        path = write(*parts, plain_source(calm, 20), requests=REQUESTS)
        Play(path).run(1.0 / 24)
    assert len(calm.asked) >= 40
    each = [len({p for p in many.asked if p.startswith(f"/m{i}/")}) for i in range(3)]
    assert min(each) > 0.5 * max(each) > 5


def test_alone_a_sitemap_is_read_as_fast_as_the_window_allows(write):
    with serving(huge(150)) as big:
        path = write(map_source(big), requests=REQUESTS)
        Play(path).run(0.1 / 24)
        assert len(set(big.asked)) == 152


def test_sync_spends_a_source_s_part_ahead_of_its_income_and_no_more(
    write, monkeypatch, capsys
):
    with serving(huge(1500)) as big, serving(huge(0)) as calm:
        path = write(map_source(big), plain_source(calm, 5), requests=REQUESTS)
        monkeypatch.chdir(path.parent)
        for _ in range(4):
            assert main(["sync", "--json"]) == 0
        capsys.readouterr()
        assert 30 <= len(set(big.asked)) <= 45  # an eighth of the window
        assert {f"/{i}" for i in range(5)} <= set(calm.asked)


def test_pages_named_in_the_settings_never_wait_for_their_income(write):
    with serving(huge(1500)) as big, serving(huge(0)) as calm:
        path = write(map_source(big), plain_source(calm, 150), requests=REQUESTS)
        Play(path).run(0.05 / 24)
        assert len({p for p in calm.asked if p != "/robots.txt"}) == 150


@pytest.mark.parametrize("wide", [1, 3])
def test_an_index_of_indexes_without_end_ends(write, wide):
    def answer(url, path):
        if path == "/robots.txt":
            return None
        last = path.strip("/").partition(".")[0]
        return index(f"{url}/{last}-{i}.xml" for i in range(wide))

    with serving(answer) as endless:
        source = f'[[source]]\nname = "e"\n{HOME}maps = ["{endless.url}/s.xml"]\n'
        path = write(source, requests='600\nper = "hour"')
        Play(path).run(0.3 / 24)
        assert len(set(endless.asked)) <= 2 + wide
        with bootstrap.reading(Config.load(path)) as store:
            assert store.item_count(["e"]) == 1 + wide


def test_a_chain_of_maps_without_end_ends(write, monkeypatch):
    monkeypatch.setattr(pages_map_limits, "MAPS", 20)

    def answer(url, path):
        if path == "/robots.txt":
            return None
        number = int(path.strip("/").partition(".")[0])
        return urlset([f"{url}/{number + 1}.xml"])

    with serving(answer) as endless:
        source = f'[[source]]\nname = "e"\n{HOME}maps = ["{endless.url}/0.xml"]\n'
        path = write(source, requests='6000\nper = "hour"')
        for _ in range(2):  # also if it is begun anew
            Play(path).run(0.1 / 24)
        with bootstrap.reading(Config.load(path)) as store:
            assert store.item_count(["e"]) == 22


def test_maps_make_no_more_pages_known_than_the_limit(write, monkeypatch, capsys):
    with serving(huge(300)) as big:
        path = write(map_source(big, more="most = 50\n"), requests=REQUESTS)
        monkeypatch.chdir(path.parent)
        for _ in range(3):
            assert main(["sync"]) == 0
        with sqlite3.connect(path.with_name("halflife.db")) as db:
            assert db.execute("SELECT count(*) FROM item").fetchone() == (50,)
        capsys.readouterr()
        assert main(["status"]) == 0
        said = capsys.readouterr().out
        assert "huge: the limit of 50 pages is reached: set most higher" in said


def test_pages_may_have_a_limit_and_a_share_but_no_depth(write):
    config = Config.load(write('[[source]]\nname = "a"\nmost = 7\ndiscovery = 0.1\n'))
    assert config.source[0].most_pages == 7
    config = Config.load(write('[[source]]\nname = "a"\n'))
    assert config.source[0].most_pages == 50_000
    with pytest.raises(ConfigError, match="depth has no meaning"):
        Config.load(write('[[source]]\nname = "a"\ndepth = 7\n'))
