"""Runs a reader on a hostile body in a process of its own, and says what it took.

A process imports the readers once and then forks a child for each body.
"""

import atexit
import functools
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 100  # seconds that a body may take at most


@dataclass(frozen=True)
class Took:
    """What a reader said, and what that took."""

    said: str
    grown: float  # MB, of our process
    worker: float  # MB, at most, of a worker
    cpu: float  # seconds of our process
    wall: float


def measure(setup: str, call: str) -> Took:
    """Run ``call`` after ``setup``, both Python; fail if anything else is raised."""
    began, mother = time.monotonic(), _mother()
    mother.stdin.write(json.dumps([setup, call]).encode() + b"\n")
    mother.stdin.flush()
    answer = json.loads(mother.stdout.readline())
    assert isinstance(answer, list), answer
    return Took(*answer, time.monotonic() - began)


@functools.cache
def _mother():
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )

    def close():
        process.stdin.close()
        process.wait(30)
        process.stdout.close()

    atexit.register(close)
    return process


# In the other process


def most(whose=resource.RUSAGE_SELF):
    return resource.getrusage(whose).ru_maxrss / 1024


def forget_most():
    """Let the most memory that this process held be what it holds now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def taken(setup, call):
    """Return what a call says, and what it takes of this process and its workers."""
    from halflife.core.errors import SourceError  # noqa: PLC0415
    from halflife.readers import trees  # noqa: PLC0415

    names = {}
    exec(setup, names)  # noqa: S102
    forget_most()
    before, began = most(), time.process_time()
    try:
        said = str(eval(call, names))  # noqa: S307
    except SourceError as error:
        said = str(error)
    grown, took = most() - before, time.process_time() - began
    trees._POOL.close()
    return said[:300], grown, most(resource.RUSAGE_CHILDREN), took


def child(order, pipe):
    """Do what was ordered and say so; who takes too long is ended by the system."""
    signal.alarm(PATIENCE)
    try:
        answer = taken(*order)
    except BaseException:  # noqa: BLE001  (told to the test)
        answer = traceback.format_exc()[-2000:]
    os.write(pipe, json.dumps(answer).encode())
    os._exit(0)


def answered(order):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        child(order, write)
    os.close(write)
    with open(read, "rb") as pipe:  # noqa: PTH123  (a handle)
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return said or json.dumps(f"no answer; it ended with {status}").encode()


def main():
    import halflife.kinds.form.description  # noqa: PLC0415
    import halflife.kinds.pages.links  # noqa: PLC0415
    import halflife.kinds.search.answers  # noqa: PLC0415
    import halflife.readers.maps  # noqa: PLC0415
    import halflife.readers.text  # noqa: F401, PLC0415

    for line in sys.stdin:
        sys.stdout.buffer.write(answered(json.loads(line)) + b"\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
