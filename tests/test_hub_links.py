"""Which hub a page names: in its header, or in its head."""

import pytest

from halflife.readers.hub_links import HubLinks, find_hub

URL = "https://a.example/feed"
HUB = "https://hub.example/"


@pytest.mark.parametrize(
    "body",
    [
        f'<feed><link rel="self" href="{URL}"/><link rel="hub" href="{HUB}"/></feed>',
        f'<rss><a:link href="{HUB}" rel="hub"/><a:link rel="self" href="{URL}"/></rss>',
        f"<html><head><LINK REL=hub HREF={HUB}><link rel='self' href='/feed'></head>",
        f'<head><link rel="alternate hub" href="https://hub&#46;example/"></head>{URL}',
    ],
)
def test_links_are_found_in_feeds_and_heads(body):
    assert find_hub(URL, {}, body.encode()) == HubLinks(HUB, URL)


def test_the_header_comes_before_the_text():
    link = f'<https://b.example/x>; title="a, b"; rel="self", <{HUB}>; rel=hub'
    body = b'<link rel="hub" href="https://other.example/">'
    found = find_hub(URL, {"Link": link}, body)
    assert found == HubLinks(HUB, "https://b.example/x")


@pytest.mark.parametrize(
    "body",
    [
        f'<html><body><link rel="hub" href="{HUB}"></body>',
        f'<feed><entry><link rel="hub" href="{HUB}"/></entry></feed>',
        f'<head><!-- <link rel="hub" href="{HUB}"> --></head>',
        '<head><link rel="hub" href="javascript:alert(1)"></head>',
        f'<head><link rel="hub" href="{HUB}{"x" * 3000}"></head>',
        "hub",
        "<link " * 9000 + " hub",
        "<!-- hub " * 7000,
    ],
)
def test_what_readers_wrote_and_what_is_no_address_names_no_hub(body):
    assert find_hub(URL, {}, body.encode()) is None


def test_an_address_stays_as_it_is_written():
    body = b'<link rel="hub" href="//hub.example"><link rel="self" href="HTTPS://A.b">'
    assert find_hub(URL, {}, body) == HubLinks("https://hub.example/", "HTTPS://A.b")
