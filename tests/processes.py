"""The program as a process of its own, for tests that signal, kill or watch it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def started(here: Path, *words: str) -> subprocess.Popen[str]:
    """Return the program at work in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "halflife", *words],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def wait_for(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    """Wait until something is true; fail if it does not become so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def load_of() -> float:
    """Return how many programs wait for each processor of this machine."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)
