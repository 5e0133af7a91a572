"""Run tests in a process of their own: against a mutation, or watched.

Libraries are imported once; each run is a fork that sees the changed module through
the import system, so that nothing is ever written into the sources. A run is limited in
CPU time (which a busy machine does not stretch), in wall time and in memory. A watched
run changes nothing and notes which functions of the package each test enters.
"""

import builtins
import importlib
import importlib.machinery
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import CodeType

import pytest
from hypothesis import HealthCheck, Phase, settings
from mutant_tests import path_of
from mutations import Mutation, marked, mutated

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
MARK = "__entered__"
LATE = {signal.SIGKILL, signal.SIGXCPU, signal.SIGPROF}  # end who takes too long
WALL = 8.0  # times the CPU limit; only a mutant that sleeps gets so far


@dataclass(slots=True)
class Outcome:
    """What became of one run of tests.

    Attributes:
        verdict: passed, failed or timeout.
        failed: The tests that failed.
        cpu: Seconds of CPU time.
        entered: Of a watched run: each test's CPU seconds and the functions it entered.

    """

    verdict: str
    failed: list[str] = field(default_factory=list)
    cpu: float = 0.0
    entered: dict[str, tuple[float, list[str]]] = field(default_factory=dict)


def load_libraries() -> None:
    """Import what most tests import, once for all runs."""
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)


def mark_modules(modules: Iterable[str]) -> dict[str, CodeType]:
    """Return modules in which every function tells that it is entered."""
    found = {}
    for module in modules:
        path = path_of(module)
        tree = marked(module, path.read_text("utf-8"), MARK)
        found[module] = compile(tree, str(path.resolve()), "exec")
    return found


class Run:
    """One fork that runs test files, or single tests, against a mutation or watched."""

    def __init__(
        self,
        tests: Mapping[str, float],
        changed: dict[str, CodeType],
        *,
        watched: bool = False,
    ) -> None:
        """Begin; each test, or file of them, has its limit in seconds of CPU time.

        ``changed`` are the modules that tests are to see otherwise than they are: a
        mutation, or, where a run is watched, those that are marked.
        """
        self.limit = sum(tests.values())
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by poll
        self._began = time.monotonic()
        self.process = os.fork()
        if self.process == 0:
            _run(tests, changed, self._said.fileno(), watched=watched)

    def poll(self) -> Outcome | None:
        """Return the outcome, or None while the run goes on."""
        process, status, used = os.wait4(self.process, os.WNOHANG)
        if not process:
            if time.monotonic() - self._began > self.limit * WALL:
                os.kill(self.process, signal.SIGKILL)
            return None
        with self._said as file:
            file.seek(0)
            said = file.read()
        cpu = used.ru_utime + used.ru_stime
        if os.WIFSIGNALED(status):
            late = os.WTERMSIG(status) in LATE
            return Outcome("timeout" if late else "failed", [], cpu)
        failing, failed, entered = json.loads(said)
        return Outcome("failed" if failing else "passed", failed, cpu, entered)


def _run(
    tests: Mapping[str, float],
    changed: dict[str, CodeType],
    write: int,
    *,
    watched: bool,
) -> None:
    """Run the tests, say what happened, and end the process."""
    notes = Watch() if watched else Notes(tests)
    fine = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
    try:
        _confine(sum(tests.values()))
        sys.dont_write_bytecode = False  # tests are read again and again
        _install(changed)
        # Rewritten asserts would load a module that holds doctests past us.
        code = pytest.main(
            [
                *("-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"),
                *("-p", "no:xdist", "-o", "timeout=0", "--assert=plain"),
                *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
                *([] if watched else ["-x"]),
                *tests,
            ],
            plugins=[notes],
        )
        failing = code not in fine
    except BaseException as error:  # noqa: BLE001 - a mutant may raise anything
        failing = True
        notes.failed.append(repr(error)[:200])
    said = json.dumps([failing, notes.failed, notes.entered()]).encode()
    with suppress(OSError), os.fdopen(write, "wb") as file:
        file.write(said)
    os._exit(0)


class Notes:
    """A pytest plugin that remembers the tests that failed, and limits each."""

    def __init__(self, limits: Mapping[str, float] | None = None) -> None:
        self.failed: list[str] = []
        self._limits = limits or {}

    def entered(self) -> dict[str, tuple[float, list[str]]]:
        """Return what each test entered, if this was watched."""
        return {}

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

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Let the process end when a test takes too much CPU time."""
        signal.setitimer(signal.ITIMER_PROF, self._limits.get(nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a test that failed."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember a file that could not be read."""
        if report.failed:
            self.failed.append(report.nodeid)


class Watch(Notes):
    """The same, and notes which functions each test enters.

    What is entered while tests are collected or set up counts for all of them, since
    they may share it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shared: set[str] = set()
        self._own: dict[str, set[str]] = {}
        self._cpu: dict[str, float] = {}
        setattr(builtins, MARK, self._shared.add)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note how long a test takes."""
        before = time.process_time()
        found = yield
        self._cpu[item.nodeid] = time.process_time() - before
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Note what a test enters."""
        setattr(builtins, MARK, self._own.setdefault(item.nodeid, set()).add)
        try:
            return (yield)
        finally:
            setattr(builtins, MARK, self._shared.add)

    def entered(self) -> dict[str, tuple[float, list[str]]]:
        """Return the CPU time of each test and the functions that it entered."""
        return {
            test: (self._cpu[test], sorted(self._shared | names))
            for test, names in self._own.items()
        }


def _confine(limit: float) -> None:
    """Limit time and memory, and be silent."""
    seconds = int(limit) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)


def mutate(mutation: Mutation) -> dict[str, CodeType]:
    """Return the changed module."""
    path = path_of(mutation.module)
    tree = mutated(path.read_text("utf-8"), mutation)
    return {mutation.module: compile(tree, str(path.resolve()), "exec")}


def _install(changed: dict[str, CodeType]) -> None:
    """Let the import system hand out the changed modules."""
    early = changed.keys() & sys.modules.keys()
    if early:
        raise RuntimeError(f"{early} were imported before they were changed")
    loader = importlib.machinery.SourceFileLoader
    plain = loader.get_code

    def get_code(self: object, fullname: str) -> CodeType | None:
        if fullname in changed:
            return changed[fullname]
        return plain(self, fullname)  # type: ignore[arg-type]

    loader.get_code = get_code  # type: ignore[method-assign]
