"""A sink that keeps a folder of Markdown files in step."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.core.change import Change
from halflife.sinks.files import replace_file, sync_folder
from halflife.sinks.protocol import Batch, Outlet, Reader
from halflife_markdown import document
from halflife_markdown.names import file_name, folder_name

_LEFT_OVER = ".*-????????????????.md.part"  # what a crash leaves beside a file


class MarkdownConfig(SinkConfig):
    """The folder, and how many files are written together."""

    kind: Literal["markdown"]
    path: str = Field(min_length=1)
    batch: int = Field(default=100, ge=1, le=10_000)  # each waits for the disk twice


class MarkdownFolder:
    """Writes a file for each record or page; those that have gone are removed.

    Its path is ``SOURCE/KEY-DIGEST.md``. A file is replaced as a whole or not at all,
    and what it has depends on the change and the copy alone: a batch that is delivered
    again writes the same files.
    """

    Settings: ClassVar[type[SinkConfig]] = MarkdownConfig

    def __init__(self, settings: MarkdownConfig, outlet: Outlet) -> None:
        self._folder = outlet.path(settings.path)

    def open(self) -> None:
        """Make the folder, and remove files that a crash left half written."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in self._folder.glob(f"*/{_LEFT_OVER}"):
            path.unlink()

    def deliver(self, batch: Batch) -> None:
        """Write what is new or has changed and remove what has gone."""
        latest: dict[tuple[str, str], Change | None] = {}
        for change in batch.changes:
            for key, last in _outcomes(change):
                latest[change.source, key] = last
        for (source, key), last in latest.items():
            path = self._folder / folder_name(source) / file_name(source, key)
            if last is None:
                _remove(path)
            else:
                _write(path, last, batch.reader)

    def close(self) -> None:
        """Do nothing: every file is closed."""

    def cancel(self) -> None:
        """Do nothing: a write does not take long."""


def _outcomes(change: Change) -> Iterator[tuple[str, Change | None]]:
    """Yield the keys that a change affects; with it, unless they have gone."""
    if change.kind in {"held", "accepted"} or not change.key:
        return  # nothing of the copy is another
    if change.kind == "moved" and "key" in change.fields:
        yield str(change.fields["key"][0]), None
    yield change.key, None if change.kind == "gone" else change


def _write(path: Path, change: Change, reader: Reader) -> None:
    text = _text(change, reader)
    if text is not None:
        replace_file(path, text.encode("utf-8", "replace"))


def _text(change: Change, reader: Reader) -> str | None:
    """Return a record or page as it is held now; None if its end comes later."""
    record = reader.record(change.source, change.key)
    if record is not None:
        return document.of_record(change, record)
    content = reader.content(change.key)
    if content is not None or "text" in change.fields:
        return document.of_page(change, content)
    return None


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
        sync_folder(path.parent)
