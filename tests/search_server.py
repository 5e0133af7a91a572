"""A small corpus served as search engines do, over real HTTP on loopback."""

import json
import random
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape, quoteattr

from halflife.kinds.search.dictionary import COMMON

WORDS = (*COMMON[:100], *(f"term{i}" for i in range(400)))


def corpus(documents, seed=1, words=WORDS, length=30):
    """Return texts whose words follow Zipf's law, by number."""
    chance = random.Random(seed)
    order = list(words)
    chance.shuffle(order)
    weight = [1 / (rank + 3) for rank in range(len(order))]
    return {
        str(i): " ".join(chance.choices(order, weight, k=length))
        for i in range(documents)
    }


class Shop:
    """What the server holds, and how well it behaves."""

    def __init__(self, texts):
        self.texts = texts
        self.totals = "exact"  # or absent, lying, rounded, capped, huge
        self.fault = ""  # or 500, 403, 429, garbage, empty, big, hang
        self.robots = ""
        self.page = 10
        self.cap = 10**9  # results that can be reached
        self.answers = 0  # good ones before the fault begins
        self.heeds = True  # whether it looks for what it is asked for
        self.shuffles = False  # whether results come in another order each time
        self.ranked = False  # whether the latest documents come first
        self.pages = True  # whether there is more than the first page
        self.log = []
        self.served = 0
        self._index = {}
        for key, text in texts.items():
            for word in set(text.split()):
                self._index.setdefault(word, set()).add(key)

    def matches(self, query):
        held = [self._index.get(word, set()) for word in query.lower().split()]
        found = set.intersection(*held) if held else set()
        if not self.heeds:
            query, found = "", set(self.texts)
        if self.shuffles:
            return random.sample(sorted(found), len(found))
        if self.ranked:
            return sorted(found, key=int, reverse=True)
        return sorted(found, key=lambda key: random.Random(query + key).random())

    def total(self, query, found):
        exact = len(found)
        return {
            "exact": exact,
            "absent": None,
            "lying": random.Random(query).randrange(1, 100_000),
            "rounded": int(float(f"{exact:.1e}")),
            "capped": min(exact, 20),
            "huge": 10**30,
        }[self.totals]

    def results(self, query, skip, count):
        found = self.matches(query)
        skip = skip if self.pages else 0
        return self.total(query, found), found[skip : min(skip + count, self.cap)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, or each answer waits 40 ms

    def do_GET(self):
        shop, parts = self.server.shop, urlsplit(self.path)
        shop.log.append(self.path)
        asked = dict(parse_qsl(parts.query))
        if parts.path == "/robots.txt":
            self._send(200 if shop.robots else 404, "text/plain", shop.robots)
            return
        search = parts.path.strip("/").split("/")[0] in ENGINES
        if search:
            shop.served += 1
        faulty = search and shop.fault and shop.served > shop.answers
        if faulty and self._fail(shop.fault):
            return
        handler = ENGINES.get(parts.path.strip("/").split("/")[0], _other)
        kind, body = handler(shop, asked, self)
        self._send(200 if kind else 404, kind or "text/plain", body)

    def _fail(self, fault):
        if fault.isdigit():
            self._send(int(fault), "text/plain", "no")
        elif fault == "garbage":
            self._send(200, "application/json", '{"hits": [{"id": 1}, ')
        elif fault == "empty":
            self._send(200, "application/json", "")
        elif fault == "big":
            self._send(200, "application/json", '{"hits": "' + "x" * (10 << 20) + '"}')
        elif fault == "hang":
            time.sleep(3)
            self.close_connection = True
        return True

    def _send(self, status, kind, text):
        body = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):  # the client had enough
            self.close_connection = True

    def log_message(self, *_):
        return


def _json(answer):
    return "application/json", json.dumps(answer)


def _elastic(shop, asked, _):
    skip, count = int(asked.get("from", 0)), int(asked.get("size", shop.page))
    total, keys = shop.results(asked["q"], skip, count)
    hits = [{"_id": k, "_source": {"body": shop.texts[k], "n": 1}} for k in keys]
    head = {} if total is None else {"total": {"value": total, "relation": "eq"}}
    return _json({"took": 1, "hits": {**head, "hits": hits}})


