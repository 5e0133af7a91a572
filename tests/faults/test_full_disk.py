"""A real disk that is too small for a sync, and large enough for the next."""

import shutil
import subprocess
import sys

import pytest

from fault_points import count
from fault_world import BUDGET, SYNC, charged, copied, kept

SIZES = count(range(40, 520, 40), (64, 320))  # KiB
SCRIPT = """\
set -e
mount -t tmpfs -o size="$1"k tmpfs "$2"
shift 2
set +e
"$@" > first.out 2> first.err; echo $? > first
mount -o remount,size=64m tmpfs state || exit 1
"$@" > second.out 2> second.err; echo $? > second
cp state/* .
"""
UNSHARED = ("unshare", "--user", "--map-root-user", "--mount")


def can_mount():
    trial = [*UNSHARED, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return shutil.which("unshare") and not subprocess.call(
        trial, stderr=subprocess.DEVNULL
    )


@pytest.fixture(scope="module")
def small():
    if not can_mount():
        pytest.skip("a small disk cannot be mounted here")


@pytest.fixture
def whole(world, nursery, tmp_path):
    """What a sync makes of an empty folder when the disk is large enough."""
    folder = world.settle(tmp_path / "before")
    whole = copied(folder, tmp_path / "whole")
    assert nursery.run(whole, *SYNC).code == 0
    return folder, kept(whole)


@pytest.mark.usefixtures("small")
def test_a_disk_that_is_full_is_named_and_the_sync_goes_on_when_there_is_room(
    world, whole, tmp_path
):
    blank, after = whole
    full = 0
    for size in SIZES:
        folder = copied(blank, tmp_path / f"{size}")
        (folder / "state").mkdir()
        settings = folder / "halflife.toml"
        settings.write_text('store = "state/halflife.db"\n' + settings.read_text())
        world.forget()
        halflife = [sys.executable, "-m", "halflife", *SYNC]
        small = [str(size), folder / "state"]
        subprocess.run(
            [*UNSHARED, "sh", "-c", SCRIPT, "sh", *small, *halflife],
            cwd=folder, check=True, timeout=100,
        )  # fmt: skip
        first, second = ((folder / name).read_text() for name in ("first", "second"))
        said = (folder / "first.err").read_text()
        assert int(second) == 0, (folder / "second.err").read_text()
        assert "Traceback" not in said
        if int(first):
            full += 1
            assert int(first) == 1
            assert "state/halflife.db" in said
            assert "disk" in said
        assert kept(folder) == after
        assert world.asked <= charged(folder) <= BUDGET
    assert full > len(SIZES) // 4
