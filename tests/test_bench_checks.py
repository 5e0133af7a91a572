"""The bench of checks holds verdicts against what databases truly are."""

import json

import numpy as np
import pytest

from halflife.core.search import Document
from halflife.probing.memory import InMemoryDatabase
from lab import auditing_checks as bench
from search_server import corpus
from textdb_folder import WORDS, documents as recorded, write


def library(seed):
    return [
        Document(f"{seed}/{key}", tuple(sorted(set(text.split()))))
        for key, text in corpus(300, seed).items()
    ]


def test_a_share_of_another_database_is_mixed_in():
    mine, other = library(1), library(2)
    rng = np.random.default_rng(0)
    for share in (0.5, 1.0):
        found = bench.mixed(mine, other, share, rng)
        alien = sum(one.key.startswith("2/") for one in found)
        assert alien / len(found) == pytest.approx(share, abs=0.01)
        assert len({one.key for one in found}) == len(found)


def test_a_database_that_stays_is_kept_for_a_few_requests():
    weeks = [library(1)] * 4
    rngs = [np.random.default_rng(0) for _ in range(2)]
    renewed = bench.keep(weeks, rngs[0], checks=False)
    checked = bench.keep(weeks, rngs[1], checks=True)
    assert (renewed.weeks, renewed.held, renewed.renewals) == (3, 3, 3)
    assert (checked.weeks, checked.held, checked.renewals) == (3, 3, 0)
    assert 30 <= checked.requests <= 120 < renewed.requests


def test_a_database_that_becomes_another_is_renewed_once():
    weeks = [library(1)] * 2 + [library(7)] * 3
    assert bench.apart(weeks[0], weeks[-1]) > bench.CHANGED
    kept = bench.keep(weeks, np.random.default_rng(0), checks=True)
    assert (kept.weeks, kept.held, kept.renewals) == (4, 3, 1)


def test_checks_are_told_by_how_far_the_truth_is():
    found = [
        bench.Trial(0.0, passed=True, requests=10),
        bench.Trial(0.6, passed=False, requests=40),
        bench.Trial(0.9, passed=True, requests=20),
    ]
    rows = bench.banded(found)
    assert [row["checks"] for row in rows] == [1, 0, 0, 0, 2]
    assert [row["not_passed"] for row in rows] == [0.0, 0.0, 0.0, 0.0, 0.5]
    assert rows[-1]["requests"] == 30.0
    assert rows[-1]["below"] is None


def test_a_summary_is_counted_with_its_size():
    sample, requests = bench.sampled(
        InMemoryDatabase(library(1), page=20), np.random.default_rng(0)
    )
    assert len(sample.documents) > 200
    assert requests > sample.requests


def test_all_figures_are_there(tmp_path, monkeypatch):
    write(tmp_path, recorded(each=40))
    small = {"LEAST": 5, "TRIALS": 2, "SPELLS": 1, "WEEKS": 3, "LATER": 2}
    for name, value in (small | {"COMMON": tuple(WORDS)}).items():
        monkeypatch.setattr(bench, name, value)
    found = bench.run(tmp_path)
    assert found["sites"] >= 2
    assert [one["page"] for one in found["power"]] == [20, 4]
    many = [sum(r["checks"] for r in one["bands"]) for one in found["power"]]
    assert many == [14, 14]
    assert len(found["weekly_looks"]) == 4
    assert json.dumps(found)
