"""Operations that need a parse tree: run in a worker process, within limits.

A worker starts when the first page needs one, serves many pages, and is killed when a
page exceeds its time. Tiny pages are parsed in this process: at ``SMALL`` characters
the worst page known (200 open formatting elements that each paragraph opens again)
takes 30 ms and 12 MB.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from halflife.core.errors import SourceError
from halflife.readers import tree_worker
from halflife.readers.reader_thread import checkpoint, stoppable

SMALL = 2048  # characters
SECONDS = 1.5  # of CPU that any page may take
PER_MEGABYTE = 1.0  # further seconds
PATIENCE = 30.0  # seconds that a busy machine may delay an answer
MOST_WORKERS = 2  # one slow page must not delay the others
_WAIT = 0.1  # seconds between two checks whether the reading was cancelled
_SCRIPT = Path(tree_worker.__file__)


class _Ended(Exception):  # noqa: N818  (caught below, never shown)
    """The worker has ended, and the page is not the cause."""


def ask(
    operation: str,
    page: str,
    *arguments: object,
    small: int = SMALL,
    seconds: float = SECONDS,
) -> Any:  # noqa: ANN401
    """Return the result of an operation of ``tree_worker``.

    Raise ``SourceError`` if it fails, or exceeds the limits of memory and CPU time:
    ``seconds``, and ``PER_MEGABYTE`` more for each megabyte.
    """
    if len(page) <= small:
        request = json.dumps([operation, arguments]).encode()
        answer = tree_worker.perform(request, page.encode("utf-8", "replace"))
    else:
        body = page.encode("utf-8", "replace")
        answer = _POOL.ask(operation, body, arguments, seconds)
    if "error" in answer:
        raise SourceError(str(answer["error"]))
    return answer["found"]


class _Worker:
    """A process that reads one page at a time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  (our own script)
                [sys.executable, "-P", str(_SCRIPT)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._socket = ours

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes, page: bytes, seconds: float) -> dict[str, Any]:
        head = tree_worker.REQUEST.pack(int(seconds * 1000), len(request), len(page))
        self._socket.settimeout(seconds + PATIENCE)
        try:
            with stoppable(self._process.kill):
                self._socket.sendall(b"".join((head, request, page)))
                size = tree_worker.ANSWER.unpack(self._read(tree_worker.ANSWER.size))[0]
                if size > 8 * tree_worker.MOST_TEXT:
                    return self._killed("its answer is too large")
                answer: dict[str, Any] = json.loads(self._read(size))
                return answer
        except TimeoutError:
            return self._killed(f"it takes more than {seconds + PATIENCE:g} s to read")
        except (EOFError, OSError):
            return self._died(seconds)

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            part = self._socket.recv(min(size, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _killed(self, why: str) -> dict[str, Any]:
        self.close()
        return {"error": why}

    def _died(self, seconds: float) -> dict[str, Any]:
        """Return why there is no answer; raise ``_Ended`` if the page is no cause."""
        self.close(PATIENCE)
        checkpoint()
        code = self._process.returncode
        if code == -signal.SIGPROF:
            return {"error": f"it takes more than {seconds:g} s to read"}
        if code == 0:
            raise _Ended
        return {"error": "it takes too much memory to be read, or broke its reader"}

    def close(self, patience: float = 0.0) -> None:
        """End the process, after ``patience`` seconds if it does not end by itself."""
        self._socket.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Pool:
    """The workers of this process, started as they are needed."""

    def __init__(self) -> None:
        self._room = threading.BoundedSemaphore(MOST_WORKERS)
        self._idle: list[_Worker] = []
        self._used = False

    def ask(
        self, operation: str, page: bytes, arguments: tuple[object, ...], least: float
    ) -> dict[str, Any]:
        request = json.dumps([operation, arguments]).encode()
        seconds = least + PER_MEGABYTE * len(page) / 1e6
        while not self._room.acquire(timeout=_WAIT):
            checkpoint()
        try:
            for _ in range(3):
                try:
                    return self._ask_one(request, page, seconds)
                except _Ended:  # it ended just now, after being idle
                    continue
            raise SourceError("its reader could not be started")
        finally:
            self._room.release()

    def _ask_one(self, request: bytes, page: bytes, seconds: float) -> dict[str, Any]:
        worker = self._take()
        try:
            return worker.ask(request, page, seconds)
        finally:
            if worker.alive:
                self._idle.append(worker)
            else:  # it ends by itself after a page that needed much memory
                worker.close()

    def _take(self) -> _Worker:
        if not self._used:
            self._used = True
            atexit.register(self.close)
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.close()
        return _Worker()

    def close(self) -> None:
        """End the workers that have nothing to do."""
        while self._idle:
            self._idle.pop().close()

    def forget(self) -> None:
        """Leave the workers to the process that started them."""
        self.__init__()  # type: ignore[misc]


_POOL = _Pool()
os.register_at_fork(after_in_child=_POOL.forget)
