"""Queries that refresh recorded relations."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from halflife.queries.known.greedy import choose, greedy_probes, offers
from halflife.queries.known.keywords import pool_of
from halflife.queries.ledger import Ledger
from lab.hit_counts import HitCounts, TrueCoverage, refresh, send
from lab.probeworlds import World, known_worlds
from objects_folder import REAL

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not REAL.exists(), reason="the recorded histories are absent"),
]


@pytest.fixture(scope="module", params=["cv_arxiv", "github_ranking"])
def world(request: pytest.FixtureRequest) -> World:
    (found,) = known_worlds(REAL, [request.param])
    return found


def test_a_plan_per_request_takes_half_of_what_equation_2_takes(world: World) -> None:
    pool = pool_of(world.held, lookup=True)
    hits = TrueCoverage(world.open).hits(pool).count
    one = np.ones(len(pool.local))
    offered = offers(hits, page_size=20)
    probes = choose(pool, one, offered)
    by_hits = offered.pages[greedy_probes(pool, one, hits)].sum()
    assert probes.requests < by_hits / 2 < len(pool.local) / 2
    ledger = Ledger(world.form(np.random.default_rng(0), 20))
    assert send(pool, probes, ledger).all()
    assert ledger.requests == probes.requests


def test_by_turns_little_is_lost_by_not_knowing_the_server(world: World) -> None:
    pool = pool_of(world.held, lookup=True)
    one = np.ones(len(pool.local))
    ledger = Ledger(world.form(np.random.default_rng(0), 20))
    assert refresh(
        pool, HitCounts(ledger, TrueCoverage(world.held)), one, batch=40
    ).all()
    assert ledger.requests < len(pool.local) / 2
