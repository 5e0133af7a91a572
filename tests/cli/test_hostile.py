"""Pages that hold up a reader do not hold up the program."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from halflife.engine.signals import GRACE

PAGE = b"<rt>" * 2_000_000  # a reader may take 9.5 s of CPU for it


@contextmanager
def serving(body: bytes, content_type: str):
    """Serve one body everywhere; yields the address and an event set on a request."""
    asked = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            robots = self.path == "/robots.txt"
            self.send_response(404 if robots else 200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", "0" if robots else str(len(body)))
            self.end_headers()
            if not robots:
                self.wfile.write(body)
                asked.set()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def settings(url: str) -> str:
    return (
        "[budget]\nrequests = 100\n[fetch]\ndelay = 0.0\n"
        f'[[source]]\nname = "list"\nkind = "listing"\nurl = "{url}/list"\n'
        'format = "html"\nrecords = "li"\nkey = "a@href"\nallow = ["127.0.0.0/8"]\n'
    )


def test_a_signal_ends_a_sync_while_a_page_holds_up_its_reader(tmp_path):
    with serving(PAGE, "text/html") as (url, asked):
        (tmp_path / "halflife.toml").write_text(settings(url))
        command = [sys.executable, "-m", "halflife", "sync"]
        with subprocess.Popen(command, cwd=tmp_path) as process:
            assert asked.wait(30)
            time.sleep(3.0)  # it reads by now
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            process.wait(60)
            assert time.monotonic() - began < GRACE + 3.0


def test_a_page_that_holds_up_its_reader_is_a_failure_with_a_reason(tmp_path):
    with serving(b"<rt>" * 250_000, "text/html") as (url, _):
        (tmp_path / "halflife.toml").write_text(settings(url))
        command = [sys.executable, "-m", "halflife", "sync"]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, timeout=100, check=False
        )
        said = " ".join((done.stdout + done.stderr).decode().split())
        assert "it takes more than 2.5 s to read" in said
        assert "Traceback" not in said
        assert done.returncode != 0
