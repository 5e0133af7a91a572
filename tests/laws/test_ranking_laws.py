"""The best few of many, against a sort of all."""

import numpy as np
from hypothesis import given, strategies as st

from halflife.core.ranking import best_rows

SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.5, -2.0, np.inf, -np.inf, np.nan])


@given(st.lists(SCORES, max_size=12), st.integers(-1, 14))
def test_the_best_rows_are_the_first_of_a_stable_sort(scores, count):
    score = np.array(scores, dtype=np.float64)
    kept = score.copy()
    best = np.argsort(-score, kind="stable")[: max(count, 0)]
    assert best_rows(score, count).tolist() == best.tolist()
    np.testing.assert_array_equal(score, kept)
