"""Busy times kept, restored, forgotten and doubted, against sums over single bins."""

import numpy as np
import pytest

from halflife.models.bursts import (
    FEW_SPANS,
    FOLDER,
    MOST_BINS,
    SITE,
    UNREST_BINS,
    Bursts,
    _Level,
    _Window,
    at_least_one,
)
from halflife.models.unrest import unrest_by_group

PAGES = np.arange(8)
SITES = np.array([0, 0, 0, 0, 1, 1, 2, 2])
FOLDERS = np.array([0, 0, 1, 1, 2, 2, 3, 3])


def learned(seed=0, *, begin=3.3, rounds=6, step=1.0):
    """Return what some rounds of looks taught, and when the last one was."""
    rng = np.random.default_rng(seed)
    bursts = Bursts(step=step)
    bursts.reach(begin)
    bursts.place(SITES, FOLDERS)
    rate = rng.uniform(0.05, 0.6, PAGES.size)
    now, last = begin, np.full(PAGES.size, begin)
    for _ in range(rounds):
        now += float(rng.uniform(0.4, 3.0))
        bursts.reach(now)
        rows = np.flatnonzero(rng.random(PAGES.size) < 0.7)
        changed = (rng.random(rows.size) < 0.5) & (SITES[rows] != 2)
        bursts.learn(rows, last[rows], np.full(rows.size, now), changed, rate[rows])
        last[rows] = now
    return bursts, now


def by_bins(kept, page, since, now, step):
    """Return time lived and its variance, adding up bin by bin."""
    lived, variance = 0.0, 0.0
    site, told = SITES[page], kept.folder.tolist()
    bins = kept.sites.shape[2]
    for b in range(bins):
        begin = kept.origin + b * step
        part = max(min(now, begin + step) - max(since, begin), 0.0) / step
        expected, seen = kept.sites[:, site, b]
        busy = (seen + SITE) / (expected + SITE)
        variance += part * step**2 * (seen + SITE) / (expected + SITE) ** 2
        if FOLDERS[page] in told:
            expected, seen = kept.folders[:, told.index(FOLDERS[page]), b]
            busy *= (seen + FOLDER) / (expected + FOLDER)
        lived += part * step * busy
    end = kept.origin + bins * step
    outside = max(min(now, kept.origin) - since, 0.0) + max(now - max(since, end), 0.0)
    return lived + outside, variance + outside


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0])
def test_time_lived_and_its_doubt_are_sums_over_the_bins_that_are_kept(step):
    bursts, now = learned(1, step=step)
    kept = bursts.kept()
    assert kept.origin == np.floor(3.3 / step) * step
    assert kept.sites.shape == (2, 3, int(np.floor((now - kept.origin) / step)) + 1)
    for since, until in [(3.3, now), (0.0, now), (5.1, 7.7), (4.0, now + 9.0)]:
        every = np.full(PAGES.size, since)
        pairs = [by_bins(kept, p, since, until, step) for p in PAGES]
        lived, variance = np.array(pairs).T
        assert bursts.lived(PAGES, every, until) == pytest.approx(lived)
        ends = np.full(PAGES.size, until)  # a moment for each is the same
        assert bursts.lived(PAGES, every, ends) == pytest.approx(lived)
        assert bursts.doubt(PAGES, every, until) == pytest.approx(np.sqrt(variance))


def test_folders_are_kept_in_the_order_in_which_they_were_told_apart():
    bursts, _ = learned(1)
    kept = bursts.kept()
    assert 3 not in kept.folder  # no change was ever seen there
    assert sorted(kept.folder.tolist()) == [0, 1, 2]
    assert kept.parent.tolist() == [[0, 0, 1][f] for f in kept.folder]
    assert kept.folders.shape == (2, 3, kept.sites.shape[2])


def test_what_was_restored_goes_on_like_what_was_never_left():
    bursts, now = learned(2)
    again = Bursts()
    again.place(SITES, FOLDERS)
    again.restore(bursts.kept())
    rate, since = np.full(PAGES.size, 0.2), np.full(PAGES.size, 4.0)
    for _ in range(3):
        for one in (bursts, again):
            one.reach(now)
        both = [one.lived(PAGES, since, now) for one in (bursts, again)]
        assert both[0] == pytest.approx(both[1])
        doubts = [one.doubt(PAGES, since, now) for one in (bursts, again)]
        assert doubts[0] == pytest.approx(doubts[1])
        for one, other in zip(bursts.unrest(), again.unrest(), strict=True):
            assert one == pytest.approx(other)
        seen = [
            one.learn(PAGES, since, np.full(PAGES.size, now), PAGES % 2 == 1, rate)
            for one in (bursts, again)
        ]
        assert seen[0].changes == pytest.approx(seen[1].changes)
        assert seen[0].lived == pytest.approx(seen[1].lived)
        since, now = np.full(PAGES.size, now), now + 2.5


