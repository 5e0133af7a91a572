"""The laboratory's comparison of policies of listings, on a small recorded listing."""

import numpy as np
import pytest

from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.kinds.listing.recorded_source import RecordedListing
from halflife.recordings.registers import relation_of
from lab.listing_policies import Rules, figures, sampled
from replay.worlds import BEGAN, present


@pytest.fixture(scope="module")
def relation():
    tracker = Tracker()
    for day in range(9):
        tracker.take(Listing(BEGAN + day, present(BEGAN + day)))
    return relation_of(tracker.register(), "cars")


def test_every_policy_is_played_with_the_same_budget(relation):
    source = RecordedListing("cars", relation)
    rules = Rules(days=4.0, warm=1.0, fetches=4.0)
    rows = figures(source, ["interval", "threshold-paced"], rules)
    assert [row["policy"] for row in rows] == ["interval", "threshold-paced"]
    assert len({row["budget_a_day"] for row in rows}) == 1
    often = rows[0]
    pages = len(source.present(BEGAN + 4.0)) // source.per_page + 1
    assert often["requests_a_day"] == pytest.approx(pages, rel=0.4)
    assert all(0.5 < row["recall"] <= 1.0 for row in rows)


def test_a_sample_holds_whole_objects_and_their_versions(relation):
    some = sampled(relation, 20)
    middle = float(relation.looks[relation.looks.size // 2])
    whole = relation.at(middle)
    part = some.at(middle)
    assert 0 < len(part) < len(whole)
    assert all(whole[key] == row for key, row in part.items())
    assert np.array_equal(some.looks, relation.looks)
