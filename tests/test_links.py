"""Links of pages: what is found, how it is spelled, and which belong to a site."""

from fnmatch import fnmatchcase

import can_ada
import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.links import FAR, Links
from halflife.kinds.pages.links import (
    LONGEST,
    MOST,
    Scope,
    is_endless,
    matches,
    read_links,
    shape,
    spelled,
)

HOME = "http://example.org/a/b.html"


def to(page, url=HOME):
    return [x.removeprefix("http://example.org") for x in read_links(page, url).to]


# Finding links


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('<a href="c">', ["/a/c"]),
        ("<A HREF='/c'>", ["/c"]),
        ("<a class=x href=../c>", ["/c"]),
        ('<a\nhref = "c"\n>', ["/a/c"]),
        ('<a href="/c?x=1&amp;y=2">', ["/c?x=1&y=2"]),
        ('<a href=" /c\n ">', ["/c"]),
        ('<a href="#top">', ["/a/b.html"]),
        ('<a href="/c#d"><a href="/c">', ["/c"]),
        ('<area href="/c"><frame src="/d"><iframe src="/e"></iframe>', "/c /d /e"),
        ('<link rel="next" href="/c"><link rel=stylesheet href="/d">', ["/c"]),
        ('<a data-href="/no" href="/yes">', ["/yes"]),
        ('<a title="href=/no" href="/yes">', ["/yes"]),
        ('<a href="/one" href="/two">', ["/one"]),
        ('<abbr href="/no"><a-b href="/no"><b href="/no">', []),
        ('<!-- <a href="/no"> --><script>"<a href=/no>"</script>', []),
        ('<template><a href="/no"></template><title><a href="/no"></title>', []),
        ('<noscript><a href="/c"></a></noscript>', ["/c"]),
        ('<a name="x">', []),
        ('<a href="">', []),
        ('<a href="/c', []),
    ],
)
def test_links_are_found_as_a_browser_finds_them(page, found):
    assert to(page) == (found.split() if isinstance(found, str) else found)


@pytest.mark.parametrize(
    "link",
    [
        "mailto:me@example.org",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://example.org/x",
        "http://user:password@example.org/",
        "http://exa\\mple.org/",
        "http://[v1.x]/",
        "http:///x",
        "/picture.JPG",
        "/archive.tar.gz",
        "/" + "x" * LONGEST,
        "http://example.org:99999/",
    ],
)
def test_what_is_no_page_is_not_a_link(link):
    assert to(f'<a href="{link}">') == []


def test_a_base_counts_for_all_links_and_only_the_first_one():
    page = '<base href="/x/"><base href="/y/"><a href="c">'
    assert to(page) == ["/x/c"]
    assert to('<base target="_blank"><base href="/x/"><a href="c">') == ["/x/c"]
    assert to('<base href="http://[bad/"><a href="c">') == ["/a/c"]


@pytest.mark.parametrize("rel", ["nofollow", "external NoFollow", "nofollow me"])
def test_a_link_that_is_not_to_be_followed_is_left_out(rel):
    assert to(f'<a rel="{rel}" href="/no"><a rel="me" href="/yes">') == ["/yes"]


@pytest.mark.parametrize("wish", ["nofollow", "NOINDEX, NOFOLLOW", "none"])
def test_a_page_may_ask_that_none_of_its_links_be_followed(wish):
    page = f'<a href="/c"><meta content="{wish}" name="Robots"><a href="/d">'
    assert to(page) == []


@pytest.mark.parametrize(
    "meta", ['name="robots" content="noindex"', 'name="keywords" content="none"']
)
def test_other_wishes_leave_links_alone(meta):
    assert to(f'<meta {meta}><a href="/c">') == ["/c"]


def test_the_canonical_address_is_told_apart_from_links():
    page = '<link rel="canonical" href="/c?utm_source=x"><a href="/d">'
    found = read_links(page, HOME)
    assert found.canonical == "http://example.org/c"
    assert found.to == ("http://example.org/d",)


def test_a_page_has_so_many_links_at_most():
    page = "".join(f'<a href="/{i}">' for i in range(3 * MOST))
    assert len(read_links(page, HOME).to) == MOST


