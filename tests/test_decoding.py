"""Content codings are undone in bounded steps, whole or not at all."""

import gzip
import zlib
from contextlib import suppress

import brotli
import pytest
import zstandard
from hypothesis import given, strategies as st

from halflife.net.decoding import STEP, Undecodable, coding, pieces


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def quick_brotli(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=3))


PACKERS = [
    ("gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", bare_deflate),
    ("br", quick_brotli),
    ("zstd", zstandard.compress),
]
each_coding = pytest.mark.parametrize(
    ("name", "pack"), PACKERS, ids=["gzip", "deflate", "bare deflate", "br", "zstd"]
)


@each_coding
@given(data=st.binary(max_size=5000))
def test_what_was_packed_comes_back(name, pack, data):
    assert b"".join(pieces(name, pack(data))) == data


@each_coding
def test_no_step_is_large(name, pack):
    wire = pack(bytes(32 * STEP))
    sizes = [len(piece) for piece in pieces(name, wire)]
    assert sum(sizes) == 32 * STEP
    assert max(sizes) <= 2 * STEP


@each_coding
@given(data=st.binary(min_size=20, max_size=2000), cut=st.integers(1, 19))
def test_a_part_of_it_is_not_taken_for_the_whole(name, pack, data, cut):
    wire = pack(data)
    with pytest.raises(Undecodable):
        list(pieces(name, wire[:-cut]))


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
@given(junk=st.binary(min_size=1, max_size=500))
def test_junk_is_refused_or_decoded_and_nothing_else_happens(name, junk):
    with suppress(Undecodable):
        assert all(len(piece) <= 2 * STEP for piece in pieces(name, junk))


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_nothing_decodes_to_nothing(name):
    assert list(pieces(name, b"")) == []


@pytest.mark.parametrize(
    ("name", "pack"), [("gzip", gzip.compress), ("zstd", zstandard.compress)]
)
def test_a_body_may_have_several_parts_but_not_thousands(name, pack):
    assert b"".join(pieces(name, pack(b"ab") + pack(b"c"))) == b"abc"
    with pytest.raises(Undecodable, match="too many parts"):
        list(pieces(name, pack(b"") * 10_000))


def test_padding_after_a_gzip_body_is_passed_over():
    assert b"".join(pieces("gzip", gzip.compress(b"ab") + bytes(10))) == b"ab"


@pytest.mark.parametrize(
    ("header", "name"),
    [("", ""), ("identity", ""), ("gzip", "gzip"), (" X-GZIP ", "gzip"), ("br,", "br")],
)
def test_the_header_names_one_coding(header, name):
    assert coding(header) == name


@pytest.mark.parametrize("header", ["gzip, gzip", "br,gzip", "compress", "aes128gcm"])
def test_other_headers_are_refused(header):
    with pytest.raises(Undecodable):
        coding(header)
