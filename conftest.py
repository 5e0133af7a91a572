"""What holds for the tests of every folder: which modules are read for examples."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Iterator[list[pytest.Collector]]:
    """Look for examples in docstrings only where there are some.

    Else all names of 1 700 modules would be looked through, by each worker.
    """
    found = yield
    if file_path.suffix == ".py" and b">>>" not in file_path.read_bytes():
        return [one for one in found if not isinstance(one, DoctestModule)]
    return found
