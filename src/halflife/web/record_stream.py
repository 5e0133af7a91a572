"""The records of a source as a stream: read as fast as it is sent, never at once."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from halflife.config import Config
from halflife.engine import bootstrap, export_rows
from halflife.engine.export_rows import ExportSelection

PART = 64 * 1024  # bytes that are sent at once, at least


class RecordStream:
    """The lines of an export, in parts.

    A state file is read by the thread that opened it, so a stream has its own thread.

    Args:
        parts: The parts, none of them empty; none was read yet.

    """

    def __init__(self, parts: Generator[bytes]) -> None:
        self._thread = ThreadPoolExecutor(1, "records")
        self._parts = parts
        self._first = b""

    async def begin(self) -> None:
        """Read the first part; raise ``UsageError`` if there is nothing to read."""
        try:
            self._first = await self._next()
        except BaseException:
            self._end()
            raise

    async def parts(self) -> AsyncIterator[bytes]:
        """Return all parts."""
        try:
            part = self._first
            while part:
                yield part
                part = await self._next()
        finally:
            self._end()

    async def _next(self) -> bytes:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, next, self._parts, b"")

    def _end(self) -> None:
        """Close the state file, in its thread."""
        self._thread.submit(self._parts.close)
        self._thread.shutdown(wait=False)


def export_parts(config: Config, wanted: ExportSelection) -> Generator[bytes]:
    """Yield the lines of an export, in parts."""
    with (
        bootstrap.reading(config) as store,
        closing(export_rows.lines(store, wanted)) as lines,  # type: ignore[type-var]
    ):
        yield from join_parts(f"{line}\n" for line in lines)


def join_parts(texts: Iterable[str]) -> Iterator[bytes]:
    """Join texts to parts that are large enough to send."""
    part = bytearray()
    for text in texts:
        part += text.encode("utf-8", "replace")
        if len(part) >= PART:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)
