"""Start the demo site, set its clock, and stop it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from halflife.core.errors import SourceError
from halflife.demo.world import DemoWorld

PATIENCE = 10.0  # seconds in which it may end by itself


@dataclass(frozen=True, slots=True)
class RunningSite:
    """A running demo site.

    Attributes:
        url: Its address, without a slash at the end.
        process: The process that serves it.

    """

    url: str
    process: "subprocess.Popen[str]"

    def set_clock(self, t: float) -> None:
        """Move the site's time to ``t`` days."""
        if self.process.stdin is None:
            raise SourceError("the clock of the demo site cannot be set")
        try:
            self.process.stdin.write(f"{float(t)!r}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise SourceError("the demo site has ended") from None
        if _line(self.process) != "ok":
            raise SourceError("the demo site does not answer")


@contextmanager
def running(world: DemoWorld) -> Iterator[RunningSite]:
    """Serve a world from another process during the block."""
    settings = {
        "--seed": world.seed,
        "--pages": len(world.founders),
        "--days": world.days,
        "--began": world.began,
    }
    command = [sys.executable, "-m", "halflife.demo.site"]
    command += [str(word) for pair in settings.items() for word in pair]
    with subprocess.Popen(  # noqa: S603  (our own module, our own numbers)
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield RunningSite(_address(process), process)
        finally:
            _end(process)


def _address(process: "subprocess.Popen[str]") -> str:
    line = _line(process)
    if not line:
        raise SourceError("the demo site did not start")
    return str(json.loads(line)["url"])


def _line(process: "subprocess.Popen[str]") -> str:
    if process.stdout is None:
        raise SourceError("the output of the demo site cannot be read")
    return process.stdout.readline().strip()


def _end(process: "subprocess.Popen[str]") -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # it has ended already
            process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
