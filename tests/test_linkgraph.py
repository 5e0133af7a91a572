from pathlib import Path

import numpy as np
import pytest

from halflife.core.errors import UsageError
from halflife.recordings.histories import load
from halflife.recordings.pages import Recording
from lab.linkgraph import load_graph

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def recording(keys):
    n = len(keys)
    never = np.full(n, np.inf)
    return Recording(
        keys, np.zeros(n + 1, np.intp), np.zeros(0), np.ones(n), -never, never
    )


def write(folder):
    links = {
        "site": ["s", "s", "s", "t"],
        "from_page": ["a", "a", "b", "a"],
        "to_page": ["b", "gone", "a", "a"],
    }
    terms = {
        "site": ["s", "s", "t", "s"],
        "page": ["a", "b", "a", "gone"],
        "terms": [["tea", "cup"], None, ["tea"], ["lost"]],
    }
    parquet.write_table(pa.table(links), folder / "links.parquet")
    parquet.write_table(pa.table(terms), folder / "page_terms.parquet")


def test_links_and_terms_have_the_rows_of_the_recording(tmp_path):
    write(tmp_path)
    graph = load_graph(tmp_path, recording(("t/a", "s/b", "s/a")))
    links = zip(graph.links.source.tolist(), graph.links.target.tolist(), strict=True)
    assert list(links) == [(2, 1), (1, 2)]
    assert graph.terms.names == ("cup", "tea")
    assert graph.terms.members(1).tolist() == [0, 2]
    assert graph.terms.n_items == graph.links.n_pages == 3


def test_a_folder_that_lacks_a_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"links\.parquet: missing"):
        load_graph(tmp_path, recording(("a",)))


def test_files_without_rows_make_a_graph_without_links(tmp_path):
    text = pa.array([], pa.string())
    none = {"site": text, "from_page": text, "to_page": text}
    parquet.write_table(pa.table(none), tmp_path / "links.parquet")
    lists = pa.array([], pa.list_(pa.string()))
    none = {"site": text, "page": text, "terms": lists}
    parquet.write_table(pa.table(none), tmp_path / "page_terms.parquet")
    graph = load_graph(tmp_path, recording(("a", "b")))
    assert (len(graph.links), len(graph.terms)) == (0, 0)


@pytest.mark.real
def test_the_real_sites_have_links_within_sites():
    folder = Path(__file__).parents[2] / "shared" / "data" / "sites"
    if not folder.exists():
        pytest.skip("the recorded histories of real sites are not here")
    real = load(folder).recording
    graph = load_graph(folder, real)
    site = np.array(real.group)
    assert len(graph.links) > 10_000
    assert np.all(site[graph.links.source] == site[graph.links.target])
    assert np.unique(graph.terms.item).size > 10_000
