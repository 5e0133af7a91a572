"""The whole program, started in a moment, and harmed on the way if a test wants so.

A process imports the program once and then forks a child for each command, so that
hundreds of runs take minutes. strace joins the child before it begins, and kills it,
or lets its disk fail, at the wanted write to the state file.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

STATE = "halflife.db"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (-9 if it was killed), what it said."""

    code: int
    out: str
    err: str


class Nursery:
    """Starts the program in folders with settings."""

    def __init__(self):
        self._mother = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def close(self):
        self._mother.stdin.close()
        self._mother.wait(30)
        self._mother.stdout.close()

    def begin(self, folder, *words, harm="", trace=""):
        """Start ``halflife WORDS`` in a folder; ``end`` says how it ended.

        ``harm`` is what strace injects; ``trace`` are the calls it notes in a file
        ``trace``.
        """
        order = {"folder": str(folder), "words": [str(word) for word in words]}
        order |= {"harm": harm, "trace": trace}
        self._mother.stdin.write(json.dumps(order).encode() + b"\n")
        self._mother.stdin.flush()

    def end(self):
        """Wait for the command that was begun first."""
        answer = json.loads(self._mother.stdout.readline())
        return Ended(**answer)

    def race(self, folders, *words):
        """Start a command in several folders at once; ``end`` says who ended next."""
        orders = [{"folder": str(f), "words": [str(w) for w in words]} for f in folders]
        self._mother.stdin.write(json.dumps(orders).encode() + b"\n")
        self._mother.stdin.flush()

    def run(self, folder, *words, **how):
        """Run a command and wait for it."""
        self.begin(folder, *words, **how)
        return self.end()

    def writes(self, folder, *words):
        """Run a command; return how often it wrote to the state file, and synced it."""
        done = self.run(folder, *words, trace="pwrite64,fdatasync")
        assert done.code == 0, done.err
        lines = (folder / "trace").read_text().splitlines()
        return [sum(f" {call}(" in line for line in lines) for call in CALLS]


CALLS = ("pwrite64", "fdatasync")


def child(order, go):
    """Do what was ordered, once we may."""
    folder = Path(order["folder"])
    os.chdir(folder)
    for handle, name in ((1, "out"), (2, "err")):
        file = os.open(folder / name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(file, handle)
    os.read(go, 1)
    from halflife import cli  # noqa: PLC0415  (was imported before we were forked)

    code = cli.main(order["words"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def watcher(order, pid):
    """Let strace join a child that waits; return strace."""
    state = Path(order["folder"]) / STATE
    note = state.with_name("trace") if order["trace"] else os.devnull
    paths = ["-P", state, "-P", f"{state}-wal"]
    act = f"trace={order['trace']}" if order["trace"] else f"inject={order['harm']}"
    strace = subprocess.Popen(
        ["strace", "-f", "-o", note, *paths, "-e", act, "-p", str(pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    strace.stderr.readline()  # "attached"
    return strace


def begun(order, ready):
    """Return the process of a child that waits for a byte."""
    pid = os.fork()
    if not pid:
        child(order, ready)
    return pid


def ended(order, status):
    folder = Path(order["folder"])
    said = [(folder / name).read_text(errors="replace") for name in ("out", "err")]
    return {"code": os.waitstatus_to_exitcode(status), "out": said[0], "err": said[1]}


def serve_all(orders):
    """Run commands in children at once; yield how each ended, the first one first."""
    ready, go = os.pipe()
    running = {begun(order, ready): order for order in orders}
    os.write(go, b"!" * len(orders))
    while running:
        pid, status = os.waitpid(-1, 0)
        yield ended(running.pop(pid), status)
    os.close(ready)
    os.close(go)


def serve(order):
    """Run one command in a child; return how it ended."""
    ready, go = os.pipe()
    pid = begun(order, ready)
    traced = order["harm"] or order["trace"]
    strace = watcher(order, pid) if traced else None
    os.write(go, b"!")
    _, status = os.waitpid(pid, 0)
    if strace is not None:
        strace.communicate()
    os.close(ready)
    os.close(go)
    return ended(order, status)


def preload():
    """Import what a sync imports on its way."""
    import halflife.cli  # noqa: PLC0415
    import halflife.engine.appraisal  # noqa: PLC0415
    import halflife.engine.notifications  # noqa: PLC0415
    import halflife.kinds.form.runner  # noqa: PLC0415
    import halflife.kinds.pages.crawl  # noqa: PLC0415
    import halflife.kinds.pages.runner  # noqa: F401, PLC0415


def main():
    preload()
    for line in sys.stdin:
        order = json.loads(line)
        for done in serve_all(order) if isinstance(order, list) else [serve(order)]:
            sys.stdout.write(json.dumps(done) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
