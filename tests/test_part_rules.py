"""Rules for the parts of a page that count: CSS, XPath, regular expressions."""

import time

import pytest
from hypothesis import given, settings, strategies as st

from halflife.config import Config
from halflife.core.errors import ConfigError, SourceError
from halflife.core.observation import Content
from halflife.kinds.pages import page_sources
from halflife.readers.page_text import PageReading
from halflife.readers.part_rules import LONGEST, PartRules
from halflife.readers.text import digest, fingerprint
from halflife.readers.text_blocks import Block, joined, read_blocks

PAGE = """<html><title>T</title><body><nav>menu</nav>
<div id=main><h1>Price list</h1><p class=ad>Buy hats<p>Tea costs 3 EUR</p>
<p>Updated 12:01</p></div><div class=more><p>other words</p></div></body></html>"""


def text_of(page, only=(), ignore=(), kind="text/html"):
    reading = PageReading("visible", PartRules.of(tuple(only), tuple(ignore)))
    return joined(reading.blocks(Content(kind, page.encode())))


def digest_of(page, only=(), ignore=(), mode="visible", kind="text/html"):
    reading = PageReading(mode, PartRules.of(tuple(only), tuple(ignore)))
    return reading.digest(Content(kind, page.encode()), "raw")


@pytest.mark.parametrize(
    ("only", "ignore", "expected"),
    [
        (["#main"], [], "Price list\nBuy hats\nTea costs 3 EUR\nUpdated 12:01"),
        (["#main"], [".ad"], "Price list\nTea costs 3 EUR\nUpdated 12:01"),
        (["xpath://div[@id='main']/h1"], [], "Price list"),
        ([".more", "xpath://h1"], [], "Price list\nother words"),  # in page order
        (["#main", "#main p"], [".ad"], "Price list\nTea costs 3 EUR\nUpdated 12:01"),
        (["#main"], [".ad", "re:^Updated .*"], "Price list\nTea costs 3 EUR"),
        (["re:[0-9]+ EUR"], [], "3 EUR"),
        ([], ["xpath://div", "nav"], "T"),
        (["#nothing"], [], ""),
        (["xpath:count(//p)"], [], ""),  # a number is no part of a page
    ],
)
def test_rules_leave_the_parts_that_count(only, ignore, expected):
    assert text_of(PAGE, only, ignore) == expected


def test_what_is_ignored_makes_no_difference_and_the_rest_does():
    before = digest_of(PAGE, ["#main"], [".ad"])
    assert digest_of(PAGE.replace("hats", "shoes"), ["#main"], [".ad"]) == before
    assert digest_of(PAGE.replace("other", "more"), ["#main"], [".ad"]) == before
    assert digest_of(PAGE.replace("3 EUR", "4 EUR"), ["#main"], [".ad"]) != before


def test_expressions_apply_to_plain_text_and_json_line_by_line():
    page = "a: 1\nb: 2\n"
    assert text_of(page, [], ["re:^b.*"], kind="text/plain") == "a: 1"
    one = digest_of(page, [], ["re:^b.*"], kind="application/json")
    other = digest_of("a: 1\nb: 3\n", [], ["re:^b.*"], kind="application/json")
    assert one == other
    assert digest_of(page, kind="text/plain") == "raw"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("p[", "is no CSS selector"),
        ("xpath://[", "is no XPath"),
        ("re:(", "is no regular expression"),
        ("re:", "characters"),
        ("x" * (LONGEST + 1), "characters"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused_with_its_source(
    rule, words, tmp_path
):
    text = f"[[source]]\nname = 'a'\npages = ['http://a.example/']\nonly = [{rule!r}]\n"
    config = Config.parse(text, tmp_path / "halflife.toml")
    with pytest.raises(ConfigError, match=words) as error:
        page_sources.site(config.source[0])
    assert "source a" in str(error.value)


def test_rules_and_every_byte_exclude_each_other(tmp_path):
    text = (
        "[[source]]\nname = 'a'\npages = ['http://a.example/']\n"
        "text = 'raw'\nignore = ['nav']\n"
    )
    with pytest.raises(ConfigError, match="no meaning"):
        Config.parse(text, tmp_path / "halflife.toml")


@pytest.mark.parametrize(
    ("ignore", "page"),
    [
        ("re:(a+)+$", "<p>" + "a" * 60 + "b"),
        ("xpath://*[count(//*[count(//*)>0])>0]", "<p>x" * 3000),
    ],
)
def test_an_expression_that_takes_for_ever_fails_for_that_page_alone(ignore, page):
    rules = PartRules.of((), (ignore,))
    began = time.monotonic()
    with pytest.raises(SourceError, match="takes more than"):
        PageReading("visible", rules).blocks(Content("text/html", page.encode()))
    assert time.monotonic() - began < 30
    assert text_of("<p>b", [], [ignore]) in {"b", ""}


def test_elements_within_one_another_are_cut_out_together():
    page = "<p>k</p>" + "<div>a<div>b<div>c</div></div></div><i>x</i>" * 300
    assert text_of(page, [], ["div", "div div"]) == "k\n" + "x" * 300
    assert text_of(page, [], ["xpath://div"]) == "k\n" + "x" * 300


def test_rules_have_the_same_name_until_they_change():
    one = PartRules.of(("#main",), ("nav",))
    assert one.fingerprint == PartRules.of(("#main",), ("nav",)).fingerprint
    assert one.fingerprint != PartRules.of(("nav",), ("#main",)).fingerprint
    assert PartRules.of().fingerprint == ""


def test_a_page_cannot_mark_itself_as_wanted():
    page = "<p data-0000000000000000='1'>me<div id=a>x</div>"
    assert text_of(page, ["#a"]) == "x"


MARKUP = st.lists(
    st.sampled_from(
        ["<p>", "</p>", "<div class=a>", "</div>", "<b>", "</b>", "<li>", "<br>", "a",
         "b ", " ", "&amp;", "<!-- x -->", "<script>q</script>", "<td>", "<", "</x>"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(MARKUP)
@settings(max_examples=150, deadline=None)
def test_blocks_are_all_of_the_visible_text(page):
    text = joined(read_blocks(page)).encode().translate(None, b" \t\n\r\f\v")
    assert fingerprint(text) == digest("visible", "text/html", page.encode(), "")


def test_words_that_are_only_dressed_stay_together():
    page = "<div id=x1><p>one <b>tw</b>o<p>three</div><ul><li>a<li>b</ul>tail"
    assert read_blocks(page) == [
        Block("div#x0/p", "one two"),
        Block("div#x0/p", "three"),
        Block("ul/li", "a"),
        Block("ul/li", "b"),
        Block("", "tail"),
    ]
