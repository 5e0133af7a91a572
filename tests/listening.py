"""Servers that listen on this machine while a test runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def listening(server: ThreadingHTTPServer, go: threading.Event) -> Iterator[None]:
    """Let a server answer from a thread; in the end whoever waits for ``go`` may."""
    server.daemon_threads = True
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        go.set()
        server.shutdown()
        server.server_close()
        thread.join()


class Answering(ThreadingHTTPServer):
    """A server whose answers a test decides.

    Attributes:
        pages: What it answers, by path: the type and the body; 404 for all others.
        asked: The paths it was asked for.
        go: Answers wait for this; that of robots.txt does not.

    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pages: dict[str, tuple[str, bytes]] = {}
        self.asked: list[str] = []
        self.go = threading.Event()
        self.go.set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path != "/robots.txt":
            self.server.go.wait(20)
        pages = self.server.pages
        kind, body = pages.get(self.path, ("text/plain", b""))
        with suppress(ConnectionError):  # the caller may have been stopped
            self.send_response(200 if self.path in pages else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def answering() -> Iterator[Answering]:
    """Start such a server for a while."""
    server = Answering()
    with listening(server, server.go):
        yield server