hostile = [
    "<a " * 300_000,
    '<a href="' * 200_000,
    "<a href='\"" * 200_000,
    "<a x=" * 300_000,
    "<!--" * 300_000,
    "<script" * 200_000,
    "<a " + "a" * 2_000_000,
    "<a " + "a= " * 600_000 + ">",
    "<a " + 'x="y" ' * 300_000 + "href=/z>",
    "<" * 1_000_000,
    "<div>" * 200_000 + '<a href="/x">',
    "<a href=/" + "a/" * 500_000 + ">",
    '<a href="/?' + "&" * 1_900 + '">' * 500,
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("page", hostile, ids=range(len(hostile)))
def test_a_hostile_page_is_read_in_one_pass(page):
    assert len(read_links(page, HOME).to) <= MOST  # a square would take hours


@given(
    st.text("/ab.x:?#=~-;%", max_size=12),
    st.sampled_from(["", "/c/d.html", "/c/", "/c//d", "/c?x=/y/", "/%C3%A9/x"]),
)
def test_the_short_way_leads_where_the_long_way_leads(link, path):
    base = "http://example.org:8080" + path
    found = read_links(f'<a href="{link}">', base).to
    try:
        far = spelled((can_ada.parse(base) + link).href) if link else ""
    except ValueError:
        far = ""
    assert found in {(), (far,)}
    assert found or not far or "x" in link or ":" in link or link.startswith("//")


@given(st.text(st.sampled_from("<a href='\"=>/!-b x&;:#?.%\\\n"), max_size=200))
def test_any_text_can_be_read(page):
    for link in read_links(page, HOME).to:
        assert link.startswith("http")
        assert "#" not in link
        assert spelled(link) == link


# One spelling


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("HTTP://Example.org:80/a/../b#c", "http://example.org/b"),
        ("http://example.org/?b=2&a=1", "http://example.org/?b=2&a=1"),
        ("http://example.org/a?PHPSESSID=1&b=2", "http://example.org/a?b=2"),
        ("http://example.org/a;jsessionid=AB12?b=2", "http://example.org/a?b=2"),
        ("http://example.org/a?sid=0123456789abcdef01", "http://example.org/a"),
        ("http://example.org/a?sid=17", "http://example.org/a?sid=17"),
        ("http://example.org/a?s=word", "http://example.org/a?s=word"),
        ("http://example.org/a?utm_medium=x&gclid=y", "http://example.org/a"),
        ("http://example.org/a?b=%C3%A9&c", "http://example.org/a?b=%C3%A9&c"),
        ("gopher://example.org/", ""),
        ("http://example.org/" + "x" * LONGEST, ""),
    ],
)
def test_an_address_has_one_spelling(url, key):
    assert spelled(url) == key
    assert not key or spelled(key) == key


# Traps


@pytest.mark.parametrize(
    ("path", "endless"),
    [
        ("/a/b/a/b/", True),
        ("/x/a/b/c/a/b/c", True),
        ("/a/a/a", True),
        ("/a/a", False),
        ("/a/b/c/a/b", False),
        ("/2024/05/05/x", False),
        ("/" + "/".join(map(str, range(30))), True),
    ],
)
def test_paths_that_repeat_themselves_have_no_end(path, endless):
    assert is_endless("http://example.org" + path) is endless


def test_variants_have_one_shape():
    calendar = {shape(f"http://e.org/c?month={i}&year=2") for i in range(9)}
    days = {shape(f"http://e.org/c/2024/{i:02d}/{i + 1:02d}") for i in range(9)}
    dashes = {shape(f"http://e.org/c/2024-0{i}") for i in range(1, 9)}
    assert calendar == {"http://e.org/c?month&year"}
    assert days == {"http://e.org/c/0/0/0"}
    assert dashes == {"http://e.org/c/0-0"}
    assert shape("http://e.org/article/17") == ""


# Scope


def test_a_site_is_its_host_unless_told_otherwise():
    scope = Scope.of("http://Example.org/docs/start.html")
    assert "http://example.org/" in scope
    assert "https://example.org/x" in scope
    assert "http://www.example.org/docs/" not in scope
    assert "http://example.org.evil.net/" not in scope
    assert "http://example.org:8080/" not in scope


def test_a_site_may_be_a_folder():
    scope = Scope.of("http://example.org/docs/start.html", "folder")
    assert "http://example.org/docs/" in scope
    assert "http://example.org/docs/x/y" in scope
    assert "http://example.org/docsx" not in scope
    assert "http://example.org/" not in scope


def test_a_site_may_be_given_by_patterns():
    scope = Scope.of(
        "http://example.org/", ("http://*.example.org/*/doc", "http://b.org/x*")
    )
    assert "http://example.org/" in scope
    assert "http://a.example.org/x/y/doc" in scope
    assert "http://b.org/x" in scope
    assert "http://example.org/other" not in scope
    assert "http://a.example.org/doc" not in scope


@given(st.text("ab*", max_size=6), st.text("ab", max_size=8))
def test_patterns_mean_what_shells_mean(pattern, text):
    assert matches(pattern, text) == fnmatchcase(text, pattern)


def test_a_pattern_of_many_stars_takes_one_pass():
    assert not matches("a*" * 500 + "c", "a" * 100_000 + "b")


# The graph


def test_links_are_ragged_columns():
    links = Links.of({"a": ["c", "b", "c"], "b": [], "c": ["a"]})
    assert links.start.tolist() == [0, 2, 2, 3]
    assert links.to.tolist() == [1, 2, 0]
    assert links.page.tolist() == [0, 0, 2]
    assert [links.out(i).tolist() for i in range(3)] == [[1, 2], [], [0]]


def test_depth_is_the_shortest_way_and_a_redirect_is_no_step():
    links = Links.of({"a": ["b", "d"], "b": ["c"], "c": ["a"], "d": [], "e": ["a"]})
    assert links.depth([0]).tolist() == [0, 1, 2, 1, FAR]
    moved = Links(links.keys, links.start, links.to, np.array([-1, 4, -1, -1, -1]), ())
    assert moved.depth([0]).tolist() == [0, 1, 2, 1, 1]


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6)),
        max_size=20,
    )
)
def test_depth_agrees_with_walking(pairs):
    out = {str(i): [str(b) for a, b in pairs if a == i] for i in range(7)}
    depth = Links.of(out).depth([0])
    far, reached = {0: 0}, [0]
    for row in reached:
        for end in sorted({b for a, b in pairs if a == row}):
            if end not in far:
                far[end] = far[row] + 1
                reached.append(end)
    assert depth.tolist() == [far.get(i, FAR) for i in range(7)]


def test_no_links_at_all_are_a_graph_too():
    links = Links.of({})
    assert len(links) == 0
    assert links.depth([]).size == 0
