import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from halflife.models.bursts import MOST_BINS, UNREST_BINS, Bursts, at_least_one

ONE_SITE = np.zeros(10, dtype=np.intp)
ROWS = np.arange(10)


def whole_site(**priors):
    """Return ten pages of one site, all in one folder, at day 0."""
    bursts = Bursts(**priors)
    bursts.reach(0.0)
    bursts.place(ONE_SITE, ONE_SITE)
    return bursts


def test_three_of_ten_pages_changed_makes_a_day_busy_by_hand():
    bursts = whole_site(site=0.3, folder=1e12)
    bursts.reach(1.0)
    changed = ROWS < 3
    bursts.learn(ROWS, np.zeros(10), np.ones(10), changed, np.full(10, 0.1))
    each = 0.1 / (1 - np.exp(-0.1))
    busy = (3 * each + 0.3) / (10 * 0.1 + 0.3)
    lived = bursts.lived(ROWS, np.zeros(10), 1.0)
    assert lived == pytest.approx(np.full(10, busy))


def test_a_folder_is_told_apart_from_its_site_when_it_changes():
    bursts = Bursts(site=1e12, folder=0.5)
    bursts.reach(0.0)
    bursts.place(ONE_SITE, (ROWS >= 5).astype(np.intp))
    bursts.reach(1.0)
    bursts.learn(ROWS, np.zeros(10), np.ones(10), ROWS < 2, np.full(10, 0.1))
    lived = bursts.lived(ROWS, np.zeros(10), 1.0)
    each = 0.1 / (1 - np.exp(-0.1))
    assert lived[:5] == pytest.approx(np.full(5, (2 * each + 0.5) / (0.5 + 0.5)))
    assert lived[5:] == pytest.approx(np.ones(5))


def test_without_looks_time_lived_is_age():
    bursts = whole_site()
    bursts.reach(7.25)
    since = np.linspace(-3.0, 7.0, 10)
    assert bursts.lived(ROWS, since, 7.25) == pytest.approx(7.25 - since)


class Slow:
    """The same model, bin by bin and look by look."""

    def __init__(self, site, folder):
        self.site_prior, self.folder_prior = site, folder
        self.expected, self.seen = {}, {}

    def busy(self, kind, group, day):
        prior = self.site_prior if kind == "site" else self.folder_prior
        key = kind, group, day
        return (self.seen.get(key, 0.0) + prior) / (self.expected.get(key, 0) + prior)

    def lived(self, page, since, now):
        site, folder, told = page
        total = 0.0
        for day in range(int(np.floor(since)), int(np.ceil(now))):
            part = max(min(now, day + 1) - max(since, day), 0.0)
            busy = self.busy("site", site, day)
            if told:
                busy *= self.busy("folder", folder, day)
            total += part * busy
        return total

    def learn(self, pages, since, now, changed, rate):
        lived = [self.lived(*pair, now) for pair in zip(pages, since, strict=True)]
        told = {p[1] for p, c in zip(pages, changed, strict=True) if c or p[2]}
        add = []
        for p, a, c, r, life in zip(pages, since, changed, rate, lived, strict=True):
            count = float(at_least_one(np.array([r * life]))[0]) if c else 0.0
            for day in range(int(np.floor(a)), int(np.ceil(now))):
                part = max(min(now, day + 1) - max(a, day), 0.0)
                site = self.busy("site", p[0], day)
                inner = self.busy("folder", p[1], day) if p[1] in told else 1.0
                dealt = count / max(life, 1e-9) * part * site * inner
                add.append((("site", p[0], day), r * part * inner, dealt))
                if p[1] in told:
                    add.append((("folder", p[1], day), r * part * site, dealt))
        for key, expected, seen in add:
            self.expected[key] = self.expected.get(key, 0.0) + expected
            self.seen[key] = self.seen.get(key, 0.0) + seen
        return told


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_arrays_agree_with_going_bin_by_bin(seed):
    rng = np.random.default_rng(seed)
    n = 12
    site, inner = rng.integers(0, 3, n), rng.integers(0, 2, n)
    folder = 2 * site + inner
    fast, slow = Bursts(site=0.3, folder=0.1), Slow(0.3, 0.1)
    fast.reach(0.0)
    fast.place(site, folder)
    rate, last, told = rng.uniform(0.01, 0.5, n), np.zeros(n), set()
    now = 0.0
    for _ in range(4):
        now += float(rng.uniform(0.3, 3.0))
        fast.reach(now)
        rows = np.flatnonzero(rng.random(n) < 0.6)
        changed = rng.random(rows.size) < 0.4
        pages = [(site[i], folder[i], folder[i] in told) for i in rows]
        fast.learn(rows, last[rows], np.full(rows.size, now), changed, rate[rows])
        told |= slow.learn(pages, last[rows], now, changed, rate[rows])
        last[rows] = now
        every = [(site[i], folder[i], folder[i] in told) for i in range(n)]
        by_hand = [slow.lived(p, a, now) for p, a in zip(every, last, strict=True)]
        begun = [slow.lived(p, 0.0, now) for p in every]
        assert fast.lived(np.arange(n), last, now) == pytest.approx(by_hand)
        assert fast.lived(np.arange(n), np.zeros(n), now) == pytest.approx(begun)


