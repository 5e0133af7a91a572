"""Spells made of lives one by one, and equal ones added up."""

import math
from collections import Counter

import numpy as np
import pytest

from halflife.core.lifetimes import Lives
from halflife.models.spells import Spells, spells

INF = math.inf
LOOKS = np.array([0.0, 1.0, 3.0, 4.0, 6.0, 9.0])


def lives():
    rows = [  # absent before, first seen, last seen, gone by
        (-INF, 0.0, 3.0, 4.0),
        (-INF, 0.0, 9.0, INF),
        (0.0, 1.0, 1.0, 3.0),
        (1.0, 3.0, 6.0, 9.0),
        (4.0, 6.0, 9.0, INF),
        (3.0, 4.0, 4.0, 6.0),
    ]
    before, first, last, gone = np.array(rows).T
    return Lives(tuple("abcdef"), before, first, last, gone, {})


def by_hand(start):
    """Return entry, lower, upper, aged and spread of who was seen from ``start`` on."""
    rows = []
    one = lives()
    columns = one.absent_before, one.first_seen, one.last_seen, one.gone_by
    for before, first, last, gone in zip(*columns, strict=True):
        if last < start:
            continue
        met = max(first, start)
        known = before > -INF
        spread = (first - before) / 2 if known else 0.0
        birth = first - spread if known else met
        rows.append((met - birth, last - birth, gone - birth, known, spread))
    return rows


def columns_of(found):
    return list(
        zip(
            found.entry.tolist(),
            found.lower.tolist(),
            found.upper.tolist(),
            found.aged.tolist(),
            found.spread.tolist(),
            strict=True,
        )
    )


def test_ages_count_from_midway_or_from_the_first_look():
    found = spells(lives())
    assert columns_of(found) == by_hand(-INF)
    assert found.weight.tolist() == [1.0] * 6


@pytest.mark.parametrize(
    ("window", "start"), [(9.0, 0.0), (8.0, 1.0), (5.5, 4.0), (5.0, 4.0), (0.0, 9.0)]
)
def test_a_window_begins_with_the_first_look_in_it(window, start):
    assert columns_of(spells(lives(), LOOKS, window=window)) == by_hand(start)


def test_a_window_without_looks_holds_nobody():
    assert len(spells(lives(), np.zeros(0), window=3.0)) == 0
    with pytest.raises(ValueError, match="needs the times of snapshots"):
        spells(lives(), window=3.0)


def some_spells(seed=0, n=40):
    rng = np.random.default_rng(seed)
    entry = rng.integers(0, 2, n).astype(float)
    lower = entry + rng.integers(0, 2, n)
    upper = np.where(rng.random(n) < 0.5, lower + rng.integers(0, 2, n), INF)
    spread = entry * rng.integers(0, 2, n) / 2
    weight = rng.integers(0, 3, n).astype(float)
    return Spells.of(entry, lower, upper, rng.random(n) < 0.5, weight, spread=spread)


@pytest.mark.parametrize("seed", range(4))
def test_equal_rows_are_added_up(seed):
    data = some_spells(seed)
    count = Counter()
    for row, weight in zip(columns_of(data), data.weight, strict=True):
        count[row] += weight
    found = data.merge_equal()
    rows = dict(zip(columns_of(found), found.weight.tolist(), strict=True))
    assert rows == {row: n for row, n in count.items() if n > 0}
    assert len(rows) == len(found)
    assert found.deaths == data.deaths
    assert found.exposure == pytest.approx(data.exposure)


def test_deaths_and_exposure_are_sums_over_rows():
    data = some_spells(5)
    deaths = exposure = 0.0
    columns = data.entry, data.lower, data.upper, data.weight
    for entry, lower, upper, weight in zip(*columns, strict=True):
        end = lower if upper == INF else (lower + upper) / 2
        deaths += weight * (upper < INF)
        exposure += weight * (end - entry)
    assert data.deaths == deaths
    assert data.exposure == pytest.approx(exposure)
    none = np.zeros(0)
    nobody = Spells.of(none, none, none).merge_equal()
    assert (len(nobody), nobody.deaths, nobody.weight.size) == (0, 0.0, 0)
    rows = np.array([3, 1])
    assert columns_of(data.take(rows)) == [columns_of(data)[i] for i in rows]
    assert data.take(rows).weight.tolist() == data.weight[rows].tolist()


GOOD = {
    "entry": [1.0],
    "lower": [1.0],
    "upper": [1.0],
    "weight": [0.0],
    "spread": [1.0],
}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"entry": [-0.1]}, "finite and not negative"),
        ({"lower": [INF], "upper": [INF]}, "finite and not negative"),
        ({"entry": [1.1]}, "entry <= lower <= upper"),
        ({"upper": [0.9]}, "entry <= lower <= upper"),
        ({"weight": [-1.0]}, "weights must be finite"),
        ({"weight": [INF]}, "weights must be finite"),
        ({"spread": [-0.1]}, "0 to entry days"),
        ({"spread": [1.1]}, "0 to entry days"),
        ({"weight": [1.0, 1.0]}, "one length"),
        ({"spread": [1.0, 1.0]}, "one length"),
    ],
)
def test_spells_that_make_no_sense_are_refused(change, match):
    def made(columns):
        arrays = {k: np.array(v) for k, v in columns.items()}
        return Spells.of(**arrays)

    assert len(made(GOOD)) == 1  # at every bound
    with pytest.raises(ValueError, match=match):
        made(GOOD | change)
    square = {k: [v] for k, v in GOOD.items()}
    with pytest.raises(ValueError, match="one length"):
        made(square)
