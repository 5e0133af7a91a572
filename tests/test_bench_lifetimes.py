import numpy as np
import pytest

from halflife.models.lifetime import ExponentialLifetime
from lab.lifetime_fits import foreseen, made_up, run


def test_the_bench_learns_what_was_made_up():
    found = run(items=3000, seed=1)
    assert found["lives"] == pytest.approx(3000, rel=0.1)
    assert abs(found["shape_error"]) < 0.15
    assert abs(found["rate_error"]) < 0.1
    assert all(v >= 0 for k, v in found.items() if k.endswith("_seconds"))


def test_precision_is_foreseen_where_nothing_changes():
    source = made_up(20_000, 1.6, 2)
    found = foreseen(source, 30.0)
    assert found["copies"] > 20
    assert found["weibull"] == pytest.approx(found["precision"], abs=0.02)
    assert abs(found["exponential"] - found["precision"]) > 0.02


def test_what_is_foreseen_is_learned_from_the_first_half():
    source = made_up(5000, 1.0, 3)
    past = source.until(source.looks[source.looks.size // 2])
    learned = ExponentialLifetime().fit(past.lives).survival(np.array([30.0]))
    assert foreseen(source, 30.0)["exponential"] == learned[0]


def test_a_time_longer_than_the_history_leaves_no_copy_to_judge():
    found = foreseen(made_up(2000, 1.0, 4), 1e4)
    assert (found["copies"], found["precision"]) == (0, 1.0)
