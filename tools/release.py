"""Build wheel and sdist, try the wheel in empty environments, write the SBOM.

    python tools/release.py --uv .uv/bin/uv --out dist --pythons 3.11 3.12 3.13

An environment that holds nothing but the wheel and what it needs runs the demo: once
for each Python that the machine has, and once with the lowest versions that
``pyproject.toml`` allows. One line of JSON for each; a Python that the machine lacks
is named and passed over. The exit code says whether all that ran went well.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEMO = ("demo", "--pages", "40", "--days", "6", "--json")
SBOM_TOOL = "cyclonedx-bom==7.1.0"
OFFLINE = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}


@dataclass(frozen=True)
class Trial:
    """What became of the wheel in one environment."""

    python: str
    versions: str
    ran: bool
    freshness: float = 0.0
    seconds: float = 0.0
    why: str = ""


def call(*words: str | Path) -> str:
    """Run a program; return what it printed."""
    done = subprocess.run(  # noqa: S603  (our own programs)
        list(map(str, words)),
        cwd=ROOT,
        env=OFFLINE,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-2000:] or f"exit {done.returncode}")
    return done.stdout


def build(uv: str, out: Path) -> Path:
    """Build both archives anew; return the wheel."""
    shutil.rmtree(out, ignore_errors=True)
    call(uv, "build", "--quiet", "-o", out, ".")
    (wheel,) = out.glob("*.whl")
    return wheel


def interpreter(version: str) -> str | None:
    """Return the path of a Python; None if there is none of the version."""
    name = shutil.which(f"python{version}")
    if name is None:
        return None
    asked = [name, "-c", "import sys; print(sys.executable)"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() if done.returncode == 0 else _from_pyenv(version)


def _from_pyenv(version: str) -> str | None:
    """Return the path of a Python that pyenv holds and has not switched on."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(home.glob(f"versions/{version}.*/bin/python"))
    return str(found[-1]) if found else None


def install(uv: str, wheel: Path, python: str, home: Path, *, lowest: bool) -> Path:
    """Make an environment with the wheel alone; return its Python."""
    call(uv, "venv", "--quiet", "--python", python, home)
    inside = home / "bin" / "python"
    into = (uv, "pip", "install", "--quiet", "--python", inside)
    if not lowest:
        call(*into, wheel)
        return inside
    chosen = home / "lowest.txt"
    resolve = (uv, "pip", "compile", "--quiet", "--resolution", "lowest-direct")
    call(*resolve, "--python", inside, "pyproject.toml", "-o", chosen)
    call(*into, "-r", chosen)
    call(*into, "--no-deps", wheel)
    return inside


def attempt(uv: str, wheel: Path, version: str, *, lowest: bool) -> Trial:
    """Run the demo from the wheel under one Python."""
    versions = "lowest" if lowest else "newest"
    python = interpreter(version)
    if python is None:
        return Trial(version, versions, ran=False, why="this machine has none")
    with tempfile.TemporaryDirectory() as folder:
        home, began = Path(folder) / "env", time.monotonic()
        try:
            inside = install(uv, wheel, python, home, lowest=lowest)
            kept = ("--keep", Path(folder) / "demo")
            found = json.loads(call(inside.with_name("halflife"), *DEMO, *kept))
        except RuntimeError as error:
            return Trial(version, versions, ran=True, why=str(error))
        took = round(time.monotonic() - began, 1)
    fresh = found["freshness"]["halflife"]
    return Trial(version, versions, ran=True, freshness=fresh, seconds=took)


def write_sbom(uv: str, wheel: Path, out: Path) -> Path:
    """Write what the wheel brings with it, as CycloneDX JSON."""
    target = out / f"{wheel.name.partition('-py3')[0]}.cdx.json"
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "env"
        inside = install(uv, wheel, sys.executable, home, lowest=False)
        tool = (uv, "tool", "run", "--quiet", "--from", SBOM_TOOL, "cyclonedx-py")
        call(*tool, "environment", inside, "--output-reproducible", "-o", target)
    return target


def main() -> int:
    """Build, try and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--uv", default="uv")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--pythons", nargs="+", default=["3.11", "3.12", "3.13"])
    parser.add_argument("--no-sbom", dest="sbom", action="store_false")
    chosen = parser.parse_args()
    uv = shutil.which(chosen.uv) or str((ROOT / chosen.uv).resolve())
    wheel = build(uv, chosen.out.resolve())
    trials = [attempt(uv, wheel, one, lowest=False) for one in chosen.pythons]
    trials.append(attempt(uv, wheel, chosen.pythons[0], lowest=True))
    for trial in trials:
        print(json.dumps(asdict(trial)))
    made = sorted(path.name for path in chosen.out.glob("halflife-*"))
    if chosen.sbom:
        made.append(write_sbom(uv, wheel, chosen.out.resolve()).name)
    good = all(trial.freshness > 0 for trial in trials if trial.ran)
    print(json.dumps({"made": made, "good": good}))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