def _solr(shop, asked, _):
    skip, count = int(asked.get("start", 0)), int(asked.get("rows", shop.page))
    total, keys = shop.results(asked["q"], skip, count)
    docs = [{"id": k, "body": [shop.texts[k]], "_version_": 7} for k in keys]
    head = {} if total is None else {"numFound": total}
    return _json({"response": {**head, "start": skip, "docs": docs}})


def _meili(shop, asked, _):
    skip, count = int(asked.get("offset", 0)), int(asked.get("limit", shop.page))
    total, keys = shop.results(asked["q"], skip, count)
    hits = [{"id": int(k), "body": shop.texts[k]} for k in keys]
    head = {} if total is None else {"estimatedTotalHits": total}
    return _json({"hits": hits, **head, "query": asked["q"]})


def _own(shop, asked, _):
    """Answer in a shape of its own; snippets only, results by the page."""
    skip = (int(asked.get("page", 1)) - 1) * shop.page
    total, keys = shop.results(asked["q"], skip, shop.page)
    found = [
        {"name": k, "href": f"/doc/{k}", "bit": " ".join(shop.texts[k].split()[:8])}
        for k in keys
    ]
    said = {} if total is None else {"count": f"about {total:,} results"}
    return _json({"answer": {"found": found, **said}})


def _html(shop, asked, _):
    page = int(asked.get("page", 1))
    skip = (page - 1) * shop.page
    total, keys = shop.results(asked["q"], skip, shop.page)
    told = "" if total is None else f"{skip + 1}–{skip + len(keys)} of {total:,}"  # noqa: RUF001  (as pages write it)
    rows = "".join(
        f'<li class="hit"><a href="/doc/{k}">Document {k}</a>'
        f"<p>{' '.join(shop.texts[k].split()[:8])}</p></li>"
        for k in keys
    )
    page = f'<html><body><div id="n">{told}</div><ol>{rows}</ol></body></html>'
    return "text/html; charset=utf-8", page


def _rss(shop, asked, handler):
    skip = int(asked.get("start", 1)) - 1
    total, keys = shop.results(asked["q"], skip, int(asked.get("n", shop.page)))
    told = "" if total is None else f"<o:totalResults>{total}</o:totalResults>"
    home = f"http://{handler.headers['Host']}"
    items = "".join(
        f"<item><title>Document {k}</title><link>{home}/doc/{k}</link>"
        f"<description>{escape(shop.texts[k][:40])}</description></item>"
        for k in keys
    )
    return "application/rss+xml", (
        '<?xml version="1.0"?><rss version="2.0" '
        'xmlns:o="http://a9.com/-/spec/opensearch/1.1/"><channel>'
        f"{told}{items}</channel></rss>"
    )


def describing(home, template="/rss?q={searchTerms}&start={startIndex?}&n={count?}"):
    """Return an OpenSearch description."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">'
        "<ShortName>Shop</ShortName>"
        '<Url type="application/x-suggestions+json" rel="suggestions" '
        f'template="{home}/suggest?q={{searchTerms}}"/>'
        f'<Url type="text/html" template="{home}/html?q={{searchTerms}}"/>'
        '<Url type="application/rss+xml" indexOffset="1" '
        f"template={quoteattr(home + template)}/></OpenSearchDescription>"
    )


def _other(shop, _, handler):
    home, path = f"http://{handler.headers['Host']}", handler.path
    if path == "/opensearch.xml":
        return "application/opensearchdescription+xml", describing(home)
    if path == "/":
        kind = "application/opensearchdescription+xml"
        link = f'<link rel="search" type="{kind}" href="/opensearch.xml">'
        return "text/html", f"<html><head>{link}</head><body>Shop</body></html>"
    key = path.removeprefix("/doc/")
    if key in shop.texts:
        return "text/html", f"<html><body><p>{shop.texts[key]}</p></body></html>"
    return "", "nothing here"


ENGINES = {
    "es": _elastic,
    "solr": _solr,
    "meili": _meili,
    "own": _own,
    "html": _html,
    "rss": _rss,
}


@contextmanager
def serving(texts):
    """Serve a corpus while the block runs; yields the server, with ``shop``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.shop = Shop(texts)
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
