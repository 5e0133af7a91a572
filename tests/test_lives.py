import numpy as np
import pytest

from halflife.core.lifetimes import Collection, Lives

INF = np.inf


@pytest.fixture
def cars():
    """Three cars over five daily looks; the second one leaves and comes back."""
    lives = Lives(
        keys=("a", "b", "c", "b"),
        absent_before=np.array([-INF, 0.0, 1.0, 3.0]),
        first_seen=np.array([0.0, 1.0, 2.0, 4.0]),
        last_seen=np.array([4.0, 2.0, 2.0, 4.0]),
        gone_by=np.array([INF, 3.0, 3.0, INF]),
        attributes={"make": np.array(["x", "y", "x", "y"], dtype=object)},
    )
    changed, at = np.array([0, 1]), np.array([3.0, 2.0])
    return Collection("cars", np.arange(5.0), lives, changed, at)


def test_quality_counts_objects_and_not_spells(cars):
    assert cars.quality(1.0, 4.0) == (1.0, 1.0)  # a and b: b is back
    assert cars.quality(1.0, 3.0) == (0.5, 1.0)
    assert cars.quality(3.0, 4.0) == (1.0, 0.5)
    assert cars.quality(2.0, 3.0) == (pytest.approx(1 / 3), 1.0)


def test_what_was_known_then_shows_nothing_of_later(cars):
    then = cars.until(2.5)
    assert then.looks.tolist() == [0.0, 1.0, 2.0]
    assert then.lives.keys == ("a", "b", "c")
    assert then.lives.last_seen.tolist() == [2.0, 2.0, 2.0]
    assert then.lives.gone_by.tolist() == [INF, INF, INF]
    assert (then.changed.tolist(), then.changed_at.tolist()) == ([1], [2.0])


def test_before_the_first_look_nothing_was_known(cars):
    then = cars.until(-1.0)
    assert len(then.lives) == 0
    assert then.looks.size == 0


def test_knowing_up_to_the_end_is_knowing_all(cars):
    then = cars.until(100.0)
    assert then.lives.keys == cars.lives.keys
    assert np.array_equal(then.lives.gone_by, cars.lives.gone_by)


def test_a_selection_keeps_its_own_updates(cars):
    some = cars.select(cars.lives.attributes["make"] == "y")
    assert some.lives.keys == ("b", "b")
    assert (some.changed.tolist(), some.changed_at.tolist()) == ([0], [2.0])
    assert some.quality(1.0, 3.0) == (0.0, 1.0)
