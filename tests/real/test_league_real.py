"""The league on real page histories: short, on a few sites."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from halflife.bench import league
from halflife.bench.league import LeagueRules
from halflife.recordings.histories import RecordedSpan, load

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "sites"
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (FOLDER / "pages.parquet").is_file(),
        reason="the recorded histories of real sites are not here",
    ),
]


def few(recorded: RecordedSpan, sites: int) -> RecordedSpan:
    """Return the recording of the smallest sites only."""
    whole = recorded.recording
    names, size = np.unique(np.array(whole.group), return_counts=True)
    chosen = set(names[np.argsort(size, kind="stable")][:sites].tolist())
    rows = [i for i, site in enumerate(whole.group) if site in chosen]
    return replace(recorded, recording=whole.take(np.array(rows)))


@pytest.fixture(scope="module")
def rows():
    recorded = few(load(FOLDER, days=100.0), 10)
    names = ("uniform", "nutch-adaptive", "oracle")
    return league.compare(
        recorded, names, LeagueRules((0.02, 0.1), seeds=1), lambda *_: None
    )


def test_real_scores_keep_to_their_bounds(rows):
    for row in rows:
        assert 0.3 < row["freshness"]["mean"] <= row["hindsight"] + 1e-9
        assert row["freshness"]["low"] <= row["freshness"]["high"]
        assert row["over"] == 0


def test_true_rates_beat_equal_turns_on_real_pages(rows):
    by = {(r["policy"], r["budget"]): r["freshness"]["mean"] for r in rows}
    assert by["oracle", 0.02] > by["uniform", 0.02]
    assert by["uniform", 0.1] > by["uniform", 0.02]
