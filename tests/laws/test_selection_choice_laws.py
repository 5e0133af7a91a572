"""What a ranking says of databases that have few documents, or none of the words."""

import pytest

from halflife.selection.choice import RankingStatus, select
from halflife.selection.lexicon import bgloss
from halflife.selection.table import FrequencyTable
from halflife.summary import Summary

PAIR = FrequencyTable.of(
    ["a", "b"], [Summary.of({"x": 1, "y": 0.5}, 5, 5), Summary.of({"y": 3}, 5, 5)]
)


def test_one_database_that_is_backed_makes_a_ranking():
    found = select(PAIR, "x", bgloss)
    assert found.status is RankingStatus.RANKED
    assert found.backed.tolist() == [True, False]
    assert found.names == ("a", "b")


def test_a_word_of_one_document_or_less_is_a_reason():
    assert select(PAIR, "x", bgloss).reasons[0] == "x in 1 of 5 documents"
    both = FrequencyTable.of(["a"], [Summary.of({"x": 0.6}, 5, 5)])
    assert select(both, "x", bgloss).reasons == ("x in 1 of 5 documents",)


@pytest.mark.parametrize(
    ("size", "count", "score"),
    [(0.5, 0.5, 0.5), (0.5, 0.25, 0.25), (0.0, 0.0, 0.0), (4.0, 8.0, 4.0)],
)
def test_as_many_documents_are_expected_as_have_the_only_word(size, count, score):
    table = FrequencyTable.of(["a"], [Summary.of({"x": count}, size, 1)])
    assert bgloss(table, ["x"]).score.tolist() == [score]  # never more than there are
