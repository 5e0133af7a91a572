"""How a source knows us: secrets, tokens, cookies; and that nobody else sees them."""

import asyncio
import json
from base64 import b64decode
from urllib.parse import parse_qs

import pytest
from hypothesis import given, strategies as st

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.engine import network
from halflife.net.access import GateSettings
from halflife.net.gate import Gate
from halflife.net.parameters import parameter, with_parameters
from halflife.net.secrecy import SecretRedactor
from halflife.replay.world import RecordedAnswer, RecordedTransport, as_json
from listing_parts import ORIGIN, read, source_of
from web_parts import Book, Clock, Coins

JOBS = 'url = "BASE/jobs"\nrecords = "jobs"\nkey = "id"\n'
CANARY = "c4n4ry/s3cr3t+x"
LOGIN = "http://login.example"
OAUTH = JOBS + (
    f'next = "next"\nauth = {{kind = "oauth2", token_url = "{LOGIN}/token", '
    'client_id = "half life", client_secret = {env = "CANARY"}, scope = "jobs.read"}'
)


@pytest.fixture(autouse=True)
def canary(monkeypatch, tmp_path):
    monkeypatch.setenv("CANARY", CANARY)
    path = tmp_path / "token"
    path.write_text(CANARY + "\n")
    return path


def jobs(keys, **more):
    return as_json({"jobs": [{"id": key} for key in keys], **more})


def echo(asked, now):
    """Answer with all that was sent, as careless servers do."""
    said = [{"id": "a", "url": str(asked.url), "headers": dict(asked.headers)}]
    following = f"{asked.url}&p=2" if "p" not in asked.url.query else None
    return as_json({"jobs": said, "next": following})


def test_a_secret_parameter_is_sent_and_stands_in_nothing_that_is_kept():
    text = JOBS + 'next = "next"\nparameters = {k = {env = "CANARY"}, n = "5"}'
    found = read(source_of(text), echo)
    assert [parameter(one.url, "k") for one in found.sent] == [CANARY, CANARY]
    assert [parameter(one.url, "n") for one in found.sent] == ["5", "5"]
    assert found.keys == ["a"]
    assert found.complete
    assert "s3cr3t" not in repr(found.listing)
    assert "k=***" in repr(found.listing)


def test_a_short_secret_parameter_is_found_behind_its_name(monkeypatch):
    monkeypatch.setenv("CANARY", "x7")
    text = JOBS + 'next = "next"\nparameters = {k = {env = "CANARY"}}'
    found = read(source_of(text), echo)
    assert parameter(found.sent[0].url, "k") == "x7"
    assert "k=x7" not in repr(found.listing)


def test_a_secret_parameter_does_not_leave_with_a_redirect():
    def api(asked, now):
        place = str(asked.url).replace(ORIGIN, "http://b.example")
        return RecordedAnswer(302, headers={"Location": place})

    other = {ORIGIN: api, "http://b.example": lambda a, n: jobs("a")}
    text = JOBS + 'parameters = {k = {env = "CANARY"}}'
    found = read(source_of(text), sources=other)
    assert "s3cr3t" in found.sent[0].url
    assert found.sent[1].url == "http://b.example/jobs?k=***"


def test_a_redirect_on_the_same_host_gets_the_parameter_again():
    def api(asked, now):
        if asked.url.path == "/jobs":
            place = str(asked.url).replace("/jobs", "/new")
            return RecordedAnswer(301, headers={"Location": place})
        return jobs("a")

    found = read(source_of(JOBS + 'parameters = {k = {env = "CANARY"}}'), api)
    assert [parameter(one.url, "k") for one in found.sent] == [CANARY, CANARY]
    assert found.keys == ["a"]


def test_secrets_may_come_from_a_file_or_the_environment(canary):
    given = [
        (f'headers = {{X-Key = {{file = "{canary}"}}}}', "X-Key", CANARY),
        ('headers = {X-Key = {env = "CANARY"}}', "X-Key", CANARY),
        (
            f'auth = {{kind = "bearer", token = {{file = "{canary}"}}}}',
            "Authorization",
            f"Bearer {CANARY}",
        ),
    ]
    for text, name, value in given:
        found = read(source_of(JOBS + text), lambda a, n: jobs("a"))
        assert dict(found.sent[0].headers)[name] == value
        assert CANARY not in repr(source_of(JOBS + text))


def test_basic_authentication_sends_name_and_password():
    text = 'auth = {kind = "basic", user = "ada", password = {env = "CANARY"}}'
    found = read(source_of(JOBS + text), lambda a, n: jobs("a"))
    scheme, _, coded = dict(found.sent[0].headers)["Authorization"].partition(" ")
    assert (scheme, b64decode(coded).decode()) == ("Basic", f"ada:{CANARY}")


