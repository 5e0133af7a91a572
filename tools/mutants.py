"""Change one operator at a time in the pure layers and see which tests notice.

    python tools/mutants.py --count 60 --seed 1

draws places at random, changes each in one way, and runs the tests that enter the
changed function: first those that name the module, then, with ``--neighbours``, those
that name a module which imports it. The last line of the output is ``killed K of N``;
the report is JSON. docs/decisions/mutants-by-hand.md says why this is not one of the
well-known tools.
"""

import argparse
import hashlib
import json
import os
import random
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from types import CodeType

from mutant_runs import Outcome, Run, load_libraries, mark_modules, mutate
from mutant_tests import naming, neighbouring, path_of, pure_modules
from mutations import Mutation, mutations

CONTRACT = "the middle does no I/O"
EQUIVALENT = Path("tools/equivalent_mutants")  # a file for each part of the package
POLL = 0.02  # seconds
CLEAN_LIMIT = 300.0  # seconds of CPU time for one test file without a mutation


@dataclass(slots=True)
class Case:
    """One mutation on its way through the tests."""

    mutation: Mutation
    stages: list[tuple[str, list[Path]]]
    verdict: str = ""
    by: str = ""
    test: str = ""
    tests: int = 0
    cpu: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class Clean:
    """What each test enters and takes without a mutation, and what fails then."""

    files: dict[str, dict[str, tuple[float, list[str]]]] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)

    def entering(self, function: str, files: Iterable[Path]) -> dict[str, float]:
        """Return the tests of some files that enter a function, the quickest first."""
        found = {
            test: cpu
            for file in files
            for test, (cpu, functions) in self.files.get(str(file), {}).items()
            if function in functions and test not in self.failing
        }
        return dict(sorted(found.items(), key=lambda pair: pair[1]))


def main() -> int:
    """Draw mutations, run the tests, write the report; return the exit code."""
    options = _options()
    cases = _drawn(options)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before numpy comes
        os.environ.setdefault(name, "1")
    load_libraries()
    clean = _watched(cases, options)
    _run_all(cases, clean, options)
    _report(cases, clean, options)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--count", type=int, default=60, help="how many mutations to draw")
    add("--seed", type=int, default=1, help="which ones are drawn")
    add("--modules", nargs="*", default=["*"], help="patterns of module names")
    add("--jobs", type=int, default=2, help="processes at a time")
    add("--neighbours", action="store_true", help="also tests of importing modules")
    add(
        "--factor",
        type=float,
        default=3,
        help="limit of a test: so many times its clean time",
    )
    add("--spare", type=float, default=5, help="limit: and so many CPU seconds more")
    add("--report", type=Path, default=Path("out/mutants.json"))
    add("--watched", type=Path, help="keep what tests enter here, for the next run")
    return parser.parse_args()


def _drawn(options: argparse.Namespace) -> list[Case]:
    """Return the sample: places are drawn first, then one change at each."""
    places = [
        place
        for module in _chosen_modules(options.modules)
        for place in mutations(
            module, str(path_of(module)), path_of(module).read_text("utf-8")
        )
    ]
    rng = random.Random(options.seed)  # noqa: S311 - a sample, no secret
    drawn = rng.sample(places, min(options.count, len(places)))
    cases = [_case(rng.choice(place), options) for place in drawn]
    listed = _equivalents()
    for case in cases:
        m = case.mutation
        case.reason = listed.get((m.module, m.function, m.name), "")
        case.verdict = "equivalent" if case.reason else ""
    return cases


