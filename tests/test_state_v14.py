"""State files of version 14, in which all hints counted alike, are brought up to date.

``state_v14/hints.db.gz`` was written by that version: twelve pages of one site with a
sitemap, thirty days, the oldest observations rolled up and the evidence filed as
columns. ``hints.json`` has what that version made of it.
"""

import gzip
import json
from math import inf
from pathlib import Path

import numpy as np
import pytest

from halflife.core.hint_claims import by_kind
from halflife.core.observation import Observation, Observations, Seen
from halflife.stores import schema
from halflife.stores.sqlite import SqliteStore

FOLDER = Path(__file__).with_name("state_v14")
TOLD = json.loads((FOLDER / "hints.json").read_text())


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "state.db"
    path.write_bytes(gzip.decompress((FOLDER / "hints.db.gz").read_bytes()))
    return path


def tally(rows):
    """Return how often each kind of gap was, summed."""
    found = {}
    for *gap, many in rows:
        found[tuple(gap)] = found.get(tuple(gap), 0.0) + many
    return found


def hinted(evidence):
    gaps = evidence.hinted()
    columns = gaps.item, gaps.length.round(9), gaps.changed, gaps.hints, gaps.tally
    return zip(*(column.tolist() for column in columns), strict=True)


def test_what_was_counted_before_counts_as_of_sitemaps(path):
    with SqliteStore.open(path) as store:
        assert store.verify() == []
        evidence = store.evidence(["site"])
    assert by_kind(evidence.hints).tolist() == [TOLD["hints"], *[[0] * 12] * 3]
    assert evidence.claimed.tolist() == [
        -inf if moment is None else moment for moment in TOLD["claimed"]
    ]
    assert np.isneginf(evidence.claimed_feed).all()
    assert evidence.changes.tolist() == TOLD["changes"]
    assert tally(hinted(evidence)) == tally(TOLD["hinted"])


def test_the_file_as_it_was_is_kept_beside_the_new_one(path):
    SqliteStore.open(path).close()
    backup = path.with_name("state.db.backup-v14")
    assert backup.exists()
    with SqliteStore.open(path, readonly=True) as store:
        assert store.verify() == []
    assert len(schema.STEPS) == 15


def test_hints_of_other_kinds_are_counted_apart_from_then_on(path):
    with SqliteStore.open(path) as store:
        before = by_kind(store.evidence(["site"]).hints)
        run = store.begin(["site"], 140.0, lease=1.0)
        key = "https://a.example/p/0"
        # The feed names an earlier moment than the sitemap: that is no matter.
        early = float(store.evidence(["site"]).last_at[0]) + 0.01
        hints = [Observation(key, 140.0, Seen.HINT, "feed", modified=early)]
        hints += [Observation(key, 140.1, Seen.HINT, "push", modified=140.1)]
        store.append(run, Observations.of(hints))
        store.append(run, Observations.of(hints))  # said twice
        store.finish(run, 140.5)
        after = by_kind(store.evidence(["site"]).hints)
        assert (after - before)[:, 0].tolist() == [0, 1, 0, 1]
        assert not (after - before)[:, 1:].any()
        assert store.verify() == []
    with SqliteStore.open(path) as store:
        assert by_kind(store.evidence(["site"]).hints).tolist() == after.tolist()
