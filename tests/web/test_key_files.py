"""Pushes without a token: believed once a key file on the host proves who sent them."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings, strategies as st

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.core.hint_claims import by_kind
from halflife.core.observation import HINT_KINDS
from halflife.engine import bootstrap
from halflife.kinds.pages import key_files
from halflife.kinds.pages.key_files import covers, read_push
from halflife.kinds.pages.runner import keeping
from halflife.stores.notes.key_proofs import KEY_CLAIMS, KEY_PROOFS
from halflife.stores.notes.pushed_hints import PUSHED_HINTS
from halflife.web.callbacks import SHAPE
from listening import listening

KEY = "0123abcd-KEY"
PUBLIC = "https://public.example/mine"


class Host:
    """A host with two pages, and files that hold keys."""

    def __init__(self):
        self.url, self.files, self.asked = "", {}, []


@pytest.fixture
def host():
    host = Host()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            host.asked.append(self.path)
            body = host.files.get(self.path, "a page")
            leads = body.startswith("http")
            self.send_response(302 if leads else 200)
            if leads:
                self.send_header("Location", body)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            """Say nothing."""

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host.url = f"http://127.0.0.1:{web.server_address[1]}"
    with listening(web, threading.Event()):
        yield host


class Project:
    def __init__(self, host, folder, visit, serve):
        self.host, path = host, folder / "halflife.toml"
        pages = ", ".join(f'"{host.url}{page}"' for page in ("/a", "/x/b"))
        path.write_text(
            f"{serve}[budget]\nrequests = 1000\n[fetch]\ndelay = 0.0\n[[source]]\n"
            'name = "s"\nallow = ["127.0.0.0/8"]\nrobots = false\nnoise = 0\n'
            f"pages = [{pages}]\n"
        )
        self.config, self.ahead = Config.load(path), 0.0
        with bootstrap.writing(self.config):
            pass
        self.visitor = visit(path)

    def turn(self, requests=0):
        """Take a turn; by itself it has requests for key files alone."""

        async def scene():
            with bootstrap.writing(self.config) as store:
                clock = lambda: bootstrap.clock() + self.ahead  # noqa: E731
                kept = keeping(self.config, store, self.config.source, clock)
                async with kept as keeper:
                    await keeper.turn(requests or len(KEY))

        asyncio.run(scene())

    def push(self, *pages, key=KEY, where="", host="public.example"):
        body = {"host": self.host.url[7:], "key": key}
        body["urlList"] = [self.host.url + page for page in pages]
        if where:
            body["keyLocation"] = self.host.url + where
        sent = {"Host": host, "Content-Type": "application/json"}
        return self.visitor.ask("POST", "/indexnow", sent, json.dumps(body)).status

    def note(self, kind):
        with bootstrap.writing(self.config) as store:
            return kind.load(store, "s")

    def hints(self):
        with bootstrap.writing(self.config) as store:
            evidence = store.evidence(["s"])
            pushed = by_kind(evidence.hints)[HINT_KINDS.index("push")]
            return {k[len(self.host.url) :]: int(pushed[evidence.row(k)])
                    for k in evidence.keys}  # fmt: skip


@pytest.fixture
def project(host, tmp_path, visit):
    project = Project(host, tmp_path, visit, f'[serve]\nindexnow = "{PUBLIC}"\n')
    project.turn()
    return project


def test_a_push_is_believed_once_the_key_file_holds_its_key(host, project):
    host.files[f"/{KEY}.txt"] = f"{KEY}\n"
    assert project.push("/a") == 202
    assert f"/{KEY}.txt" not in host.asked  # the next turn fetches it
    assert project.note(PUSHED_HINTS) is None
    project.ahead = 0.1  # a hint of the moment of the last look tells nothing
    project.turn()
    assert host.asked.count(f"/{KEY}.txt") == 1
    (proof,) = project.note(KEY_PROOFS).values()
    assert proof.holds
    assert project.note(KEY_CLAIMS) == {}


def test_a_proof_is_remembered_for_a_day(host, project):
    host.files[f"/{KEY}.txt"] = KEY
    project.push("/a")
    project.turn()
    assert project.push("/x/b") == 200
    assert list(project.note(PUSHED_HINTS)) == [f"{host.url}/x/b"]
    project.turn()
    assert host.asked.count(f"/{KEY}.txt") == 1


def test_the_hint_that_was_proven_reaches_the_page(host, project):
    host.files[f"/{KEY}.txt"] = KEY
    project.push("/a")
    project.ahead = 1e-9
    project.turn(1)  # for the key file alone
    assert project.hints() == {"/a": 1, "/x/b": 0}


@pytest.mark.parametrize(
    "held", ["", "another-key", f"{KEY}x", f"<p>{KEY}</p>", "http://127.0.0.1:1/k"]
)
def test_a_file_without_the_key_proves_nothing(host, project, held):
    host.files[f"/{KEY}.txt"] = held
    project.push("/a")
    project.turn()
    (proof,) = project.note(KEY_PROOFS).values()
    assert not proof.holds
    assert project.note(PUSHED_HINTS) is None
    assert project.push("/a") == 403
    assert project.hints()["/a"] == 0


def test_a_redirect_to_the_key_proves_nothing(host, project):
    host.files |= {f"/{KEY}.txt": f"{host.url}/elsewhere", "/elsewhere": KEY}
    project.push("/a")
    project.turn()
    (proof,) = project.note(KEY_PROOFS).values()
    assert not proof.holds


def test_a_key_elsewhere_speaks_for_its_folder_alone(host, project):
    host.files["/x/k.txt"] = KEY
    assert project.push("/a", where="/x/k.txt") == 422
    assert project.push("/x/b", where="/x/k.txt?q=1") == 422
    assert project.push("/x/b", where="/x/k.txt") == 202
    project.turn()
    assert project.push("/x/b", where="/x/k.txt") == 200


def test_what_guesses_keys_costs_few_requests(host, project):
    for i in range(20):
        assert project.push("/a", key=f"guess-{i:04}") == 202
    assert project.push("/a", key="guess-more") == 429  # enough wait
    before = len(host.asked)
    for _ in range(6):
        project.turn(30)
    tried = [path for path in host.asked[before:] if "guess" in path]
    assert len(tried) == key_files.MOST_FAILED
    assert project.note(KEY_CLAIMS) == {}


def test_pages_that_nobody_keeps_are_passed_over_without_a_word(host, project):
    assert project.push("/unknown") == 202
    assert project.note(KEY_CLAIMS) is None


def test_a_flood_of_pushes_is_dammed(project):
    project.visitor.site.pushes.limit.burst = 5.0
    assert [project.push("/unknown") for _ in range(7)] == [202] * 5 + [429] * 2


def test_a_push_by_address_is_the_same(host, project):
    asked = urlencode({"url": f"{host.url}/a", "key": KEY})
    status = project.visitor.ask("GET", f"/indexnow?{asked}").status
    assert status == 202
    assert project.visitor.ask("GET", "/indexnow").status == 400
    assert project.visitor.ask("GET", f"/indexnow?url={quote(host.url)}").status == 400


def test_what_cannot_be_read_is_said(project):
    for wrong in ("", "[]", "3", "[" * 5000, '{"urlList": 3}', '{"urlList": [3]}'):
        assert project.visitor.ask("POST", "/indexnow", {}, wrong).status == 400
    for wrong in ("[" * 5000, '{"key": ' + "9" * 5000 + "}"):
        said = project.visitor.ask("POST", "/indexnow", {}, wrong).text
        assert said == f"400: {SHAPE}\n"  # what went wrong inside is nobody's business
    large = "x" * (1 << 20)
    assert project.visitor.ask("POST", "/indexnow", {}, f'"{large}"').status == 413


def test_without_the_setting_it_is_shut(host, tmp_path, visit):
    project = Project(host, tmp_path, visit, "")
    assert project.push("/a") == 421
    assert project.visitor.ask("GET", "/indexnow").status == 401


def test_only_its_own_host_is_answered(project):
    assert project.push("/a", host="evil.example") == 421


NAMES = st.sampled_from(["url", "urlList", "key", "keyLocation", "host"])
VALUES = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=20),
    st.lists(st.text(max_size=9), max_size=2),
    st.sampled_from(["http://a.example/", KEY]),
)


@given(st.dictionaries(NAMES, VALUES))
@settings(max_examples=80, deadline=None)
def test_any_push_is_read_or_refused(said):
    try:
        push = read_push(said)
    except UsageError:
        return
    if push is not None:
        assert all(covers(push.claim.location, url) for url in push.urls)
