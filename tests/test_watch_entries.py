"""Addresses that another program watches: each once, and what cannot be kept."""

import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import UsageError
from halflife.watchlists import urlwatch, watch
from halflife.watchlists.watch import WatchedParts, Watchlist, decode, read_bytes

URLS = [f"http://a.example/{n}" for n in range(5)]


@given(st.lists(st.tuples(st.sampled_from(URLS), st.booleans()), max_size=12))
def test_an_address_is_kept_once_with_its_first_rules(entries):
    found = Watchlist()
    for n, (url, feed) in enumerate(entries):
        rules = WatchedParts(only=(f"#x{n}",))
        assert found.add(f" {url} ", feed=feed, rules=rules)
    assert list(found.watches) == list(dict.fromkeys(url for url, _ in entries))
    for url, kept in found.watches.items():
        mine = [(n, feed) for n, (other, feed) in enumerate(entries) if other == url]
        assert kept.url == url
        assert kept.feed == any(feed for _, feed in mine)
        assert kept.rules.only == (f"#x{mine[0][0]}",)


@pytest.mark.parametrize(
    ("url", "what", "why"),
    [
        ("http://a.example/{{ day }}", "http://a.example/{{ day }}", "a template"),
        ("http://a.example/{% x %}", "http://a.example/{% x %}", "a template"),
        ("ftp://a.example/", "ftp://a.example/", "no web address"),
        ("", "an entry", "no web address"),
        (None, "an entry", "no web address"),
        (7, "an entry", "no web address"),
        ("x" * 300, "x" * watch.SHOWN, "no web address"),
    ],
)
def test_what_is_no_address_is_left_out_with_a_reason(url, what, why):
    found = Watchlist()
    assert not found.add(url)
    assert not found.watches
    assert [one[0] for one in found.left_out] == [what]
    assert why in found.left_out[0][1]


def test_a_list_and_its_complaints_have_an_end(monkeypatch):
    monkeypatch.setattr(watch, "MOST", 3)
    found = Watchlist()
    for url in URLS[:3]:
        assert found.add(url)
    with pytest.raises(UsageError, match="more than 3 addresses"):
        found.add(URLS[3])
    with pytest.raises(UsageError):
        found.add(URLS[0])  # whoever lists them does so again and again
    assert list(found.watches) == URLS[:3]
    for n in range(5):
        assert not found.refuse(f"entry {n}", "why")
    assert found.left_out == [(f"entry {n}", "why") for n in range(3)]


def test_rules_that_can_be_followed_are_kept_in_order_and_others_counted():
    found = Watchlist()
    longest = f"#{'a' * (watch.LONGEST - 1)}"
    rules = ["main", " main ", "p[", longest, f"{longest}a", 5, "", "a\nb", "re:^x"]
    assert found.usable(rules) == ("main", longest, "re:^x")
    assert found.ignored == {"filters": 5}
    found.ignore(["filters", "proxy"])
    assert found.ignored == {"filters": 6, "proxy": 1}


def test_a_page_has_no_more_rules_than_settings_may_have():
    rules = [f"#a{n}" for n in range(watch.RULES + 5)]
    assert Watchlist().usable(rules) == tuple(rules[: watch.RULES])


def test_a_file_is_read_whole_or_not_at_all(tmp_path):
    file = tmp_path / "list"
    file.write_bytes(b"12345")
    assert read_bytes(file, 5) == b"12345"
    with pytest.raises(UsageError, match="larger than 4 bytes"):
        read_bytes(file, 4)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_bytes(tmp_path / "none")


@given(st.text(max_size=20).filter(lambda text: not text.startswith("\ufeff")))
def test_text_comes_back_with_or_without_a_mark_in_front(text):
    assert decode(text.encode()) == text
    assert decode(b"\xef\xbb\xbf" + text.encode()) == text


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(UsageError, match="UTF-8"):
        decode(b"\xff\xfe\x00")


def test_what_a_browser_would_do_is_counted_only_where_one_is_asked_for():
    one = b"url: http://a.example/\n---\nurl: http://b.example/\n"
    assert urlwatch.read(one).ignored == {}
    three = one + b"---\nnavigate: http://c.example/\n"
    assert urlwatch.read(three).ignored == {"browsers": 1}
