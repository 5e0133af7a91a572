"""A sink that archives new and changed pages in WARC files.

A body that the archive already has is not written twice: a revisit record refers to
the first. A body that is no longer stored when its change is delivered is left out.
"""

import io
import json
from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.core.change import Change
from halflife.core.observation import Content
from halflife.sinks import files
from halflife.sinks.event import stamp
from halflife.sinks.extras import import_extra
from halflife.sinks.protocol import Batch, Outlet
from halflife.sinks.warc_records import ArchivedPage, ArchiveFile

_ARCHIVED = {"new", "changed", "returned"}


class WarcConfig(SinkConfig):
    """A folder of WARC files.

    Attributes:
        kind: `warc`.
        path: The file or folder.
        batch: The most changes that are delivered together.
        every: Seconds that `run` waits for a batch to fill.

    """

    requires: ClassVar[tuple[str, str]] = ("warcio", "warc")

    kind: Literal["warc"]
    path: str = Field(min_length=1)
    batch: int = Field(default=100, ge=1, le=10_000)
    every: float = Field(default=300.0, ge=0, le=86400, allow_inf_nan=False)


class WarcFolder:
    """Writes each batch to a file named by its numbers; a second copy replaces it.

    Beside each file is an index of the bodies in it, which later revisit records use.

    Args:
        settings: The folder.
        outlet: Resolves relative paths.

    """

    Settings: ClassVar[type[SinkConfig]] = WarcConfig

    def __init__(self, settings: WarcConfig, outlet: Outlet) -> None:
        self._settings, self._folder = settings, outlet.path(settings.path)
        self._known: dict[str, dict[str, ArchivedPage]] = {}  # by file, then by digest

    def open(self) -> None:
        """Read the index of archived bodies; raise if warcio is missing."""
        import_extra(self._settings)
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self._folder.glob("*.warc.gz.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            name = path.name.removesuffix(".json")
            self._known[name] = {d: ArchivedPage(*page) for d, page in found.items()}

    def deliver(self, batch: Batch) -> None:
        """Archive the pages that are new or have changed."""
        name = f"halflife-{batch.first:012}-{batch.last:012}.warc.gz"
        self._known.pop(name, None)  # left by an unfinished try
        pages = list(_pages(batch))
        if not pages:
            return
        file = io.BytesIO()
        known = {d: p for k in self._known.values() for d, p in k.items()}
        archive = ArchiveFile(file, name, known)
        for change, content in pages:
            archive.add(change.key, stamp(change.at), content)
        files.replace_file(self._folder / name, file.getvalue())
        index = {d: [page.url, page.date] for d, page in archive.added.items()}
        text = json.dumps(index, ensure_ascii=False)
        files.replace_file(self._folder / f"{name}.json", text.encode())
        self._known[name] = archive.added

    def close(self) -> None:
        """Do nothing: every file is closed."""

    def cancel(self) -> None:
        """Do nothing: a write does not take long."""


def _pages(batch: Batch) -> Iterator[tuple[Change, Content]]:
    for change in batch.changes:
        if change.kind in _ARCHIVED:
            _, text = change.fields.get("text", (None, None))
            content = batch.reader.content(change.key, text or "")
            if content is not None:
                yield change, content
