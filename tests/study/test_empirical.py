"""What a study counts is what the lives say."""

import numpy as np
import pytest

from halflife.study import empirical
from set_lives import grown, seen


@pytest.fixture
def source():
    return grown(np.random.default_rng(3), [0.05, 0.2], values=["slow", "fast"])


def test_decay_is_the_quality_of_copies(source):
    lag = empirical.lags(source)
    made = empirical.references(source, lag, 5)
    found = empirical.decay(source, made, lag)
    for i, begin in enumerate(made):
        for j, wait in enumerate(lag):
            both = found.precision[i, j], found.recall[i, j]
            assert both == source.quality(begin, begin + wait)


def test_copies_are_followed_to_the_end(source):
    lag = empirical.lags(source)
    made = empirical.references(source, lag)
    assert made[0] == source.looks[0]
    assert made[-1] + lag[-1] <= source.looks[-1]
    assert np.isfinite(empirical.decay(source, made, lag).mean("recall")).all()


def test_where_nobody_looked_there_is_no_number():
    looks = np.array([0.0, 1.0, 2.0, 3.0, 9.0, 10.0])
    source = seen("s", looks, np.zeros(5), np.full(5, 20.0), {})
    found = empirical.decay(source, looks[:1], np.array([0.0, 1.0, 3.0, 6.0, 9.0]))
    assert np.isfinite(found.precision[0]).tolist() == [True, True, True, False, True]
    assert np.isnan(found.mean("precision")[3])
    assert np.isnan(found.quantile("precision", 0.5)[3])


def test_only_steps_with_looks_at_both_ends_count_arrivals():
    looks = np.array([0.0, 1.0, 2.0, 5.0, 6.0])
    born = np.array([-1.0, 0.5, 0.6, 1.5, 3.0, 3.5, 4.0, 5.5])
    source = seen("s", looks, born, np.full(8, 99.0), {})
    counts, step = empirical.arrivals(source)
    assert step == 1.0
    assert counts.tolist() == [2, 1, 1]


def test_the_attribute_that_matters_is_chosen(source):
    rng = np.random.default_rng(0)
    lives = source.lives
    noise = rng.choice(["a", "b"], len(lives))
    lives.attributes["noise"] = noise
    lives.attributes["number"] = rng.normal(size=len(lives))
    assert empirical.attribute(source) == "kind"
    names = [name for name, _ in empirical.categories(source, "kind")]
    assert sorted(names) == ["fast", "slow"]
    assert empirical.categories(source, "number") == []


def test_without_attributes_there_are_no_categories():
    source = seen("s", np.arange(5.0), np.zeros(40), np.full(40, 2.5), {})
    assert empirical.attribute(source) is None


def test_next_to_nothing_still_gives_lags():
    one = seen("s", np.zeros(1), np.zeros(3), np.full(3, 2.0), {})
    assert empirical.lags(one).size >= 1
    assert empirical.arrivals(one)[0].size == 0
