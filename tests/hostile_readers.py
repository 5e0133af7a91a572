"""Runs a reader on a hostile body in a process of its own, and says what it took."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass

_MEASURE = """
import json, resource, sys, time
from halflife.core.errors import SourceError
{setup}
def most(whose=resource.RUSAGE_SELF):
    return resource.getrusage(whose).ru_maxrss / 1024
before, began = most(), time.process_time()
try:
    said = str({call})
except SourceError as error:
    said = str(error)
grown, took = most() - before, time.process_time() - began
trees = sys.modules.get("halflife.readers.trees")
if trees:
    trees._POOL.close()
print(json.dumps([said[:300], grown, most(resource.RUSAGE_CHILDREN), took]))
"""


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
    script = _MEASURE.format(setup=setup, call=call)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return Took(*json.loads(done.stdout), time.monotonic() - began)
