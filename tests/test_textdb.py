import numpy as np
import pytest

import textdb_folder as made
from halflife.core.errors import UsageError
from halflife.recordings.textdb import load
from halflife.summary.drift import drift
from objects_folder import REAL
from textdb_folder import pa, parquet

ROWS = made.documents()
SITES = REAL.parent / "sites"


@pytest.fixture
def weekly(tmp_path):
    return load(made.write(tmp_path, ROWS))


def test_sites_have_their_stratum_and_their_first_week(weekly):
    assert weekly.sites == ("a.com", "b.org", "c.uk")
    assert weekly.stratum == ("com", "org", "misc")
    assert weekly.begin.tolist() == [100.0, 200.0, 300.0]
    assert weekly.weeks == 20


@pytest.mark.parametrize("recent", [None, 4])
def test_summaries_of_every_week_are_the_counts_of_the_documents_there(weekly, recent):
    view = weekly if recent is None else weekly.recent(recent)
    for site in view.sites:
        counted = view.weekly_summaries(site)
        assert counted.week.tolist() == list(range(view.since, 20))
        words = view.words[counted.term]
        for k, week in enumerate(counted.week.tolist()):
            expected = made.counts(ROWS, site, week, recent)
            size = len(made.present(ROWS, site, week, recent))
            summary = view.summary(site, week)
            assert summary.counts() == expected
            assert (summary.size, summary.sampled) == (size, size)
            row = counted.count[k]
            assert dict(zip(words[row > 0], row[row > 0], strict=True)) == expected
            assert counted.size[k] == size


def test_the_table_of_a_week_holds_the_summaries_of_all_sites(weekly):
    table = weekly.table(7)
    assert table.taken_at.tolist() == [149.0, 249.0, 349.0]
    for site in weekly.sites:
        assert table.row(site).counts() == made.counts(ROWS, site, 7)
        assert table.row(site).size == weekly.summary(site, 7).size


def test_documents_are_those_of_the_week_with_their_words(weekly):
    found = {(d.key, d.words) for d in weekly.documents("b.org", 9)}
    expected = {(r[1], tuple(sorted(r[4]))) for r in made.present(ROWS, "b.org", 9)}
    assert found == expected


def test_the_recent_view_starts_when_no_document_of_unknown_age_is_in_sight(weekly):
    view = weekly.recent(4)
    assert view.since == 4
    with pytest.raises(ValueError, match="week 3 was not recorded whole: 4 to 19"):
        view.summary("a.com", 3)
    first = view.present("a.com", 4)
    assert (view.week_from[first] > 0).all()
    with pytest.raises(ValueError, match="recent weeks"):
        weekly.recent(20)


def test_some_sites_and_some_weeks_are_the_same_as_before(weekly):
    part = weekly.select(("c.uk", "a.com")).until(10)
    assert part.stratum == ("misc", "com")
    assert part.begin.tolist() == [300.0, 100.0]
    for site in part.sites:
        same, other = part.weekly_summaries(site), weekly.weekly_summaries(site)
        assert (same.size == other.size[:10]).all()
        assert part.summary(site, 8).counts() == weekly.summary(site, 8).counts()
    with pytest.raises(ValueError, match="weeks must be"):
        weekly.until(21)
    with pytest.raises(ValueError, match="'nobody'"):
        weekly.select(("nobody",))


def test_a_site_that_is_empty_for_weeks_has_empty_summaries(tmp_path):
    rows = [
        ("a.com", "/1", 0, 1, ["w01", "w02"]),
        ("a.com", "/1", 4, 5, ["w01", "w02"]),
        ("a.com", "/2", 4, 5, []),
    ]
    weekly = load(made.write(tmp_path, rows, sites={"a.com": "com"}))
    assert weekly.summary("a.com", 2).words == ()
    assert weekly.table(3).row("a.com").size == 0
    assert weekly.summary("a.com", 4).size == 2
    assert weekly.documents("a.com", 3) == ()
    assert np.isnan(drift(weekly, "a.com").change.kl[0, 2])


def test_a_folder_that_does_not_say_when_week_0_was_counts_from_0(tmp_path):
    folder = made.write(tmp_path, ROWS)
    facts = pa.table({"site": list(made.SITES), "domain": ["com"] * 3})
    parquet.write_table(facts, folder / "sites.parquet")
    assert load(folder).begin.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a.com", "/", 3, 2, ["w01"])], "ends .week_to. before it starts"),
        ([("a.com", "/", -1, 2, ["w01"])], "below 0"),
        ([("q.com", "/", 0, 2, ["w01"])], "no row for the site 'q.com'"),
    ],
)
def test_documents_that_make_no_sense_are_named(tmp_path, rows, said):
    with pytest.raises(UsageError, match=said):
        load(made.write(tmp_path, rows))


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ([[4, 1]], "ascend"),
        ([[4, 4]], "ascend"),
        ([[2]], "not in vocab"),
        ([[10_000]], "not in vocab"),
        ([[-1]], "not in vocab"),
        ([None], "empty cells"),
    ],
)
def test_terms_that_make_no_sense_are_named(tmp_path, terms, said):
    folder = made.write(tmp_path, [("a.com", "/", 0, 2, ["w01"])])
    table = parquet.read_table(folder / "docs_weekly.parquet")
    column = pa.array(terms, pa.large_list(pa.int32()))
    parquet.write_table(
        table.set_column(4, "terms", column), folder / "docs_weekly.parquet"
    )
    with pytest.raises(UsageError, match=said):
        load(folder)


def test_files_that_are_missing_or_empty_are_named(tmp_path):
    with pytest.raises(UsageError, match=r"docs_weekly\.parquet: missing"):
        load(tmp_path)
    folder = made.write(tmp_path, ROWS)
    whole = parquet.read_table(folder / "docs_weekly.parquet")
    parquet.write_table(whole.slice(0, 0), folder / "docs_weekly.parquet")
    with pytest.raises(UsageError, match="holds no document"):
        load(folder)
    parquet.write_table(whole, folder / "docs_weekly.parquet")
    (folder / "vocab.parquet").unlink()
    with pytest.raises(UsageError, match=r"vocab\.parquet: missing"):
        load(folder)


@pytest.mark.real
@pytest.mark.skipif(not SITES.exists(), reason="the recorded sites are not here")
def test_recorded_sites_age_as_their_own_table_says():
    weekly = load(SITES)
    facts = parquet.read_table(SITES / "sites.parquet").to_pylist()
    told = {row["site"]: row for row in facts}
    for site in weekly.sites[::12]:
        found = drift(weekly, site)
        for metric in ("ur", "up", "wr", "wp", "kl"):
            for lag in (1, 25):
                mean = np.nanmean(np.diagonal(found.change.of(metric), lag))
                assert mean == pytest.approx(told[site][f"{metric}_{lag}"], abs=1e-9)
