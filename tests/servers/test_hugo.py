"""A Hugo site on nginx: pages found by sitemap, by feed, and by links."""

import os
import shutil
import subprocess
import time

import pytest

from server_parts import Server, free_port, need, running

CONFIG = """
baseURL = "{url}/"
title = "Teas"
enableRobotsTXT = true
disableKinds = ["taxonomy", "term"]
"""
PAGE = (
    "<!doctype html><html><head><title>{{ .Title }}</title></head><body>"
    "<h1>{{ .Title }}</h1>{{ .Content }}</body></html>"
)
LIST = (
    "<!doctype html><html><head><title>{{ .Title }}</title></head><body><ul>"
    '{{ range .Site.RegularPages }}<li><a href="{{ .RelPermalink }}">{{ .Title }}'
    "</a></li>{{ end }}</ul></body></html>"
)
NGINX = """
{user}
worker_processes 1;
daemon off;
pid {here}/nginx.pid;
error_log {here}/nginx.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    types {{ text/html html; application/xml xml; text/plain txt; }}
    client_body_temp_path {here}/tmp;
    proxy_temp_path {here}/tmp;
    fastcgi_temp_path {here}/tmp;
    uwsgi_temp_path {here}/tmp;
    scgi_temp_path {here}/tmp;
    server {{ listen 127.0.0.1:{port}; root {here}/public; }}
}}
"""
PAGES = """
[[source]]
name = "teas"
maps = ["{url}/{map}"]
allow = ["127.0.0.0/8"]
"""
CRAWL = """
[[source]]
name = "teas"
kind = "site"
start = "{url}/"
allow = ["127.0.0.0/8"]
"""


class Site:
    """The folder that Hugo builds the site from, which is its database."""

    def __init__(self, here, server):
        self.here = here
        self.server = server

    def write(self, *numbers, version=1):
        for number in numbers:
            self._file(number).write_text(
                f'+++\ntitle = "Tea {number}"\ndate = 2026-01-01T00:00:00Z\n+++\n'
                f"This is tea {number}, brew {version}.\n"
            )

    def delete(self, *numbers):
        for number in numbers:
            self._file(number).unlink()

    def rename(self, old, new):
        self._file(old).rename(self._file(new))

    def build(self):
        """Build the site anew: Hugo itself leaves pages there that have gone."""
        shutil.rmtree(self.here / "public", ignore_errors=True)
        subprocess.run(
            ["hugo", "--quiet"],
            cwd=self.here,
            capture_output=True,
            timeout=100,
            check=True,
        )

    def truth(self):
        """Return the text of each page by its address, from the files."""
        files = (self.here / "content").glob("tea*.md")
        return {
            f"{self.server.url}/{path.stem}/": path.read_text().splitlines()[-1]
            for path in files
        }

    def _file(self, number):
        return self.here / f"content/tea{number}.md"


@pytest.fixture
def site(tmp_path):
    """A site of 30 pages, served by nginx."""
    need("hugo", "nginx")
    here, port = tmp_path / "site", free_port()
    for folder in ("content", "layouts/_default", "tmp"):
        (here / folder).mkdir(parents=True)
    user = "user root;" if os.geteuid() == 0 else ""
    conf = here / "nginx.conf"
    conf.write_text(NGINX.format(here=here, port=port, user=user))
    command = ["nginx", "-p", str(here), "-c", str(conf)]
    server = Server(command, port, tmp_path / "nginx.log", path="/robots.txt")
    (here / "config.toml").write_text(CONFIG.format(url=server.url))
    (here / "layouts/_default/single.html").write_text(PAGE)
    (here / "layouts/_default/list.html").write_text(LIST)
    site = Site(here, server)
    site.write(*range(30))
    site.build()
    with running(server):
        yield site


def wrong(copy, site):
    """Return the addresses whose copy does not show the text of the file."""
    pages = copy.pages("teas")
    return {url for url, text in site.truth().items() if text not in pages.get(url, "")}


def absent(copy):
    """Return the addresses that were not there when they were last asked for."""
    rows = copy.rows(
        "SELECT item.key FROM evidence JOIN item ON item.id = evidence.item"
        " WHERE evidence.seen = 1"
    )
    return {key for (key,) in rows}


def alter(site):
    """Let 4 pages come, 5 change, 2 go, and one have another address."""
    time.sleep(1.1)  # nginx dates its files by the second
    site.write(*range(40, 44))
    site.write(*range(5, 10), version=2)
    site.delete(1, 2)
    site.rename(3, 50)
    site.build()


@pytest.mark.parametrize("way", ["sitemap.xml", "index.xml", "links"])
def test_pages_are_kept_as_the_files_have_them(site, copy, way):
    url = site.server.url
    found = CRAWL.format(url=url) if way == "links" else PAGES.format(url=url, map=way)
    copy.settings(found)
    copy.sync()
    copy.sync("--all")
    assert wrong(copy, site) == set()
    alter(site)
    copy.sync("--all")
    copy.sync("--all")
    assert wrong(copy, site) == set()
    assert absent(copy) == {f"{url}/tea{n}/" for n in (1, 2, 3)}


@pytest.mark.parametrize("outage", ["down", "503"])
def test_pages_stay_as_they_were_while_the_site_is_away(site, copy, outage):
    copy.settings(PAGES.format(url=site.server.url, map="sitemap.xml"))
    copy.sync()
    copy.sync("--all")
    before = copy.pages("teas")
    alter(site)
    with (
        site.server.down() if outage == "down" else site.server.replaced(503, retry=60)
    ):
        copy.sync("--all", codes=(4,))
    assert copy.pages("teas") == before
    assert absent(copy) == set()


def test_a_maintenance_page_replaces_no_copy(site, copy):
    copy.settings(PAGES.format(url=site.server.url, map="sitemap.xml"))
    copy.sync()
    copy.sync("--all")
    before = copy.pages("teas")
    with site.server.replaced(200):
        copy.sync("--all", codes=(0, 4, 5))
    assert copy.pages("teas") == before
    assert absent(copy) == set()


def test_the_first_sync_reads_the_sitemap_and_its_pages(site, copy):
    copy.settings(PAGES.format(url=site.server.url, map="sitemap.xml"))
    copy.sync()
    assert wrong(copy, site) == set()


@pytest.mark.parametrize("way", ["sitemap.xml", "index.xml"])
def test_add_alone_keeps_the_pages_that_a_map_names(site, copy, way):
    copy.settings()
    allow = ("--allow", "127.0.0.0/8", "--source", "teas")
    said = copy.json("add", f"{site.server.url}/{way}", *allow)
    assert said["source"]["maps"] == [f"{site.server.url}/{way}"]
    copy.sync()
    assert wrong(copy, site) == set()
    alter(site)
    copy.sync("--all")
    assert wrong(copy, site) == set()
