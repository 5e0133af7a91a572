"""Which URLs and addresses may be asked."""

import socket
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import ConfigError, UsageError
from halflife.net.addresses import (
    Blocked,
    canonical,
    guarded,
    host_of,
    is_public,
    networks,
    parse_url,
    shown,
)

PRIVATE = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:0:7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:a00:1::",
    "3fff::1",
    "fc00::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = [
    "1.1.1.1",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
    "2002:101:101::1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_of_our_own_side_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address):
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_hiding_an_address_inside_another_does_not_make_it_public(inner: IPv4Address):
    number = int(inner)
    for outer in (
        IPv6Address((0xFFFF << 32) + number),  # mapped
        IPv6Address(number),  # compatible
        IPv6Address((0x64FF9B << 96) + number),  # NAT64
        IPv6Address((0x2002 << 112) + (number << 80)),  # 6to4
    ):
        if not is_public(str(inner)):
            assert not is_public(str(outer))


def test_only_allowed_networks_are_exempt():
    make = guarded(networks(["127.0.0.1/32", "fd00::/8"]))
    info = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
    make((*info, ("127.0.0.1", 80))).close()
    with pytest.raises(Blocked):
        make((*info, ("127.0.0.2", 80)))
    with pytest.raises(Blocked):
        make((socket.AF_INET6, socket.SOCK_STREAM, 0, "", ("::1", 80, 0, 0)))


@pytest.mark.parametrize("block", ["127.0.0.1/24", "home", "300.0.0.0/8", ""])
def test_a_block_that_cannot_be_read_is_a_mistake_in_the_settings(block):
    with pytest.raises(ConfigError, match="write an address block like"):
        networks([block])


REFUSED = [
    "http://in:80\\@out/",
    "http://1.1.1.1 &@2.2.2.2# @3.3.3.3/",
    "http://foo@evil.test:80@good.test/",
    "http://me:pw@example.org/",
    "http://127.1.1.1:80:11211/",
    "http://exa mple.org/",
    "http://127%2e0.0.1/",
    "http://[fe80::1%25eth0]/",
    "http://a\x00b/",
    "http://a\nb/",
    "http://a\tb/",
    "http:///path",
    "http:/path",
    "http:path",
    "//example.org/",
    "/path",
    "example.org",
    "",
    "http://",
    "http://?",
    "http://#x",
    "http://.example.org/",
    "http://example..org/",
    "http://" + "a" * 64 + ".org/",
    "http://" + "a." * 130 + "org/",
    "http://example.org:99999/",
    "http://example.org:port/",
    "http://ex<am>ple.org/",
    "http://example.org/" + "x" * 5000,
    "ftp://example.org/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/html,x",
    "gopher://example.org/",
    "http://[::1/",
    "http://[::1]x/",
    "http://[]/",
    "http://[v1.x]/",
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_two_parsers_might_read_differently_is_refused(url):
    with pytest.raises(UsageError) as caught:
        parse_url(url)
    assert str(caught.value).isprintable()
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.org", "http://example.org/"),
        ("HTTP://Example.ORG:80/", "http://example.org/"),
        ("https://example.org:443/x#y", "https://example.org/x"),
        ("https://example.org:8443/x", "https://example.org:8443/x"),
        ("http://example.org/?b=2&a=1", "http://example.org/?b=2&a=1"),
        ("http://example.org/?a=2&a=1", "http://example.org/?a=2&a=1"),
        ("http://example.org/?x=1;y=2", "http://example.org/?x=1;y=2"),
        ("http://example.org/s?wsdl", "http://example.org/s?wsdl"),
        ("http://example.org/s?", "http://example.org/s?"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/%7euser", "http://example.org/%7euser"),
        ("http://example.org/a%2fb", "http://example.org/a%2fb"),
        ("http://b\u00fccher.example/\u00fc", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://example.org/?q=a b", "http://example.org/?q=a%20b"),
        (" http://example.org/ ", "http://example.org/"),
        ("http://[2606:4700::1]/", "http://[2606:4700::1]/"),
    ],
)
def test_a_page_has_one_spelling(url, expected):
    assert canonical(url) == expected


def test_what_cannot_be_fetched_has_none():
    with pytest.raises(UsageError, match="ftp://x/: only http and https can be"):
        canonical("ftp://x/")


segments = st.text(
    st.sampled_from("abcXYZ019._~-%/?&=+ ;,:@!$'()*\u00fc#"), max_size=30
)


@given(st.sampled_from(["a.example", "A.Example:8080", "[2606:4700::1]"]), segments)
def test_the_one_spelling_is_its_own_spelling(host, rest):
    first = canonical(f"http://{host}/{rest}")
    assert canonical(first) == first
    assert str(parse_url(first)) == first  # and what is sent is what is stored


plain = st.from_regex(r"https?://[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]*)*\Z")


@given(plain)
def test_the_short_cut_for_plain_urls_gives_the_same(url):
    try:
        slow = canonical(url + "#")  # a fragment closes the short cut
    except UsageError:
        slow = None
    if slow is not None:
        assert canonical(url) == slow


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/a?token=abc", "https://example.org/a?token=..."),
        ("https://example.org/?a=1&api_key=x#f", "https://example.org/?a=1&api_key=...#f"),
        ("https://example.org/?X-Amz-Signature=x", "https://example.org/?X-Amz-Signature=..."),
        ("https://u:p@example.org/", "https://example.org/"),
        ("https://example.org/?page=2", "https://example.org/?page=2"),
        ("https://example.org/\x1b]0;x\x07", "https://example.org/]0;x"),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_its_secrets(url, expected):
    assert shown(url) == expected


def test_the_host_of_a_page_has_its_port_unless_it_is_the_usual_one():
    assert host_of("http://example.org:80/") == "example.org"
    assert host_of("http://[::1]:81/") == "[::1]:81"
