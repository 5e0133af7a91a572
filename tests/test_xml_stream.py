"""XML: strict first, mended if need be, never a guess, never without a limit."""

import pytest
from hypothesis import given, strategies as st
from lxml import etree

from halflife.core.errors import SourceError
from halflife.kinds.search.answers import AnswerReader
from halflife.kinds.search.description import read_description
from halflife.readers import xml_stream
from halflife.readers.maps import read_map
from halflife.readers.xml_repair import repair
from hostile_readers import measure

HOME = "https://example.org/map"
SEARCH = "https://example.org/search"


def keys(text: str | bytes) -> list[str]:
    body = text if isinstance(text, bytes) else text.encode()
    return [entry.key for entry in read_map(body, HOME).entries]


# What an error does to what stands after it


AFTER = "<url><loc>https://example.org/p?id=1&amp;lang=en</loc></url>"
ERRORS = [
    "<title>News & Views</title>",
    "<title>a < b</title>",
    "<title>caf&eacute; &nbsp; &unknown;</title>",
    "<title>&#0; &#x1F; &#xD800; &#99999999;</title>",
    "<title>\x01\x0b</title>",
    "<xhtml:link rel='alternate' href='/de'/>",
    "<dc:date>2024-01-01</dc:date>",
    "<title>AT&T; &copy 2024</title>",
    "<note a='x & y'/>",
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_leaves_what_follows_as_it_is(error):
    assert keys(f"<urlset>{error}{AFTER}</urlset>") == [
        "https://example.org/p?id=1&lang=en"
    ]
    item = "<item><link>https://example.org/p?id=1&amp;lang=en</link></item>"
    assert keys(f"<rss><channel>{error}{item}</channel></rss>") == [
        "https://example.org/p?id=1&lang=en"
    ]


def test_a_bad_byte_leaves_what_follows_as_it_is():
    body = b"<urlset><title>caf\xe9</title>" + AFTER.encode() + b"</urlset>"
    assert keys(body) == ["https://example.org/p?id=1&lang=en"]


def test_an_address_that_is_not_known_for_certain_is_left_out():
    bad = "<url><loc>https://example.org/caf\xe9</loc></url>".encode("latin-1")
    unknown = b"<url><loc>https://example.org/&who;</loc></url>"
    found = read_map(b"<urlset>" + bad + unknown + AFTER.encode() + b"</urlset>", HOME)
    assert [entry.key for entry in found.entries] == [
        "https://example.org/p?id=1&lang=en"
    ]
    assert found.left_out == 2


def test_a_stray_ampersand_in_an_address_is_mended():
    text = "<rss><item><link>https://example.org/p?id=1&lang=en</link></item></rss>"
    assert keys(text) == ["https://example.org/p?id=1&lang=en"]


def test_what_is_still_wrong_is_told_with_what_stood_before_it():
    text = f"<urlset>{AFTER}<url><loc>https://example.org/b</loc></wrong></urlset>"
    found = read_map(text.encode(), HOME)
    assert [entry.key for entry in found.entries] == [
        "https://example.org/p?id=1&lang=en",
        "https://example.org/b",
    ]
    assert found.trouble == "line 1: mismatched tag"
    assert not read_map(f"<urlset>{AFTER}</urlset> junk <".encode(), HOME).trouble


def test_an_answer_that_stays_broken_is_refused():
    with pytest.raises(SourceError, match="it is not XML: line 1: mismatched tag"):
        AnswerReader("feed").read(b"<rss><item></rss>", "", SEARCH)


names = st.sampled_from(["a", "b", "x:c"])
texts = st.text(st.sampled_from("ab \n&<>];-?!'\u00e9"), max_size=8)


@st.composite
def documents(draw, depth=3) -> str:
    """Return well-formed XML with sections that must not be mended."""
    parts = []
    for kind in draw(st.lists(st.sampled_from("tecpk"), max_size=4)):
        text = draw(texts)
        if kind == "t" or depth == 0:
            parts.append(
                text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            )
        elif kind == "c":
            parts.append(f"<!--{text.replace('-', '')}-->")
        elif kind == "p":
            parts.append(f"<?pi {text.replace('?', '')}?>")
        elif kind == "k":
            parts.append(f"<![CDATA[{text.replace(']', '')}]]>")
        else:
            parts.append(f"<b>{draw(documents(depth=depth - 1))}</b>")
    return "".join(parts)


@given(documents(), st.integers(1, 40))
def test_a_document_without_errors_is_not_changed_by_mending(inside, size):
    text = f"<a>{inside}</a>"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    mended = b"".join(repair(pieces))
    one, two = etree.fromstring(text.encode()), etree.fromstring(mended)
    assert etree.tostring(one, method="c14n") == etree.tostring(two, method="c14n")


@given(st.text(st.sampled_from("ab&;#x1<![CDATA]>-?"), max_size=60), st.integers(1, 30))
def test_mending_does_not_depend_on_where_pieces_end(text, size):
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert b"".join(repair(pieces)) == b"".join(repair([text]))


# Comments, prefixes


def test_a_comment_in_a_description_of_a_search_is_passed_over():
    text = (
        "<OpenSearchDescription xmlns='http://a9.com/-/spec/opensearch/1.1/'>"
        "<!-- made by x --><ShortName>A<!-- b -->B</ShortName><?pi x?>"
        "<Url type='application/json' template='/s?q={searchTerms}'><!-- c --></Url>"
        "</OpenSearchDescription>"
    )
    found = read_description(text.encode(), SEARCH)
    assert (found.url, found.name) == ("https://example.org/s?q={query}", "AB")


@pytest.mark.parametrize(
    "template", ["http://[/?q={searchTerms}", "http://[]@/{searchTerms}"]
)
def test_a_search_at_no_address_is_no_search(template):
    def describing(*templates: str) -> bytes:
        urls = "".join(
            f"<Url type='application/json' template='{t}'/>" for t in templates
        )
        return f"<OpenSearchDescription>{urls}</OpenSearchDescription>".encode()

    good = read_description(describing(template, "/s?q={searchTerms}"), SEARCH)
    assert good.url == "https://example.org/s?q={query}"
    with pytest.raises(SourceError, match="names no address"):
        read_description(describing(template), SEARCH)


@pytest.mark.parametrize("root", ["rss", "feed"])
def test_a_comment_in_an_item_of_an_answer_is_passed_over(root):
    item = "<item><!-- c --><title>A<!-- d -->B</title><link>/a<!-- e --></link></item>"
    found = AnswerReader("feed").read(f"<{root}>{item}</{root}>".encode(), "", SEARCH)
    assert [(hit.link, hit.snippet) for hit in found.hits] == [
        ("https://example.org/a", "AB")
    ]


def test_prefixes_that_nobody_declared_do_not_matter():
    item = (
        "<item><dc:date>2024-10-01</dc:date><link>/a</link><media:x y:z='1'/>"
        "<description>b</description></item>"
    )
    body = f"<rss><channel>{item}</channel></rss>".encode()
    assert read_map(body, HOME).entries[0].modified == 19997.0
    assert AnswerReader("feed").read(body, "", SEARCH).hits[0].snippet == "b"


# Limits


BODIES = {
    "many elements, zipped": "gzip.compress(b'<urlset>' + b'<a/>' * 12_000_000)",
    "many entries, zipped": "gzip.compress(b'<urlset>' + b'<url/>' * 8_000_000)",
    "many entries, with an error": "b'<urlset>&' + b'<url/>' * 2_600_000",
    "deep": "b'<urlset>' + b'<x>' * 5_000_000",
    "attributes": "b'<urlset ' + b' '.join(b'a%d=\"\"' % i for i in range(10**6))",
    "prefixes": "b'<urlset>' + b''.join(PREFIXED % i for i in range(700_000))",
    "ampersands": "b'<urlset>' + b'&' * 16_000_000",
    "a comment": "b'<urlset><!--' + b'x' * 16_000_000",
    "addresses": "b'<urlset>' + b'<url><loc>http://[</loc></url>' * 500_000",
}


@pytest.mark.parametrize("name", BODIES)
def test_no_map_takes_more_than_its_share_of_time_and_memory(name):
    took = measure(
        "import gzip\nfrom halflife.readers.maps import read_map\n"
        "PREFIXED = b'<a xmlns:b%d=\"u\"/>'\n"
        f"body = {BODIES[name]}",
        f"read_map(body, {HOME!r}).trouble",
    )
    assert took.grown < 110  # over what the body itself takes
    assert took.cpu < 2 * xml_stream.SECONDS + 1
    assert took.said


def test_a_large_answer_takes_no_tree():
    took = measure(
        "from halflife.kinds.search.answers import AnswerReader\n"
        "body = b'<rss>' + b'<item/>' * 2_200_000",
        f"AnswerReader('feed').read(body, '', {SEARCH!r})",
    )
    assert took.grown < 100
    assert "elements" in took.said or "to read" in took.said
