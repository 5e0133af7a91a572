"""Views for tests of whatever works on a view."""

import dataclasses

import hypothesis.strategies as st
import numpy as np

from halflife.policies.laws import made_view


@st.composite
def views(draw, most=12):
    n = draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return view_of(n, rng)


def view_of(n, rng):
    """Return a view of items with short names."""
    keys = tuple(f"k{i}" for i in range(n))
    return dataclasses.replace(made_view(n, rng), keys=keys)


def after(view, rows, changed):
    """Return the view once the items at these rows were observed."""
    looked, age, found = view.looked.copy(), view.age.copy(), view.changed.copy()
    looked[rows], age[rows], found[rows] = True, 0.0, changed[rows]
    looks = view.looks + np.isin(np.arange(len(view)), rows)
    return dataclasses.replace(
        view, looked=looked, age=age, exposure=age, changed=found, looks=looks
    )
