"""RFC 9309, case by case."""

from itertools import product

import pytest
from hypothesis import given, strategies as st
from yarl import URL

from halflife.core.errors import Refused, Unreachable
from halflife.core.host import HostState
from halflife.net.robots import after_robots, rules
from halflife.net.robots_rules import MOST_WILD, normal, read_group

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


# Groups. Section 2.2: a group is its User-agent lines and the rules after them; other
# lines "MUST NOT interfere with the parsing of explicitly defined records" (2.2.4).

OTHER_LINES = [
    "Crawl-delay: 5",
    "Request-rate: 1/5",
    "Sitemap: http://example.org/sitemap.xml",
    "Host: example.org",
    "Noindex: /x",
    "Clean-param: ref /x",
    "a line of no kind",
    "Unknown: value",
    "Unknown:",
    "",
    "# User-agent: nobody",
]
INTERRUPTED = [
    ("User-agent: a", "{}", "User-agent: *", "Disallow: /x"),
    ("User-agent: halflife", "{}", "User-agent: *", "Disallow: /x"),
    ("User-agent: *", "{}", "User-agent: halflife", "Disallow: /x"),
    ("User-agent: halflife", "{}", "Disallow: /x"),
    ("User-agent: halflife", "Disallow: /y", "{}", "Disallow: /x"),
    ("User-agent: halflife", "User-agent: b", "{}", "User-agent: *", "Disallow: /x"),
]


@pytest.mark.parametrize(("line", "lines"), [*product(OTHER_LINES, INTERRUPTED)])
def test_a_line_that_is_no_rule_does_not_end_a_group(line, lines):
    text = "\n".join(lines).format(line)
    assert not allowed(text, "/x")
    assert allowed(text, "/z")


@pytest.mark.parametrize("line", OTHER_LINES)
def test_a_rule_ends_the_list_of_agents(line):
    text = f"User-agent: halflife\nAllow: /a\n{line}\nUser-agent: *\nDisallow: /"
    assert allowed(text, "/x")


agents = st.sampled_from(["User-agent: *", "User-agent: halflife", "User-agent: other"])
entries = st.sampled_from(
    ["Disallow: /x", "Allow: /x/y", "Disallow: /x/y/z", "Allow: /", "Disallow:"]
)
files = st.lists(st.one_of(agents, entries), max_size=12)


@given(files, st.data())
def test_no_verdict_depends_on_lines_that_are_no_rules(lines, data):
    more = list(lines)
    for _ in range(3):
        where = data.draw(st.integers(0, len(more)))
        more.insert(where, data.draw(st.sampled_from(OTHER_LINES)))
    for path in ("/", "/x", "/x/y", "/x/y/z"):
        assert allowed("\n".join(more), path) == allowed("\n".join(lines), path)


def test_a_delay_counts_for_all_agents_of_its_group():
    for first, second in (("*", "halflife"), ("halflife", "*")):
        text = f"User-agent: {first}\nCrawl-delay: 7\nUser-agent: {second}\nAllow: /"
        assert rules(after_robots(HOST, 200, text.encode(), 0.0)).delay == 7.0


def test_a_delay_of_another_group_does_not_count():
    text = "User-agent: a\nCrawl-delay: 7\nDisallow: /\n\nUser-agent: *\nAllow: /"
    assert rules(after_robots(HOST, 200, text.encode(), 0.0)).delay == 0.0


# Section 2.2.2, the table of percent-encoding, and 2.2.3, special characters.
@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar/\u30c4", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
        ("/path/foo-%24", "/path/foo-$"),
        ("/search?q=", "/search?q=x&a=1"),
        ("/search?q=", "/%73earch?%71=x"),
        ("/*&sort=", "/list?page=2&sort=up"),
        ("/*/private", "/a?r=/private"),
        ("/a;b", "/a%3Bb"),
        ("/a$b", "/a$b"),
    ],
)
def test_no_escape_leads_around_a_rule(rule, path):
    assert not allowed(f"User-agent: *\nDisallow: {rule}", path)


@pytest.mark.parametrize(
    ("rule", "path"),
    [("/a/b", "/a%2Fb"), ("/a?b", "/a%3Fb"), ("/?a=b&c", "/?a=b%26c"), ("/a*$", "/b")],
)
def test_an_escape_of_what_parts_a_url_is_another_page(rule, path):
    assert allowed(f"User-agent: *\nDisallow: {rule}", path)


@given(st.text(st.sampled_from("abAB09%?/&=+;:*$ \u00fc"), max_size=20))
def test_the_normal_form_is_its_own_normal_form(text):
    once = normal("/" + text)
    assert normal(once) == once


def test_too_many_wildcards_forbid_more_and_never_less():
    lines = [f"Disallow: /private/*x{n:05}*y" for n in range(MOST_WILD + 10)]
    lines += ["Allow: /*z", "Disallow: /a*$"]
    group = read_group("\n".join(["User-agent: *", *lines]), "halflife")
    assert not group.allows("/private/x00000y")
    assert not group.allows("/private/anything")
    assert not group.allows("/a")
    assert group.allows("/public")
