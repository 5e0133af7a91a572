"""How what is renewed whole stands to its target, by what came of forecasts."""

import pytest

from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.whole import update_memory
from halflife.market.target_rule import Goal, LossHistory, WholeCopy
from halflife.market.target_status import TargetMemory
from halflife.models.rhythm import FLAT
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.sqlite import SqliteStore

GOAL = Goal(0.9, 0.95)
NOW = WholeCopy(100.0, 0.1, 0.0, 0.0, 0.02)
JOBS = ListingConfig(name="jobs", kind="listing", url="http://a.test/jobs", key="id")


def outcome(made, told, found):
    """Return a forecast of recall that a look has told the outcome of."""
    return IssuedForecast(
        "jobs", "recall", made, told - made, 0.95, 0.9, 1.0, told=told, found=found
    )


@pytest.fixture
def told(tmp_path):
    """Return what is remembered after outcomes, told one by one or at once."""

    def after(*outcomes, at_once=True):
        with SqliteStore.open(tmp_path / "a.db", create=True) as store:
            memory = TargetMemory()
            for some in [outcomes] if at_once else [[one] for one in outcomes]:
                Forecasts(store).record(some)
                memory = update_memory(
                    Forecasts(store).settled(JOBS.name, memory.told),
                    GOAL,
                    NOW,
                    memory,
                    FLAT,
                )
            return memory

    return after


@pytest.mark.parametrize("at_once", [True, False])
def test_days_are_counted_once_however_old_a_forecast_is(told, at_once):
    looks = [outcome(day - 1.0, day, 0.95) for day in (1.0, 2.0, 8.0)]
    week = outcome(1.0, 8.5, 0.5)  # what a copy of a week ago would be worth
    last = outcome(8.5, 9.0, 0.95)
    found = told(*looks, week, last, at_once=at_once)
    assert found.past.failed == 0.0
    assert found.past.missed == 0.0
    assert found.past.watched == pytest.approx(1.0 + 1.0 + 1.0 + 0.5)
    assert found.told == 9.0


def test_a_look_that_finds_too_little_counts_as_missed(told):
    past = told(outcome(0.0, 1.0, 0.95), outcome(1.0, 2.0, 0.8)).past
    assert past.failed == 1.0
    assert past.missed == pytest.approx(0.5, rel=0.02)


def test_nothing_was_missed_where_nothing_was_told(told):
    assert told().past == LossHistory()