@given(st.integers(0, 2**32 - 1), st.floats(0, 5), st.floats(0, 5))
def test_time_lived_adds_up_and_never_runs_back(seed, one, two):
    rng = np.random.default_rng(seed)
    bursts = whole_site()
    bursts.reach(3.0)
    some = rng.random(10) < 0.5
    since = rng.uniform(0, 3, 10)
    bursts.learn(ROWS, since, np.full(10, 3.0), some, rng.uniform(0, 1, 10))
    bursts.reach(10.0)
    a, b, c = np.zeros(10), np.full(10, one), np.full(10, one + two)
    parts = bursts.lived(ROWS, a, b) + bursts.lived(ROWS, b, c)
    assert parts == pytest.approx(bursts.lived(ROWS, a, c))
    assert (bursts.lived(ROWS, b, c) >= 0).all()
    assert (bursts.doubt(ROWS, a, one + two) >= 0).all()


def test_quiet_looks_make_neighbours_younger_and_busy_ones_older():
    quiet, busy = whole_site(), whole_site()
    for bursts, found in ((quiet, False), (busy, True)):
        bursts.reach(5.0)
        bursts.learn(
            ROWS[:4], np.zeros(4), np.full(4, 5.0), np.full(4, found), np.full(4, 0.2)
        )
    at = np.zeros(1)
    assert quiet.lived(ROWS[9:], at, 5.0) < 5.0 < busy.lived(ROWS[9:], at, 5.0)
    assert quiet.doubt(ROWS[9:], at, 5.0) < busy.doubt(ROWS[9:], at, 5.0)


def test_what_is_long_past_is_forgotten_and_counts_as_usual():
    bursts = whole_site()
    bursts.reach(1.0)
    bursts.learn(ROWS, np.zeros(10), np.ones(10), ROWS < 9, np.full(10, 0.1))
    late = MOST_BINS + 10.0
    bursts.reach(late)
    lived = bursts.lived(ROWS, np.zeros(10), late)
    assert lived == pytest.approx(np.full(10, late))
    bursts.learn(
        ROWS, np.full(10, late - 1), np.full(10, late), ROWS < 5, np.full(10, 0.1)
    )
    assert (bursts.lived(ROWS, np.full(10, late - 1), late) > 1.0).all()


@given(st.floats(0, 700, allow_subnormal=False))
def test_a_number_that_is_not_nought_is_at_least_one(mean):
    counted = float(at_least_one(np.array([mean]))[0])
    assert counted >= max(1.0, mean) * (1 - 1e-12)
    assert counted <= 1.0 + mean


@pytest.mark.parametrize("step", [0.25, 1.0, 2.0])
def test_unrest_is_told_in_days_whatever_the_bins_are(step):
    bursts = Bursts(step=step)
    bursts.place(np.zeros(3, int), np.zeros(3, int))
    bursts.reach(100.0)
    bursts.reach(100.0 + 20 * step)
    assert bursts.unrest().watched == pytest.approx(21 * step)
    bursts.reach(100.0 + 300 * step)
    assert bursts.unrest().watched == pytest.approx(UNREST_BINS * step)
