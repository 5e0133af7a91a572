"""How often pages change together, by how far apart their names are."""

import numpy as np
import pytest

from halflife.recordings.pages import Recording
from lab.name_distances import joint_changes, likeness


def recorded(changes):
    """Return 40 pages of one site, in two folders, with changes of some at a time."""
    keys = tuple(f"s/{'ab'[i // 20]}/{i:02}" for i in range(40))
    moments = [
        sorted(float(t + 1) for t, pages in enumerate(changes) if i in pages)
        for i in range(40)
    ]
    return Recording(
        keys=keys,
        start=np.cumsum([0, *map(len, moments)]),
        at=np.concatenate([np.array(one, dtype=float) for one in moments]),
        weight=np.ones(40),
        born=np.full(40, -np.inf),
        died=np.full(40, np.inf),
        group=("s",) * 40,
    )


def test_only_changes_of_a_few_pages_count():
    changes = [{3}, {3, 4}, set(range(5)), {0, 1, 2, 3}]
    found = [pages.tolist() for pages in joint_changes(recorded(changes), 10.0)]
    assert found == [[3, 4], [0, 1, 2, 3]]
    assert [len(x) for x in joint_changes(recorded(changes), 3.0)] == [2]


def test_how_alike_pages_are_as_worked_out_by_hand():
    # Pages 5 and 6: each has one of two neighbours, with even odds 1 in 39 for each.
    rows = {row.distance: row for row in likeness(recorded([{5, 6}]), 10.0)}
    assert rows[1].same_folder == pytest.approx(0.5 / (1 / 39))
    assert rows[2].same_folder == rows[6].same_folder == 0.0
    # Pages 19 and 20 stand next to each other, in different folders.
    rows = {row.distance: row for row in likeness(recorded([{19, 20}]), 10.0)}
    assert rows[1].other_folder == pytest.approx(39.0)
    assert rows[1].same_folder == 0.0


def test_pages_that_change_by_chance_are_as_alike_at_every_distance():
    rng = np.random.default_rng(1)
    changes = [set(rng.permutation(40)[:4].tolist()) for _ in range(4000)]
    for row in likeness(recorded(changes), 5000.0)[:4]:
        assert row.same_folder == pytest.approx(1.0, abs=0.1)
