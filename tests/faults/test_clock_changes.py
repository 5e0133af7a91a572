"""Hours of a day by clocks that are set forward and back: one opening a local day."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from fault_points import count
from halflife.engine.zones import zone
from halflife.market import Window

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
YEARS = count(range(2025, 2031), (2025, 2030))
BEGINS = count(range(0, 1440, 30), (0, 60, 90, 120, 150, 180, 1380))  # minutes
LENGTHS = count((30, 180, 480), (30, 480))
STEP = 15  # minutes; no clock is set within a quarter of an hour
DAY = 1440.0
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (as a clock on a wall shows it)


class Wall:
    """What a clock on a wall of a place shows, quarter by quarter of an hour."""

    def __init__(self, name, year):
        place = ZoneInfo(name)
        first = datetime(year, 1, 1, tzinfo=UTC) - timedelta(days=2)
        many = (datetime(year + 1, 1, 1, tzinfo=UTC) - first).days + 2
        moments = [first + timedelta(minutes=m) for m in range(0, many * 1440, STEP)]
        shown = [m.astimezone(place).replace(tzinfo=None) - EPOCH for m in moments]
        self.at = np.array([m.timestamp() / 60.0 for m in moments])
        self.shown = np.array([s.total_seconds() / 60.0 for s in shown])
        self.latest = np.maximum.accumulate(self.shown)

    def first(self, local):
        """Return the first moment at which it shows a time or a later one."""
        return self.at[np.searchsorted(self.latest, local)]


@pytest.fixture(scope="module", params=ZONES)
def place(request):
    return request.param


def midyear(year):
    return datetime(year, 7, 1, tzinfo=UTC).timestamp() / 86400.0


def days_of(year):
    first = datetime(year, 1, 1, tzinfo=UTC).timestamp() / 86400.0
    return np.arange(first, first + 365 + (year % 4 == 0))


@pytest.mark.parametrize("year", YEARS)
def test_a_window_opens_once_each_local_day_of_the_years(place, year):
    wall, table, days = Wall(place, year), zone(place, midyear(year)), days_of(year)
    changes = np.flatnonzero(np.diff(wall.shown) != STEP)
    assert changes.size == 2  # the clock is set twice a year
    for begin in BEGINS:
        expected = wall.first(days * DAY + begin)
        assert np.unique(expected).size == days.size
        for length in LENGTHS:
            window = Window(begin / DAY, (begin + length) % DAY / DAY, table)
            opens, closes = window.spans(days[0] - 1.0, days[-1] + 2.0)
            within = np.searchsorted(opens * DAY, expected - 0.01)
            assert opens[within] * DAY == pytest.approx(expected, abs=1e-3)
            assert (np.diff(within) == 1).all()
            assert (closes > opens).all()
            assert (closes[:-1] <= opens[1:] + 1e-9).all()


@pytest.mark.parametrize("year", YEARS)
def test_whoever_runs_at_every_opening_runs_once_each_local_day(place, year):
    wall, table = Wall(place, year), zone(place, midyear(year))
    for change in np.flatnonzero(np.diff(wall.shown) != STEP):
        around = np.floor(wall.shown[change] / DAY) + np.arange(-2.0, 3.0)
        for begin in BEGINS:
            window = Window(begin / DAY, (begin + 30) % DAY / DAY, table)
            expected = wall.first(around * DAY + begin) / DAY
            runs, now = [], expected[0] - 1e-6
            while len(runs) < expected.size:
                assert not window.is_open(now)
                now = window.next_open(now)
                runs.append(now)
                assert window.is_open(now + 1e-6)
                _, closes = window.spans(now, now + 1e-6)
                now = closes[0] + 1e-6
            assert runs == pytest.approx(expected, abs=1e-6)
