import numpy as np
import pytest
from lxml import etree

from halflife.core.categories import Categories
from halflife.grouping.topic import LinkMatrix
from halflife.recordings.pages import Recording
from lab.sampling import (
    SIZES,
    TOPICS,
    Setting,
    links_among,
    pages,
    part_of,
    pictures,
    run,
    worlds,
)

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
DAY, DAYS = 86400, 70
SMALL = Setting(sites=3, pages=12, cycles=4, draws=2, share=0.3)


@pytest.fixture
def folder(tmp_path):
    """Four sites of 15 pages; the pages of each change together, or never."""
    rng = np.random.default_rng(0)
    names = [(f"s{i}", f"d{p % 2}/p{p}") for i in range(4) for p in range(15)]
    site, page = zip(*names, strict=True)
    moments = [
        (s, p, int(day * DAY), "M")
        for s, p in names
        for day in rng.uniform(1, DAYS, 6 * int(s[1]))
    ] + [(s, p, DAYS * DAY, "M") for s, p in names[::15]]
    changes = dict(
        zip(
            ("site", "page", "timestamp", "kind"),
            map(list, zip(*moments, strict=True)),
            strict=True,
        )
    )
    terms = [[f"t{k % 3}", f"t{k % 5}"] for k in range(60)]
    tables = {
        "pages": {
            "site": site,
            "page": page,
            "created_at": [0] * 60,
            "deleted_at": pa.nulls(60, pa.int64()),
        },
        "changes": changes,
        "links": {"site": site, "from_page": page, "to_page": page[1:] + page[:1]},
        "page_terms": {"site": site, "page": page, "terms": terms},
    }
    for name, table in tables.items():
        parquet.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    return tmp_path


def test_every_question_is_answered_with_intervals(folder):
    told = run(folder, SMALL)
    assert len(told["figure 1"]) == 2 * len(SIZES)
    assert [row["name"] for row in told["figure 2"]] == [str(k) for k in TOPICS]
    assert told["table 3"][0]["over_round_robin"]["mean"] == 0
    for row in (row for rows in told.values() for row in rows):
        assert row["draws"] == 2
        assert 0 <= row["change_ratio"]["mean"] <= 1
    drawn = pictures(told)
    assert set(drawn) == {"sample-size", "topics"}
    assert all(etree.fromstring(text).tag.endswith("svg") for text in drawn.values())


def test_a_draw_has_as_many_topics_as_sites(folder):
    for world in worlds(folder, SMALL):
        assert len(set(world.replay.recording.group)) == 3
        assert len(world.replay.recording) == 36
        assert len(world.graph.terms) == 3
        assert world.graph.links.n_pages == 36


def test_some_pages_keep_their_changes_categories_and_links():
    recording = Recording(
        keys=("a", "b", "c"),
        start=np.array([0, 2, 3, 5]),
        at=np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        weight=np.array([1.0, 2.0, 3.0]),
        born=np.full(3, -np.inf),
        died=np.full(3, np.inf),
        group=("x", "y", "z"),
    )
    rows = np.array([0, 2])
    part = pages(recording, rows)
    assert part.keys == ("a", "c")
    assert part.start.tolist() == [0, 2, 4]
    assert part.at.tolist() == [1, 2, 4, 5]
    assert part.group == ("x", "z")
    filed = part_of(Categories.of_labels(["p", "p", "q"]), rows)
    assert [filed.members(j).tolist() for j in range(2)] == [[0], [1]]
    links = LinkMatrix.of_pairs(np.array([0, 2, 1]), np.array([1, 0, 2]), 3)
    found = links_among(links, rows)
    assert list(zip(found.source, found.target, strict=True)) == [(1, 0)]
