"""Copies of pages that were replaced and may have to be restored."""

import zlib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halflife.core.observation import Content, Observation, Seen
from halflife.stores.notes import NoteKind, as_rows


@dataclass(frozen=True, slots=True)
class ReplacedCopy:
    """A copy that was replaced, and the shape of its replacement.

    Attributes:
        key: The page.
        source: Its source.
        since: When its new text was first seen, in days.
        was: The shape of the copy.
        shape: The shape of the text that replaced it.
        digest: The digest of the copy.
        raw: The fingerprint of all its bytes.
        media_type: Its media type.
        body: The copy itself, compressed.
        head: The headers that came with it.

    """

    key: str
    source: str
    since: float
    was: str
    shape: str
    digest: str
    raw: str
    media_type: str
    body: str
    head: str = ""

    @property
    def observation(self) -> Observation:
        """The copy as an observation."""
        body = zlib.decompress(b64decode(self.body))
        content = Content(self.media_type, body, self.head)
        seen = Seen.PRESENT
        return Observation(
            self.key, self.since, seen, self.digest, self.raw, content=content
        )


def _read(rows: Sequence[Mapping[str, Any]]) -> list[ReplacedCopy]:
    return [ReplacedCopy(**{**row, "since": float(row["since"])}) for row in rows]


REPLACED_COPIES = NoteKind("replaced_copies", 1, as_rows, _read)
