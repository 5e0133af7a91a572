"""Views for tests of whatever works on a view."""

import dataclasses

import hypothesis.strategies as st
import numpy as np

from halflife.core.view import View
from halflife.models.poisson import GammaSurvival


@st.composite
def views(draw, most=12):
    n = draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return view_of(n, rng)


def view_of(n, rng):
    looks = rng.integers(0, 5, n)
    age = np.where(looks > 0, rng.exponential(3.0, n), np.inf)
    shape, exposure = rng.gamma(1.0, 1.0, n) + 0.05, rng.exponential(5.0, n) + 1e-3
    return View(
        now=100.0,
        keys=tuple(f"k{i}" for i in range(n)),
        weight=rng.integers(0, 4, n).astype(float),
        cost=rng.integers(1, 3, n).astype(float),
        group=rng.integers(0, 3, n),
        rate=shape / exposure,
        survival=GammaSurvival(shape, exposure),
        age=age,
        looks=looks,
        changes=rng.binomial(looks, 0.4),
        looked=rng.random(n) < 0.2,
        changed=rng.random(n) < 0.3,
        ready=rng.random(n) < 0.9,
        exposure=age * rng.uniform(1.0, 3.0, n),
        doubt=rng.exponential(1.0, n),
        room=np.full(n, np.inf),
        due=np.where(looks > 0, 100.0 + rng.normal(0, 3, n), -np.inf),
    )


def after(view, rows, changed):
    """Return the view once the items at these rows were observed."""
    looked, age, found = view.looked.copy(), view.age.copy(), view.changed.copy()
    looked[rows], age[rows], found[rows] = True, 0.0, changed[rows]
    looks = view.looks + np.isin(np.arange(len(view)), rows)
    return dataclasses.replace(
        view, looked=looked, age=age, exposure=age, changed=found, looks=looks
    )
