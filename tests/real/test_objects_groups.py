"""Groups and schedules on recorded set sources."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from halflife.bench.setpolicies import stretch
from halflife.core.filters import parse
from halflife.grouping.attributes import splitting_attributes
from halflife.grouping.partition import partition
from halflife.policies.listings.schedules import (
    FixedInterval,
    PacedThreshold,
    Priced,
    Threshold,
)
from halflife.recordings.objects import load_parquet
from halflife.replay.listings import SetReplay, thin
from lab.set_policies import carried

FOLDER = Path(__file__).parents[2] / ".." / "shared" / "data" / "objects"
NAMES = sorted(p.parent.name for p in FOLDER.glob("*/lifetimes.parquet"))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not NAMES, reason=f"no recorded set sources in {FOLDER}"),
]
every_source = pytest.mark.parametrize("name", NAMES)


@cache
def load(name):
    return load_parquet(FOLDER / name, name)


@cache
def parted(name):
    """Return the groups found in the first 60 % of a history, and when that ends."""
    source = load(name)
    begin = float(source.looks[int(0.6 * (source.looks.size - 1))])
    rng = np.random.default_rng(0)
    wanted = splitting_attributes(source.lives.attributes)
    return partition(source.until(begin).lives, wanted, rng), begin


@every_source
def test_groups_learned_early_do_not_mislead_later(name):
    found, begin = parted(name)
    assert carried(load(name), found, begin).high >= 0.0


@every_source
def test_every_group_is_what_its_rule_says(name):
    found, _ = parted(name)
    attributes_ = load(name).lives.attributes
    label = found.assign(attributes_)
    for number, group in enumerate(found.groups):
        if group.rule:
            assert np.array_equal(parse(group.rule)(attributes_), label == number)
        assert 0 <= group.low <= group.rate <= group.high < np.inf


@every_source
def test_schedules_by_pace_run_on_any_source_and_save_syncs(name):
    part, begin = stretch(load(name))
    replay = SetReplay(part, begin)
    memory = 45.0 * float(np.median(np.diff(part.looks)))
    always = replay.score(FixedInterval(0.0))
    for schedule in (PacedThreshold(window=memory), Priced(0.3, window=memory)):
        score = replay.score(schedule)
        assert score.syncs <= always.syncs
        assert 0 < score.recall <= always.recall
        assert np.isfinite([score.rho, score.below, score.precision]).all()


@every_source
def test_looks_not_made_are_not_known(name):
    source = load(name)
    looks = source.looks[: 2000 : max(source.looks.size // 50, 1)]
    known = thin(source, looks)
    for look in looks[::10].tolist():
        assert known.held(look).size == source.held(look).size
    seen = np.concatenate([known.lives.first_seen, known.lives.last_seen])
    assert np.isin(seen, looks).all()


@pytest.mark.skipif("crypto_jobs" not in NAMES, reason="that source is absent")
def test_a_threshold_keeps_recall_of_job_postings_with_half_of_the_syncs():
    part, begin = stretch(load("crypto_jobs"))
    replay = SetReplay(part, begin)
    score = replay.score(Threshold(0.9, confidence=0.95))
    assert score.below <= 0.05
    assert score.missed <= 0.05
    assert score.syncs <= replay.score(FixedInterval(0.0)).syncs / 2
