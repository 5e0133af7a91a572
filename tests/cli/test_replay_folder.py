"""``halflife replay`` on a folder of recorded histories."""

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

import league_folder
import objects_folder


@pytest.fixture
def pages(here):
    folder = here / "sites"
    folder.mkdir()
    changes = {("one.org", "news"): [0.6, 1.6, 2.6], ("one.org", "about"): []}
    return league_folder.write(folder, changes, days=4.0)


def test_pages_are_played_by_the_service_with_bounds_beside_it(pages, asked):
    words = ("--policies", "champion,uniform", "--budgets", "4", "--days", "4")
    code, answer = asked("replay", pages, *words)
    assert code == 0
    assert answer["history"] == str(pages)
    assert answer["sources"] == [{"source": "one.org", "kind": "pages"}]
    for row, policy in zip(answer["results"], ("champion", "uniform"), strict=True):
        assert (row["policy"], row["budget"]) == (policy, 4.0)
        assert set(row["against"]) == {"policy", "mean", "low", "high"}
        assert row["sources"][0]["measure"] == "freshness"
        assert 0.0 <= row["blind"] <= row["told"] <= 1.0


def test_options_of_columns_are_played_on_columns(pages, asked):
    words = ("--policies", "uniform,oracle", "--budgets", "0.5", "--days", "4")
    code, answer = asked("replay", pages, *words)
    assert code == 0
    assert {"items", "groups", "warm", "ticks"} <= set(answer)
    code, answer = asked("replay", pages, *words[2:], "--ticks", "2")
    assert answer["ticks"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sources", "two.org"), "nothing named 'two.org' was recorded"),
        (("--kind", "form"), "holds no recorded history that can be played as"),
        (("--kind", "feed"), "no kind is named 'feed'"),
        (
            ("--policies", "luck"),
            "a policy named 'luck'; known policies: default",
        ),
        (("--policies", ","), "name one at least"),
        (("--budgets", "none"), "'none' is not a number above 0"),
        (("--store", "--text", "."), "name one history"),
    ],
)
def test_bad_words_are_told_apart(pages, told, words, said):
    code, _, err = told("replay", pages, *words)
    assert code == 2
    assert said in " ".join(err.split())


def test_an_empty_folder_is_told_so_in_a_line(here, told):
    (here / "empty").mkdir()
    code, out, err = told("replay", "empty")
    assert (code, out) == (2, "")
    assert "holds no recorded history that I know" in " ".join(err.split())


def test_a_file_that_cannot_be_read_is_named(here, told):
    folder = here / "cars"
    folder.mkdir()
    objects_folder.write(folder, objects_folder.tables())
    (folder / "lifetimes.parquet").write_bytes(b"PAR1")
    code, _, err = told("replay", folder)
    assert code == 2
    assert "lifetimes.parquet" in " ".join(err.split())


def test_the_kind_of_a_store_is_not_for_choice(here, told):
    code, _, err = told("replay", "--store", "--kind", "form")
    assert code == 2
    assert "--kind is for a folder" in " ".join(err.split())


def test_reads_that_fail_are_counted_and_the_last_reason_is_printed(here, told, asked):
    many = objects_folder.tables()
    names = pa.array([str(i) for i in range(500)])
    there = {"lifetimes": 1, "versions": 2}  # the rows of the object listed each day
    for table, row in there.items():
        rows = pa.array([row] * 500)
        many[table] = {n: c.take(rows) for n, c in many[table].items()}
        many[table]["object_id"] = names
    (here / "jobs").mkdir()
    folder = objects_folder.write(here / "jobs", many)
    # A read takes ten requests, and a week has seven.
    words = (folder, "--policies", "default", "--budgets", "1", "--days", "4")
    _, answer = asked("replay", *words)
    (source,) = answer["results"][0]["sources"]
    assert source["troubles"] > 0
    assert "raise [budget] requests" in source["trouble"]
    code, _, err = told("replay", *words)
    assert code == 0
    assert f"jobs under default at 1: {source['troubles']} task" in err
