"""Secrets stay where they belong: no state, no output and no page holds them."""

import json
import re
import sqlite3
import zlib

import pytest

from halflife.replay.world import RecordedAnswer, as_json, serve
from halflife.web.server import ServeWish, running
from web_visitor import Visitor

SECRETS = {
    name: f"c4n4ry-{name.lower()}-+s3cr3t"
    for name in ("HEADER", "PARAM", "BASIC", "CLIENT", "BEARER", "PROXY")
}
TOKEN, COOKIE = "c4n4ry-token-s3cr3t", "c4n4ry-cookie-s3cr3t"
COMMON = 'kind = "listing"\nrecords = "jobs"\nkey = "id"\nnext = "next"\n'
COMMON += 'allow = ["127.0.0.0/8"]\nrobots = false\n'
SETTINGS = """
[fetch]
delay = 0.0

[[source]]
name = "keyed"
url = "{url}/keyed"
{common}
headers = {{X-Key = {{env = "HEADER"}}}}
parameters = {{k = {{env = "PARAM"}}}}

[[source]]
name = "client"
url = "{url}/client"
{common}
method = "POST"
[source.auth]
kind = "oauth2"
token_url = "{url}/token"
client_id = "me"
client_secret = {{env = "CLIENT"}}

[[source]]
name = "basic"
url = "{url}/basic"
{common}
[source.auth]
kind = "basic"
user = "me"
password = {{env = "BASIC"}}

[[source]]
name = "behind"
url = "{url}/behind"
{common}
[source.proxy]
url = "http://127.0.0.1:9"
user = "me"
password = {{env = "PROXY"}}

[[source]]
name = "pages"
pages = ["{url}/page", "{url}/moved"]
allow = ["127.0.0.0/8"]
robots = false
cookies = true
text = "raw"
auth = {{kind = "bearer", token = {{file = "{file}"}}}}
"""


class Careless:
    """A server that tells everybody all that it was told."""

    def __init__(self):
        self.heard = []

    def __call__(self, asked, now):
        told = f"{asked.url} {dict(asked.headers)} {(asked.body or b'').decode()}"
        self.heard.append(told)
        match asked.url.path:
            case "/token":
                row = {"access_token": TOKEN, "expires_in": 600, "note": told}
                return as_json(row)
            case "/moved" | "/keyed" if "again" not in asked.url.query:
                place = str(asked.url.update_query(again="1"))
                return RecordedAnswer(301, b"", {"Location": place})
            case "/page" | "/moved":
                said = {"Content-Type": "text/html", "Set-Cookie": f"id={COOKIE}"}
                return RecordedAnswer(200, f"<p>{told}</p>".encode(), said)
            case "/basic" if "p" in asked.url.query:
                return as_json({"error": told}, 401)
        following = None
        if "p" not in asked.url.query:
            following = str(asked.url.update_query(p="2"))
        return as_json(
            {"jobs": [{"id": len(self.heard), "t": told}], "next": following}
        )


@pytest.fixture
def careless(here, monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    file = here / "token"
    file.write_text(SECRETS["BEARER"])
    server = Careless()
    with serve([server], lambda: 0.0) as (url,):
        text = SETTINGS.format(url=url, common=COMMON, file=file)
        (here / "halflife.toml").write_text(text)
        yield server
    file.unlink()


def dumped(path):
    """Return all that a state file holds, as text; what is packed is unpacked."""
    found = []
    with sqlite3.connect(path) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        for (name,) in names.fetchall():
            for row in db.execute(f'SELECT * FROM "{name}"'):
                found += [_plain(value) for value in row]
    return "\n".join(found)


def _plain(value):
    if not isinstance(value, bytes):
        return str(value)
    try:
        return zlib.decompress(value).decode("utf-8", "replace")
    except zlib.error:
        return value.decode("utf-8", "replace")


def leaks(text):
    return re.findall(r".{0,60}s3cr3t.{0,20}", text)


def test_secrets_are_sent_and_are_nowhere_to_be_read(careless, here, told):
    outputs = []
    for _ in range(2):
        outputs += told("sync")[1:]
    heard = "\n".join(careless.heard)
    for name in ("HEADER", "BEARER"):
        assert SECRETS[name] in heard
    assert "k=c4n4ry-param-%2Bs3cr3t" in heard or SECRETS["PARAM"] in heard
    assert f"Bearer {TOKEN}" in heard
    assert COOKIE in heard
    for verb in ("status", "doctor", "plan", "config", "runs", "explain keyed"):
        outputs += told(*verb.split())[1:]
        outputs += told(*verb.split(), "--json")[1:]
    assert "jobs" in "".join(outputs) or "keyed" in "".join(outputs)
    assert leaks("\n".join(map(str, outputs))) == []
    state = dumped(here / "halflife.db")
    assert "k=***" in state
    assert leaks(state) == []
    for path in here.iterdir():
        if path.name != "token":
            assert b"s3cr3t" not in path.read_bytes(), path.name


def test_no_page_shows_a_secret(careless, here, told):
    told("sync")
    seen, left = {}, ["/"]
    with running(ServeWish(here / "halflife.toml", port=0)) as served:
        visitor = Visitor(served)
        while left and len(seen) < 40:
            path = left.pop()
            seen[path] = visitor.get(path).text
            links = re.findall(r'href="(/[^"#]*)"', seen[path])
            left += [link for link in links if link not in seen]
    assert any("keyed" in text for text in seen.values())
    assert len(seen) > 5
    assert {path: leaks(text) for path, text in seen.items() if leaks(text)} == {}


def test_a_program_is_told_of_failures_without_secrets(careless, told):
    _, out, err = told("sync", "--json")
    rows = {row["source"]: row for row in json.loads(out)["listings"]}
    assert rows["basic"]["trouble"].endswith("it answered 401")
    assert "proxy cannot be reached" in rows["behind"]["trouble"]
    assert rows["keyed"]["trouble"] == rows["client"]["trouble"] == ""
    assert leaks(out + err) == []
