"""What holds for the tests of every folder: which modules are read for examples."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

SOURCES = Path(__file__).parent / "src"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Iterator[list[pytest.Collector]]:
    """Look for examples in docstrings only where there are some.

    Else all names of 1 700 modules would be looked through, by each worker. Those of
    the package are imported as ever: pytest would make a second copy of a module that
    nobody has imported yet, and what it holds could not be sent to other processes.
    """
    found = yield
    if file_path.suffix != ".py":
        return found
    if b">>>" not in file_path.read_bytes():
        return [one for one in found if not isinstance(one, DoctestModule)]
    if file_path.is_relative_to(SOURCES):
        parts = file_path.relative_to(SOURCES).with_suffix("").parts
        importlib.import_module(".".join(p for p in parts if p != "__init__"))
    return found
