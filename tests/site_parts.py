"""A small web site on loopback that can be changed while it is crawled."""

import asyncio
import threading
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.kinds.pages import crawl as pages_crawl
from halflife.kinds.pages.runner import keeping
from hand_clock import BEGAN, Hands


def html(title, *links, head=""):
    """Return a page; a link is a path, or a tag that stands for itself."""
    tags = [x if x.startswith("<") else f'<a href="{x}">to {x}</a>' for x in links]
    return (
        f"<!DOCTYPE html><head><title>{title}</title>{head}</head><body>"
        f"<p>This is {title}.</p>{'<br>'.join(tags)}</body>"
    )


def month(number):
    """Return a page of a calendar that has no end, either way."""
    before, after = number - 1, number + 1
    day = f"/calendar/{2000 + number // 12}/{number % 12 + 1:02d}"
    return html(
        f"month {number}",
        f"/calendar?month={before}",
        f"/calendar?month={after}",
        f"{day}/01",
        f"{day}/02",
    )


def town():
    """Return a site of 60 pages and some traps, as paths and what they answer.

    An answer is a page, or a pair of a status and a place for a redirect.
    """
    pages = {"/robots.txt": "User-agent: *\nDisallow: /private/\n"}
    folders = [f"/f{i}/" for i in range(5)]
    pages["/"] = html(
        "home",
        *folders,
        "/moved",
        "/calendar?month=1",
        "/private/x",
        "http://127.0.0.2:9/elsewhere",
        "mailto:me@example.org",
        "javascript:void(0)",
        '<a rel="nofollow" href="/unwanted">x</a>',
        "/f0/p1?utm_source=home#top",
        "/away",
        "/picture.png",
    )
    pages["/moved"] = (301, "/f1/p1")
    pages["/away"] = (302, "http://127.0.0.2:9/")
    for i, folder in enumerate(folders):
        own = [f"{folder}p{j}" for j in range(10)]
        pages[folder] = html(f"folder {i}", "/", *own)
        for j, path in enumerate(own):
            near = f"p{(j + 1) % 10}"  # a cycle, written relative to the page
            pages[path] = html(f"page {i} {j}", near, "../", folder)
    canon = '<link rel="canonical" href="/f2/p0">'
    same = html("page 2 0", "p1", "../", "/f2/")
    pages["/f2/p0"] = same
    pages["/f2/p0?print=1"] = same.replace("</title>", f"</title>{canon}")
    pages["/f2/p1"] = html("page 2 1", "p2", "p0?print=1")
    pages["/f3/p3"] = html(
        "page 3 3", "/hidden", head='<meta name="robots" content="nofollow">'
    )
    pages["/unwanted"] = pages["/hidden"] = html("nobody should come here")
    return pages


class Town:
    """The site; ``pages`` may be changed, ``asked`` is what it was asked for."""

    def __init__(self, pages):
        self.pages = pages
        self.asked = []
        self.answered = []
        self.url = ""

    def page(self, target):
        path = urlsplit(target)
        if target in self.pages:
            return self.pages[target]
        if path.path == "/calendar":
            return month(int(parse_qs(path.query)["month"][0]))
        if path.path.startswith("/calendar/"):
            return html(f"day {path.path}")
        return None

    def count(self, path):
        return self.asked.count(path)

    def answer(self, handler):
        page = self.page(handler.path)
        self.asked.append(handler.path)
        status, body, more = 200, b"", {}
        if page is None:
            status = 404
        elif isinstance(page, tuple):
            status, more = page[0], {"Location": page[1]}
        else:
            body = page.encode()
            more = {"ETag": f'"{sha256(body).hexdigest()[:16]}"'}
            if handler.headers.get("If-None-Match") == more["ETag"]:
                status, body = 304, b""
        self.answered.append((handler.path, status))
        handler.send_response(status)
        kind = "text/plain" if handler.path == "/robots.txt" else "text/html"
        for name, value in {"Content-Type": kind, **more}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


@contextmanager
def running(pages):
    """Serve a site for a while."""
    site = Town(pages)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            with suppress(ConnectionError):
                site.answer(self)

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settings(site, folder, more="", requests=1000):
    """Return settings that crawl a site."""
    text = (
        f"[budget]\nrequests = {requests}\n[fetch]\ndelay = 0.0\n"
        f'[[source]]\nname = "town"\nkind = "site"\nstart = "{site.url}/"\n'
        f'allow = ["127.0.0.0/8"]\n{more}\n'
    )
    path = folder / "halflife.toml"
    path.write_text(text)
    return Config.parse(text, path)


def sync(config, now=BEGAN, *, most=None, everything=False):
    """Sync once, as the program does; return what came of it."""

    async def scene():
        hands = Hands(now)
        with bootstrap.writing(config) as store:
            async with keeping(config, store, config.source, hands) as keeper:
                requests = keeper.allowance(everything=everything)
                requests = min(requests, most or requests)
                return await pages_crawl.turns(keeper, requests, most)

    return asyncio.run(scene())
