"""A file that is cleared stays within bounds, and believes the same."""

import json

from lab import retention


def test_a_cleared_file_stays_bounded_and_believes_the_same(capsys):
    retention.main(["--sources", "3", "--pages", "2", "--days", "140"])
    found = json.loads(capsys.readouterr().out)
    cleared, whole = found["cleared"], found["never_cleared"]
    assert found["same_belief"]
    assert cleared["verify"] == whole["verify"] == []
    assert whole["rows"]["observation"] == 140 * 6
    assert cleared["rows"]["observation"] <= (90 + 7 + 1) * 6
    assert cleared["rows"]["ledger"] <= 60 + 7 + 1
    assert cleared["rows"]["ledger"] + cleared["rows"]["rolled_ledger"] == 140
    assert cleared["rows"]["run"] <= 90 + 7 + 1