def pure_packages() -> list[str]:
    """Return the packages that do no I/O, by the contract that says so."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    found = next(c for c in contracts if c["name"] == CONTRACT)["source_modules"]
    return [str(name) for name in found]


def _chosen_modules(patterns: list[str]) -> list[str]:
    """Return the pure modules that fit one of the patterns."""
    modules = pure_modules(pure_packages())
    return [m for m in modules if any(fnmatch(m, f"*{p}") for p in patterns)]


def _case(mutation: Mutation, options: argparse.Namespace) -> Case:
    named = naming(mutation.module)
    stages = [("naming", named)]
    if options.neighbours:
        near = [f for f in neighbouring(mutation.module) if f not in named]
        stages.append(("neighbour", near))
    return Case(mutation, stages)


def _equivalents() -> dict[tuple[str, str, str], str]:
    """Return the reasons of the mutations that change nothing anybody can see."""
    return {
        (m["module"], m["function"], f"{m['before']} -> {m['after']}"): m["reason"]
        for file in sorted(EQUIVALENT.glob("*.toml"))
        for m in tomllib.loads(file.read_text("utf-8"))["mutant"]
    }


def _watched(cases: list[Case], options: argparse.Namespace) -> Clean:
    """Run every test file that is needed once, without a mutation, and watch it."""
    wanted = {f for c in cases if not c.verdict for _, files in c.stages for f in files}
    kept = {}
    if options.watched and options.watched.exists():
        kept = json.loads(options.watched.read_text("utf-8"))
    clean = Clean()
    waiting = [
        file
        for file in sorted(wanted)
        if kept.get(str(file), {}).get("digest") != _digest(file)
    ]
    _say(f"{len(waiting)} test files are run without a mutation first")
    marks = mark_modules(_marked(cases, options)) if waiting else {}
    for file, outcome in _pool(waiting, marks, options.jobs):
        failing = outcome.failed or [str(file)] * (outcome.verdict != "passed")
        tests = outcome.entered
        kept[str(file)] = {
            "digest": _digest(file),
            "tests": tests,
            "failing": failing,
        }
        if options.watched:
            options.watched.write_text(json.dumps(_passing(kept)), "utf-8")
        for test in failing:
            _say(f"left out, for it fails without a mutation: {test}")
    for file in wanted:
        clean.files[str(file)] = kept[str(file)]["tests"]
        clean.failing |= set(kept[str(file)]["failing"])
    return clean


def _marked(cases: list[Case], options: argparse.Namespace) -> list[str]:
    """Return the modules to watch: all, where a later run may ask for another."""
    drawn = sorted({case.mutation.module for case in cases})
    return _chosen_modules(["*"]) if options.watched else drawn


def _passing(kept: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Return the files without a failure; the others are run again next time.

    What fails may be the machine's fault: then it must not be left out for good.
    """
    return {file: found for file, found in kept.items() if not found["failing"]}


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _pool(
    files: list[Path], marks: dict[str, CodeType], jobs: int
) -> Iterator[tuple[Path, Outcome]]:
    """Yield the outcome of each file as it comes in."""
    waiting, running = list(reversed(files)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            file = waiting.pop()
            running[file] = Run({str(file): CLEAN_LIMIT}, marks, watched=True)
        for file, run in list(running.items()):
            outcome = run.poll()
            if outcome is not None:
                del running[file]
                yield file, outcome
        time.sleep(POLL)


def _run_all(cases: list[Case], clean: Clean, options: argparse.Namespace) -> None:
    """Send every case through its stages until a test notices it."""
    waiting = [case for case in reversed(cases) if not case.verdict]
    running: list[tuple[Case, str, Run]] = []
    while waiting or running:
        while waiting and len(running) < options.jobs:
            _start(waiting.pop(), clean, options, running)
        for entry in list(running):
            case, stage, run = entry
            if (outcome := run.poll()) is None:
                continue
            running.remove(entry)
            case.cpu += outcome.cpu
            if outcome.verdict == "passed":
                waiting.append(case)
                continue
            case.verdict = "timeout" if outcome.verdict == "timeout" else "killed"
            case.by, case.test = stage, next(iter(outcome.failed), "")
            _tell(case)
        time.sleep(POLL)


def _start(
    case: Case,
    clean: Clean,
    options: argparse.Namespace,
    running: list[tuple[Case, str, Run]],
) -> None:
    """Begin the next stage of a case; without one, no test has noticed it."""
    function = f"{case.mutation.module}:{case.mutation.function}"
    while case.stages:
        stage, files = case.stages.pop(0)
        tests = clean.entering(function, files)
        if tests:
            case.tests += len(tests)
            limits = {
                test: options.factor * cpu + options.spare
                for test, cpu in tests.items()
            }
            run = Run(limits, mutate(case.mutation))
            running.append((case, stage, run))
            return
    case.verdict = "survived"
    _tell(case)


def _tell(case: Case) -> None:
    m = case.mutation
    _say(
        f"{case.verdict:9} {m.path}:{m.line} {m.function}: {m.name[:110]}"
        f"  ({case.tests} tests, {case.cpu:.1f} s)"
    )


def _say(line: str) -> None:
    print(line, flush=True)


def _report(cases: list[Case], clean: Clean, options: argparse.Namespace) -> None:
    """Write the report and print the last lines."""
    counted = [case for case in cases if case.verdict != "equivalent"]
    dead = [case for case in counted if case.verdict in {"killed", "timeout"}]
    named = sum(case.by == "naming" for case in dead)
    late = sum(case.verdict == "timeout" for case in dead)
    report = {
        "seed": options.seed,
        "drawn": len(cases),
        "equivalent": len(cases) - len(counted),
        "killed": len(dead),
        "killed_by_naming_tests": named,
        "timeouts": late,
        "of": len(counted),
        "left_out": sorted(clean.failing),
        "mutants": [_row(case) for case in cases],
    }
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    _say(f"{named} by tests that name the module, {late} by running out of time")
    _say(
        f"{len(cases) - len(counted)} drawn are listed as equivalent; {options.report}"
    )
    _say(f"killed {len(dead)} of {len(counted)}")


def _row(case: Case) -> dict[str, object]:
    row = asdict(case.mutation)
    del row["site"], row["variant"]
    return {
        "file": row.pop("path"),
        **row,
        "verdict": case.verdict,
        "by": case.by,
        "test": case.test,
        "tests": case.tests,
        "cpu_seconds": round(case.cpu, 2),
        "reason": case.reason,
    }


if __name__ == "__main__":
    sys.exit(main())
