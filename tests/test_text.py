"""What of a page matters, and that nothing on it can stop us."""

import sys

import pytest
from hypothesis import given, strategies as st
from selectolax.lexbor import LexborHTMLParser

from halflife.core.errors import ConfigError
from halflife.readers.text import (
    check_mode,
    digest,
    fingerprint,
    is_html,
    media_type,
    to_text,
    visible,
)

HTML = "text/html; charset=utf-8"


def of(page: str | bytes, mode="visible", content_type=HTML) -> str:
    body = page.encode() if isinstance(page, str) else page
    return digest(mode, content_type, body, fingerprint(body))


SAME = [
    ("<p>a b", "<p>a\n\n  b</p>"),
    ("<p>a</p>", "<p class=x data-id=7>a</p>"),
    ("<p>a</p>", "<p>a</p><script>tick(123)</script>"),
    ("<p>a</p>", "<p>a</p><style>p { color: red }</style>"),
    ("<p>a</p>", "<p>a</p><!-- served in 12 ms -->"),
    ("<p>a</p>", "<p>a</p><template><b>later</b></template>"),
    ("<p>a</p>", "<form><input name=csrf value=4711></form><p>a</p>"),
    ("<p>a</p>", "<p>a</p><noscript>turn it on</noscript>"),
    ("<p>ab</p>", "<p>a<b>b</b></p>"),
    ("<ul><li>a<li>b</ul>", "<ul>\n <li>a</li>\n <li>b</li>\n</ul>"),
    ("<p>&eacute;", "<p>\u00e9"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_a_reader_does_not_see_makes_no_difference(one, other):
    assert of(one) == of(other)
    assert of(one, "raw") != of(other, "raw")


DIFFERENT = [
    ("<p>a</p>", "<p>b</p>"),
    ("<title>a</title>", "<title>b</title>"),
    ("<nav>a</nav>", "<nav>b</nav>"),
    ("<footer>a</footer>", "<footer>b</footer>"),
    ("<p>10 EUR</p>", "<p>11 EUR</p>"),
    ("<textarea>a</textarea>", "<textarea>b</textarea>"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_a_reader_sees_makes_a_difference(one, other):
    assert of(one) != of(other)


def test_text_is_shown_with_its_title_and_single_spaces():
    page = "<title> The  title </title><h1>Head</h1><p>one<br>two</p><script>x</script>"
    assert visible(page) == "The title Head one two"


def test_what_is_no_web_page_is_compared_byte_by_byte():
    assert of('{"a": 1}', content_type="application/json") == fingerprint(b'{"a": 1}')
    assert of("<p>a", content_type="text/plain") == fingerprint(b"<p>a")


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html", b"", True),
        ("TEXT/HTML ; charset=x", b"", True),
        ("application/xhtml+xml", b"", True),
        ("text/plain", b"<!doctype html>", False),
        ("", b" \n<!DOCTYPE HTML>", True),
        ("", b"<html>", True),
        ("", b"%PDF-1.7", False),
    ],
)
def test_a_web_page_is_known_by_its_type_or_its_looks(content_type, body, expected):
    assert is_html(content_type, body) is expected


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/html; charset=iso-8859-1", b"caf\xe9", "caf\u00e9"),
        ("text/html", b"<meta charset=windows-1252>\x80", "\u20ac"),
        ("text/html", b"\xef\xbb\xbfcaf\xc3\xa9", "caf\u00e9"),
        ("text/html; charset=latin-1", b"\xef\xbb\xbf\xc3\xa9", "\u00e9"),  # BOM wins
        ("text/html; charset=shift_jis", b"\x93\xfa", "\u65e5"),
        ("text/html; charset=no-such-set", b"caf\xc3\xa9", "caf\u00e9"),
        ("text/html; charset=utf-7", b"+ADw-", "+ADw-"),
        ("text/html; charset=utf-8", b"caf\xe9", "caf\ufffd"),
    ],
)
def test_characters_are_read_as_browsers_do(content_type, body, text):
    assert to_text(content_type, body).endswith(text)


