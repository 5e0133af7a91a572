"""What the hour of a source is worth is measured by playing the rule for targets."""

import numpy as np
import pytest

from halflife.recordings.relations import Relation
from lab.rhythms import Keeper, World, draw, hindsight, kept, shares

DAILY = np.full(60, 0.1)


def relation(days, records, values):
    """A relation of records that are there from a day on, with a value each day."""
    spell = np.repeat(np.arange(records), days)
    since = np.tile(np.arange(days, dtype=np.float64), records)
    return Relation(
        np.arange(days, dtype=np.float64),
        tuple(map(str, range(records))),
        np.zeros(records),
        np.full(records, days - 1.0),
        spell,
        since,
        {"stars": np.array(values, dtype=np.float64).ravel()},
    )


def test_the_share_that_changed_is_that_of_the_values_as_they_are_shown():
    found = shares(relation(3, 2, [[5, 6, 6], [12_301, 12_302, 12_402]]), "stars")
    assert found.tolist() == [0.5, 0.5]


def test_the_share_that_is_new_is_that_of_the_records_there():
    table = relation(2, 4, [[1, 1]] * 4)
    table.first_seen[3] = 1.0
    assert shares(table, "").tolist() == [0.25]


def test_a_level_is_kept_until_too_much_has_changed():
    world = World(np.sort(np.repeat(14.0 + np.arange(40) + 0.5, 30)), 0.9)
    assert kept(world, np.array([14.0])) == pytest.approx(0.5 / 40)
    daily = 14.0 + np.arange(40) + 0.75
    assert kept(world, np.append([14.0], daily)) == pytest.approx(0.75)


def test_the_interval_of_hindsight_keeps_the_level_and_a_longer_one_does_not():
    world = World(np.sort(np.repeat(14.0 + np.arange(40) + 0.6, 15)), 0.9)
    every = 1.0 / hindsight(world)
    assert 1.0 <= every < 2.0  # two nights are too many
    for hours, enough in ((0, True), (1, False), (2, False)):
        looks = 14.0 + (every + hours / 24.0) * np.arange(41.0)
        assert (kept(world, looks) >= 0.95) is enough


def test_whoever_knows_the_hour_looks_once_or_twice_a_day():
    world = draw(DAILY, 0.95, "nightly", np.random.default_rng(1))
    share, looks = Keeper(world, by_hours=True).play()
    plainly, many = Keeper(world, by_hours=False).play()
    assert share >= 0.95
    assert looks < 0.4 * many
    assert share >= plainly - 0.01


def test_without_an_hour_nothing_is_lost_by_asking_for_it():
    world = draw(DAILY, 0.9, "one by one", np.random.default_rng(2))
    keeper = Keeper(world, by_hours=True)
    assert keeper.play() == Keeper(world, by_hours=False).play()
    assert keeper.known.rhythm.flat
