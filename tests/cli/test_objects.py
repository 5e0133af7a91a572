"""Set sources on the command line: import, forecast, since, when, backtest, study."""

import csv
import json
import shutil

import pytest

from halflife.cli import imports
from halflife.config import Config
from halflife.recordings.objects import load_parquet
from set_folders import DAYS, spells, write_git, write_parquet, write_snapshots

FROM = "2024-03-01"  # day 60


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    return write_parquet(tmp_path_factory.mktemp("recorded") / "cars", spells())


@pytest.fixture(scope="session")
def stored(recorded, tmp_path_factory):
    """A store that knows the source ``cars``."""
    folder = tmp_path_factory.mktemp("stored")
    imports.save(Config(path=folder / "halflife.toml"), load_parquet(recorded, "cars"))
    return folder / "halflife.db"


@pytest.fixture
def cars(here, stored):
    """An otherwise empty folder with such a store."""
    shutil.copy(stored, here)
    return here


def check(figure, *, most=1.0):
    assert set(figure) == {"mean", "low", "high"}
    assert 0 <= figure["low"] <= figure["mean"] <= figure["high"] <= most


def test_a_folder_is_imported_where_there_are_no_settings(here, recorded, told):
    code, out, err = told("import", "parquet", recorded, "--as", "cars", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["results"][0]["looks"] == DAYS + 1
    assert answer["objects"] == len(list(spells()))
    assert answer["first_look"] == "2024-01-01T00:00:00Z"
    assert err == "there is no halflife.toml here; using halflife.db in this folder\n"
    assert (here / "halflife.db").exists()
    assert not (here / "halflife.toml").exists()


def test_a_source_goes_where_the_settings_say(here, recorded, told):
    (here / "halflife.toml").write_text('store = "mine.db"\n')
    code, _, err = told("import", "parquet", recorded, "--as", "cars")
    assert (code, err) == (0, "")
    assert (here / "mine.db").exists()
    assert told("forecast", "cars", "--at", "7d")[0] == 0


def test_an_import_replaces_what_was_there(cars, recorded, asked):
    before = asked("forecast", "cars", "--at", "7d")[1]
    assert asked("import", "parquet", recorded, "--as", "cars")[0] == 0
    assert asked("forecast", "cars", "--at", "7d")[1] == before


@pytest.mark.parametrize("form", ["snapshots", "git"])
def test_other_forms_tell_the_same_story(here, recorded, asked, form):
    rows, days = list(spells()), range(0, 40, 2)
    if form == "git":
        place = [write_git(here / "repo", rows, days), "cars.json"]
    else:
        place = [write_snapshots(here / "dated", rows, days)]
    code, answer = asked("import", form, *place, "--key", "id", "--as", "x")
    assert code == 0
    assert answer["looks"] == 20
    held = sum(first <= 20 <= last for *_, first, last in rows)
    code, answer = asked("forecast", "x", "--at", "2d", "--from", "2024-01-21")
    assert code == 0
    assert answer["held"] == held
    where = ["--where", 'make = "BMW"']
    answer = asked("forecast", "x", "--at", "2d", "--from", "2024-01-21", *where)[1]
    assert answer["held"] == sum(m == "BMW" and f <= 20 <= z for _, m, _, f, z in rows)


def test_a_forecast_has_five_figures_with_bounds(cars, asked, told):
    code, answer = asked("forecast", "cars", "--from", FROM, "--at", "7d")
    assert code == 0
    (row,) = answer["results"]
    for metric in ("precision", "recall", "freshness"):
        assert answer[metric] == row[metric]
        check(row[metric])
    assert row["freshness"]["mean"] <= row["precision"]["mean"] + 0.02
    check(row["gone"], most=answer["held"])
    check(row["new"], most=1e6)
    assert (row["in"], row["days"]) == ("7 days", 7.0)
    assert row["at"] == "2024-03-08T00:00:00Z"
    assert "[" in told("forecast", "cars", "--from", FROM, "--at", "7d")[1]


def test_several_times_give_several_rows_in_order(cars, asked):
    words = ["--at", "7d", "--at", "+6h", "--at", "30m"]
    _, answer = asked("forecast", "cars", "--from", FROM, *words)
    assert [row["in"] for row in answer["results"]] == ["30 min", "6 h", "7 days"]
    means = [row["precision"]["mean"] for row in answer["results"]]
    assert means == sorted(means, reverse=True)
    assert len(asked("forecast", "cars", "--days", "14")[1]["results"]) == 6


def test_a_forecast_uses_nothing_that_was_seen_later(here, asked):
    rows = list(spells())
    kept = [(k, m, y, f, min(z, 60)) for k, m, y, f, z in rows if f <= 60]
    write_snapshots(here / "a", rows, range(DAYS))
    write_snapshots(here / "b", kept, range(61))
    for name in "ab":
        asked("import", "snapshots", here / name, "--key", "id", "--as", name)
    one, other = (
        asked("forecast", name, "--from", FROM, "--at", "7d")[1] for name in "ab"
    )
    assert one["results"] == other["results"]


def test_when_to_sync_depends_on_how_good_the_copy_must_be(cars, asked, told):
    waits = []
    for level in ("0.95", "0.8", "0.5"):
        code, answer = asked("when", "cars", "--recall", level, "--from", FROM)
        assert code == 0
        waits.append(answer["days"])
        assert answer["date"] > "2024-03-01"
    assert 0 < waits[0] < waits[1] < waits[2]
    sure = asked("when", "cars", "--recall", "0.8", "--from", FROM, "--confidence", 0.6)
    assert sure[1]["days"] > waits[1]
    code, out, _ = told("when", "cars", "--precision", "0.8", "--from", FROM)
    assert code == 0
    assert out.startswith("cars, copied 2024-03-01T00:00:00Z: sync within ")


def test_what_has_gone_and_come_since(cars, asked, told):
    code, answer = asked("since", "cars", "--from", FROM, "--to", "2024-03-06")
    assert code == 0
    same = asked("forecast", "cars", "--from", FROM, "--at", "5d")[1]
    assert answer["gone"] == same["gone"]
    assert answer["new"] == same["new"]
    assert answer["days"] == 5.0
    out = told("since", "cars")[1]  # until now
    assert out.startswith("cars, copied 2024-03-31T00:00:00Z: of ")


def test_forecasts_are_held_to_account(cars, asked, told):
    code, answer = asked("backtest", "cars", "--horizons", "1d,7d")
    assert code == 0
    rows = answer["results"]
    need = {"model", "default", "metric", "horizon", "mae", "coverage", "width", "n"}
    assert all(need <= set(row) for row in rows)
    mine = [row for row in rows if row["default"]]
    assert [(r["horizon"], r["metric"]) for r in mine] == [
        (1.0, "precision"),
        (1.0, "recall"),
        (7.0, "precision"),
        (7.0, "recall"),
    ]
    assert len({row["model"] for row in rows}) > 2
    assert "coverage" in told("backtest", "cars", "--horizons", "1d")[1]


def test_a_study_is_one_page_and_its_tables(cars, asked):
    code, answer = asked("study", "cars", "--out", "out/deep")
    assert code == 0
    files = sorted(path.name for path in (cars / "out/deep").iterdir())
    assert answer["page"] == "out/deep/index.html"
    assert files == sorted(row["file"].split("/")[-1] for row in answer["results"])
    page = (cars / "out/deep/index.html").read_text()
    assert "<script" not in page
    assert "alert(1)" in page
    with (cars / "out/deep/decay-by-category.csv").open(newline="") as file:
        names = {row["make"] for row in csv.DictReader(file)}
    assert "'=cmd()" in names
    assert "=cmd()" not in names


def test_a_study_of_some_objects_by_another_attribute(cars, asked):
    words = ["--where", 'make != "Fiat"', "--by", "year", "--out", "o"]
    assert asked("study", "cars", *words)[0] == 0
    assert ", by year" in (cars / "o/index.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("forecast bikes --at 7d", "no set source is named 'bikes' in halflife.db; "),
        ("when bikes --recall .9", "no set source is named 'bikes' in halflife.db; "),
        ("backtest bikes", "no set source is named 'bikes' in halflife.db; it has"),
        ("study bikes --out o", "no set source is named 'bikes' in halflife.db; it"),
        ("since bikes", "no set source is named 'bikes' in halflife.db; it has cars"),
        ("forecast cars bikes", "a set source is forecast alone"),
        ("forecast cars --from 2023-01-01", "--from: cars was not fetched before"),
        ("forecast cars --from 1.1.2024", "--from: '1.1.2024' is not a date; write"),
        ("forecast cars --at soon", "--at: 'soon' is not a time; write +6h, 30m"),
        ("forecast cars --confidence 2", "--confidence: 2 is not between 0 and 1"),
        ("forecast cars --confidence nan", "--confidence: nan is not between 0 and"),
        ("forecast cars --target .9", "--target: not for sets; ask `halflife when"),
        ("forecast cars --where make=", "filter"),
        ("forecast cars --where nope=1", "filter: no attribute 'nope'"),
        ("forecast cars --where make='Opel'", "--where: no object of cars matches"),
        ("when cars --recall 1", "--recall: 1 is not between 0 and 1"),
        ("when cars --precision 0", "--precision: 0 is not between 0 and 1"),
        ("when cars", "say what to keep: either --precision Q or --recall Q"),
        ("when cars --recall .9 --precision .9", "say what to keep: either"),
        ("since cars --to 2024-01-01", "--to: 2024-01-01T00:00:00Z is before"),
        ("since cars --from 2999-01-01", "--from: 2999-01-01T00:00:00Z is not past"),
        ("backtest cars --horizons 1d,x", "--horizons: 'x' is not a time"),
        ("backtest cars --horizons ,", "--horizons: name at least one"),
        ("study cars --out o --by colour", "--by: objects have no attribute 'colour'"),
        ("import zip . --as x", "'zip' cannot be imported; there are parquet, git"),
        ("import parquet nowhere --as x", "nowhere: no such folder"),
        ("import parquet . --as x", "lifetimes.parquet: missing"),
        ("import parquet . --as a/b", "--as: 'a/b' cannot be a name; use letters"),
        ("import parquet . --as x --key id", "--key: a folder of Parquet files says"),
        ("import snapshots . p --key id --as x", "import snapshots takes one place"),
        ("import snapshots . --as x", "import snapshots needs --key"),
        ("import git . --key id --as x", "import git needs the repository and the"),
        ("import git . cars.json --key id --as x", ""),
    ],
)
def test_bad_input_is_one_line(cars, told, words, said):
    code, out, err = told(*words.split())
    lines = [line for line in err.splitlines() if line.startswith("halflife: ")]
    assert code == 2, err
    assert out == ""
    assert len(lines) == 1
    assert said in lines[0]
    assert len(err.splitlines()) <= 2


