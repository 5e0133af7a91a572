"""A made-up shop of teas that answers as ten kinds of servers do, on loopback."""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

PER_PAGE = 10
TOKEN = "Token of-a-test"  # noqa: S105  (the imitation wants it)
Answer: TypeAlias = tuple[int, str, bytes] | tuple[int, str, bytes, dict[str, str]]


@dataclass
class Shop:
    """What all ten sources are about, and where they are.

    Attributes:
        teas: What is there.
        url: The origin of the server.

    """

    teas: dict[int, dict[str, Any]] = field(default_factory=dict)
    url: str = ""

    def fill(self) -> None:
        """Put 25 teas there."""
        self.teas = {n: _tea(n) for n in range(1, 26)}

    def change(self) -> None:
        """Let 3 teas come, 3 change and one go."""
        self.teas |= {n: _tea(n) for n in range(101, 104)}
        for n in (3, 13, 23):
            self.teas[n]["price"] += 5
        del self.teas[7]

    def rows(self) -> list[dict[str, Any]]:
        """Return the teas in their order."""
        return [self.teas[n] for n in sorted(self.teas)]

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return what is answered to a request."""
        parts = urlsplit(path)
        asked = {k: v[0] for k, v in parse_qs(parts.query).items()}
        place = parts.path
        if place == "/graphql":
            return _json(self._graphql(json.loads(body)["variables"]))
        if place.startswith("/api/"):
            return self._rest(place, asked, headers)
        if place == "/garage/teas.json":
            return _json(self._datasette(asked))
        if place == "/w/api.php":
            return _json(self._mediawiki(asked))
        if place.startswith("/more/"):
            return self._plain(place, asked)
        return self._hugo(place)

    def _rest(
        self, place: str, asked: Mapping[str, str], headers: Mapping[str, str]
    ) -> Answer:
        """Answer as Django REST framework does: a page for people, JSON for others."""
        if place == "/api/token/" and headers.get("Authorization") != TOKEN:
            return 401, "application/json", b'{"detail": "not provided."}'
        data = "format" in asked or "text/html" not in headers.get("Accept", "")
        if not data:
            link = f'<a href="{place}?format=json" rel="nofollow">json</a>'
            return 200, "text/html", f"<!doctype html>{link}<pre>[]</pre>".encode()
        rows, kept = self.rows(), {"format": "json"} if "format" in asked else {}
        first, following = 0, dict[str, str]()
        if place == "/api/cursor/":
            token = asked.get("cursor", "")
            first = int(base64.b64decode(token)[2:]) if token else 0
            mark = base64.b64encode(f"p={first + PER_PAGE}".encode()).decode()
            following = {"cursor": mark}
        elif place == "/api/offset/":
            first = int(asked.get("offset", "0"))
            following = {"limit": str(PER_PAGE), "offset": str(first + PER_PAGE)}
        else:
            number = int(asked.get("page", "1"))
            first, following = (number - 1) * PER_PAGE, {"page": str(number + 1)}
        more = f"{self.url}{place}?{urlencode({**kept, **following})}"
        ends = first + PER_PAGE >= len(rows)
        counted = {} if place == "/api/cursor/" else {"count": len(rows)}
        page = rows[first : first + PER_PAGE]
        links = {"next": None if ends else more, "previous": None}
        return _json({**counted, **links, "results": page})

    def _plain(self, place: str, asked: Mapping[str, str]) -> Answer:
        """Answer as GitHub, json-server, Spring Data and Solr page through a list."""
        if place in {"/more/ckan", "/more/stripe", "/more/airtable"}:
            return _json(self._unnamed(place, asked))
        first = int(asked.get("start", "0")) or int(asked.get("page", "1")) - 1
        if place == "/more/link":
            return self._linked(place, first)
        if place == "/more/zero":
            first = int(asked.get("page", "0"))
        begin = first if "start" in asked else first * PER_PAGE
        docs, many = self.rows()[begin : begin + PER_PAGE], len(self.teas)
        if place == "/more/solr":
            head = {"start": begin, "rows": PER_PAGE}
            return _json({"response": {"numFound": many, "docs": docs}, "params": head})
        pages = {"totalElements": many, "totalPages": -(-many // PER_PAGE)}
        number = first + (place == "/more/number")
        return _json({"content": docs, "number": number, **pages})

    def _unnamed(self, place: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Answer as APIs do that say that there is more, and hardly how to get it."""
        rows = self.rows()
        if place == "/more/stripe":  # goes on after the key of the last record
            after = int(asked.get("starting_after", "0"))
            rest = [row for row in rows if row["id"] > after]
            more = len(rest) > PER_PAGE
            return {"object": "list", "has_more": more, "data": rest[:PER_PAGE]}
        if place == "/more/ckan":  # takes an offset that its answer does not name
            first = int(asked.get("start", "0"))
            page = rows[first : first + PER_PAGE]
            return {"success": True, "result": {"count": len(rows), "results": page}}
        first = int(asked.get("offset", "at0")[2:])  # a token with an offset's name
        token = {"offset": f"at{first + PER_PAGE}"} if len(rows) > first + 10 else {}
        return {"records": rows[first : first + PER_PAGE], **token}

    def _linked(self, place: str, first: int) -> Answer:
        rows, begin = self.rows(), first * PER_PAGE
        body = json.dumps(rows[begin : begin + PER_PAGE]).encode()
        more = f'<{self.url}{place}?page={first + 2}>; rel="next"'
        link = {"Link": more} if begin + PER_PAGE < len(rows) else {}
        return 200, "application/json", body, {"X-Total-Count": str(len(rows)), **link}

    def _datasette(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """Answer as Datasette 0.65 does: rows are lists unless objects are wanted."""
        after, objects = int(asked.get("_next", "0")), asked.get("_shape") == "objects"
        rows = [row for row in self.rows() if row["id"] > after]
        page = rows[:PER_PAGE]
        last = str(page[-1]["id"]) if len(rows) > PER_PAGE else None
        query = urlencode({**asked, "_next": last or ""})
        return {
            "database": "garage",
            "table": "teas",
            "rows": page if objects else [list(row.values()) for row in page],
            "truncated": False,
            "filtered_table_rows_count": len(self.teas),
            "expanded_columns": [],
            "columns": ["id", "name", "price"],
            "primary_keys": ["id"],
            "query": {"sql": "select ...", "params": {}},
            "facet_results": {},
            "suggested_facets": [
                {"name": n, "toggle_url": f"{self.url}?_facet={n}"}
                for n in ("id", "name", "price")
            ],
            "next": last,
            "next_url": f"{self.url}/garage/teas.json?{query}" if last else None,
            "query_ms": 1.5,
        }

    def _mediawiki(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """Answer as MediaWiki's list of all pages does."""
        rows = sorted(self.rows(), key=lambda row: row["name"])
        rows = [row for row in rows if row["name"] >= asked.get("apcontinue", "")]
        page, more = rows[:PER_PAGE], rows[PER_PAGE:]
        found = [{"pageid": r["id"], "ns": 0, "title": r["name"]} for r in page]
        going = {"apcontinue": more[0]["name"], "continue": "-||"} if more else {}
        goes_on: dict[str, Any] = {"continue": going} if going else {}
        return {"batchcomplete": "", **goes_on, "query": {"allpages": found}}

    def _graphql(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Answer as a connection of graphene or strawberry does."""
        after = variables.get("after")
        first = int(base64.b64decode(after)[16:]) + 1 if after else 0
        rows = self.rows()
        page = list(enumerate(rows))[first : first + PER_PAGE]
        edges = [
            {"cursor": _cursor(place), "node": {**row, "id": str(row["id"])}}
            for place, row in page
        ]
        info = {
            "hasNextPage": first + PER_PAGE < len(rows),
            "endCursor": edges[-1]["cursor"] if edges else None,
        }
        teas = {"totalCount": len(rows), "edges": edges, "pageInfo": info}
        return {"data": {"teas": teas}}

    def _hugo(self, place: str) -> Answer:
        """Answer as a site that Hugo made: a page for each tea, and its maps."""
        pages = {f"/teas/{row['id']}/": row for row in self.rows()}
        if place in pages:
            row = pages[place]
            text = f"<h1>{row['name']}</h1><p>It costs {row['price']}.</p>"
            return 200, "text/html", f"<!doctype html><title>x</title>{text}".encode()
        if place == "/sitemap.xml":
            urls = "".join(
                f"<url><loc>{self.url}{one}</loc><lastmod>2026-01-01T00:00:00Z"
                "</lastmod></url>"
                for one in pages
            )
            space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
            return 200, "text/xml", f"<urlset {space}>{urls}</urlset>".encode()
        if place == "/index.xml":
            items = "".join(
                f"<item><title>{row['name']}</title><link>{self.url}{one}</link>"
                f"<guid>{self.url}{one}</guid></item>"
                for one, row in pages.items()
            )
            feed = (
                f'<rss version="2.0"><channel><title>x</title>{items}</channel></rss>'
            )
            return 200, "application/xml", feed.encode()
        if place == "/index.json":
            return _json([
                {"permalink": f"{self.url}{one}", "title": row["name"],
                 "price": row["price"]}
                for one, row in pages.items()
            ])  # fmt: skip
        return 404, "text/plain", b""


def _tea(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"Tea {number:03d}", "price": 10 + number * 13 % 90}


def _cursor(place: int) -> str:
    return base64.b64encode(f"arrayconnection:{place}".encode()).decode()


def _json(value: object) -> Answer:
    return 200, "application/json", json.dumps(value).encode()


@contextmanager
def serving(shop: Shop) -> Iterator[None]:
    """Serve a shop on loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(size)
            given = {name: str(value) for name, value in self.headers.items()}
            status, kind, answer, *more = shop.answer(self.path, given, body)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(answer)))
            for name, value in more[0].items() if more else ():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET  # noqa: N815  (the name is given)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    shop.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
