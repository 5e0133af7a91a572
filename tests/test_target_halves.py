"""The protocol by which the rule for targets is chosen and scored on halves."""

import json

import numpy as np
import pytest

from halflife.market import target_rule
from lab import onetargets, target_halves
from lab.oneworld import DAYS, Part
from lab.target_halves import SHIPPED, Setting, choose, play, study, under

BOLD = Setting(0.9, 0.9)


def row(name, ours, units=10, interval=5.0):
    """Return a source whose target hindsight keeps for ten requests a day."""
    return {
        "source": name, "units": units, "reachable": True, "interval": interval,
        "interval_requests_a_day": 10.0, "learned_requests_a_day": 8.0,
        "learned_kept": 0.9, "ours": ours,
    }  # fmt: skip


def pages(name, n, rate):
    rng = np.random.default_rng(2)
    version = np.cumsum(rng.poisson(rate, (n, DAYS + 1)), axis=1)
    kept = (version[:, :, None] == version[:, None, :]).astype(np.uint16)
    return Part(name, "freshness", 1.0, np.ones(n), kept, flows=False, every=6)


def test_a_setting_holds_in_its_block_and_no_longer():
    with under(BOLD):
        inside = target_rule.AIM, target_rule.BOLD
    assert inside == BOLD[:2]
    assert Setting(target_rule.AIM, target_rule.BOLD) == SHIPPED


def test_what_keeps_more_targets_is_chosen_before_what_is_cheaper():
    safe, cheap, other = Setting(0.1, 1.0), Setting(0.2, 1.0), Setting(0.3, 1.0)
    rows = [
        row("a", {safe: (0.95, 9.0), cheap: (0.94, 1.0), other: (0.96, 8.0)}),
        row("b", {safe: (0.99, 9.0), cheap: (0.99, 1.0), other: (0.99, 8.0)}),
    ]
    assert choose(rows, (safe, cheap, other)) == other
    assert choose(rows, (safe, cheap)) == safe


def test_rows_are_of_the_half_that_they_name_with_a_worked_ratio():
    rows = [
        row(name, {SHIPPED: (0.97, 5.0 + 5.0 * i), BOLD: (0.9, 1.0)}, 1 + i % 2, 9.0)
        for i, name in enumerate("abcd")
    ]
    rows.append({**row("e", {SHIPPED: (0.2, 99.0)}), "reachable": False})
    told = study(rows, (SHIPPED, BOLD), 3)
    assert (told["targets"], told["reachable"], told["splits"]) == (5, 4, 3)
    assert [one["times"] for one in told["settings"]] == [6, 0]
    assert [one["kept"] for one in told["settings"]] == [4, 0]
    found = {(one["sources"], one["half"]): one for one in told["results"]}
    whole = found["all", "all"]
    assert whole["over_hindsight"]["mean"] == pytest.approx(50.0 / 40.0)
    assert (whole["kept"], whole["kept_least"], whole["targets"]) == (1.0, 0.97, 4)
    assert found["one unit, calm", "all"]["targets"] == 2
    assert found["all", "held out"]["targets"] == found["all", "chosen on"]["targets"]
    assert found["all", "held out"]["targets"] == 12  # each source once a split


def test_without_a_grid_the_shipped_settings_alone_are_scored():
    told = study([row("a", {SHIPPED: (0.97, 5.0)})], (), 10)
    assert {one["half"] for one in told["results"]} == {"all"}
    assert told["variants"]["in the grid"] == 0


def test_a_source_is_played_under_every_setting(monkeypatch):
    monkeypatch.setattr(onetargets, "INTERVALS", np.geomspace(1.0, 120.0, 12))
    monkeypatch.setattr(onetargets, "DAYS", 90)
    told = play(pages("slow", 30, 0.004), (BOLD,))
    assert set(told["ours"]) == {SHIPPED, BOLD}
    assert told["ours"][BOLD][1] <= told["ours"][SHIPPED][1]
    assert told["ours"][SHIPPED][0] >= onetargets.KEPT
    shown = target_halves._shown(told)
    assert json.loads(json.dumps(shown))["requests_a_day"] == told["ours"][SHIPPED][1]
