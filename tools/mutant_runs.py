"""Run tests against one mutation in a process of its own.

Libraries are imported once; each run is a fork that sees the changed module through
the import system, so that nothing is ever written into the sources. A run is limited in
CPU time (which a busy machine does not stretch), in wall time and in memory.
"""

import ast
import importlib
import importlib.machinery
import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import HealthCheck, Phase, settings
from mutant_tests import path_of
from mutations import Mutation, mutated

LIBRARIES = (
    "hypothesis.extra.numpy",
    "networkx",
    "numpy.testing",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
)
MEMORY = 6 << 30  # bytes of address space: a runaway mutant ends, not the machine
WALL = 8.0  # times the CPU limit; only a mutant that sleeps gets so far


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run of tests."""

    verdict: str  # passed, failed, timeout, broken
    test: str
    cpu: float


def load_libraries() -> None:
    """Import what most tests import, once for all runs."""
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)


class Run:
    """One fork that runs some test files, perhaps against a mutation."""

    def __init__(
        self, files: list[Path], mutation: Mutation | None, limit: float
    ) -> None:
        """Begin; ``limit`` is in seconds of CPU time."""
        self.limit = limit
        self._read, write = os.pipe()
        self._began = time.monotonic()
        self.process = os.fork()
        if self.process == 0:
            os.close(self._read)
            _run(files, mutation, limit, write)
        os.close(write)

    def poll(self) -> Outcome | None:
        """Return the outcome, or None while the run goes on."""
        process, status, used = os.wait4(self.process, os.WNOHANG)
        if not process:
            if time.monotonic() - self._began > self.limit * WALL:
                os.kill(self.process, signal.SIGKILL)
            return None
        with os.fdopen(self._read, "rb") as pipe:
            said = pipe.read()
        cpu = used.ru_utime + used.ru_stime
        if os.WIFSIGNALED(status):
            ran_out = {signal.SIGKILL, signal.SIGXCPU}
            late = os.WTERMSIG(status) in ran_out
            return Outcome("timeout" if late else "failed", "", cpu)
        if not said:
            return Outcome("failed", "", cpu)
        verdict, test = json.loads(said)
        return Outcome(verdict, test, cpu)


class _Notes:
    """A pytest plugin that remembers the first test that failed."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_sessionstart(self) -> None:
        """Make property tests repeatable, and end them at the first failure."""
        settings.register_profile(
            "mutants",
            parent=settings.default,
            phases=(Phase.explicit, Phase.generate),
            database=None,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),  # a busy machine is no defect
        )
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


def _run(
    files: list[Path], mutation: Mutation | None, limit: float, write: int
) -> None:
    """Run the tests, say what happened, and end the process."""
    try:
        _confine(limit)
        if mutation is not None:
            _install(mutation)
        notes = _Notes()
        code = pytest.main(
            [
                *("-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"),
                *("-p", "no:xdist", "-o", "timeout=0"),
                *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
                *(str(file) for file in files),
            ],
            plugins=[notes],
        )
        verdicts = {0: "passed", 1: "failed", 2: "failed", 5: "broken"}
        said = json.dumps([verdicts.get(int(code), "failed"), notes.failed])
    except BaseException as error:  # noqa: BLE001 - a mutant may raise anything
        said = json.dumps(["failed", repr(error)[:200]])
    with suppress(OSError):
        os.write(write, said.encode())
    os._exit(0)


def _confine(limit: float) -> None:
    """Limit time and memory, and be silent."""
    seconds = int(limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)


def _install(mutation: Mutation) -> None:
    """Let the import system hand out the changed module."""
    path = path_of(mutation.module)
    tree: ast.Module = mutated(path.read_text("utf-8"), mutation)
    changed = compile(tree, str(path.resolve()), "exec")
    loader = importlib.machinery.SourceFileLoader
    plain = loader.get_code

    def get_code(self: object, fullname: str) -> CodeType | None:
        if fullname == mutation.module:
            return changed
        return plain(self, fullname)  # type: ignore[arg-type]

    loader.get_code = get_code  # type: ignore[method-assign]
    if mutation.module in sys.modules:
        raise RuntimeError(f"{mutation.module} was imported before it was changed")
