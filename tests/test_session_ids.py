"""Session ids must look like one: no two resources may share a key."""

import random
import string

import pytest
from hypothesis import given, strategies as st

from halflife.kinds.pages.links import read_links, spelled
from halflife.kinds.pages.session_ids import looks_random, without_session
from halflife.net.addresses import canonical

HOME = "http://example.org/"
PAGES = [
    "?s=internationalization",
    "?s=abcdefghijklmnopqrstuvwxyz",
    "?s=how-to-file-form-1040-in-2024",
    "?s=iso9001certification2015guide",
    "?session=keynote2024openingceremony",
    "?sessionid=12",
    "?session_id=spring2024orientation",
    "?sid=20240131123456789",
    "?sid=",
    "?phpsessid",
    "?cfid=about",
    "?utm_source",
    "?a=utm_source=x",
    "?ga=1",
    "?x=PHPSESSID=1",
    "a;sid=chapter",
    "a;v=1.2/b",
]
SESSIONS = [
    ("?sid=9f86d081884c7d659a2f", ""),
    ("?a=2&SID=9f86d081884c7d659a2feaa0c55ad015&b=1", "?a=2&b=1"),
    ("?s=k3jq8v0m5p2t7r1n4h6g9d8c2b", ""),
    ("?sessionid=Ab3dE9fGh1JkLm5NoPq7RsTu", ""),
    ("?PHPSESSID=1&b=2&a=1", "?b=2&a=1"),
    ("a;jsessionid=0A1B2C.node1?b=2", "a?b=2"),
    ("?CFID=1234567&CFTOKEN=98765432", ""),
    ("?utm_source=x&utm_medium=y&q=%20a;b", "?q=%20a;b"),
    ("?gclid=x&fbclid=y", ""),
]


@pytest.mark.parametrize("path", PAGES)
def test_what_does_not_look_like_a_session_id_stays(path):
    assert spelled(HOME + path) == canonical(HOME + path)


@pytest.mark.parametrize(("path", "key"), SESSIONS)
def test_a_session_id_is_no_part_of_a_key(path, key):
    assert spelled(HOME + path) == HOME + key


@pytest.mark.parametrize(("path", "key"), SESSIONS)
def test_a_link_keeps_the_url_that_is_sent(path, key):
    found = read_links(f'<a href="{path}">x</a>', HOME)
    assert found.to == (HOME + key,)
    assert found.urls == {HOME + key: HOME + path}


@pytest.mark.parametrize(
    ("letters", "length"),
    [
        (string.digits + string.ascii_lowercase[:22], 26),  # PHP, 5 bits a character
        (string.digits + string.ascii_letters, 32),
        (string.hexdigits[:16], 32),
        (string.hexdigits[:16], 16),
    ],
)
def test_random_tokens_are_recognised(letters, length):
    rng = random.Random(0)
    made = ["".join(rng.choices(letters, k=length)) for _ in range(1000)]
    assert sum(map(looks_random, made)) > 950


words = st.text(string.ascii_letters + "-_.", max_size=40)
pairs = st.lists(st.tuples(st.sampled_from(["s", "sid", "q", "id", "session"]), words))


@given(pairs, pairs)
def test_two_queries_of_words_never_share_a_key(one, other):
    first, second = (
        canonical(HOME + "?" + "&".join(f"{n}={v}" for n, v in p)) for p in (one, other)
    )
    assert (spelled(first) == spelled(second)) == (first == second)


@given(st.text("ab=&;?%/sid0129f", max_size=60))
def test_nothing_but_whole_parameters_is_left_out(rest):
    url = canonical(HOME + "?" + rest)
    key = without_session(url)
    assert without_session(key) == key
    given_, kept = url.partition("?")[2].split("&"), key.partition("?")[2].split("&")
    at = iter(given_)
    assert all(pair in at for pair in kept if pair)  # in their order
