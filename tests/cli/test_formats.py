"""APIs that answer in several formats, asked from the command line."""

import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

JOBS = [{"id": n, "title": f"job {n}"} for n in range(30)]
PAGE = b"<html><body><h1>Jobs API</h1><pre>results</pre></body></html>"
LIST = '[[source]]\nname = "jobs"\nkind = "listing"\nallow = ["127.0.0.0/8"]\n'


class Api(BaseHTTPRequestHandler):
    """Answers as Django REST framework does: pages for browsers, else data."""

    def do_GET(self):
        accept = self.headers["Accept"]
        self.server.accepted.append((self.path, accept))
        if self.path == "/robots.txt":
            self.send_error(404)
            return
        wanted = [part.split(";")[0].strip() for part in accept.split(",")]
        if self.server.stubborn or "application/json" not in wanted:
            self._send("text/html", PAGE)
            return
        first = int(parse_qs(urlsplit(self.path).query).get("from", ["0"])[0])
        size = self.server.size
        more = f"{self.server.url}?from={first + size}"
        body = {
            "count": len(JOBS),
            "next": more if first + size < len(JOBS) else None,
            "results": JOBS[first : first + size],
        }
        self._send("application/json", json.dumps(body).encode())

    def _send(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        return


@pytest.fixture
def api():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    server.daemon_threads = True
    server.accepted, server.stubborn, server.size = [], False, 100
    server.url = f"http://127.0.0.1:{server.server_address[1]}/jobs/"
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def listing(here, api):
    def write(more=""):
        (here / "halflife.toml").write_text(
            "[fetch]\ndelay = 0.0\n"
            f'{LIST}url = "{api.url}"\nrecords = "results"\nkey = "id"\n{more}'
        )

    write()
    return write


@pytest.mark.parametrize("form", ["", 'format = "json"\n'])
def test_an_api_is_asked_for_data_and_not_for_a_page(listing, asked, api, form):
    listing(form)
    code, answer = asked("sync")
    assert code == 0
    assert answer["listings"][0]["listed"] == len(JOBS)
    sent = dict(api.accepted)
    assert sent["/jobs/"].startswith("application/json")
    assert sent["/robots.txt"].startswith("text/html")


def test_a_header_of_the_settings_wins(listing, asked, api):
    listing('headers = { accept = "application/json; version=2" }\n')
    assert asked("sync")[0] == 0
    assert dict(api.accepted)["/jobs/"] == "application/json; version=2"


def test_a_page_instead_of_data_is_a_failure_and_teaches_nothing(
    listing, asked, told, api
):
    api.stubborn = True
    code, out, err = told("sync")
    assert code == 4
    assert "objects" not in out
    assert f"{api.url}: its answer cannot be read as the settings say" in err
    assert "halflife source reset jobs" in err
    (row,) = asked("status")[1]["sets"]
    assert row["held"] == 0
    assert "recall" not in row
    api.stubborn = False
    code, answer = asked("sync")
    assert (code, answer["listings"][0]["arrived"]) == (0, len(JOBS))


def test_a_page_without_the_records_that_were_named_is_no_empty_listing(
    listing, asked, api
):
    api.stubborn = True
    listing('format = "html"\n')
    code, answer = asked("sync")
    assert code == 4
    assert (
        "nothing in its HTML matches records 'results'"
        in (answer["listings"][0]["trouble"])
    )
    assert asked("status")[1]["sets"][0]["held"] == 0


def test_a_forgotten_next_is_named_by_sync_and_doctor_and_removes_nothing(
    listing, asked, told, api
):
    listing('confirm_hours = 0.0\nnext = "next"\n')
    api.size = 10
    assert asked("sync")[1]["listings"][0]["listed"] == len(JOBS)
    listing("confirm_hours = 0.0\n")
    for _ in range(3):
        code, out, err = told("sync")
        assert code == 4
        assert "0 missing, 0 gone; incomplete" in out
        assert "it reports 30 records and 10 were read" in err
        assert 'write next = "next"' in err
    code, out, err = told("doctor")
    assert 'write next = "next"' in out + err
    assert asked("status")[1]["sets"][0]["held"] == len(JOBS)


def test_what_was_read_of_a_partial_listing_counts_as_held(listing, asked, told, api):
    api.size = 10
    told("sync")
    (row,) = asked("status")[1]["sets"]
    assert row["held"] == 10
    assert "incomplete" in row["why"]
    assert "held" in told("status")[1]


def test_a_failure_is_printed_once_with_its_address(listing, told, api):
    api.stubborn = True
    _, out, err = told("sync")
    assert (out + err).count("cannot be read as the settings say") == 1
    assert f"{api.url}: " in err


def test_a_host_that_is_not_there_is_named_by_the_address_that_was_asked(here, told):
    (here / "halflife.toml").write_text(
        "[fetch]\ndelay = 0.0\ntimeout = 3.0\n"
        f'{LIST}url = "http://127.0.0.1:9/jobs"\nkey = "id"\nrobots = false\n'
        '[[source]]\nname = "docs"\nallow = ["127.0.0.0/8"]\nrobots = false\n'
        'pages = ["http://127.0.0.1:9/a"]\n'
    )
    code, out, err = told("sync")
    assert code == 4
    assert "http://127.0.0.1:9/a: " in err
    assert "http://127.0.0.1:9/jobs: " in err
    assert "127.0.0.1: " not in err.replace("http://127.0.0.1:9", "")
    assert (out + err).count("/jobs: ") == 1
