"""The program run in the process of the tests: a start takes half a second."""

import io
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from halflife.cli import main


def run_inside(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run a verb in a folder; return its exit code, its answer and what it said."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), _settings_found(), redirect_stdout(out), redirect_stderr(err):
        code = main(list(words))
    return code, out.getvalue(), err.getvalue()


@contextmanager
def _settings_found() -> Iterator[None]:
    """Let the settings of the folder count, not those that the environment names."""
    named = os.environ.pop("HALFLIFE_CONFIG", None)
    try:
        yield
    finally:
        if named is not None:
            os.environ["HALFLIFE_CONFIG"] = named
