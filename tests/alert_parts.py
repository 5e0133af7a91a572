"""What alerts are tried with: signposts that redirect, and what the service told."""

import json
import threading
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from halflife.config import Config
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore
from service_parts import HOME


@contextmanager
def signpost(to, robots=""):
    """Serve redirects to another server: for now (307), or with ``status`` for good.

    ``only`` are the paths that go by that status; all, if there are none. Its own
    robots.txt is empty unless ``robots`` says where it lies.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.path)
            chosen = not server.only or self.path in server.only
            status = server.status if chosen else 307
            where = server.to + self.path
            if self.path == "/robots.txt":
                status, where = (301, server.robots) if server.robots else (404, "")
            with suppress(ConnectionError):
                self.send_response(status)
                self.send_header("Location", where)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.to, server.robots, server.status, server.only = to, robots, 307, set()
    server.asked = []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(
        target=partial(server.serve_forever, poll_interval=0.02), daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def jobs(numbers, **more):
    """Return a listing of jobs, each with a title and a salary, as JSON."""
    rows = [{"id": n, "title": f"job {n}", "salary": 1000 + n, **more} for n in numbers]
    return as_json(rows)


def as_json(rows):
    return "application/json", json.dumps(rows).encode()


def listing(url, more="", name="jobs"):
    return (
        f'[[source]]\nname = "{name}"\nkind = "listing"\n{HOME}key = "id"\n'
        f'url = "{url}"\nconfirm_hours = 0.0\n{more}'
    )


def pages(base, paths, more="", name="docs"):
    named = ", ".join(f'"{base}{path}"' for path in paths)
    return f'[[source]]\nname = "{name}"\n{HOME}pages = [{named}]\n{more}'


def standing(path):
    """Return the alarms that stand: source, kind and text."""
    with SqliteStore.open(Config.load(path).store_path, readonly=True) as store:
        alarms = Outbox(store).alarms()
    return {(a.source, a.kind): a.text for a in alarms if a.raised}