def test_what_was_restored_is_nobody_elses():
    bursts, now = learned(2)
    kept = bursts.kept()
    before = kept.sites.copy(), kept.folders.copy(), kept.parent.copy()
    again = Bursts()
    again.place(SITES, FOLDERS)
    again.restore(kept)
    again.reach(now + 1)
    ends = np.full(PAGES.size, now + 1)
    again.learn(PAGES, ends - 1, ends, PAGES > 5, np.full(PAGES.size, 0.2))
    assert (kept.sites == before[0]).all()
    assert (kept.folders == before[1]).all()
    assert (kept.parent == before[2]).all()


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_of_many_bins_the_last_can_be_kept_alone(step):
    bursts, _ = learned(3, step=step)
    whole, some = bursts.kept(), bursts.kept(4)
    bins = whole.sites.shape[2]
    assert some.origin == whole.origin + (bins - 4) * step
    assert (some.sites == whole.sites[:, :, -4:]).all()
    assert (some.folders == whole.folders[:, :, -4:]).all()
    assert (bursts.kept(bins).sites == whole.sites).all()
    assert bursts.kept(bins + 1).origin == whole.origin


@pytest.mark.parametrize(
    ("beyond", "step"), [(-1.0, 1.0), (0.0, 1.0), (1.0, 1.0), (100.0, 1.0), (7.0, 2.0)]
)
def test_the_oldest_bins_go_when_there_would_be_more_than_the_most(beyond, step):
    bursts, now = learned(4, begin=0.0, step=step)
    # The last bin that there is room for, and others.
    day = (MOST_BINS - 1 + beyond) * step
    for at in (now + 200.0 * step, now + 400.0 * step):
        bursts.reach(at)
        ends = np.full(PAGES.size, at)
        bursts.learn(PAGES, ends - 2, ends, PAGES < 4, np.full(PAGES.size, 0.3))
    before = bursts.kept()
    bursts.reach(day)
    after = bursts.kept()
    needed = int(day / step) + 1
    gone = needed - MOST_BINS // 2 if needed > MOST_BINS else 0
    assert after.origin == gone * step
    assert after.sites.shape[2] == needed - gone
    left = before.sites[:, :, gone:]
    assert (after.sites[:, :, : left.shape[2]] == left).all()
    assert not after.sites[:, :, left.shape[2] :].any()
    left = before.folders[:, :, gone:]
    assert (after.folders[:, :, : left.shape[2]] == left).all()
    since = np.full(PAGES.size, 1.5)
    lived = [by_bins(after, p, 1.5, day, step)[0] for p in PAGES]
    assert bursts.lived(PAGES, since, day) == pytest.approx(lived)


def test_unrest_is_that_of_the_latest_bins():
    bursts, now = learned(5, begin=0.0, rounds=40)
    bursts.reach(now + 100.0)
    kept = bursts.kept()
    assert kept.sites.shape[2] > UNREST_BINS
    expected, seen = kept.sites[:, :, -UNREST_BINS:]
    days, pace = unrest_by_group(expected, seen, 1.0, fewest=FEW_SPANS)
    assert days.max() > 0
    found = bursts.unrest()
    assert found.days == pytest.approx(days)
    assert found.pace == pytest.approx(np.sqrt(pace))
    assert found.watched == UNREST_BINS
    fresh, now = learned(5, begin=0.0, step=2.0)
    bins = fresh.kept().sites.shape[2]
    assert bins == int(now / 2) + 1
    assert fresh.unrest().watched == 2 * bins


def test_amounts_are_dealt_to_bins_by_the_part_that_a_stretch_covers():
    rng = np.random.default_rng(6)
    begin = rng.uniform(0, 7, 30)
    end = np.minimum(begin + rng.exponential(2.0, 30), 7.0)
    begin[0], end[0], begin[1], end[1] = 2.0, 5.0, 3.5, 3.5
    group, amount = rng.integers(0, 3, 30), rng.uniform(0, 2, 30)
    first, last = (np.minimum(np.floor(t), 6).astype(int) for t in (begin, end))
    window = _Window(first, begin - first, last, end - last, 7)
    by_hand = np.zeros((3, 7))
    for g, a, b, e in zip(group, amount, begin, end, strict=True):
        for day in range(7):
            by_hand[g, day] += a * max(min(e, day + 1) - max(b, day), 0.0)
    assert window.over(group, 3, amount) == pytest.approx(by_hand)
    rows = np.array([4, 0, 9])
    some = window.take(rows)
    part = np.zeros((3, 7))
    for i in rows:
        for day in range(7):
            cover = max(min(end[i], day + 1) - max(begin[i], day), 0.0)
            part[group[i], day] += amount[i] * cover
    assert some.over(group[rows], 3, amount[rows]) == pytest.approx(part)


