"""A newcomer's first five minutes, timed: ``python -m lab.first_minutes``.

Two ways in, each with an empty home folder, so that nothing is cached: from a clean
clone to the picture that ``make demo`` prints, and from the built wheel in an empty
environment to the first forecast of a site of one's own. The site is the small web of
the tutorial on loopback, 12 pages and a sitemap, asked as politely as any other: one
request a second.

Prints one JSON object: seconds on the wall and of the processor for each step. Seconds
on the wall mean something only on an idle machine; ``load`` says how busy it was.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WORLD = ROOT / "examples" / "tutorial" / "world.py"
Step = dict[str, float]


def timed(words: list[str | Path], **places: Any) -> Step:  # noqa: ANN401
    """Run a command to its end; return how long that took, and the processor."""
    before, began = _processor(), time.monotonic()
    done = subprocess.run(  # noqa: S603
        list(map(str, words)), check=False, capture_output=True, text=True, **places
    )
    if done.returncode:
        raise SystemExit(f"{words[0]} failed: {done.stderr.strip()[-2000:]}")
    took = time.monotonic() - began
    return {"seconds": round(took, 2), "cpu": round(_processor() - before, 2)}


def _processor() -> float:
    """Return the processor seconds of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def clone_to_picture(folder: Path, env: Mapping[str, str]) -> dict[str, Step]:
    """Clone the repository and run the demo."""
    clone = folder / "clone"
    steps = {"git clone": timed(["git", "clone", "--quiet", ROOT, clone], env=env)}
    steps["make demo"] = timed(["make", "demo"], cwd=clone, env=env)
    return steps


def wheel_to_forecast(folder: Path, env: Mapping[str, str]) -> dict[str, Step]:
    """Install the wheel into an empty environment and keep a small site."""
    inside, work = folder / "env" / "bin", folder / "work"
    venv.create(inside.parent, with_pip=True)
    work.mkdir()
    pip: list[str | Path] = [inside / "python", "-m", "pip", "--quiet"]
    timed([*pip, "wheel", "--no-deps", "--wheel-dir", folder / "dist", ROOT], env=env)
    (wheel,) = (folder / "dist").glob("halflife-*.whl")
    steps = {"pip install": timed([*pip, "install", wheel], env=env)}
    with small_web() as home:
        site = [f"{home}/sitemap.xml", "--source", "site", "--allow", "127.0.0.0/8"]
        verbs: dict[str, list[str]] = {
            "init": [],
            "add": site,
            "sync": [],
            "forecast": ["--at", "7d"],
        }
        for verb, more in verbs.items():
            words: list[str | Path] = [inside / "halflife", verb, *more]
            steps[f"halflife {verb}"] = timed(words, cwd=work, env=env)
    return steps


@contextmanager
def small_web() -> Iterator[str]:
    """Serve the web of the tutorial; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    words = [sys.executable, str(WORLD), str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as server:  # noqa: S603
        try:
            _wait(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _wait(port: int) -> None:
    until = time.monotonic() + 30.0
    while time.monotonic() < until:
        with socket.socket() as line:
            if line.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the small web does not answer")


def total(steps: Mapping[str, Step]) -> dict[str, Any]:
    """Return steps and their sums.

    >>> total({"a": {"seconds": 1.0, "cpu": 0.5}, "b": {"seconds": 2.0, "cpu": 0.5}})
    {'seconds': 3.0, 'cpu': 1.0, 'steps': {'a': {'seconds': 1.0, 'cpu': 0.5}, 'b': {'seconds': 2.0, 'cpu': 0.5}}}
    """  # noqa: E501
    sums = {
        name: round(sum(step[name] for step in steps.values()), 1)
        for name in ("seconds", "cpu")
    }
    return {**sums, "steps": dict(steps)}


def main() -> None:
    """Time both ways, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        env = {key: v for key, v in os.environ.items() if key != "VIRTUAL_ENV"}
        env |= {"HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": ""}
        busy = round(os.getloadavg()[0], 1)
        found = {
            "clone_to_picture": total(clone_to_picture(folder, env)),
            "wheel_to_forecast": total(wheel_to_forecast(folder, env)),
        }
    told = {**found, "load": busy, "cores": os.cpu_count()}
    sys.stdout.write(f"{json.dumps(told)}\n")


if __name__ == "__main__":
    main()
