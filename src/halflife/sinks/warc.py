"""A sink that archives pages as they changed, in WARC files.

A body that is in the archive already is not written twice: a revisit record refers to
the first. A body that is no longer kept when its change is delivered is left out.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.core.change import Change
from halflife.core.observation import Content
from halflife.sinks import files
from halflife.sinks.event import stamp
from halflife.sinks.extras import import_extra
from halflife.sinks.protocol import Batch, Outlet

_ARCHIVED = {"new", "changed", "returned"}
_NOTE = (
    "bodies are as decoded; of the response's headers only the content type is known"
)


class WarcConfig(SinkConfig):
    """A folder in which WARC files are collected."""

    requires: ClassVar[tuple[str, str]] = ("warcio", "warc")

    kind: Literal["warc"]
    path: str = Field(min_length=1)
    batch: int = Field(default=100, ge=1, le=10_000)
    every: float = Field(default=300.0, ge=0, le=86400, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """Where a body was archived first: the page's address, and when."""

    url: str
    date: str


class WarcFolder:
    """Writes each batch into a file that its numbers name; a second copy replaces it.

    Beside each file lies an index of the bodies in it, by which a later revisit finds
    them.

    Args:
        settings: Which folder.
        outlet: Where relative paths begin.

    """

    Settings: ClassVar[type[SinkConfig]] = WarcConfig

    def __init__(self, settings: WarcConfig, outlet: Outlet) -> None:
        self._settings, self._folder = settings, outlet.path(settings.path)
        self._known: dict[str, dict[str, ArchivedPage]] = {}  # by file, then by digest

    def open(self) -> None:
        """Read which bodies are archived; raise if warcio is missing."""
        import_extra(self._settings)
        self._folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self._folder.glob("*.warc.gz.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            name = path.name.removesuffix(".json")
            self._known[name] = {d: ArchivedPage(*one) for d, one in found.items()}

    def deliver(self, batch: Batch) -> None:
        """Archive the pages that are new or have changed."""
        name = f"halflife-{batch.first:012}-{batch.last:012}.warc.gz"
        self._known.pop(name, None)  # of a try that did not end
        pages = list(_pages(batch))
        if not pages:
            return
        archive = _Archive(
            name, {d: p for k in self._known.values() for d, p in k.items()}
        )
        for change, content in pages:
            archive.add(change, content)
        files.replace_file(self._folder / name, archive.data())
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


class _Archive:
    """One WARC file in the making."""

    def __init__(self, name: str, known: dict[str, ArchivedPage]) -> None:
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415  (an extra)

        self._file, self._known = io.BytesIO(), known
        self.added: dict[str, ArchivedPage] = {}
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        about = {"software": "halflife", "format": "WARC File Format 1.1"}
        about |= {"description": _NOTE}
        self._writer.write_record(self._writer.create_warcinfo_record(name, about))

    def add(self, change: Change, content: Content) -> None:
        """Add a page: its body, or where the body is already."""
        from warcio.utils import Digester  # noqa: PLC0415

        digester = Digester("sha1")
        digester.update(content.body)
        digest, date = str(digester), stamp(change.at)
        first = self._known.get(digest) or self.added.get(digest)
        if first is None:
            self._response(change.key, content, date)
            self.added[digest] = ArchivedPage(change.key, date)
        else:
            record = self._writer.create_revisit_record(
                change.key,
                digest,
                first.url,
                first.date,
                http_headers=_headers(content),
                warc_headers_dict={"WARC-Date": date},
            )
            self._writer.write_record(record)

    def _response(self, url: str, content: Content, date: str) -> None:
        record = self._writer.create_warc_record(
            url,
            "response",
            payload=io.BytesIO(content.body),
            length=len(content.body),
            http_headers=_headers(content),
            warc_headers_dict={"WARC-Date": date},
        )
        self._writer.write_record(record)

    def data(self) -> bytes:
        """Return the file."""
        return self._file.getvalue()


def _headers(content: Content) -> Any:  # noqa: ANN401  (warcio has no types)
    from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415

    kind = content.media_type or "application/octet-stream"
    length = str(len(content.body))
    told = [("Content-Type", kind), ("Content-Length", length)]
    return StatusAndHeaders("200 OK", told, protocol="HTTP/1.1")
