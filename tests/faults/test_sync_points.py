"""A sync of pages, a listing and a form, killed or failing at any of its writes."""

import shutil
from types import SimpleNamespace

import pytest

from fault_points import count, shares
from fault_world import BUDGET, CONCURRENCY, SYNC, charged, copied, kept
from nursery import CALLS, STATE

PARTS = count(8, 2)
KILLS = count(400, 8)  # over all parts
ERRORS = count(80, 4)
FAILURES = ("pwrite64:error=ENOSPC", "fdatasync:error=EIO")


@pytest.fixture(params=[0, 1], ids=["first sync", "later sync"])
def begun(request, world, nursery, tmp_path, traced):
    """A folder before a sync, what the sync makes of it, and how often it writes."""
    folder = world.settle(tmp_path / "before")
    if request.param:
        done = nursery.run(folder, *SYNC)
        assert done.code == 0, done.err
        world.age(1)
    before = kept(folder)
    whole = copied(folder, tmp_path / "whole")
    writes = nursery.writes(whole, *SYNC)
    after = kept(whole)
    assert after != before
    return SimpleNamespace(
        folder=folder, before=before, after=after, writes=writes, asked=world.asked,
        charged=charged(folder),
    )  # fmt: skip


def places(begun, total, share):
    """Return the writes and syncs at which to strike, evenly over all of them.

    A fifth of the faults strike at syncs to disk, which are fewer.
    """
    every = sum(begun.writes)
    for number in share:
        kind = int(number % 5 == 4)
        of = 9 * begun.writes[kind] // 10  # so many are there each time, or nearly
        yield CALLS[kind], 1 + number * of // total
    assert every > total


def nothing_is_half_applied(begun, now):
    """Check that each page and each set source is as before, or as after."""
    for name, body in now.pages.items():
        assert body in (begun.before.pages.get(name), begun.after.pages[name])
    assert set(begun.before.pages) <= set(now.pages)
    assert now.jobs in (begun.before.jobs, begun.after.jobs)
    assert now.records in (begun.before.records, begun.after.records)


def goes_on(begun, world, nursery, folder):
    """Check that the sync can be begun again and ends as if nothing had happened."""
    # Looking recovers the file, so that a copy is looked at.
    copy = copied(folder, folder.with_suffix(".copy"))
    now = kept(copy)
    nothing_is_half_applied(begun, now)
    assert charged(copy) - begun.charged >= world.asked
    shutil.rmtree(copy)
    # Who has all pages need not ask for all of them again.
    words = ("sync", "--json") if now.pages == begun.after.pages else SYNC
    done = nursery.run(folder, *words)
    assert done.code == 0, done.err
    assert kept(folder) == begun.after
    assert world.most_repeated() <= CONCURRENCY
    # Of a set source the whole look is repeated: it counts as a whole or not at all.
    assert world.asked <= 2 * begun.asked
    assert world.asked <= charged(folder) - begun.charged
    assert charged(folder) <= BUDGET


@pytest.mark.parametrize("share", shares(KILLS // 2, PARTS // 2), ids=len)
def test_a_sync_killed_at_any_write_is_made_good(
    begun, world, nursery, tmp_path, share
):
    killed = 0
    for call, when in places(begun, KILLS // 2, share):
        folder = copied(begun.folder, tmp_path / f"{call}{when}")
        world.forget()
        done = nursery.run(folder, *SYNC, harm=f"{call}:signal=KILL:when={when}")
        # Answers come in other batches each time: some runs have fewer writes.
        assert done.code in (0, -9), done
        killed += done.code == -9
        goes_on(begun, world, nursery, folder)
        shutil.rmtree(folder)
    assert killed >= 0.75 * len(share)


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("share", shares(ERRORS // 4, PARTS // 4 or 1), ids=len)
def test_a_disk_that_fails_or_fills_up_is_named_and_the_sync_goes_on_later(
    begun, world, nursery, tmp_path, share, failure
):
    call = failure.partition(":")[0]
    every = begun.writes[CALLS.index(call)]
    told = 0
    for number in share:
        when = 1 + number * every // (ERRORS // 4)
        folder = copied(begun.folder, tmp_path / f"{number}")
        world.forget()
        # A disk stays full; one that failed once may work again.
        harm = f"{failure}:when={when}{'+' if 'ENOSPC' in failure else ''}"
        done = nursery.run(folder, *SYNC, harm=harm)
        assert "Traceback" not in done.err
        if done.code:
            assert done.code == 1, done
            assert str(folder / STATE) in done.err
            assert "disk" in done.err
            told += 1
        goes_on(begun, world, nursery, folder)
        shutil.rmtree(folder)
    assert told > 0
