"""A web site like that of the Scrapy tutorial, on loopback, which tests can change."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class QuoteSite:
    """Pages of quotes in a chain, each of which links to its authors."""

    pages: int = 4
    authors: int = 3  # of each page
    delay: float = 0.0  # seconds that an answer takes
    version: dict[str, int] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    asked: Counter[str] = field(default_factory=Counter)
    reached: tuple[int, threading.Event] | None = None  # set at that many requests
    url: str = ""

    @property
    def paths(self) -> list[str]:
        """All pages there are."""
        front = ["/", *(f"/page/{n}" for n in range(2, self.pages + 1))]
        each = range(1, self.pages + 1)
        return front + [f"/author/{n}-{m}" for n in each for m in range(self.authors)]

    def change(self, path: str) -> None:
        """Let a page have another text."""
        self.version[path] = self.version.get(path, 0) + 1

    def body(self, path: str) -> str | None:
        """Return what a page shows; None if there is no such page."""
        if path not in self.paths or path in self.gone:
            return None
        said = f"text {self.version.get(path, 0)} of {path}, a quote among many others"
        if path.startswith("/author/"):
            born = f"<span class=author-born-date>{said}</span>"
            return f"<h3 class=author-title>{path}</h3>{born}"
        n = 1 if path == "/" else int(path.rsplit("/", 1)[1])
        quotes = "".join(
            f"<div class=quote><span class=text>{said} {m}</span><span>by <small "
            f"class=author>{n}-{m}</small><a href=/author/{n}-{m}>about</a></span>"
            "</div>"
            for m in range(self.authors)
        )
        more = f"<li class=next><a href=/page/{n + 1}>Next</a></li>"
        return quotes + (more if n < self.pages else "")


@contextmanager
def served(site: QuoteSite) -> Iterator[QuoteSite]:
    """Serve the site during the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked[self.path] += 1
            if site.reached and site.asked.total() >= site.reached[0]:
                site.reached[1].set()
            time.sleep(site.delay)
            text = site.body(self.path)
            body = (text or "nothing here").encode()
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
