"""Real histories, told to the tracker look by look, come out as they were."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.recordings.objects import load_parquet
from objects_folder import REAL

pytestmark = pytest.mark.real


@pytest.mark.parametrize("name", ["toyota_inventory", "crypto_jobs", "llm_prices"])
def test_a_real_history_is_found_again(name):
    if not (REAL / name).exists():
        pytest.skip("the recorded histories of real sources are not here")
    known = load_parquet(REAL / name, name)
    tracker = Tracker()
    for at in known.looks:
        rows = np.flatnonzero(known.lives.present(at))
        tracker.take(Listing(float(at), {known.lives.keys[i]: {} for i in rows}))
    found = tracker.register().collection(name)
    assert found.looks.tolist() == known.looks.tolist()
    ours, theirs = lives(found), lives(known)
    # What was away for one look only has never been away for the tracker, what is
    # missing since the last look is not yet known to have gone, and looks at which
    # a whole group was not seen are wider bounds in the record.
    explained = 2 * tracker.flaps + missing(tracker) + widely_bounded(known)
    assert len(theirs - ours) <= explained < 0.1 * len(theirs)
    print(f"{name}: {len(theirs)} lives, {tracker.flaps} flaps")  # noqa: T201
    for at in known.looks[::20]:
        assert set(held(known, at)) <= set(held(found, at))


def lives(collection):
    names = ("absent_before", "first_seen", "last_seen", "gone_by")
    columns = [getattr(collection.lives, n).tolist() for n in names]
    return set(zip(collection.lives.keys, *columns, strict=True))


def missing(tracker):
    return sum(s.missing_since < np.inf for s in tracker.register().spells)


def widely_bounded(collection):
    """Return how many lives are bounded by other looks than those next to them."""
    looks, given = np.r_[-np.inf, collection.looks, np.inf], collection.lives
    before = looks[np.searchsorted(looks, given.first_seen) - 1]
    after = looks[np.searchsorted(looks, given.last_seen) + 1]
    return np.sum((given.absent_before != before) | (given.gone_by != after))


def held(collection, at):
    return [
        collection.lives.keys[i] for i in np.flatnonzero(collection.lives.present(at))
    ]
