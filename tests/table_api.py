"""A table served as a JSON API over real HTTP on loopback."""

import json
import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

CITIES = ("Oslo", "Rome", "Lima")


def rows(start, end, day="2026-05-01"):
    """Return records with numbers as keys, all of the same day."""
    return [
        {"id": i, "city": CITIES[i % len(CITIES)], "name": f"thing {i}", "day": day}
        for i in range(start, end)
    ]


class Table:
    """What the server holds, and how its pages hang together.

    Attributes:
        rows: The records. Newest first means by day, then by number, ascending: a
            record that came later stands behind the others of its day.
        page: Records of a page.
        cap: Records of a query that can be reached at all.
        counted: Whether answers tell the number of hits.
        claims: What is added to that number.
        links: Where the next page is said to be: ``page``, nowhere but by number;
            ``next``, by an address; ``circle``, by one that leads back to the first
            page from the last; ``self``, always to the page itself; ``abroad``, on
            another host; ``broken``, at no address; ``endless``, to page after page
            of the same records.
        log: What was asked for.

    """

    def __init__(self, records, **how):
        self.rows = list(records)
        self.page, self.cap, self.counted, self.links = 20, 10**9, True, "page"
        self.claims = 0
        self.log = []
        self.stale = False  # whether addresses of next pages are refused
        vars(self).update(how)

    def matching(self, asked):
        rows = [r for r in self.rows if asked.get("city") in (None, r["city"])]
        if asked.get("sort") == "date":
            rows.sort(key=lambda row: row["id"])
            rows.sort(key=lambda row: row["day"], reverse=True)
        return rows

    def answer(self, path, asked):
        found = self.matching(asked)
        at = int(asked.get("page", 1)) - 1 if self.links == "page" else 0
        at = int(asked.get("after", at))
        shown = found[: self.cap][at * self.page : (at + 1) * self.page]
        body = {"rows": shown}
        if self.counted:
            body["count"] = len(found) + self.claims
        last = (at + 1) * self.page >= min(len(found), self.cap)
        follow = {**asked, "after": at + 1}
        here = f"{path}?{urlencode(asked)}"
        links = {
            "page": None,
            "next": None if last else f"{path}?{urlencode(follow)}",
            "circle": f"{path}?{urlencode({**follow, 'after': 0} if last else follow)}",
            "self": here,
            "abroad": "http://elsewhere.invalid/things",
            "broken": "http://[",
            "endless": f"{path}?{urlencode(follow)}",
        }
        if self.links == "endless":
            body["rows"] = found[: self.page]
        body["next"] = links[self.links]
        return body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, or each answer waits 40 ms

    def do_GET(self):
        table, parts = self.server.table, urlsplit(self.path)
        asked = dict(parse_qsl(parts.query))
        if parts.path == "/robots.txt":
            self._send(404, {})
            return
        table.log.append(self.path)
        if parts.path.startswith("/things/"):
            key = parts.path.removeprefix("/things/")
            found = [row for row in table.rows if str(row["id"]) == key]
            self._send(200 if found else 404, found[0] if found else {})
        elif "after" in asked and table.stale:
            self._send(400, {"error": "this cursor has expired"})
        else:
            self._send(200, table.answer(parts.path, asked))

    def _send(self, status, answer):
        body = json.dumps(answer).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):  # the client had enough
            self.close_connection = True

    def log_message(self, *_):
        return


@contextmanager
def serving(table):
    """Serve a table while the block runs; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.table = table
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settings(url, *, more="", paged=True, values=CITIES, budget=2000):
    """Return settings that ask for the table; ``more`` are further keys."""
    page = "?page={page}" if paged else ""
    return (
        f"[budget]\nrequests = {budget}\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"
        f'[[source]]\nname = "things"\nkind = "form"\nallow = ["127.0.0.0/8"]\n'
        f'form_url = "{url}/things{page}"\n'
        f'format = "json"\nrecords = "rows"\nkey = "id"\n{more}'
        f"[source.attributes]\ncity = {{values = {json.dumps(list(values))}}}\n"
    )