def test_a_password_that_a_server_reads_and_repeats_is_not_kept():
    def api(asked, now):
        _, _, coded = asked.headers["Authorization"].partition(" ")
        return as_json({"jobs": [{"id": 1, "who": b64decode(coded).decode()}]})

    text = 'auth = {kind = "basic", user = "ada", password = {env = "CANARY"}}'
    found = read(source_of(JOBS + text), api)
    assert found.listing.records == {"1": {"id": 1, "who": "ada:***"}}


@pytest.mark.parametrize("place", ["header", "body"])
def test_a_login_that_repeats_our_password_is_not_quoted(place):
    refusal = as_json({"error": f"no such client: {CANARY}"}, 400)
    text = OAUTH.replace('scope = "jobs.read"', f'client = "{place}"')
    world = {ORIGIN: lambda a, n: jobs("a"), LOGIN: lambda a, n: refusal}
    found = read(source_of(text), sources=world)
    assert "(no such client: ***)" in found.trouble


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'auth = {kind = "bearer", token = "hunter2"}',
            "auth.token: a secret must not",
        ),
        ('auth = {kind = "basic", user = "a"}', "auth.password: field required"),
        ('auth = {kind = "kerberos"}', "'basic', 'bearer', 'oauth2'"),
        (
            'proxy = {url = "http://p/", password = "hunter2"}',
            "a secret must not stand",
        ),
        ('proxy = "http://me:hunter2@p.example/"', "must not hold a password"),
        ('headers = {X = {file = "token"}}', "a whole path, such as /run/secrets"),
        ('ca = "ca.pem"', "ca: must be a whole path"),
        ('certificate_key = "/k.pem"', "give both"),
        ('parameters = {"" = "x"}', "a parameter needs a name"),
    ],
)
def test_wrong_credentials_are_named_in_a_line_and_not_shown(text, said):
    with pytest.raises(ConfigError) as caught:
        source_of(JOBS + text)
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_authorization_is_given_once():
    text = 'auth = {kind = "bearer", token = {env = "A"}}\n'
    with pytest.raises(ConfigError, match="not both"):
        source_of(JOBS + text + 'headers = {authorization = {env = "B"}}')


def test_pages_take_secret_parameters_only():
    text = (
        "[[source]]\nname = 'p'\npages = ['http://a.example/']\nparameters = {k = %s}"
    )
    assert Config.parse(text % '{env = "K"}').source[0].parameters
    with pytest.raises(ConfigError, match="write it into the addresses"):
        Config.parse(text % '"x"')


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b"a\nb", "one line"),
        (b"\xff", "text"),
    ],
)
def test_a_file_without_a_secret_is_named(canary, content, said):
    if content is None:
        canary.unlink()
    else:
        canary.write_bytes(content)
    source = source_of(
        JOBS + f'auth = {{kind = "bearer", token = {{file = "{canary}"}}}}'
    )
    with pytest.raises(ConfigError) as caught:
        network.access(source)
    assert "source jobs: auth.token comes from the file" in str(caught.value)
    assert said in str(caught.value)


def test_secrets_go_to_one_host_only():
    text = (
        'urls = ["http://b.example/"]\nauth = {kind = "bearer", token = {env="CANARY"}}'
    )
    with pytest.raises(ConfigError, match="one host only, and its pages lie on 2"):
        network.access(source_of(JOBS + text))
    text = 'python = "a:b"\nauth = {kind = "bearer", token = {env = "CANARY"}}'
    with pytest.raises(ConfigError, match="none is named; give url"):
        network.access(source_of(text))


# Tokens


class Login:
    """Gives out tokens, and says which of them are good."""

    def __init__(self, lasts=3600):
        self.given, self.asked, self.lasts = 0, [], lasts
        self.good = set()

    def __call__(self, asked, now):
        self.asked.append(asked)
        self.given += 1
        token = f"token-number-{self.given}"
        self.good = {token}
        row = {"access_token": token, "token_type": "Bearer"}
        return as_json({**row, "expires_in": self.lasts} if self.lasts else row)

    def knows(self, asked):
        return asked.headers.get("Authorization", "")[7:] in self.good


def test_a_token_is_got_once_and_sent_with_every_page():
    login = Login()

    def api(asked, now):
        assert login.knows(asked)
        page = int(asked.url.query.get("p", "1"))
        return jobs([page], next=f"/jobs?p={page + 1}" if page < 4 else None)

    found = read(source_of(OAUTH), sources={ORIGIN: api, LOGIN: login})
    assert (found.keys, found.complete) == (["1", "2", "3", "4"], True)
    assert (login.given, found.paid) == (1, 5)
    (asked,) = login.asked
    fields = parse_qs(asked.body.decode())
    assert fields == {"grant_type": ["client_credentials"], "scope": ["jobs.read"]}
    coded = asked.headers["Authorization"].removeprefix("Basic ")
    assert b64decode(coded).decode() == "half+life:c4n4ry%2Fs3cr3t%2Bx"


