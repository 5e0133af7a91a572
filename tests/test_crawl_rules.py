"""Rules of a crawl: patterns that exclude, parameters that do not count, languages."""

import pytest
from hypothesis import given, settings, strategies as st

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.kinds.pages.crawl_rules import CrawlRules
from halflife.kinds.pages.links import read_links
from site_parts import html, running, settings as settings_of, sync

URL = "http://a.example/"


@pytest.mark.parametrize(
    ("rules", "url", "key"),
    [
        (CrawlRules(drop=("sort",)), f"{URL}?sort=up&id=3", f"{URL}?id=3"),
        (CrawlRules(drop=("s*",)), f"{URL}?sort=up&size=3", URL),
        (CrawlRules(keep=("id",)), f"{URL}?sort=up&id=3&x", f"{URL}?id=3"),
        (CrawlRules(keep=("i*",), drop=("in",)), f"{URL}?in=1&id=3", f"{URL}?id=3"),
        (CrawlRules(drop=("a b",)), f"{URL}?a+b=1&c=2", f"{URL}?c=2"),
        (CrawlRules(), f"{URL}?sort=up&id=3", f"{URL}?sort=up&id=3"),
        (CrawlRules(drop=("id",)), URL, URL),
    ],
)
def test_parameters_that_say_nothing_are_no_part_of_a_key(rules, url, key):
    assert rules.key(url) == key


@given(
    st.lists(st.sampled_from(["a=1", "b=2", "ab=3", "c"]), max_size=6),
    st.lists(st.sampled_from(["a", "b*", "*"]), max_size=2),
    st.lists(st.sampled_from(["a*", "c"]), max_size=2),
)
@settings(max_examples=60, deadline=None)
def test_a_key_is_its_own_key(pairs, drop, keep):
    rules = CrawlRules(drop=tuple(drop), keep=tuple(keep))
    key = rules.key(f"{URL}?{'&'.join(pairs)}")
    assert rules.key(key) == key


PAGE = """<link rel=canonical href="/home">
<link rel="alternate" hreflang="de-AT" href="/de">
<link rel=alternate hreflang=fr href=/fr><link rel=alternate hreflang=x-default href=/d>
<link rel=alternate type="application/rss+xml" href=/feed>
<a href=/fr>french</a>
<a href=/x?sort=1>x</a><a href=/print/1>p</a><a href=/x?sort=2>x</a>"""


def test_versions_in_other_languages_are_known_by_their_tags():
    found = read_links(PAGE, URL)
    assert dict(found.languages) == {
        f"{URL}de": "de-at",
        f"{URL}fr": "fr",
        f"{URL}d": "x-default",
    }
    assert f"{URL}feed" not in found.to


def test_only_wanted_languages_are_followed_and_patterns_exclude():
    rules = CrawlRules(exclude=("*/print/*",), drop=("sort",), languages=("de",))
    assert list(rules.links(read_links(PAGE, URL))) == [
        f"{URL}x",
        f"{URL}de",
        f"{URL}d",
    ]
    assert f"{URL}fr" in CrawlRules().links(read_links(PAGE, URL))


def town():
    return {
        "/": html("home", "/a", "/print/a", "/list?sort=up", "/list?sort=down&p=2"),
        "/a": html("a", head='<link rel="canonical" href="/">'),
        "/print/a": html("print"),
        "/list": html("list"),
        "/list?p=2": html("list 2"),
        "/robots.txt": "",
    }


def test_a_crawl_fetches_neither_what_is_excluded_nor_a_page_twice(tmp_path):
    more = 'exclude = ["*/print/*"]\ndrop_query = ["sort"]\nnoise = 0.0'
    with running(town()) as site:
        config = settings_of(site, tmp_path, more)
        outcome = sync(config)
        asked = sorted(set(site.asked) - {"/robots.txt"})
    assert asked == ["/", "/a", "/list", "/list?p=2"]
    assert outcome.total("failed") == 0


def test_what_a_map_names_and_a_pattern_excludes_does_not_become_known(tmp_path):
    pages = {"/robots.txt": "", "/ok": html("ok"), "/print/x": html("x")}
    with running(pages) as site:
        pages["/map.xml"] = (
            '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/'
            f'sitemap/0.9"><url><loc>{site.url}/ok</loc></url>'
            f"<url><loc>{site.url}/print/x</loc></url></urlset>"
        )
        text = (
            "[fetch]\ndelay = 0.0\n[[source]]\nname = 'm'\nallow = ['127.0.0.0/8']\n"
            f"maps = ['{site.url}/map.xml']\nexclude = ['*/print/*']\n"
        )
        path = tmp_path / "halflife.toml"
        path.write_text(text)
        sync(Config.parse(text, path))
        asked = set(site.asked)
    assert "/ok" in asked
    assert "/print/x" not in asked


def test_rules_of_a_crawl_need_a_start(tmp_path):
    text = "[[source]]\nname='a'\npages=['http://a.example/']\ndrop_query=['x']\n"
    with pytest.raises(ConfigError, match="drop_query has no meaning"):
        Config.parse(text, tmp_path / "halflife.toml")
