"""How a listing whose removals are held is planned and forecast."""

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.kinds.listing.kind import KIND
from halflife.kinds.protocol import Memo, Reading
from halflife.market.target_rule import Goal
from halflife.models.held_quality import held_recall
from halflife.models.setquality import Band
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.held_removals import HELD_REMOVALS, HeldRemovals

TEXT = '[[source]]\nname = "cars"\nkind = "listing"\nurl = "http://a/"\nkey = "id"\n'
LAST, HELD, NOW = 29.0, 31.0, 31.5
AHEAD = np.array([0.0, 1.0, 3.0])


@pytest.fixture
def state(tmp_path):
    """Return the state of a listing read daily, then held at ``HELD`` or not."""

    def read(now, *, held):
        store, tracker = MemoryStore(), Tracker()
        config = Config.parse(TEXT, tmp_path / "halflife.toml")
        run = store.begin(["cars"], 0.0, lease=100.0)
        for day in range(30):
            keys = range(2 * day, 2 * day + 60)
            tracker.take(Listing(float(day), {f"k{i}": {} for i in keys}))
        store.save_register(run, "cars", tracker.news())
        if held:
            part = Listing(HELD, {f"k{i}": {} for i in range(80, 124)})
            tracker.take_shown(part)
            store.stage(run, "cars", part, "too few", tracker.news())
            _, gone, _ = tracker.losses(part)
            note = HeldRemovals(HELD, gone, len(tracker.held))
            HELD_REMOVALS.save(store, note, "cars")
        reading = Reading(config, store, now, Memo())
        return KIND.states(reading, [config.source[0]])["cars"]

    return read


def test_its_copy_is_as_old_as_the_answer_that_was_taken(state):
    assert state(NOW, held=True).last == HELD
    assert state(NOW, held=False).last == LAST
    assert KIND.ages(state(NOW, held=True))[0] == NOW - HELD


def test_recall_is_between_that_of_the_answer_and_of_the_last_complete_read(state):
    held = KIND.quality(state(NOW, held=True), 0.975, AHEAD, looks=False)
    older = KIND.quality(state(NOW, held=False), 0.975, AHEAD, looks=False)
    fresh = KIND.quality(
        state(LAST + NOW - HELD, held=False), 0.975, AHEAD, looks=False
    )
    waits = state(NOW, held=True).waits
    bands = [(one.mean, one.low, one.high) for one in (fresh, older)]
    wanted = held_recall(*(Band(*band) for band in bands), waits.share)
    for ours, right in zip((held.mean, held.low, held.high), wanted, strict=True):
        assert ours == pytest.approx(right)
    assert (older.mean < held.mean).all()
    assert (held.mean < fresh.mean).all()


def test_with_a_target_it_is_read_once_a_day_at_least(state):
    goal = Goal(0.9, 0.95)
    assert KIND.standing(state(NOW, held=True), goal)[1] == 1.0
    assert KIND.standing(state(NOW, held=False), goal)[1] > 1.0
