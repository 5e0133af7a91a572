"""Recorded histories as relations."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from halflife.core.errors import UsageError
from halflife.recordings.objects import load_parquet
from halflife.recordings.relations import load_relation
from objects_folder import REAL

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not REAL.exists(), reason="the recorded histories are absent"),
]


@pytest.mark.parametrize("name", ["crypto_jobs", "toyota_inventory", "cv_arxiv"])
def test_a_relation_holds_what_was_there_with_the_values_of_the_moment(
    name: str,
) -> None:
    folder = REAL / name
    relation, source = load_relation(folder), load_parquet(folder, name)
    for at in relation.looks[[0, 40, -1]]:
        there = source.lives.present(at)
        keys = {source.lives.keys[i] for i in np.flatnonzero(there)}
        shown = relation.at(at)
        assert set(shown) == keys
        assert set(relation.first_seen_times(at)) == keys
    assert {tuple(row) for row in shown.values()} == {tuple(relation.columns)}


def test_updates_show_from_the_look_that_saw_them() -> None:
    relation = load_relation(REAL / "toyota_inventory")
    spell = relation.spell
    row = int(np.flatnonzero(spell[1:] == spell[:-1])[10]) + 1
    key, at = relation.keys[spell[row]], float(relation.since[row])
    before, after = relation.at(at - 1.0)[key], relation.at(at)[key]
    assert before != after
    assert after == {name: c[row] for name, c in relation.columns.items()}


def test_a_time_before_the_first_look_is_refused() -> None:
    relation = load_relation(REAL / "cv_arxiv")
    with pytest.raises(UsageError, match="no observation until day 3"):
        relation.at(3.0)
