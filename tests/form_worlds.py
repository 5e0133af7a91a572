"""Small databases behind forms, for tests."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from halflife.core.forms import Attribute, Interface
from halflife.core.object_store import Attributes
from halflife.queries.table_form import TableFaults, TableForm

WORDS = ("red", "green", "blue", "old", "new", "fast", "slow", "big", "small", "odd")
CITIES = ("Oslo", "Rome", "Paris", "Lima", "Cairo", "Delhi")
ATTRIBUTES = (
    Attribute("city", "select", CITIES),
    Attribute("title", "keyword"),
    Attribute("price", "range", cuts=tuple(range(10, 100, 10))),
)


def cars(n: int, seed: int = 0) -> dict[str, Attributes]:
    """Return cars for sale: a city (the first are common), a title, a price."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, len(CITIES) + 1)
    cities = rng.choice(CITIES, n, p=share / share.sum())
    return {
        f"car{i}": {
            "city": str(cities[i]),
            "title": " ".join(rng.choice(WORDS, 3)),
            "price": float(rng.integers(0, 100)),
        }
        for i in range(n)
    }


def behind(
    records: Mapping[str, Attributes],
    *,
    seed: int = 0,
    faults: TableFaults | None = None,
    dates: Mapping[str, float] | None = None,
    **interface: Any,
) -> TableForm:
    """Return records behind a form."""
    shape = {"page_size": 5, "attributes": ATTRIBUTES, **interface}
    return TableForm(
        Interface(**shape),
        records,
        rng=np.random.default_rng(seed),
        faults=faults,
        dates=dates,
    )
