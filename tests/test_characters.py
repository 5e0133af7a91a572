"""Characters: only the encodings of the web, and no reference can stop us."""

import html
import time

import pytest
from hypothesis import given, strategies as st
from webencodings import PYTHON_NAMES
from webencodings.labels import LABELS

from halflife.kinds.pages.links import read_links
from halflife.readers.characters import codec_of, decode, encoding_of, unescape
from halflife.readers.text import digest, fingerprint, to_text, visible
from halflife.readers.titles import terms

# Names under which Python has codecs that are no text encodings, or not of the web.
FOREIGN = [
    "hex", "idna", "zip", "rot13", "base64", "bz2", "uu", "quopri", "punycode",
    "undefined", "unicode_escape", "raw_unicode_escape", "utf-7", "utf-32", "mbcs",
    "cp037", "utf-8-sig",
]  # fmt: skip
BODY = "<p>caf\u00e9 100 \u20ac</p>".encode()


@pytest.mark.parametrize("name", FOREIGN)
def test_a_header_that_names_no_encoding_of_the_web_is_passed_over(name):
    for written in (name, name.upper(), f'"{name}"'):
        assert to_text(f"text/html; charset={written}", BODY) == BODY.decode()
        assert len(digest("visible", f"text/html; charset={written}", BODY, "")) == 32


@pytest.mark.parametrize("name", FOREIGN)
def test_a_page_that_names_no_encoding_of_the_web_is_read_as_utf_8(name):
    metas = (
        f"<meta charset={name}>",
        f'<meta http-equiv="Content-Type" content="text/html; charset={name}">',
        f"<?xml version='1.0' encoding='{name}'?>",
    )
    for meta in metas:
        assert to_text("text/html", meta.encode() + BODY) == meta + BODY.decode()


def test_labels_mean_what_the_encoding_standard_says():
    for label, encoding in LABELS.items():
        if encoding in {"replacement", "x-user-defined"}:
            continue
        expected = PYTHON_NAMES.get(encoding, encoding)
        sample = bytes(range(0x20, 0x7F)) + b"\xb0\xa1\xc4\xe3"
        if encoding.startswith("utf-16"):
            expected = encoding.replace("utf-16", "utf-16-")
        ours = decode(sample, codec_of(label)).replace("\ufffd", "")
        theirs = sample.decode(expected, "replace").replace("\ufffd", "")
        assert ours == theirs, label


@pytest.mark.parametrize(
    ("page", "codec"),
    [
        (b"<!-- <meta charset=gbk> --><meta charset=koi8-r>", "koi8-r"),
        (b"<meta name=about content='charset=gbk'>", "utf-8"),
        (b"<META CHARSET = 'gbk' />", "gb18030"),
        (b"<meta charset=utf-16>", "utf-8"),  # it could not be read then
        (b"<body><meta charset=gbk>", "utf-8"),
        (b"<meta charset=hex><meta charset=gbk>", "gb18030"),
        (b"\xff\xfe<\0", "utf-16-le"),
    ],
)
def test_a_declaration_is_found_as_browsers_find_it(page, codec):
    assert encoding_of("text/html", page) == codec


@pytest.mark.parametrize("codec", ["cp1252", "cp1255", "iso8859-6", "utf-16-le"])
def test_bytes_that_no_character_has_take_no_time(codec):
    body = (b"\x00\xd8" if codec == "utf-16-le" else b"\x81\xa1\xff\xd9") * 500_000
    began = time.process_time()
    decode(body, codec)
    assert time.process_time() - began < 2.0


@given(st.binary(max_size=200), st.sampled_from(sorted(LABELS)), st.text(max_size=20))
def test_no_bytes_in_any_encoding_can_stop_us(body, label, junk):
    for content_type in (f"text/html; charset={label}", f"text/html;{junk}"):
        to_text(content_type, body)
        to_text(content_type, b"<meta charset=" + label.encode() + b">" + body)


LONG = "&#" + "9" * 5000 + ";"  # html.unescape raises ValueError


@pytest.mark.parametrize(
    "read",
    [
        visible,
        lambda page: digest("visible", "text/html", page.encode(), fingerprint(b"")),
        lambda page: read_links(f"<a href='/{page}'>", "http://example.org/"),
        lambda page: terms(f"<title>{page}</title>"),
    ],
)
def test_a_number_of_thousands_of_digits_is_no_character(read):
    with pytest.raises(ValueError, match="digits"):
        html.unescape(LONG)
    read(f"a {LONG} b &#{'0' * 5000}66;")
    read(f"a {LONG[:-1]} &#x{'f' * 5000};")


@given(st.text(st.sampled_from("&#x;0123456789abAeacutmpgl"), max_size=60))
def test_references_are_replaced_as_the_standard_library_does(text):
    assert unescape(text) == html.unescape(text)
