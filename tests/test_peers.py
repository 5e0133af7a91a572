"""Other projects' test suites and parsers; see ``tools/fetch_peers.py``.

Nothing of them is in this repository: ``make peers`` downloads them, and without it
these tests are skipped.
"""

import json
import random
import re
import shutil
import subprocess
from urllib.parse import urlsplit

import pytest

from halflife.core.errors import UsageError
from halflife.net.addresses import canonical, parse_url, resolve
from halflife.net.robots_rules import read_group
from peer_cases import PLACE, RobotsCase, UrlCase, robots_cases, url_cases

ROBOTS = robots_cases()
URLS = url_cases()
NODE = shutil.which("node")
JAVASCRIPT = """
const {parseURL, serializeURL} = require("whatwg-url");
const rows = JSON.parse(require("fs").readFileSync(0, "utf8"));
const made = rows.map(([text, base]) => parseURL(text, {baseURL: parseURL(base)}));
const told = made.map(url => url === null ? "" : serializeURL(url, true));
process.stdout.write(JSON.stringify(told));
"""

# What a browser accepts and we refuse on purpose, since two parsers may read it
# differently: backslashes, control characters, user and password, a scheme without
# slashes, escapes in a host, and hosts that no name server has.
ON_PURPOSE = re.compile(
    r"""[\\\x00-\x1f\x7f-\x9f\ud800-\udfff]
    | ^\s*[A-Za-z][A-Za-z0-9+.-]*:(?!//[^/])
    | //[^/?\#]*[@%]
    | ^///""",
    re.VERBOSE,
)
HOST = re.compile(r"(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::[0-9]+)?")


def on_purpose(text: str, base: str, href: str) -> bool:
    """Say whether there is a reason to refuse what a browser accepts."""
    host = href.split("/")[2]
    return bool(ON_PURPOSE.search(text)) or "@" in base or not HOST.fullmatch(host)


def token(agent: str) -> str:
    found = re.fullmatch("[a-z_-]+", agent.lower())
    return found[0] if found else ""


def target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


@pytest.mark.skipif(not ROBOTS, reason="run `make peers` first")
def test_robots_rules_are_read_as_google_reads_them():
    cases = [case for case in ROBOTS if token(case.agent) or not case.agent]
    assert len(cases) > 250
    wrong = [case for case in cases if not _agrees(case)]
    assert wrong == []


def _agrees(case: RobotsCase) -> bool:
    group = read_group(case.text, token(case.agent) or "nobody")
    return group.allows(target(case.url)) == case.allowed


def sent(case: UrlCase) -> str | None:
    """Return what we would send for a link; None if we refuse it."""
    try:
        has_base = case.base.startswith("http")
        key = resolve(case.base, case.text) if has_base else canonical(case.text)
        url = parse_url(key)
    except UsageError:
        return None
    assert str(url).endswith(url.raw_path_qs)  # which is what goes over the wire
    return str(url)


@pytest.mark.skipif(not URLS, reason="run `make peers` first")
def test_a_request_is_the_one_that_a_browser_sends():
    cases = [case for case in URLS if re.match("https?://", case.href)]
    made = [(case, sent(case)) for case in cases]
    assert sum(url is not None for _, url in made) > 130
    wrong = [
        (case, url)
        for case, url in made
        if url is not None and url != case.href.partition("#")[0]
    ]
    assert wrong == []


@pytest.mark.skipif(not URLS, reason="run `make peers` first")
def test_what_a_browser_refuses_is_refused():
    based = ("", "about:blank")
    cases = [case for case in URLS if not case.href and case.base in based]
    assert len(cases) > 150
    assert [case for case in cases if sent(case) is not None] == []


@pytest.mark.skipif(not URLS, reason="run `make peers` first")
def test_what_we_refuse_and_a_browser_does_not_is_refused_on_purpose():
    cases = [case for case in URLS if re.match("https?://", case.href)]
    refused = [case for case in cases if sent(case) is None]
    assert [case for case in refused if not on_purpose(*case)] == []


PIECES = [
    *("", "..", "//", "%7e", "%2F", "%2e", "%zz", "%C3%BC", "wsdl", "\U0001f600"),
    *"aB./?&=;+,:@!$'\"()*|^`{}<>[]~% #\u00fc\u30c4",
]
HOSTS = [
    "http://example.org", "HTTPS://Example.ORG:443", "http://b\u00fccher.example:8080",
    "http://127.0.0.1", "http://0x7f.1", "http://[::1]:80", "http://faß.example",
    "http://example.org.", "http://1.2.3", "http://xn--bcher-kva.example",
]  # fmt: skip


def made_up(count: int) -> list[tuple[str, str]]:
    """Return links, and the pages on which they stand."""
    rng = random.Random(0)
    rows = []
    for _ in range(count):
        tail = "".join(rng.choices(PIECES, k=rng.randint(0, 12)))
        link = rng.choice(HOSTS) + "/" + tail if rng.random() < 0.5 else tail
        rows.append(
            (link, rng.choice(["http://a.example/b/c?d", "https://a.example/"]))
        )
    return rows


@pytest.mark.skipif(
    not (NODE and (PLACE / "node_modules").exists()), reason="run `make peers` first"
)
def test_links_lead_where_another_parser_of_the_standard_says():
    rows = made_up(20_000)
    done = subprocess.run(
        [NODE, "-e", JAVASCRIPT],
        input=json.dumps(rows),
        cwd=PLACE,
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = json.loads(done.stdout)
    ours = [sent(UrlCase(link, base, "")) for link, base in rows]
    both = [(row, a, b) for row, a, b in zip(rows, ours, theirs, strict=True) if a]
    assert len(both) > 10_000
    assert [(row, a, b) for row, a, b in both if a != b] == []
    cases = [(*row, b) for row, a, b in zip(rows, ours, theirs, strict=True) if not a]
    refused = [case for case in cases if case[2].startswith("http")]
    assert [case for case in refused if not on_purpose(*case)] == []
