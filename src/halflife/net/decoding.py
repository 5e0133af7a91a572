"""Decode content codings, within a limit."""

import zlib
from collections.abc import Callable, Iterator

import brotli
import zstandard

STEP = 1 << 20  # bytes that are decoded between two checks of the limit
ACCEPTED = "gzip, deflate, br, zstd"
_GZIP_MAGIC = b"\x1f\x8b"
_MEMBERS = 64  # members of one gzip body; each costs a copy of the rest
_ZSTD_SLICE = 32  # four bytes can stand for 128 KiB, so these for 1 MiB
_WINDOW = 1 << 23  # RFC 9659: a zstd window beyond 8 MiB need not be supported


class Undecodable(Exception):  # noqa: N818  (caught by the gate, never shown)
    """The bytes cannot be decoded, or not within the limit."""


def coding(header: str) -> str:
    """Return the one coding that a Content-Encoding header names; empty if none.

    >>> coding("GZIP"), coding("identity")
    ('gzip', '')
    """
    names = [name.strip().lower() for name in header.split(",")]
    names = [name.removeprefix("x-") for name in names if name not in {"", "identity"}]
    if len(names) > 1:
        raise Undecodable("is encoded more than once")
    if names and names[0] not in _DECODERS:
        raise Undecodable("came in a coding that was not requested")
    return names[0] if names else ""


def pieces(name: str, wire: bytes) -> Iterator[bytes]:
    """Decode ``wire`` piece by piece, each of bounded size."""
    if not wire:
        return
    try:
        yield from _DECODERS[name](wire)
    except (zlib.error, brotli.error, zstandard.ZstdError):
        raise Undecodable("is damaged: it cannot be decoded") from None


def _zlib(wire: bytes, bits: int) -> Iterator[bytes]:
    data = wire
    for _ in range(_MEMBERS):
        decoder = zlib.decompressobj(bits)
        while not decoder.eof:
            piece = decoder.decompress(data, STEP)
            data = decoder.unconsumed_tail
            if not (piece or data or decoder.eof):
                raise zlib.error("truncated")
            yield piece
        data = decoder.unused_data
        if data[:2] != _GZIP_MAGIC:  # servers pad with zeros
            return
    raise Undecodable("has too many parts")


def _gzip(wire: bytes) -> Iterator[bytes]:
    return _zlib(wire, 31)


def _deflate(wire: bytes) -> Iterator[bytes]:
    """Decode zlib's format, or the bare stream that some servers send."""
    head = int.from_bytes(wire[:2], "big")
    return _zlib(wire, 15 if head >> 8 & 15 == 8 and head % 31 == 0 else -15)


def _brotli(wire: bytes) -> Iterator[bytes]:
    decoder = brotli.Decompressor()
    piece = decoder.process(wire, output_buffer_limit=STEP)
    while not decoder.is_finished():
        if not piece and decoder.can_accept_more_data():
            raise brotli.error("truncated")
        yield piece
        piece = decoder.process(b"", output_buffer_limit=STEP)
    yield piece


def _zstd(wire: bytes) -> Iterator[bytes]:
    context = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    at = 0
    for _ in range(_MEMBERS):
        decoder = context.decompressobj()
        while not decoder.eof:
            if at >= len(wire):
                raise zstandard.ZstdError("truncated")
            yield decoder.decompress(wire[at : at + _ZSTD_SLICE])
            at += _ZSTD_SLICE
        at = min(at, len(wire)) - len(decoder.unused_data)
        if at >= len(wire):
            return
    raise Undecodable("has too many parts")


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