def test_without_a_store_nothing_is_known(here, fails):
    assert "see `halflife import --help`" in fails("when", "cars", "--recall", ".9")[1]
    assert not (here / "halflife.db").exists()


def test_a_listing_that_was_never_read_has_no_forecast(here, fails):
    (here / "halflife.toml").write_text(
        '[[source]]\nname = "jobs"\nkind = "listing"\nkey = "id"\n'
        'url = "https://jobs.example.org/list"\n'
    )
    for words in (["forecast", "jobs"], ["when", "jobs", "--recall", ".9"]):
        code, complaint = fails(*words)
        assert code == 2
        assert complaint == "jobs was never fetched; run `halflife sync jobs`"
    assert "name the set source to forecast" in fails("forecast")[1]


def test_options_of_set_sources_are_not_for_pages(settings, fails):
    for words in (["--from", FROM], ["--where", "a = 1"], ["--confidence", "0.9"]):
        code, complaint = fails("forecast", "demo", *words)
        assert code == 2
        assert "only the forecast of a set source" in complaint


def test_schedules_are_compared_on_a_set_source(cars, asked, told):
    code, answer = asked("replay", "cars")
    assert code == 0
    rows = {r["schedule"]: r for r in answer["results"] if r["figure"] == "schedule"}
    every, held = rows["every look"], rows["threshold 0.95"]
    assert held["syncs"] <= every["syncs"]
    assert held["recall"] <= every["recall"] + 1e-9
    assert all(0 <= row["below"] <= 1 for row in rows.values())
    dated = write_snapshots(cars / "dated", list(spells()), range(24))
    assert told("import", "snapshots", dated, "--key", "id", "--as", "few")[0] == 0
    assert "fixed in hindsight" in told("replay", "few")[1]
