"""Servers that listen on this machine while a test runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer


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
