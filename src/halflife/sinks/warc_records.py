"""Pages as records of a WARC file.

A page whose headers are stored is a response, with its status line and headers; one of
which only the body is stored is a resource. A body that the archive already has is not
written twice: a revisit record refers to the first.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from halflife.core.observation import Content

_NOTE = (
    "bodies are as decoded, so headers that say how they were sent begin with "
    "X-Archive-Orig-; cookies and credentials are left out"
)
_SENT = {"content-encoding", "content-length", "transfer-encoding"}


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """The first archived page with a body: its address, and when."""

    url: str
    date: str


class ArchiveFile:
    """A WARC file that is being written.

    Args:
        file: The file to write to.
        name: Its name.
        known: Bodies that are archived elsewhere, by their digests.

    """

    def __init__(
        self, file: BinaryIO, name: str, known: Mapping[str, ArchivedPage]
    ) -> None:
        from warcio.warcwriter import WARCWriter  # noqa: PLC0415  (an extra)

        self._known = known
        self.added: dict[str, ArchivedPage] = {}
        self._writer = WARCWriter(file, gzip=True, warc_version="1.1")
        about = {"software": "halflife", "format": "WARC File Format 1.1"}
        about |= {"description": _NOTE}
        self._writer.write_record(self._writer.create_warcinfo_record(name, about))

    def add(self, url: str, date: str, content: Content) -> None:
        """Add a page: with its body, or as a reference to the same body."""
        from warcio.utils import Digester  # noqa: PLC0415

        digester = Digester("sha1")
        digester.update(content.body)
        digest = str(digester)
        first = self._known.get(digest) or self.added.get(digest)
        if first is None:
            self._whole(url, date, content)
            self.added[digest] = ArchivedPage(url, date)
            return
        record = self._writer.create_revisit_record(
            url,
            digest,
            first.url,
            first.date,
            http_headers=_headers(content) if content.head else None,
            warc_headers_dict={"WARC-Date": date},
        )
        self._writer.write_record(record)

    def _whole(self, url: str, date: str, content: Content) -> None:
        kind = content.media_type or "application/octet-stream"
        how = (
            {"record_type": "response", "http_headers": _headers(content)}
            if content.head
            else {"record_type": "resource", "warc_content_type": kind}
        )
        record = self._writer.create_warc_record(
            url,
            payload=io.BytesIO(content.body),
            length=len(content.body),
            warc_headers_dict={"WARC-Date": date},
            **how,
        )
        self._writer.write_record(record)
        record.raw_stream.close()  # a copy that the writer made to count its bytes


def _headers(content: Content) -> Any:  # noqa: ANN401  (warcio has no types)
    """Return the headers of a page, adapted to its decoded body."""
    from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415

    line, *lines = content.head.split("\n")
    headers = []
    for name, _, value in (text.partition(": ") for text in lines):
        sent = name.lower() in _SENT
        headers.append((f"X-Archive-Orig-{name}" if sent else name, value))
    headers.append(("Content-Length", str(len(content.body))))
    protocol, _, status = line.partition(" ")
    return StatusAndHeaders(status, headers, protocol=protocol)