def test_the_same_words_in_another_character_set_are_no_change():
    latin = of(
        "<p>caf\u00e9".encode("latin-1"), content_type="text/html;charset=latin1"
    )
    assert latin == of("<p>caf\u00e9")


@given(body=st.binary(max_size=300), content_type=st.text(max_size=40))
def test_no_bytes_and_no_type_can_stop_us(body, content_type):
    assert len(of(body, content_type=content_type)) == 32
    assert len(of(body, content_type="text/html;" + content_type)) == 32


KNOTS = [
    "<p>a\0b\0</p>",
    "<ul><li>" * 100_000,
    "</" * 100_000,
    "<p " + " ".join(f"a{i}" for i in range(200_000)) + ">",
    "<p " + "".join(f'a{i}=">"' for i in range(100_000)) + ">",
    '<p a="' * 100_000,
    "<p a='\"" * 100_000,
    "&" * 300_000,
    "&#x41" * 100_000,
    "<!--" * 100_000,
    "<!-- -" * 100_000,
    "<script>" * 100_000,
    "<script></scrip" * 100_000,
    "<template>" * 100_000 + "</template>" * 100_000,
    "".join(f"<b id={i}>" for i in range(20_000)) + "<p>x" * 20_000,
    "\ud800".encode("utf-8", "surrogatepass"),
]


@pytest.mark.parametrize("page", KNOTS, ids=lambda page: repr(page[:9]))
def test_no_page_can_stop_us(page):
    assert len(of(page)) == 32


names = st.sampled_from(["p", "div", "B", "span", "h1", "article", "x-y"])
values = st.sampled_from(["1", "a b", "x>y", "<b>", "it's", "", "a=b", "/"])
words = st.text(st.sampled_from("abz \n.,:;=\"'/-\u00e9\u65e5"), max_size=12)


@st.composite
def documents(draw, depth=3) -> str:
    """Return a well-formed piece of HTML with things in odd places."""
    parts = []
    for kind in draw(st.lists(st.sampled_from("tagecs"), max_size=5)):
        if kind == "t" or depth == 0:
            parts.append(draw(words))
        elif kind == "e":
            parts.append(draw(st.sampled_from(["&amp;", "&eacute;", "&#x41;", "&lt;"])))
        elif kind == "c":
            parts.append(f"<!-- {draw(values)} -->")
        elif kind == "s":
            parts.append(f"<script>if (a<b) {draw(values)!r};</SCRIPT >")
        else:
            name, value = draw(names), draw(values)
            inner = draw(documents(depth=depth - 1))
            parts.append(f'<{name} k="{value}" j>{inner}</{name}>')
    return "".join(parts)


@given(documents())
def test_the_text_is_the_one_that_a_whole_parser_finds(page):
    tree = LexborHTMLParser(f"<!doctype html><body>{page}")
    tree.strip_tags(["script"], recursive=True)
    expected = "".join(tree.body.text_lexbor().split())
    assert "".join(visible(page).split()) == expected


def test_the_media_type_is_what_stands_before_the_semicolon():
    assert media_type(" Text/HTML;charset=x") == "text/html"
    assert media_type("") == media_type("html") == media_type("\x1b[2J/x") == ""


def test_a_way_to_read_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "trafilatura", None)  # as if it were not there
    with pytest.raises(ConfigError, match=r"install halflife\[extract\]"):
        check_mode("main")


def test_the_main_content_leaves_menus_out():
    pytest.importorskip("trafilatura")
    story = "<p>" + "A long sentence about something that matters a lot. " * 20
    page = "<html><body><nav>{}</nav><article>{}</article></body></html>"
    one, two = page.format("menu 1", story), page.format("menu 2", story)
    assert of(one, "main") == of(two, "main")
    assert of(one, "main") != of(page.format("menu 1", story + "<p>New."), "main")
