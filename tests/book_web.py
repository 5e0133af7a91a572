"""The hosts that pages of the book name, served on loopback.

Each name, such as ``shop.example``, has an address of its own (127.0.0.2 and so on), so
that what a command prints can be turned back into what the page shows.
"""

import json
import re
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from listening import listening

TOKEN = "Token 9944b09199c62bcf9418ad846dd0e4bb"
JSON, HTML = "application/json", "text/html"
TEAS = [{"id": n, "name": f"tea {n}", "price": 4 + 13 * n} for n in range(1, 96)]
WORDS = """the time new water light long small night year people hand rings saturn moon
    orbit probe dust ice storm comet star dwarf of belt"""
PATHS = ("/", "/news", "/prices", "/pricing", "/docs/", *(f"/docs/{n}" for n in "1234"))
STRING = {"kind": "SCALAR", "name": "String", "ofType": None}


def page(path, asked, seen):
    """Return a page of example.org: every day has another edition of it.

    Were it another one at each fetch, it would be noise.
    """
    del seen
    if path == "/sitemap.xml":
        home = asked["home"]
        places = "".join(f"<url><loc>{home}{one}</loc></url>" for one in PATHS)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return 200, "application/xml", f'<urlset xmlns="{space}">{places}</urlset>'
    if path not in PATHS:
        return 404, "text/plain", "not here"
    links = "".join(f'<a href="{one}">{one}</a>' for one in PATHS)
    text = f"<p>Freshness, edition {time.time() // 86400.0:.0f} of {path}.</p>"
    return 200, HTML, f"<title>{path}</title>{text}{links}"


def jobs(path, asked, seen):
    """Return the jobs of jobs.example.org: salaries rise, and each day one is new."""
    rows = [
        {
            "id": n,
            "title": f"job {n}",
            "employer": {"name": f"firm {n % 3}"},
            "salary": {"from": 4000 + (seen if n == 17 else n)},
        }
        for n in range(20 + seen)
    ]
    return 200, JSON, json.dumps({"data": {"jobs": rows}, "links": {"next": None}})


def shop(path, asked, seen):
    """Return what shop.example has: an API of teas, orders, and GraphQL."""
    if path == "/graphql":
        return 200, JSON, json.dumps(graphql(asked["body"]))
    if path == "/api/orders/" and asked["token"] != TOKEN:
        return 401, JSON, '{"detail": "no token"}'
    if path not in {"/api/teas/", "/api/orders/"}:
        return 404, "text/plain", "not here"
    if asked.get("format") != "json":
        return 200, HTML, f'<!doctype html><a href="{path}?format=json">JSON</a>'
    at = int(asked.get("page", "1"))
    more = f"{asked['home']}{path}?format=json&page={at + 1}" if at < 3 else None
    shown = TEAS[40 * at - 40 : 40 * at]
    return 200, JSON, json.dumps({"count": 95, "next": more, "results": shown})


def graphql(body):
    """Return what the schema is, or the teas."""
    if "__schema" not in json.loads(body)["query"]:
        ended = {"endCursor": "95", "hasNextPage": False}
        return {"data": {"teas": {"nodes": TEAS, "pageInfo": ended}}}
    tea = {"kind": "OBJECT", "name": "Tea", "ofType": None}
    many = {"kind": "LIST", "name": None, "ofType": tea}
    fields = {
        "Tea": [("id", STRING), ("name", STRING)],
        "PageInfo": [("endCursor", STRING), ("hasNextPage", STRING)],
        "Teas": [("nodes", many), ("pageInfo", named("PageInfo"))],
        "Query": [("teas", named("Teas"))],
    }
    types = [
        {"kind": "OBJECT", "name": name, "fields": [described(*one) for one in many]}
        for name, many in fields.items()
    ]
    return {"data": {"__schema": {"queryType": {"name": "Query"}, "types": types}}}


def named(name):
    return {"kind": "OBJECT", "name": name, "ofType": None}


def described(name, kind):
    takes = ("first", "after") if name == "teas" else ()
    args = [{"name": one, "type": STRING, "defaultValue": None} for one in takes]
    return {"name": name, "type": kind, "args": args}


def planets(path, asked, seen):
    """Return the documents of planets.example that hold a word, ten a page."""
    words, query = WORDS.split(), asked.get("q", "").split()
    texts = [" ".join(words[(i * j) % 24] for j in (1, 5, 7, 11)) for i in range(90)]
    found = [i for i, text in enumerate(texts) if {*query} <= {*text.split()}]
    at = int(asked.get("page", "1"))
    hits = [{"id": i, "text": texts[i]} for i in found[10 * at - 10 : 10 * at]]
    return 200, JSON, json.dumps({"hits": hits, "totalHits": len(found)})


HOSTS = {
    "example.org": page,
    "jobs.example.org": jobs,
    "shop.example": shop,
    "planets.example": planets,
    "hooks.example": lambda *_: (200, "text/plain", "thanks"),
}


class BookWeb:
    """Where the hosts of the book are served, and what was asked of them."""

    def __init__(self, places, moved=None):
        self._places = places  # of each name, its address and port
        self._moved = moved or {}  # of each port in the book, the one that was free
        names = "|".join(re.escape(name) for name in places)
        self._shown = re.compile(rf"https://({names})(?=[/\s\"'?]|$)")

    def here(self, text):
        """Return text with addresses of this machine for those of the book."""
        for shown, place in self._moved.items():
            text = text.replace(shown, place)
        return self._shown.sub(lambda m: f"http://{self._places[m[1]]}", text)

    def there(self, text):
        """Return what was printed with the names of the book."""
        for name, place in self._places.items():
            text = text.replace(f"http://{place}", f"https://{name}")
            text = text.replace(place, name).replace(place.partition(":")[0], name)
        for shown, place in self._moved.items():
            text = text.replace(place, shown)
        return text

    def moving(self, **moved):
        """Return the same with other ports: ``moving(p8000=8123)``."""
        ports = {f"127.0.0.1:{k[1:]}": f"127.0.0.1:{v}" for k, v in moved.items()}
        return BookWeb(self._places, {**self._moved, **ports})


@contextmanager
def book_web():
    """Serve every host while the block runs."""
    with ExitStack() as stack:
        places = {}
        for number, (name, answer) in enumerate(HOSTS.items(), start=2):
            server = ThreadingHTTPServer((f"127.0.0.{number}", 0), _handler(answer))
            stack.enter_context(listening(server, threading.Event()))
            places[name] = f"127.0.0.{number}:{server.server_address[1]}"
        yield BookWeb(places)


def _handler(answer):
    seen = Counter()

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # head and body in one packet

        def do_GET(self):
            parts = urlsplit(self.path)
            asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            asked["home"] = "http://{}:{}".format(*self.server.server_address)
            asked["token"] = self.headers.get("Authorization", "")
            long = int(self.headers.get("Content-Length", 0))
            asked["body"] = self.rfile.read(long).decode()
            seen[parts.path] += 1
            if parts.path == "/robots.txt":
                status, kind, text = 404, "text/plain", ""
            else:
                status, kind, text = answer(parts.path, asked, seen[parts.path])
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET  # noqa: N815  (the name that the library calls)

        def log_message(self, *_):
            return

    return Handler
