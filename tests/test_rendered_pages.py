"""Pages as a browser shows them, through the gate and within the budget."""

import asyncio
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("playwright")

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.core.observation import Seen
from halflife.core.request import Fetch
from halflife.engine.bootstrap import writing
from halflife.engine.diagnosis import examine
from halflife.engine.once import sync as sync_once
from halflife.engine.signals import Stop
from halflife.kinds.pages import browser, page_sources
from halflife.kinds.pages.reading_advice import advice
from halflife.kinds.protocol import Errand
from halflife.readers.script_pages import needs_script
from missing_programs import reason
from site_parts import BEGAN, running, sync
from web_parts import TODAY, Coins, make_gate

CHROMIUM = next((n for n in browser.NAMES if browser.shutil.which(n)), "")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason=reason("chromium"))

SHELL = """<!DOCTYPE html><html><head><title>App</title></head><body>
<div id=root></div><img src=/picture.png><iframe src=/frame></iframe>
<script src=/app.js></script></body></html>"""
SCRIPT = """
window.open('/popup');
fetch('/data').then(r => r.text()).then(t => {
  document.getElementById('root').innerHTML = '<p>Prices of tea: ' + t + '</p>';
});
for (const bad of ['http://127.0.0.2:9/x', 'http://169.254.169.254/x', '/post'])
  fetch(bad, {method: bad === '/post' ? 'POST' : 'GET'}).catch(() => 0);
"""


def pages_of(data="three coins"):
    return {
        "/": SHELL,
        "/other": SHELL,
        "/app.js": SCRIPT,
        "/data": data,
        "/frame": "<p>frame",
        "/popup": "<p>popup",
        "/robots.txt": "",
    }


def config_of(site, folder, *paths, more='render = "browser"'):
    urls = ", ".join(f'"{site.url}{path}"' for path in paths)
    text = (
        f"[fetch]\ndelay = 0.0\n[[source]]\nname = 'app'\nallow = ['127.0.0.1/32']\n"
        f"robots = false\npages = [{urls}]\n{more}\n"
    )
    path = folder / "halflife.toml"
    path.write_text(text)
    return Config.parse(text, path)


@asynccontextmanager
async def client_of(config):
    async with (
        make_gate() as gate,
        page_sources.rendering(gate, config.source) as renderer,
    ):
        yield page_sources.pages(
            gate, config, config.source, lambda _: "app", renderer=renderer
        )


async def look(client, *urls, purse):
    found = []
    async for looks in client.perform([Fetch(url) for url in urls], TODAY, purse):
        found += looks
    return found


@needs_chromium
def test_a_page_is_what_its_scripts_show_and_each_request_is_paid(tmp_path):
    async def scene(site, purse):
        async with client_of(config_of(site, tmp_path, "/", "/other")) as client:
            (first,) = await look(client, f"{site.url}/", purse=purse)
            asked, paid = list(site.asked), purse.paid
            (again,) = await look(client, f"{site.url}/", purse=purse)
            site.pages["/data"] = "four coins"
            (edited,) = await look(client, f"{site.url}/", purse=purse)
            site.pages["/data"] = (503, "/")
            (broken,) = await look(client, f"{site.url}/", purse=purse)
            return asked, paid, first, again, edited, broken

    purse = Coins()
    with running(pages_of()) as site:
        asked, paid, *found = asyncio.run(scene(site, purse))
        total = len(site.asked)
    first, again, edited, broken = found
    assert b"Prices of tea: three coins" in first.content.body
    assert sorted(asked) == ["/", "/app.js", "/data"]
    # The page, its script and its data; and two that the gate refused to send, which
    # are paid before their addresses are known. No picture, frame, popup or POST.
    assert paid == 5
    assert first.digest == again.digest != edited.digest
    assert broken.seen is Seen.FAILED
    assert "a part of it cannot be fetched" in broken.note
    assert purse.paid == total + 4 * 2
    assert site.asked.count("/app.js") == 1  # pages of a source share it


@needs_chromium
def test_a_budget_that_ends_within_a_page_ends_the_turn_and_not_the_page(tmp_path):
    async def scene(site, purse):
        async with client_of(config_of(site, tmp_path, "/")) as client:
            return await look(client, f"{site.url}/", purse=purse)

    purse = Coins(2)
    with running(pages_of()) as site:
        found = asyncio.run(scene(site, purse))
    assert found == []  # neither a copy nor a failure: it was not finished
    assert purse.paid == 2


async def report_of(config):
    """Sync once, as the verb does; return its report."""
    with writing(config) as store:
        (report,) = await sync_once(
            config, store, config.source, Errand(None, everything=True), Stop()
        )
    return report


def test_a_page_without_text_is_reported_with_what_to_do(tmp_path):
    assert needs_script("text/html", SHELL.encode())
    assert not needs_script("text/html", b"<p>" + b"words " * 20 + SHELL.encode())
    assert not needs_script("text/plain", SHELL.encode())
    with running(pages_of()) as site:
        config = config_of(site, tmp_path, "/", more="")
        sync(config)
        with writing(config) as store:
            ((text, what),) = advice(store, config.source[0])
        found = [one for one in examine(config, BEGAN) if one.about == "app"]
        said = asyncio.run(report_of(config)).note
    assert [(one.level, one.text, one.advice) for one in found] == [
        ("note", text, what)
    ]
    assert said == text
    assert text == f"1 page shows no text without JavaScript, such as {site.url}/"
    assert 'render = "browser"' in what


def test_without_chromium_or_playwright_the_setting_says_what_to_install(monkeypatch):
    monkeypatch.setattr(browser.shutil, "which", lambda _: None)
    with pytest.raises(ConfigError, match="chromium"):
        browser.find_browser()
    monkeypatch.setattr(browser, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"halflife\[browser\]"):
        browser.find_browser()
