"""Observations of items, and hints about them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Self

import numpy as np

from halflife.core.arrays import Bytes, Floats
from halflife.core.item import Item

MOVED = "moved for good to "  # prefix of a page's note after a permanent redirect


class Seen(IntEnum):
    """The outcome of one observation of an item."""

    PRESENT = 0
    ABSENT = 1
    FAILED = 2
    HINT = 3


@dataclass(frozen=True, slots=True)
class Content:
    """The content that the source sent, byte for byte after decoding.

    Attributes:
        media_type: Its media type.
        body: The bytes.
        head: The status line and the headers, a line each, without cookies and the
            like; empty if unknown.

    """

    media_type: str
    body: bytes
    head: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The links of a page.

    Attributes:
        to: The keys of the items it links to.
        same: The key of the item of which this page is only another address.
        under: The rules by which the links were extracted; other rules may give others.
        urls: The addresses to fetch for keys that differ from them; see ``Item.url``.

    """

    to: tuple[str, ...] = ()
    same: str = ""
    under: str = ""
    urls: Mapping[str, str] = field(default_factory=dict, compare=False)


# Sources of hints: a sitemap or unknown, a feed, a hub (WebSub), a push (IndexNow).
HINT_KINDS = ("", "feed", "hub", "push")


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation of one item.

    An observation holds facts, never conclusions: whether the item *changed* follows
    from comparing two of them. A failed fetch says nothing about the item, so it
    differs from an absence. A hint is what another page claims about the item
    (a sitemap's ``lastmod``, a feed's date): it may be wrong, so it differs from an
    observation of the item.

    Attributes:
        key: The item's name at its source; stable for the item's whole life.
        at: Its time, in days since the epoch, UTC.
        seen: The outcome.
        digest: A fingerprint of the content that matters; empty unless PRESENT. For a
            HINT its kind, one of ``HINT_KINDS``.
        raw: A fingerprint of every byte; distinguishes noise from change.
        etag: The source's own version tag, sent back with the next fetch.
        modified: When the item last changed according to the source, in days.
        note: Why a fetch failed, in words.
        content: The content itself, when it is new.
        item: The item, when this hint discovered it.
        links: The links of the page, when they were read again. None if they were not:
            an unchanged page keeps its links.

    """

    key: str
    at: float
    seen: Seen
    digest: str = ""
    raw: str = ""
    etag: str = ""
    modified: float | None = None
    note: str = ""
    content: Content | None = field(default=None, compare=False, repr=False)
    item: Item | None = field(default=None, compare=False, repr=False)
    links: Outgoing | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Observations:
    """Many observations as columns, in the order in which they were made.

    ``details`` holds the observations themselves where they have more than the columns;
    a replay leaves it empty.
    """

    keys: tuple[str, ...]
    at: Floats
    seen: Bytes
    digest: tuple[str, ...]
    details: tuple[Observation, ...] = ()

    @classmethod
    def of(cls, observations: Iterable[Observation]) -> Self:
        """Turn observations into columns."""
        details = tuple(observations)
        return cls(
            keys=tuple(o.key for o in details),
            at=np.array([o.at for o in details], dtype=np.float64),
            seen=np.array([o.seen for o in details], dtype=np.int8),
            digest=tuple(o.digest for o in details),
            details=details,
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Observation]:
        if self.details:
            yield from self.details
            return
        columns = zip(self.keys, self.at, self.seen, self.digest, strict=True)
        for key, at, seen, digest in columns:
            yield Observation(key, float(at), Seen(seen), digest)

    def take(self, rows: Sequence[int]) -> Self:
        """Return the observations at these positions, in this order."""
        index = np.asarray(rows, dtype=np.intp)
        return type(self)(
            keys=tuple(self.keys[i] for i in index),
            at=self.at[index],
            seen=self.seen[index],
            digest=tuple(self.digest[i] for i in index),
            details=tuple(self.details[i] for i in index) if self.details else (),
        )


def rounds(looks: Observations) -> list[Observations]:
    """Split observations so that no part holds an item twice."""
    parts: list[list[int]] = []
    times: dict[str, int] = {}
    for i, key in enumerate(looks.keys):
        turn = times[key] = times.get(key, -1) + 1
        if turn == len(parts):
            parts.append([])
        parts[turn].append(i)
    return [looks.take(part) for part in parts]
