"""The bench of audits plays the running system on worlds whose truth is known."""

import numpy as np
import pytest

from halflife.bench import auditing


@pytest.fixture
def small(monkeypatch):
    for name, value in (
        ("PAGES", 60),
        ("DAYS", 16.0),
        ("MIDDLE", 8.0),
        ("PERIOD", 4.0),
    ):
        monkeypatch.setattr(auditing, name, value)


def test_time_runs_faster_from_the_middle_on(small):
    even = auditing.even(1)
    fast = auditing.hurried(even)
    early = even.at <= 8.0
    assert np.array_equal(fast.at[early], even.at[early])
    assert fast.at[~early] == pytest.approx(8.0 + (even.at[~early] - 8.0) / 5.0)


def test_a_replay_tells_what_audits_found_beside_the_truth(small):
    run = auditing.play(auditing.even(1), 0.3, 1)
    assert len(run.fresh) == 63
    told = auditing.told([run], 0.0)
    assert told["checked"] == run.checks.shape[1] > 50
    assert told["quality"]["periods"] == 4
    assert told["quality"]["truth_inside"]["mean"] >= 0.75
    assert abs(told["quality"]["mean_error"]) < 0.1
    assert [row["ahead"] for row in told["forecasts"]] == [0.0, 1 / 24, 1.0, 7.0]
    assert all(row["with_trust"] >= row["coverage"] for row in told["forecasts"])


def test_without_a_share_nothing_is_checked(small):
    run = auditing.play(auditing.even(1), 0.0, 1)
    assert run.checks.shape[1] == 0
    assert run.rows == []
    assert auditing.covered([run], 0.0, 16.0) == []
