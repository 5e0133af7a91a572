"""What a change makes of an index: documents to write, and keys to remove."""

import html
import re
from dataclasses import dataclass
from typing import Any

from halflife.core.change import Change
from halflife.sinks.protocol import Batch, Reader

_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Document:
    """A record or page for an index; its text is None if it has gone."""

    source: str
    key: str
    text: str | None


def documents(batch: Batch) -> list[Document]:
    """Return what became of each record and page of a batch, in the end."""
    found: dict[tuple[str, str], Document] = {}
    for change in batch.changes:
        if not change.key or change.kind in {"held", "accepted"}:
            continue
        if change.kind == "moved" and "key" in change.fields:
            old = str(change.fields["key"][0])
            found[change.source, old] = Document(change.source, old, None)
        text = None if change.kind == "gone" else _text(change, batch.reader)
        found[change.source, change.key] = Document(change.source, change.key, text)
    return list(found.values())


def _text(change: Change, reader: Reader) -> str | None:
    """Return the words of a record or page as it is held now."""
    content = reader.content(change.key)
    if content is not None:
        text = content.body.decode("utf-8", "replace")
        return " ".join(html.unescape(_TAG.sub(" ", text)).split())
    record = reader.record(change.source, change.key)
    if record is None:  # it has gone since; that change comes later
        record = {name: new for name, (_, new) in change.fields.items()}
    return "\n".join(_line(name, value) for name, value in record.items())


def _line(name: str, value: Any) -> str:  # noqa: ANN401  (of any type)
    return f"{name}: {value}"
