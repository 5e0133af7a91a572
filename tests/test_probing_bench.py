from dataclasses import replace

import numpy as np
import pytest

from halflife.core.errors import UsageError
from halflife.probing.focused_probe import focused_sample
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.memory import InMemoryDatabase
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.rules import learn_probes
from halflife.probing.size import estimate_size
from halflife.recordings import textdb
from lab.probing import (
    World,
    averaged,
    classified,
    quality,
    recorded,
    sizes,
)
from lab.synthetic_text import Language
from objects_folder import REAL

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SITES = REAL.parent / "sites"
TOPICS = Hierarchy.of(["Health", "Sports"])


@pytest.fixture(scope="module")
def world():
    language = Language(TOPICS, common=1000, special=100, share=(0.3,))
    rng = np.random.default_rng(0)
    made = [(d.words, t) for t in TOPICS.leaves for d in language.documents(t, 30, rng)]
    words, labels = [w for w, _ in made], [t for _, t in made]
    names = {f"{t} {k}": t for t in TOPICS.leaves for k in range(2)}
    return World(
        {n: tuple(language.documents(t, 120, rng, n)) for n, t in names.items()},
        names,
        learn_probes(TOPICS, words, labels, rng),
        tuple(sorted({w for text in words for w in text})),
    )


def test_longer_samples_cost_more_and_are_nearer_to_the_truth(world):
    told = {row["method"]: row for row in averaged(quality(world, 0), ["method"])}
    short, long = told["qbs 50"], told["qbs 100"]
    assert short["databases"] == 4
    assert short["requests"][0] < long["requests"][0]
    assert short["ur"][0] < long["ur"][0] <= 1.0
    assert short["kl"][0] > long["kl"][0] > 0.0
    assert short["up"] == [1.0, 0.0]
    assert told["fps shrunk"]["ur"][0] >= told["fps"]["ur"][0]


def test_topics_are_found_and_sizes_measured(world):
    topics = averaged(classified(world), ["totals"])
    assert {row["totals"]: row["right"][0] for row in topics}["exact"] == 1.0
    one = dict(list(world.documents.items())[:1])
    rows = sizes(replace(world, documents=one), 0)
    ours = [r["error"] for r in rows if r["method"] == "estimate_size"]
    assert np.median(ours) < 0.2
    assert {r["totals"] for r in rows} == {
        "exact",
        "rounded",
        "capped",
        "absent",
        "lying",
    }


def test_means_come_with_their_errors():
    rows = [{"m": "a", "x": 1.0}, {"m": "a", "x": 3.0}, {"m": "b", "x": 5.0}]
    assert averaged(rows, ["m"]) == [
        {"m": "a", "databases": 2, "x": [2.0, 1.96]},
        {"m": "b", "databases": 1, "x": [5.0, 0.0]},
    ]


def folder_of(tmp_path, domains):
    rng = np.random.default_rng(0)
    rows = []
    for site, domain in domains.items():
        own = 50 if domain == "com" else 80
        for page in range(25):
            terms = np.union1d(rng.integers(0, 50, 8), own + rng.integers(0, 20, 5))
            rows.append((site, f"p{page}", 0, 1, terms.tolist()))
    names = ("site", "page", "week_from", "week_to", "terms")
    columns = zip(*rows, strict=True)
    docs = pa.table({n: list(c) for n, c in zip(names, columns, strict=True)})
    parquet.write_table(docs, tmp_path / "docs_weekly.parquet")
    words = [f"w{i}" for i in range(100)]
    vocab = pa.table({"term_id": list(range(100)), "term": words})
    parquet.write_table(vocab, tmp_path / "vocab.parquet")
    sites = pa.table({"site": list(domains), "domain": list(domains.values())})
    parquet.write_table(sites, tmp_path / "sites.parquet")
    return tmp_path


def test_recorded_sites_teach_and_are_tried_in_turn(tmp_path):
    domains = {"a": "com", "b": "com", "c": "org", "d": "org"}
    world = recorded(folder_of(tmp_path, domains), 0)
    assert world.topic == {"b": "com", "d": "org"}
    assert set(world.probes.queries) == {"com", "org"}
    rows = classified(world)
    assert [r["right"] for r in rows if r["totals"] == "exact"] == [1.0, 1.0]


def test_sites_of_one_domain_cannot_teach(tmp_path):
    with pytest.raises(UsageError, match="two domains"):
        recorded(folder_of(tmp_path, {"a": "com", "b": "com"}), 0)


@pytest.mark.real
def test_halves_of_real_sites_know_each_other():
    if not (SITES / "docs_weekly.parquet").exists():
        pytest.skip("the recorded histories of real sites are not here")
    weekly = textdb.load(SITES)
    week = weekly.weeks - 1
    large = [s for s in weekly.sites if len(weekly.present(s, week)) >= 300][:4]
    held = {s: weekly.documents(s, week) for s in large}
    taught = [(d.words, s) for s in large for d in held[s][0:200:2]]
    rng = np.random.default_rng(0)
    hierarchy = Hierarchy.of(large)
    probes = learn_probes(
        hierarchy, [w for w, _ in taught], [s for _, s in taught], rng
    )
    for site in large:
        db = InMemoryDatabase(held[site][1::2])
        assert focused_sample(db, probes).topics == (site,)
        sample = query_based_sample(db, taught[0][0], rng, documents=100)
        size = estimate_size(db, sample, rng)
        assert size.size == pytest.approx(len(held[site]) / 2, rel=0.35)
