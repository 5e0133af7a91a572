"""Games of finding new records on a small recorded table."""

import numpy as np
import pytest

from form_worlds import cars
from halflife.bench.newrecords_play import Game, infer, play, policy, replay, task
from halflife.core.errors import UsageError
from halflife.core.forms import Interface, Term
from halflife.queries.incidence import Incidence
from halflife.recordings.relations import Relation
from lab.newrecords import picture, savings, summary
from lab.querygraph import neighbours, table, timed

RECORDS = cars(300)
NAMES = ("city:select", "title:keyword", "price")


@pytest.fixture(scope="module")
def relation() -> Relation:
    """Return 300 cars: 60 are gone by day 10, 80 came since."""
    keys = tuple(RECORDS)
    rows = np.arange(len(keys))
    columns = {}
    for name in ("city", "title", "price"):
        columns[name] = np.array([r[name] for r in RECORDS.values()], dtype=object)
    first = np.where(rows < 220, 0.0, 10.0)
    last = np.where(rows < 60, 0.0, 10.0)
    return Relation(np.array([0.0, 10.0]), keys, first, last, rows, first, columns)


def test_a_task_is_the_copy_and_what_there_is_now(relation: Relation) -> None:
    work = task(relation, 0.0, 10.0)
    assert len(work.before) == 220
    assert len(work.now) == 240
    assert work.since == -10.0
    still = task(relation, 0.0, 10.0, insert_only=True)
    assert still.before.keys() <= still.now.keys()


def test_a_replay_tells_scores_and_a_curve(relation: Relation) -> None:
    attributes = infer(RECORDS.values(), NAMES)
    names = ["default", "paper", "oracle"]
    rows = replay(relation, 0.0, 10.0, attributes, names, Game(seeds=(0, 1)))
    assert [row["policy"] for row in rows] == names * 2
    for row in rows:
        assert row["curve"][-1][0] == row["requests"]
        assert row["curve"][-1][1] == pytest.approx(row["icr"], abs=1e-3)
        assert row["policy"] == "paper" or row["icr"] > 0.9


def test_the_same_seed_plays_the_same_game(relation: Relation) -> None:
    work, attributes = task(relation, 0.0, 10.0), infer(RECORDS.values(), NAMES)
    once, again = (play(work, attributes, ["paper"], Game()) for _ in range(2))
    assert once == again


@pytest.mark.parametrize("game", [Game(drilled="weighted"), Game(biased=True)], ids=str)
def test_samples_of_all_kinds_are_paid_for(relation: Relation, game: Game) -> None:
    work, attributes = task(relation, 0.0, 10.0), infer(RECORDS.values(), NAMES)
    (row,) = play(work, attributes, ["paper"], game)
    assert row["curve"][0][0] >= 2


def test_kinds_are_inferred_and_may_be_said() -> None:
    city, title, price = infer(RECORDS.values(), ("city", "title", "price"))
    assert (city.kind, title.kind, price.kind) == ("select", "keyword", "range")
    assert len(price.cuts) == 9
    assert infer(RECORDS.values(), ["city:keyword"])[0].kind == "keyword"


def test_attributes_that_no_record_has_and_kinds_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match="no record has a value of 'colour'"):
        infer(RECORDS.values(), ["colour"])
    with pytest.raises(UsageError, match="select, keyword or range"):
        infer(RECORDS.values(), ["city:colour"])


def test_a_policy_that_is_none_is_refused(relation: Relation) -> None:
    with pytest.raises(UsageError, match="no policy is named 'guess'"):
        policy("guess", task(relation, 0.0, 10.0), Interface(()))


def game_rows() -> list[dict[str, object]]:
    return [
        {
            "table": "t", "setting": "as it is", "end": end, "seed": 0, "policy": name,
            "icr": 0.9, "pnr": 0.1, "ccr": 0.99, "requests": 40,
            "requests_to": {"0.9": need}, "curve": [[1, 0.1], [40, 0.9]],
        }
        for end, name, need in (
            (1.0, "default", 10), (1.0, "paper", 30), (2.0, "default", 20),
            (2.0, "paper", None),
        )
    ]  # fmt: skip


def test_a_summary_has_means_and_intervals_and_tells_nothing_half_reached() -> None:
    mine, theirs = summary(game_rows())
    # Student's t with one degree of freedom: 12.706 sd / sqrt(2) = 12.706 * 5.
    assert mine["requests_to"]["0.9"] == pytest.approx([15.0, 63.53], abs=0.01)
    assert theirs["requests_to"]["0.9"] is None
    assert [row["ratio"] for row in savings(game_rows())] == [1 / 3, None]


def test_the_curves_can_be_drawn() -> None:
    drawn = picture(game_rows(), "t")
    assert drawn.startswith("<svg")
    assert "default" in drawn


def test_the_graph_s_time_is_told_beside_networkx() -> None:
    told = timed(400)
    assert told["ratio"] > 1
    assert told["networkx_edges"] > 0
    assert len(table(400)) == 400


def test_new_neighbours_are_counted_once() -> None:
    a, b = Term("x", "a"), Term("x", "b")
    incidence = Incidence.from_terms("pqr", [(a, b), (a, b), (b,)])
    share, number = neighbours(incidence, np.array([False, True, True]))
    assert number.tolist() == [2.0, 1.0, 1.0]
    assert share.tolist() == [1.0, 0.5, 0.5]