def test_the_client_may_name_itself_in_the_body():
    login = Login()
    text = OAUTH.replace('scope = "jobs.read"', 'client = "body", audience = "api"')
    read(source_of(text), sources={ORIGIN: lambda a, n: jobs("a"), LOGIN: login})
    (asked,) = login.asked
    fields = {name: one for name, (one,) in parse_qs(asked.body.decode()).items()}
    assert fields["client_id"] == "half life"
    assert fields["client_secret"] == CANARY
    assert fields["audience"] == "api"
    assert "Authorization" not in asked.headers


def test_a_token_that_ends_in_the_middle_of_a_pass_is_replaced_and_the_pass_goes_on():
    login = Login()

    def api(asked, now):
        if not login.knows(asked):
            return as_json({"error": "token expired"}, 401)
        page = int(asked.url.query.get("p", "1"))
        if page == 2:
            login.good = set()  # from now on the first token is worth nothing
        return jobs([page], next=f"/jobs?p={page + 1}" if page < 4 else None)

    found = read(source_of(OAUTH), sources={ORIGIN: api, LOGIN: login})
    assert (found.keys, found.complete, found.trouble) == (list("1234"), True, "")
    assert login.given == 2
    assert found.paid == 4 + 1 + 2  # pages, the one that was refused, tokens


def test_a_token_that_is_never_good_enough_is_replaced_once():
    login = Login()
    refuse = {ORIGIN: lambda a, n: RecordedAnswer(401), LOGIN: login}
    found = read(source_of(OAUTH), sources=refuse)
    assert found.listing is None
    assert found.trouble.endswith("it answered 401")
    assert (login.given, len(found.sent)) == (2, 4)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (as_json({"error": "invalid_client"}, 401), "it answered 401 (invalid_client)"),
        (RecordedAnswer(503), "it answered 503"),
        (as_json({"token": "x"}), "its answer holds none"),
        (as_json({"access_token": "a\nb"}), "its answer holds none"),
        (RecordedAnswer(200, b"<html>"), "its answer holds none"),
        (
            RecordedAnswer(302, headers={"Location": "/"}),
            "it redirects a POST with 302",
        ),
    ],
)
def test_a_token_that_is_not_given_is_a_failure_with_its_reason(answer, said):
    world = {ORIGIN: lambda a, n: jobs("a"), LOGIN: lambda a, n: answer}
    found = read(source_of(OAUTH), sources=world)
    assert found.listing is None
    assert f"no token was given: {LOGIN}/token: {said}" in found.trouble
    assert CANARY not in found.trouble
    assert len(found.sent) == 1


class Slow(RecordedTransport):
    """Answers when others have asked, too."""

    async def send(self, url, call):
        await asyncio.sleep(0.01)
        return await super().send(url, call)


def ask_twice(access, world, clock, between=0.0, together=1):
    """Ask two times; return the answers and the transport."""
    transport = (Slow if together > 1 else RecordedTransport)(world, clock)

    async def scene():
        gate = Gate(
            GateSettings("x", delay=0.0), hosts=Book(), clock=clock, transport=transport
        )
        async with gate:
            urls = [f"{ORIGIN}/jobs"] * together
            first = await asyncio.gather(
                *(gate.get(url, Coins(), access=access) for url in urls)
            )
            clock.now += between
            return [*first, await gate.get(urls[0], Coins(), access=access)]

    return asyncio.run(scene()), transport


@pytest.mark.parametrize(
    ("lasts", "minutes", "tokens"),
    [(3600, 55, 1), (3600, 60, 2), (None, 55, 1), (2, 1, 2)],
)
def test_a_token_is_renewed_before_it_ends(lasts, minutes, tokens):
    login = Login(lasts)
    world = {ORIGIN: lambda a, n: jobs("a"), LOGIN: login}
    access = network.access(source_of(OAUTH))
    ask_twice(access, world, Clock(), between=minutes / 1440)
    assert login.given == tokens


def test_requests_that_are_refused_together_ask_for_one_new_token():
    login = Login()
    refused = []

    def api(asked, now):
        if login.given == 1:
            refused.append(asked)
            return RecordedAnswer(401)
        return jobs("a")

    access = network.access(source_of(OAUTH))
    answers, _ = ask_twice(access, {ORIGIN: api, LOGIN: login}, Clock(), together=5)
    assert {a.status for a in answers} == {200}
    assert len(refused) == 5
    assert login.given == 2


