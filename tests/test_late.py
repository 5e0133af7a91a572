"""Modules that come late: nothing is imported before something of them is used."""

import subprocess
import sys

import pytest

from halflife.core import gap_bins
from halflife.core.lazy_import import LazyModule, lazy_modules


def test_a_late_module_is_imported_when_it_is_used():
    code = (
        "import sys; from halflife.kinds.search import selection\n"
        "before = 'halflife.kinds.search.selection' in sys.modules\n"
        "methods = selection.METHODS\n"
        "from halflife.kinds.search import selection as again\n"
        "real = sys.modules['halflife.kinds.search.selection']\n"
        "print(before, methods == real.METHODS, again is real)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "True"]


def test_what_is_set_is_set_in_the_module_itself(monkeypatch):
    stand_in = LazyModule("halflife.core.gap_bins")
    with monkeypatch.context() as patch:
        patch.setattr(stand_in, "SHARES", 7)
        assert gap_bins.SHARES == 7
    assert gap_bins.SHARES == stand_in.SHARES == 1024
    stand_in.passing = 1
    del stand_in.passing
    assert not hasattr(gap_bins, "passing")


def test_only_the_modules_named_come_late():
    find = lazy_modules("halflife.core", "gap_bins")
    assert find("gap_bins").CLASSES_PER_OCTAVE == 8
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        find("other")


def test_a_name_that_a_late_module_lacks_is_an_error():
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = LazyModule("halflife.core.gap_bins").nothing_of_that_name