def test_room_grows_by_half_so_that_growing_bit_by_bit_is_cheap():
    level = _Level(0.3)
    level.fit(10, 4)
    assert level.seen.shape == level.expected.shape == (10, 4)
    level.seen[:], level.expected[:] = 1.0, 2.0
    level.fit(10, 4)
    assert level.seen.shape == (10, 4)
    level.fit(11, 4)
    assert level.seen.shape == (15, 4)
    level.fit(3, 5)
    assert level.seen.shape == level.expected.shape == (15, 6)
    level.fit(90, 5)
    assert level.seen.shape == (90, 6)
    assert level.seen.sum() == 40.0
    assert level.expected[:10, :4].sum() == level.expected.sum() == 80.0


def test_a_number_known_not_to_be_nought_has_the_mean_of_the_rest():
    for mean in (1e-12, 1e-6, 0.3, 4.0, 60.0):
        chance, total, k = np.exp(-mean), 0.0, 0
        while k < 400:
            k += 1
            chance *= mean / k
            total += k * chance
        found = at_least_one(np.array([mean]))[0]
        assert found == pytest.approx(total / -np.expm1(-mean), rel=1e-6)
    assert at_least_one(np.zeros(1)).tolist() == [1.0]


def test_the_unit_of_time_does_not_matter():
    rng = np.random.default_rng(8)
    rate, last = rng.uniform(0.05, 0.6, PAGES.size), np.zeros(PAGES.size)
    days, halves = Bursts(), Bursts(step=2.0)
    for one in (days, halves):
        one.reach(0.0)
        one.place(SITES, FOLDERS)
    for now in (1.5, 2.75, 4.0, 6.125):
        days.reach(now)
        halves.reach(2 * now)
        changed, at = rng.random(PAGES.size) < 0.5, np.full(PAGES.size, now)
        one = days.learn(PAGES, last, at, changed, rate)
        two = halves.learn(PAGES, 2 * last, 2 * at, changed, rate / 2)
        assert two.changes == pytest.approx(one.changes)
        assert two.lived == pytest.approx(2 * one.lived)
        last = np.where(rng.random(PAGES.size) < 0.5, at, last)
    assert halves.kept().sites == pytest.approx(days.kept().sites)
    assert halves.kept().folders == pytest.approx(days.kept().folders)


def test_places_are_made_for_new_sites_and_folders():
    bursts = Bursts()
    bursts.reach(0.0)
    bursts.place(np.array([0, 0]), np.array([0, 1]))
    bursts.reach(1.5)
    two = np.arange(2)
    bursts.learn(two, np.zeros(2), np.full(2, 1.5), two == 1, np.full(2, 0.5))
    before = bursts.lived(two, np.zeros(2), 1.5)
    bursts.place(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 4]))
    assert bursts.lived(two, np.zeros(2), 1.5) == pytest.approx(before)
    rows = np.arange(4)
    assert bursts.lived(rows[2:], np.zeros(2), 1.5) == pytest.approx([1.5, 1.5])
    changed = np.array([False, False, True, True])
    bursts.learn(rows, np.zeros(4), np.full(4, 1.5), changed, np.full(4, 0.5))
    kept = bursts.kept()
    assert kept.folder.tolist() == [1, 2, 4]
    assert kept.parent.tolist() == [0, 1, 2]
    assert kept.sites.shape == (2, 3, 2)


def test_pages_that_came_after_what_was_kept_live_at_the_usual_pace():
    bursts, now = learned(2)
    again = Bursts()
    sites, folders = np.append(SITES, np.arange(3, 9)), np.append(FOLDERS, [9] * 6)
    again.place(sites, folders)
    again.restore(bursts.kept())
    new, since = np.arange(8, 14), np.full(6, 4.0)
    assert again.lived(new, since, now) == pytest.approx(np.full(6, now - 4.0))
    old = np.full(PAGES.size, 4.0)
    assert again.lived(PAGES, old, now) == pytest.approx(bursts.lived(PAGES, old, now))
