"""A small web to practise on: everything that the tutorial keeps, on loopback.

    python examples/tutorial/world.py [PORT]

It serves a site, a listing of jobs, an API that wants a token, a form for cars and two
searchable databases. ``/tomorrow`` lets a day pass. ``--snapshots DIR`` writes what the
listing held on each of the last 60 days instead, one dated file each. Every world is
the same.
"""

import json
import random
import sys
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

DAYS = 60
TOKEN = "tutorial-token-1234"  # noqa: S105  (nothing is behind it)
CITIES = ("Bergen", "Ghent", "Porto", "Turku")
TITLES = ("baker", "carpenter", "driver", "editor", "farmer", "gardener", "nurse")
MAKES = ("Ford", "Opel", "Saab", "Volvo")
TOPICS = {
    "sky": (
        "comet",
        "galaxy",
        "lens",
        "mirror",
        "moon",
        "orbit",
        "planet",
        "telescope",
    ),
    "kitchen": ("bread", "butter", "dough", "flour", "oven", "pan", "salt", "sugar"),
}
SMALL = ("the", "of", "and", "in", "with", "for", "from", "new")
Answer = tuple[int, str, str]


def jobs(day: int) -> list[dict[str, object]]:
    """Return the jobs that are listed on a day; each stays for about 20 days."""
    chance = random.Random(7)  # noqa: S311
    found: list[dict[str, object]] = []
    for number in range(600):
        begins = number // 2 - 60
        ends = begins + 1 + int(chance.expovariate(1 / 20))
        title, city = chance.choice(TITLES), chance.choice(CITIES)
        job = {"id": number, "title": title, "city": city, "pay": 20 + number % 15}
        found += [job] if begins <= day < ends else []
    return found


def cars() -> list[dict[str, object]]:
    """Return the cars behind the form."""
    return [
        {
            "id": f"car-{n}",
            "make": MAKES[n % 7 % 4],
            "year": 2000 + n % 20,
            "km": 997 * n,
        }
        for n in range(64)
    ]


def documents(topic: str) -> list[dict[str, str]]:
    """Return the documents of a searchable database."""
    chance = random.Random(len(topic))  # noqa: S311
    found = []
    for n in range(120):
        words = [*chance.choices(SMALL, k=4), *chance.choices(TOPICS[topic], k=3)]
        found.append(
            {"id": f"{topic}-{n}", "text": " ".join([*words, f"note{n % 40}"])}
        )
    return found


class Web:
    """What the server holds; ``day`` is the day it is there."""

    def __init__(self, day: int = DAYS) -> None:
        self.day = day
        self.pages: dict[str, Callable[[dict[str, str]], Answer]] = {
            "/site/": self.start,
            "/sitemap.xml": self.sitemap,
            "/jobs.json": lambda _: _json({"jobs": jobs(self.day)}),
            "/cars": self.form,
            "/cars/results": self.results,
            "/tomorrow": self.tomorrow,
        }

    def answer(self, path: str, asked: dict[str, str], token: str) -> Answer:
        """Return status, type and body of an answer."""
        if path in self.pages:
            return self.pages[path](asked)
        if path.startswith("/site/") and path[6:].isdigit() and int(path[6:]) < 12:
            return self.page(int(path[6:]))
        if path == "/api/offers":
            return self.offers(asked, token)
        name, _, rest = path.lstrip("/").partition("/")
        if name in TOPICS and rest == "search":
            return self.found(name, asked)
        return 404, "text/plain", "not here"

    def tomorrow(self, _: dict[str, str]) -> Answer:
        """Let a day pass."""
        self.day += 1
        return 200, "text/plain", f"it is day {self.day}\n"

    def start(self, _: dict[str, str]) -> Answer:
        """Return the first page of the site."""
        links = "".join(f'<li><a href="/site/{n}">page {n}</a></li>' for n in range(12))
        return 200, "text/html", f"<title>Site</title><h1>Site</h1><ul>{links}</ul>"

    def page(self, number: int) -> Answer:
        """Return a page of the site: page n changes every n + 1 days."""
        edition = self.day // (number + 1)
        text = f"<h1>Page {number}</h1><p>Edition {edition} of page {number}.</p>"
        return 200, "text/html", f"<title>Page {number}</title>{text}"

    def sitemap(self, asked: dict[str, str]) -> Answer:
        """Return the map of the site."""
        home = asked["home"]
        urls = "".join(f"<url><loc>{home}/site/{n}</loc></url>" for n in range(12))
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return 200, "application/xml", f'<urlset xmlns="{space}">{urls}</urlset>'

    def offers(self, asked: dict[str, str], token: str) -> Answer:
        """Return a page of the API, to those who have the token."""
        if token != f"Bearer {TOKEN}":
            return 401, "application/json", json.dumps({"error": "send a token"})
        at, home = int(asked.get("page", "1")), asked["home"]
        rows = [{"sku": f"s{n}", "price": 5 + n * self.day % 7} for n in range(25)]
        shown = rows[10 * at - 10 : 10 * at]
        more = f"{home}/api/offers?page={at + 1}" if 10 * at < len(rows) else None
        return _json({"offers": shown, "next": more})

    def form(self, _: dict[str, str]) -> Answer:
        """Return the page with the form."""
        makes = "".join(f'<option value="{m}">{m}</option>' for m in MAKES)
        fields = f'<label>Make <select name="make">{makes}</select></label>'
        send = '<form action="/cars/results"><button>Search</button>'
        return 200, "text/html", f"<title>Cars</title>{send}{fields}</form>"

    def results(self, asked: dict[str, str]) -> Answer:
        """Return the cars that match, 10 a page."""
        make, at = asked.get("make", ""), int(asked.get("page", "1"))
        found = [car for car in cars() if not make or car["make"] == make]
        return _json({"total": len(found), "cars": found[10 * at - 10 : 10 * at]})

    def found(self, topic: str, asked: dict[str, str]) -> Answer:
        """Return the documents that hold all words of a query, 10 a page."""
        words, skip = asked.get("q", "").lower().split(), int(asked.get("skip", "0"))
        hits = [
            d for d in documents(topic) if words and {*words} <= {*d["text"].split()}
        ]
        shown = list(islice(hits, skip, skip + 10))
        return _json({"total": len(hits), "hits": shown})


def _json(value: object) -> Answer:
    return 200, "application/json", json.dumps(value)


def serve(web: Web, port: int = 8000) -> ThreadingHTTPServer:
    """Return a server for a web; ``serve_forever`` starts it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            asked["home"] = f"http://127.0.0.1:{self.server.server_address[1]}"
            token = self.headers.get("Authorization", "")
            status, kind, text = web.answer(parts.path, asked, token)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def snapshots(folder: Path) -> None:
    """Write what the listing held on each day, one dated file each."""
    folder.mkdir(parents=True, exist_ok=True)
    today = datetime.now(tz=UTC).date()
    for day in range(DAYS):
        name = f"{today - timedelta(days=DAYS - day)}.json"
        (folder / name).write_text(json.dumps(jobs(day)), encoding="utf-8")


def main() -> None:
    """Serve, or write snapshots."""
    if sys.argv[1:2] == ["--snapshots"]:
        return snapshots(Path(sys.argv[2]))
    port = int(sys.argv[1]) if sys.argv[1:] else 8000
    print(f"a small web at http://127.0.0.1:{port}/ (Ctrl-C ends it)")
    return serve(Web(), port).serve_forever()


if __name__ == "__main__":
    main()
