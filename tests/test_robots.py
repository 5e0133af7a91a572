"""RFC 9309, case by case."""

import pytest
from yarl import URL

from halflife.errors import Refused, Unreachable
from halflife.host import HostState
from halflife.sources.robots import after_robots, rules

HOST = HostState("http://example.org:80")

# Each row: robots.txt, path, allowed. The first are the RFC's own examples
# (section 5) and the precedence table of Google's published test set.
CASES = [
    ("User-agent: halflife\nDisallow: /", "/", False),
    ("User-agent: halflife\nDisallow:", "/x", True),
    ("User-agent: *\nDisallow: /", "/x", False),
    ("User-agent: *\nDisallow: /\n\nUser-agent: halflife\nAllow: /", "/x", True),
    ("User-agent: halflife\nUser-agent: b\nDisallow: /x", "/x", False),
    ("User-agent: a\nDisallow: /", "/x", True),
    ("user-agent: HALFLIFE\ndisallow: /x", "/x", False),
    (
        "User-agent: halflife\nDisallow: /x\n\nUser-agent: halflife\nDisallow: /y",
        "/y",
        0,
    ),
    (
        "User-agent: halflife\nDisallow: /x\n\nUser-agent: halflife\nDisallow: /y",
        "/x",
        0,
    ),
    ("User-agent: *\nDisallow: /fish", "/fish", False),
    ("User-agent: *\nDisallow: /fish", "/fish.html", False),
    ("User-agent: *\nDisallow: /fish", "/fish/salmon", False),
    ("User-agent: *\nDisallow: /fish", "/Fish", True),
    ("User-agent: *\nDisallow: /fish", "/catfish", True),
    ("User-agent: *\nDisallow: /fish*", "/fishheads", False),
    ("User-agent: *\nDisallow: /fish/", "/fish", True),
    ("User-agent: *\nDisallow: /fish/", "/fish/?id=1", False),
    ("User-agent: *\nDisallow: /*.php", "/dir/x.php?y", False),
    ("User-agent: *\nDisallow: /*.php", "/x.PHP", True),
    ("User-agent: *\nDisallow: /*.php$", "/x.php", False),
    ("User-agent: *\nDisallow: /*.php$", "/x.php?y", True),
    ("User-agent: *\nDisallow: /fish*.php", "/fishheads/catfish.php?z", False),
    ("User-agent: *\nAllow: /p\nDisallow: /", "/page", True),
    ("User-agent: *\nAllow: /folder\nDisallow: /folder", "/folder/page", True),
    ("User-agent: *\nAllow: /page\nDisallow: /*.htm", "/page.htm", False),
    ("User-agent: *\nAllow: /page\nDisallow: /*.ph", "/page.php5", True),
    ("User-agent: *\nAllow: /$\nDisallow: /", "/", True),
    ("User-agent: *\nAllow: /$\nDisallow: /", "/page.htm", False),
    ("User-agent: *\nDisallow: /\nAllow: /x/y", "/x/y/z", True),
    ("User-agent: *\nDisallow: /a%20b", "/a%20b", False),
    ("User-agent: *\nDisallow: /\u00fc", "/%C3%BC", False),
    ("User-agent: *\nDisallow: /%C3%BC", "/%C3%BC", False),
    ("User-agent: *\nDisallow: /?q=", "/?q=x", False),
    ("User-agent: *\nDisallow: /x # why", "/x", False),
    ("# nothing\n\n\n", "/x", True),
    ("", "/x", True),
    ("Disallow: /x", "/x", True),
    ("User-agent: *\nSitemap: http://example.org/s\nDisallow: /x", "/x", False),
    ("User-agent: *\nDisalow: /x", "/x", False),
    ("User-agent: *\nNoise\nDisallow: /x", "/x", False),
    ("<html>\nUser-agent of the house: none\n</html>", "/x", True),
    ("User-agent: *\nDisallow: /\n", "/robots.txt", True),
]


def allowed(text: str | bytes, path: str, status: int = 200) -> bool:
    body = text if isinstance(text, bytes) else text.encode()
    known = rules(after_robots(HOST, status, body, 0.0))
    try:
        known.check(URL(f"http://example.org{path}", encoded=True))
    except (Refused, Unreachable):
        return False
    return True


@pytest.mark.parametrize(("text", "path", "expected"), CASES)
def test_rules_are_read_as_the_rfc_says(text, path, expected):
    assert allowed(text, path) == bool(expected)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *((status, False) for status in (200, 204, 429, 500, 503, 599, 0, -1)),
        *((status, True) for status in (300, 403, 404)),
    ],
)
def test_the_status_decides_what_a_missing_robots_txt_means(status, expected):
    assert allowed("User-agent: *\nDisallow: /", "/x", status) is expected


@pytest.mark.parametrize(
    ("line", "delay"),
    [
        ("Crawl-delay: 7", 7.0),
        ("Crawl-delay: 0.5", 0.5),
        ("Crawl-delay: 86400", 60.0),
        ("Crawl-delay: -1", 0.0),
        ("Crawl-delay: nan", 0.0),
        ("Crawl-delay: inf", 0.0),
        ("Crawl-delay: soon", 0.0),
        ("Request-rate: 1/20s", 20.0),
        ("Request-rate: 2/1m", 30.0),
        ("Disallow: /x", 0.0),
    ],
)
def test_a_delay_is_read_and_capped(line, delay):
    text = f"User-agent: *\n{line}\n"
    assert rules(after_robots(HOST, 200, text.encode(), 0.0)).delay == delay


def test_a_host_never_asked_has_no_rules_that_hold():
    assert not rules(HOST).hold(0.0)


def test_rules_of_the_future_do_not_hold():
    later = after_robots(HOST, 200, b"", 100.0)
    assert not rules(later).hold(50.0)