def test_a_token_goes_to_its_own_host_only_and_the_password_nowhere_else():
    login = Login()

    def api(asked, now):
        return RecordedAnswer(302, headers={"Location": "http://b.example/jobs"})

    other = {ORIGIN: api, LOGIN: login, "http://b.example": lambda a, n: jobs("a")}
    found = read(source_of(OAUTH), sources=other)
    by_host = {one.url.partition("/jobs")[0]: dict(one.headers) for one in found.sent}
    assert by_host[ORIGIN]["Authorization"] == "Bearer token-number-1"
    assert "Authorization" not in by_host["http://b.example"]
    for one in found.sent[1:]:
        assert "s3cr3t" not in repr(one)


# Cookies


def test_cookies_are_kept_for_a_source_and_sent_back():
    def api(asked, now):
        seen.append(asked.headers.get("Cookie", ""))
        page = len(seen)
        answer = jobs([page], next=f"/jobs?p={page + 1}" if page < 3 else None)
        return answer._replace(
            headers={**answer.headers, "Set-Cookie": f"id={page}; Path=/; HttpOnly"}
        )

    seen = []
    read(source_of(JOBS + 'next = "next"\ncookies = true'), api)
    assert seen == ["", "id=1", "id=2"]
    seen = []
    read(source_of(JOBS + 'next = "next"'), api)
    assert seen == ["", "", ""]


def test_cookies_of_a_source_are_not_those_of_another():
    def api(asked, now):
        seen.append(asked.headers.get("Cookie", ""))
        return RecordedAnswer(200, b"", {"Set-Cookie": f"id={len(seen)}; Path=/"})

    seen = []
    one = network.access(source_of(JOBS + "cookies = true"))
    text = "[[source]]\nname = 'other'\npages = ['http://a.example/']\ncookies = true\n"
    two = network.access(Config.parse(text + "robots = false").source[0])
    clock = Clock()
    transport = RecordedTransport({ORIGIN: api}, clock)

    async def scene():
        settings = GateSettings("x", delay=0.0)
        gate = Gate(settings, hosts=Book(), clock=clock, transport=transport)
        async with gate:
            for access in (one, two, one, two):
                await gate.get(f"{ORIGIN}/jobs", Coins(), access=access)

    asyncio.run(scene())
    assert seen == ["", "", "id=1", "id=2"]


def test_cookies_do_not_follow_a_redirect_to_another_host():
    def api(asked, now):
        place = {"Location": "http://b.example/x", "Set-Cookie": "id=1; Domain=example"}
        return RecordedAnswer(302, headers=place)

    def other(asked, now):
        seen.append(asked.headers.get("Cookie"))
        return RecordedAnswer(200, b"", {"Set-Cookie": "evil=1; Domain=a.example"})

    seen = []
    access = network.access(source_of(JOBS + "cookies = true"))
    world = {ORIGIN: api, "http://b.example": other}
    _, transport = ask_twice(access, world, Clock())
    assert seen == [None, None]
    again = [dict(s.headers).get("Cookie", "") for s in transport.sent]
    assert not any("evil" in one for one in again)


def test_a_server_cannot_fill_the_memory_with_cookies():
    def api(asked, now):
        nonlocal count
        count += 1
        return RecordedAnswer(200, b"", {"Set-Cookie": f"id{count}=1; Path=/"})

    count = 0
    access = network.access(source_of(JOBS + "cookies = true"))
    _, transport = ask_twice(access, {ORIGIN: api}, Clock(), together=200)
    last = dict(transport.sent[-1].headers)["Cookie"]
    assert last.count("=") <= 50


# What was sent must not come back


@given(
    secret=st.text('abAB09+/=%& "\\é', min_size=8, max_size=20),
    spell=st.sampled_from(["plain", "quoted", "json"]),
)
def test_no_spelling_of_a_secret_gets_through(secret, spell):
    from urllib.parse import quote  # noqa: PLC0415

    secret = secret.strip()
    if len(secret) < 8:
        return
    written = {
        "plain": secret,
        "quoted": quote(secret, safe=""),
        "json": json.dumps(secret)[1:-1],
    }[spell]
    redactor = SecretRedactor([secret], {})
    assert written not in redactor.redact(f"<{written}>")
    assert redactor.redact_bytes(f"<{written}>".encode()) == b"<***>"


def test_a_parameter_takes_the_place_of_one_of_its_name_and_nothing_else_moves():
    url = "http://a.example/x;y?b=%7e&a=1&a=2&wsdl&c=+"
    assert (
        with_parameters(url, {"a": "&"}) == "http://a.example/x;y?b=%7e&a=%26&wsdl&c=+"
    )
    assert with_parameters(url, {}) == url
