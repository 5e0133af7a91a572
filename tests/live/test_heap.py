"""What the program asks of the system's allocator."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from halflife.engine.allocator import be_thrifty


def resident():
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) * 1024


def test_what_large_arrays_took_goes_back_to_the_system():
    be_thrifty()
    arrays = [np.ones(1 << 18) for _ in range(50)]
    kept = arrays[::10]
    full = resident()
    del arrays
    assert full - resident() > 0.8 * 45 * (1 << 21)
    assert len(kept) == 5


def test_where_there_is_no_such_call_nothing_happens(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    be_thrifty()


@pytest.fixture(autouse=True)
def linux():
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is told by /proc")
