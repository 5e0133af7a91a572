"""Say which share of the lines of the pure layers their own tests reach.

    python tools/pure_coverage.py

runs the doctests of these layers and every test file that imports nothing of the
package beyond them. What is reached only by starting more of the program does not
count. The table has the files that are not reached whole; the last line is the share of
all. It fails below ``LEAST`` per cent.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from mutant_tests import modules_named, path_of, pure_modules, test_files
from mutants import pure_packages

LEAST = 95  # per cent of the lines
DATA = Path("out/coverage.data")


def main() -> int:
    """Run the tests, print the table; return the exit code."""
    modules = pure_modules(pure_packages())
    tests = [*_documented(modules), *own_tests(modules)]
    source = ",".join(str(path_of(name).parent) for name in pure_packages())
    DATA.parent.mkdir(parents=True, exist_ok=True)
    pytest = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider")
    ran = _coverage("run", f"--source={source}", *pytest, *map(str, tests))
    return ran or _coverage("report", "--skip-covered", "-m", f"--fail-under={LEAST}")


def own_tests(modules: Iterable[str]) -> list[Path]:
    """Return the test files that import some of these modules and no others of ours."""
    pure = set(modules)
    named = {path: modules_named(path) for path in test_files()}
    return [path for path, found in named.items() if found and found <= pure]


def _documented(modules: Iterable[str]) -> list[Path]:
    """Return the modules with examples in their docstrings."""
    paths = map(path_of, modules)
    return [path for path in paths if ">>>" in path.read_text("utf-8")]


def _coverage(verb: str, *options: str) -> int:
    command = [sys.executable, "-m", "coverage", verb, f"--data-file={DATA}", *options]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - our own


if __name__ == "__main__":
    sys.exit(main())
