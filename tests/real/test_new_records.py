"""New records of recorded tables, found through a form."""

import pytest

pytest.importorskip("pyarrow")

from halflife.bench.newrecords_play import Game, infer, play, task
from halflife.recordings.relations import load_relation
from objects_folder import REAL

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not REAL.exists(), reason="the recorded histories are absent"),
]
NAMES = ("company", "title", "location:keyword")


@pytest.fixture(scope="module")
def month():
    relation = load_relation(REAL / "crypto_jobs")
    end = float(relation.looks[-1]) - 30.0
    return task(relation, end - 30.0, end)


def test_kinds_are_inferred_from_the_values(month) -> None:
    kinds = [a.kind for a in infer(month.now.values(), NAMES)]
    assert kinds == ["select", "keyword", "keyword"]


def test_of_this_month_the_default_finds_nine_of_ten_with_half_the_papers_requests(
    month,
) -> None:
    attributes = infer(month.now.values(), NAMES)
    game = Game(most=1500, drilled="weighted")
    rows = play(month, attributes, ["default", "paper"], game)
    needed = {row["policy"]: row["requests_to"]["0.9"] for row in rows}
    assert needed["default"] <= needed["paper"] / 2


def test_newest_first_beats_all_where_the_form_can(month) -> None:
    attributes = infer(month.now.values(), NAMES)
    (row,) = play(month, attributes, ["newest"], Game())
    assert row["icr"] == 1.0
    assert row["pnr"] > 0.9


def test_missing_records_are_told_and_hardly_ever_wrongly(month) -> None:
    attributes = infer(month.now.values(), NAMES)
    (row,) = play(month, attributes, ["default"], Game())
    assert row["gone"] > 0.8
    assert row["false"] < 0.02
