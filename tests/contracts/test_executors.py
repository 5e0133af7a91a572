"""What every executor must do: the same, in the order of the parts."""

import math
import operator
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from halflife.bench.out_of_core import make_file
from halflife.core.errors import ExecutorError, UsageError
from halflife.executors import check_name, executor_named
from halflife.executors.local import InProcess, ProcessPool
from halflife.recordings.item_parts import allocate_files, parts_of

ROOT = Path(__file__).parents[2]
PARTS = [1.0, 1e16, -1e16, 3.0]  # added up in another order they give another sum


def _ray(name: str) -> object:
    reason = "Ray is not installed; run `make ray`"
    return pytest.param(name, marks=pytest.mark.skipif(not _has_ray(), reason=reason))


def _has_ray() -> bool:
    try:
        import ray  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def results_come_in_the_order_of_the_parts(executor, _) -> None:
    assert list(executor.map(math.sqrt, range(50))) == [math.sqrt(n) for n in range(50)]


def sums_are_taken_in_the_order_of_the_parts(executor, _) -> None:
    expected = ((PARTS[0] + PARTS[1]) + PARTS[2]) + PARTS[3]
    assert executor.reduce(float, PARTS, operator.add) == expected
    assert expected != math.fsum(PARTS)


def work_may_carry_what_all_parts_need(executor, _) -> None:
    assert list(executor.map(partial(pow, 2.0), [1.0, 2.0, 3.0])) == [2.0, 4.0, 8.0]


def one_part_is_enough_and_none_gives_nothing(executor, _) -> None:
    assert executor.reduce(abs, [-3], operator.add) == 3
    assert list(executor.map(abs, [])) == []


def what_goes_wrong_with_a_part_is_raised_as_it_was(executor, _) -> None:
    with pytest.raises(ValueError, match=r"^math domain error$"):
        list(executor.map(math.sqrt, [1.0, -1.0]))


def plans_are_the_same_bytes_whoever_makes_them(executor, tmp_path) -> None:
    pytest.importorskip("pyarrow", reason="needs halflife[parquet]")
    items = tmp_path / "items"
    items.mkdir()
    for number in range(3):
        make_file(items, (number, 300))
    for name, who in (("one", InProcess()), ("many", executor)):
        allocate_files(parts_of(items, tmp_path / name), 150.0, who)
    one, many = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "many")
    )
    assert one == many


LAWS = (
    results_come_in_the_order_of_the_parts,
    sums_are_taken_in_the_order_of_the_parts,
    work_may_carry_what_all_parts_need,
    one_part_is_enough_and_none_gives_nothing,
    what_goes_wrong_with_a_part_is_raised_as_it_was,
    plans_are_the_same_bytes_whoever_makes_them,
)


# One test for each, so that a cluster is started once.
@pytest.mark.parametrize("name", ["in-process", "local:2", _ray("ray:2")])
def test_every_executor_keeps_the_laws(name: str, tmp_path) -> None:
    with executor_named(name) as executor:
        for law in LAWS:
            law(executor, tmp_path)


def test_a_worker_that_is_killed_is_told_in_one_line() -> None:
    pool = ProcessPool(2)
    with pytest.raises(ExecutorError, match="worker process was killed"):
        list(pool.map(_kill_self, [1, 2]))
    pool.close()


def _kill_self(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_single_part_needs_no_other_process() -> None:
    assert list(ProcessPool(2).map(_process, [0])) == [os.getpid()]
    assert list(ProcessPool(1).map(_process, [0, 1])) == [os.getpid()] * 2


def _process(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize(
    "name", ["", "dask", "local:0", "local:x", "ray://", "ray:// x"]
)
def test_an_unknown_executor_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"^must be 'in-process'"):
        check_name(name)
    with pytest.raises(UsageError, match="executor must be"), executor_named(name):
        pass


@pytest.mark.parametrize("name", ["ray", "ray:2", "ray://127.0.0.1:1", "auto"])
def test_without_ray_the_remedy_is_named(name: str, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    with (
        pytest.raises(UsageError, match=r"pip install 'halflife\[cluster\]'") as error,
        executor_named(name),
    ):
        pass
    assert "\n" not in str(error.value)


ASK = """
from halflife.core.errors import ExecutorError
from halflife.executors import executor_named
try:
    with executor_named("ray://127.0.0.1:1"):
        pass
except ExecutorError as error:
    print(error)
"""


@pytest.mark.skipif(not _has_ray(), reason="Ray is not installed; run `make ray`")
def test_a_cluster_that_does_not_answer_is_told_in_one_line() -> None:
    command = [sys.executable, "-c", ASK]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.startswith("cannot reach Ray ray://127.0.0.1:1: ")
    assert told.count("\n") == 1


def test_ray_is_locked_with_the_versions_that_tests_have() -> None:
    locked = {}
    for name in ("dev", "ray"):
        lines = (ROOT / f"requirements/{name}.txt").read_text().splitlines()
        pins = (line.split()[0].partition("==") for line in lines if "==" in line)
        locked[name] = {package: version for package, _, version in pins}
    both = locked["dev"].keys() & locked["ray"].keys()
    assert {n: locked["ray"][n] for n in both} == {n: locked["dev"][n] for n in both}
    assert "ray" in locked["ray"]
