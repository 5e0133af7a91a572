"""Made-up recordings of text databases, and the slow truth about them."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

WORDS = [f"w{k:02d}" for k in range(40)]
SITES = {"a.com": "com", "b.org": "org", "c.uk": "uk"}


def documents(seed=0, weeks=20, each=25):
    """Return rows (site, page, week_from, week_to, words), not in order of sites."""
    rng = np.random.default_rng(seed)
    rows = []
    for site in SITES:
        for page in range(each):
            week = int(rng.integers(0, 6)) if page % 3 == 0 else 0
            while week < weeks:
                end = min(week + int(rng.integers(1, 15)), weeks) - 1
                some = rng.random(len(WORDS)) < rng.uniform(0.05, 0.4)
                words = [w for w, s in zip(WORDS, some, strict=True) if s]
                rows.append((site, f"/{page}", week, end, words))
                week = end + 1 + int(rng.random() < 0.2)
    rng.shuffle(rows)
    return rows


def write(folder, rows, *, words=None, sites=None):
    """Write a folder of the three files; term ids have gaps and another order."""
    words = WORDS if words is None else words
    ids = {w: 3 * k + 1 for k, w in enumerate(sorted(words, reverse=True))}
    columns = dict(
        zip(
            ("site", "page", "week_from", "week_to", "terms"),
            map(list, zip(*rows, strict=True)),
            strict=True,
        )
    )
    columns["terms"] = [sorted(ids[w] for w in terms) for terms in columns["terms"]]
    docs = pa.table(columns)
    docs = docs.set_column(4, "terms", docs["terms"].cast(pa.large_list(pa.int32())))
    parquet.write_table(docs, folder / "docs_weekly.parquet")
    vocab = {"term_id": list(ids.values()), "term": list(ids)}
    parquet.write_table(pa.table(vocab), folder / "vocab.parquet")
    sites = SITES if sites is None else sites
    facts = {
        "site": list(sites),
        "domain": list(sites.values()),
        "window_start": [86400 * 100 * (k + 1) for k in range(len(sites))],
    }
    parquet.write_table(pa.table(facts), folder / "sites.parquet")
    return folder


def present(rows, site, week, recent=None):
    """Return the documents of a site in a week, the slow way."""
    return [
        r
        for r in rows
        if r[0] == site
        and r[2] <= week <= r[3]
        and (recent is None or r[2] > week - recent)
    ]


def counts(rows, site, week, recent=None):
    """Return the document frequencies of a site in a week, the slow way."""
    found = {}
    for row in present(rows, site, week, recent):
        for word in row[4]:
            found[word] = found.get(word, 0) + 1
    return found
