"""Fingerprints of many items as a column of bytes.

A fingerprint of 128 bits, written as 32 hexadecimal digits, takes 17 bytes: a mark and
its own 16. A short text is stored as itself. A longer one is stored as its BLAKE2 hash,
and kept once. Equal fingerprints have equal bytes, so that they are compared without
being unpacked.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Bools

Packed: TypeAlias = NDArray[np.bytes_]

WIDTH = 17
KIND = np.dtype(f"S{WIDTH}")
_HEX, _SHORT, _LONG = b"\1", b"\2", b"\3"
_DIGITS = 32


class Fingerprints:
    """A column of fingerprints; rows are read and set as texts, stored as bytes.

    >>> column = Fingerprints(2)
    >>> column[:] = ["00ff" * 8, "v1"]
    >>> column.tolist()
    ['00ff00ff00ff00ff00ff00ff00ff00ff', 'v1']
    """

    __slots__ = ("data", "long")

    def __init__(
        self, size: int | Packed = 0, long: dict[bytes, str] | None = None
    ) -> None:
        self.data: Packed = np.zeros(size, KIND) if isinstance(size, int) else size
        self.long = {} if long is None else long  # texts by their hashes

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: object) -> Any:  # noqa: ANN401  (as an array does)
        """Return one text for one row, an array of texts for anything else."""
        packed = self.data[rows]  # type: ignore[call-overload]
        if isinstance(packed, bytes):
            return self.text(packed)
        return np.array([self.text(item) for item in packed.tolist()], dtype=np.object_)

    def __setitem__(self, rows: object, values: object) -> None:
        """Set rows to texts, or one row to one text."""
        is_text = isinstance(values, str)
        packed = self._pack_one(str(values)) if is_text else self._packed(values)
        self.data[rows] = packed  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> Bools:  # type: ignore[override]
        return np.asarray(self.data == self._packed(other))

    def __ne__(self, other: object) -> Bools:  # type: ignore[override]
        return np.asarray(self.data != self._packed(other))

    __hash__ = None  # type: ignore[assignment]  # a column, like an array

    def tolist(self) -> list[str]:
        """Return all texts."""
        return [self.text(packed) for packed in self.data.tolist()]

    def pack(self, texts: Sequence[str]) -> Packed:
        """Return texts as they are stored."""
        whole = "".join(texts)
        if len(whole) == _DIGITS * len(texts) and set(map(len, texts)) <= {_DIGITS}:
            raw = _bytes(whole)
            if raw is not None:
                table = np.ones((len(texts), WIDTH), np.uint8)  # 1 is the mark
                table[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, WIDTH - 1)
                return table.reshape(-1).view(KIND)
        return np.array([self._pack_one(text) for text in texts], dtype=KIND)

    def text(self, packed: bytes) -> str:
        """Return the text of one stored fingerprint."""
        mark, rest = packed[:1], packed[1:]
        if mark == _HEX:
            return rest.ljust(WIDTH - 1, b"\0").hex()
        return self.long[packed] if mark == _LONG else rest.decode()

    def _packed(self, other: object) -> Packed:
        if isinstance(other, Fingerprints):
            self.long |= other.long
            return other.data
        if isinstance(other, np.ndarray) and other.dtype == KIND:
            return other
        # numpy's strings would lose zeros at their ends.
        return self.pack(other if isinstance(other, list) else [*np.asarray(other)])

    def _pack_one(self, text: str) -> bytes:
        if not text:
            return b""
        raw = _bytes(text) if len(text) == _DIGITS else None
        if raw is not None:
            return _HEX + raw
        plain = text.encode("utf-8", "surrogatepass")
        # A text that ends in zeros or is not UTF-8 would not be restored unchanged.
        short = len(plain) < WIDTH and plain[-1:] != b"\0"
        if short and plain == text.encode("utf-8", "replace"):
            return _SHORT + plain
        packed = _LONG + blake2b(plain, digest_size=WIDTH - 1).digest()
        packed = packed.rstrip(b"\0")
        self.long[packed] = text
        return packed


def _bytes(digits: str) -> bytes | None:
    """Return the bytes of hexadecimal digits; None if the text is something else."""
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        return None
    return raw if raw.hex() == digits else None
