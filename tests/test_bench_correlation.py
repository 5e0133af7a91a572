import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import league_folder
from halflife.bench import league
from halflife.recordings import histories
from halflife.recordings.pages import Recording
from lab import correlation


def test_half_of_the_changes_fall_on_the_busiest_days():
    recording = Recording(
        keys=("a", "b", "c"),
        start=np.array([0, 2, 4, 5]),
        at=np.array([1.2, 7.5, 1.4, 5.1, 3.3]),
        weight=np.ones(3),
        born=np.full(3, -np.inf),
        died=np.full(3, np.inf),
        group=("x", "x", "y"),
    )
    found = correlation.concentration(recording, 10.0)
    assert found["site_days"] == 20
    assert (found["hold_half"], found["changes"]) == (2, 5)
    assert found["never_change"] == 0.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("sites")
    league_folder.many_sites(tmp_path, sites=6)
    site, page = (
        [f"site{s}" for s in range(6) for _ in range(6)],
        [f"page{p}" for _ in range(6) for p in range(6)],
    )
    links = {"site": site, "from_page": page, "to_page": page[1:] + page[:1]}
    parquet.write_table(pa.table(links), tmp_path / "links.parquet")
    terms = [["tea", "sugar"] if p in ("page0", "page1") else ["milk"] for p in page]
    known = {"site": site, "page": page, "title": page, "terms": terms}
    parquet.write_table(pa.table(known), tmp_path / "page_terms.parquet")
    return tmp_path


@pytest.mark.parametrize("name", [*correlation.VARIANTS, "topic-sampling", "uniform"])
def test_every_way_can_be_played(folder, name):
    recorded = league.shuffle_items(histories.load(folder, days=120.0))
    replay = league.LeagueRules().replay(recorded, 0.05)
    score = replay.score(correlation.resolve(folder, name, replay))
    assert 0.0 < score.freshness < 1.0
    assert score.over == 0
