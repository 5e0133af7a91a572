"""What we saw when we looked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Self

import numpy as np

from halflife.core.arrays import Bytes, Floats
from halflife.core.item import Item

MOVED = "moved for good to "  # the note of a page begins so if its server says so


class Seen(IntEnum):
    """The answer to one look at one item."""

    PRESENT = 0
    ABSENT = 1
    FAILED = 2
    HINT = 3


@dataclass(frozen=True, slots=True)
class Content:
    """What the source sent, byte for byte after decoding.

    Attributes:
        media_type: What it is.
        body: The bytes.
        head: The status line and the headers that came with it, a line each, without
            cookies and the like; empty if they are not known.

    """

    media_type: str
    body: bytes
    head: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Where a page leads.

    Attributes:
        to: The keys of the items it links to.
        same: The key of the item of which the page is only another address.
        under: The rules by which the links were chosen; others may choose others.
        urls: Of keys that are not what is sent, what is; see ``Item.url``.

    """

    to: tuple[str, ...] = ()
    same: str = ""
    under: str = ""
    urls: Mapping[str, str] = field(default_factory=dict, compare=False)


# Who hints: a sitemap (or nobody knows), a feed, a hub (WebSub), a push (IndexNow).
HINT_KINDS = ("", "feed", "hub", "push")


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at one item.

    An observation holds what we saw, never what we concluded: whether the item
    *changed* follows from comparing two of them. A failed look says nothing
    about the item, so it is kept apart from an absence. A hint is what another
    page claims about the item (a sitemap's ``lastmod``, a feed's date): it may
    be wrong, so it is kept apart from a look.

    Attributes:
        key: The item's name at its source; stable for the item's whole life.
        at: When we looked, in days since the epoch, UTC.
        seen: What the source answered.
        digest: A fingerprint of the content that matters; empty unless PRESENT. Of a
            HINT its kind, one of ``HINT_KINDS``.
        raw: A fingerprint of every byte; tells noise from change.
        etag: The source's own version tag, sent back with the next look.
        modified: When the source says the item last changed, in days.
        note: Why a look failed, in words.
        content: The content itself, when it is new to us.
        item: The item, when this hint is how we came to know of it.
        links: Where the page leads, when that was read anew. None says nothing:
            a page that is unchanged leads where it led.

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
class Looks:
    """Many observations as columns, in the order in which they were made.

    ``details`` holds the observations themselves where there is more to know
    than the columns say; a replay has nothing more to say and leaves it empty.
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


def rounds(looks: Looks) -> list[Looks]:
    """Split looks so that no part holds an item twice."""
    parts: list[list[int]] = []
    times: dict[str, int] = {}
    for i, key in enumerate(looks.keys):
        turn = times[key] = times.get(key, -1) + 1
        if turn == len(parts):
            parts.append([])
        parts[turn].append(i)
    return [looks.take(part) for part in parts]
