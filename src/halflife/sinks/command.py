"""A sink that starts a program and gives it the changes as lines on its input."""

import fcntl
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import IO, ClassVar, Literal

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.sinks.event import as_lines
from halflife.sinks.protocol import Batch, ChangeRefusedError, DeliveryError, Outlet

REFUSED = 65  # the exit code EX_DATAERR: the input is wrong, and will stay so
_OUTPUT = 2000  # bytes of the last error output that are read


class CommandConfig(SinkConfig):
    """A program, with its arguments; it is started without a shell.

    Attributes:
        kind: `command`.
        command: The program and its arguments, a list; no shell.

    """

    kind: Literal["command"]
    command: tuple[str, ...] = Field(min_length=1, strict=False)


class Command:
    """Starts the program for each batch; exit code 0 confirms the changes.

    The input is a file that is complete before the program starts. A lock that the
    program inherits keeps a second one from starting while the first still runs, even
    if halflife itself was killed in between.

    Args:
        settings: The program.
        outlet: Has the folder in which it starts.

    """

    Settings: ClassVar[type[SinkConfig]] = CommandConfig

    def __init__(self, settings: CommandConfig, outlet: Outlet) -> None:
        self._settings, self._folder = settings, outlet.folder
        lock = f"{outlet.state.name}.sink-{settings.name}.lock"
        self._lock_path = outlet.state.with_name(lock)
        self._lock = -1
        self._process: subprocess.Popen[bytes] | None = None

    def open(self) -> None:
        """Take the lock; raise ``DeliveryError`` if an earlier program has it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._lock = os.open(self._lock_path, flags, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise DeliveryError("the program of an earlier try still runs") from None

    def deliver(self, batch: Batch) -> None:
        """Run the program on the changes."""
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as output:
            stdin.write(as_lines(batch.changes))
            stdin.seek(0)
            code = self._run(stdin, output)
            if code == 0:
                return
            words = f"it exited with {code}{_last_line(output)}"
        raise ChangeRefusedError(words) if code == REFUSED else DeliveryError(words)

    def close(self) -> None:
        """Release the lock."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def cancel(self) -> None:
        """End the program, and all that it started."""
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def _run(self, stdin: IO[bytes], output: IO[bytes]) -> int:
        """Return the exit code of the program; raise ``DeliveryError`` if it has none.

        Its time is limited.
        """
        command = self._settings.command
        try:
            self._process = subprocess.Popen(  # noqa: S603  (the settings name it)
                command,
                cwd=self._folder,
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=output,
                pass_fds=(self._lock,),
                start_new_session=True,
            )
        except OSError as error:
            why = error.strerror or "unknown reason"
            raise DeliveryError(f"{command[0]} cannot be started: {why}") from None
        try:
            return self._process.wait(self._settings.timeout)
        except subprocess.TimeoutExpired:
            self.cancel()
            self._process.wait()
            limit = self._settings.timeout
            raise DeliveryError(f"it did not end within {limit:g} s") from None
        finally:
            self._process = None


def _last_line(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(size - _OUTPUT, 0))
    lines = output.read().decode("utf-8", "replace").split("\n")
    words = [line.strip() for line in lines if line.strip()]
    return f": {words[-1][:200]}" if words else ""
