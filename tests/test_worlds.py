"""Made-up worlds are like the histories that they were calibrated to."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from halflife.cli import main
from halflife.core.errors import UsageError
from halflife.recordings import histories
from halflife.recordings.objects import load_parquet
from halflife.recordings.parquet import read_table
from halflife.replay.folder import recorded_in
from halflife.worlds import make as making
from halflife.worlds.calibration import calibration, spread
from halflife.worlds.objects import residual
from halflife.worlds.sites import _parts, _side_by_side
from lab import world_summary, world_tolerances

REAL = Path(__file__).parents[2] / "shared" / "data"
MANY = ("sites", "texts", "jobs", "cars", "papers")
FEW = ("vacancies", "prices", "outages", "ranking")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    making.make(folder, MANY, seed=1, size=1.0)
    return folder


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rest")
    making.make(folder, FEW, seed=1, size=0.3)
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    making.make(folder, (), seed=5, size=0.03)
    return folder


@pytest.fixture(scope="module")
def summary(whole):
    return world_summary.world_summary(whole)


def off(told):
    rows = list(world_tolerances.compared(told))
    return len(rows), [row for row in rows if not row.close]


def test_sites_texts_and_listings_have_the_published_statistics(summary):
    count, wrong = off(summary)
    assert (count, wrong) == (55, [])


def test_the_other_listings_have_the_published_statistics(rest):
    count, wrong = off(world_summary.world_summary(rest))
    assert (count, wrong) == (34, [])


def test_a_world_that_is_not_like_them_is_found_out(summary):
    told = copy.deepcopy(summary)
    told["sites"]["never"] = 0.2  # as if pages changed independently
    told["objects"]["jobs"]["kept"]["7"]["recall"] = 0.5
    wrong = [row.name for row in world_tolerances.compared(told) if not row.close]
    assert wrong == ["sites.never", "objects.jobs.kept.7.recall"]


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_dir(), reason="the recorded histories are not here")
def test_the_published_numbers_are_those_of_the_recorded_histories():
    found = world_summary.rounded(world_summary.site_summary(REAL / "sites"))
    assert found == calibration()["sites"]
    cars = world_summary.object_summary(REAL / "objects" / "toyota_inventory")
    known = dict(calibration()["objects"]["cars"])
    del known["like"]
    assert world_summary.rounded(cars) == known


def test_the_same_seed_makes_the_same_histories_whatever_is_beside_them(
    small, tmp_path
):
    making.make(tmp_path, ("jobs",), seed=5, size=0.03)
    making.make(tmp_path / "other", ("jobs",), seed=6, size=0.03)
    name = "objects/jobs/versions.parquet"
    one, two, other = (
        read_table(folder / name, ())
        for folder in (small, tmp_path, tmp_path / "other")
    )
    assert one.equals(two)
    assert not one.equals(other)
    assert json.loads((small / "world.json").read_text())["seed"] == 5


def test_every_kind_of_source_can_be_played_on_a_made_up_folder(small):
    found = {one.name: one for one in recorded_in(small)}
    assert found["site00"].kind == "pages"
    assert {found[kind].kind for kind in ("jobs", "cars", "outages")} == {"listing"}
    asked = recorded_in(small, ["site01:search", "jobs:form"])
    assert [one.kind for one in asked] == ["search", "form"]
    names = [attribute.name for attribute in asked[1].interface.attributes]
    assert set(names) == {"owner", "place", "value", "title"}


def test_changes_of_pages_lie_within_their_lives(small):
    changes = read_table(small / "sites" / "changes.parquet", ())
    pages = read_table(small / "sites" / "pages.parquet", ())
    life = {
        (row["site"], row["page"]): (row["created_at"], row["deleted_at"])
        for row in pages.to_pylist()
    }
    for row in changes.to_pylist():
        born, died = life[row["site"], row["page"]]
        assert born <= row["timestamp"]
        assert died is None or row["timestamp"] <= died
    recorded = histories.load(small / "sites")
    assert recorded.recording.at.max() <= recorded.end


def test_versions_differ_from_the_one_before_and_counters_grow(small):
    jobs = load_parquet(small / "objects" / "jobs", "jobs")
    assert (jobs.lives.last_seen[jobs.changed] >= jobs.changed_at).all()
    table = read_table(small / "objects" / "ranking" / "versions.parquet", ())
    key = np.array(table["object_id"].to_pylist())
    step = np.diff(table["value"].to_numpy())[key[1:] == key[:-1]]
    assert step.size
    assert (step > 0).all()


@pytest.mark.parametrize(("pages", "size"), [(12, 10), (300, 11), (40, 40), (500, 170)])
def test_a_large_commit_touches_as_many_pages_as_it_should(pages, size):
    rng = np.random.default_rng(3)
    for _ in range(20):
        chosen = _side_by_side(rng, pages, size)
        assert chosen.size == np.unique(chosen).size == size
        assert chosen.min() >= 0
        assert chosen.max() < pages
    assert _parts(rng, 7, 3).sum() == 7


def test_what_is_there_at_a_random_moment_lasts_longer_than_what_is_new():
    # Exponential lives have no memory; by Weibull's law with shape 2 and scale 1 the
    # mean rest of a life is E[L^2] / 2 E[L] = 1 / (2 * 0.8862).
    rng = np.random.default_rng(4)
    assert residual(rng, 3.0, 1.0, 20_000).mean() == pytest.approx(3.0, rel=0.03)
    assert residual(rng, 1.0, 2.0, 20_000).mean() == pytest.approx(0.5642, rel=0.03)


def test_quantiles_come_back_as_they_were_given():
    levels, values = (0.0, 0.5, 1.0), (1.0, 10.0, 1000.0)
    assert spread(np.array(levels), levels, values) == pytest.approx(values)


def test_the_verb_says_what_it_wrote_and_what_to_do_next(tmp_path, capsys):
    folder = tmp_path / "w"
    assert main(["world", "make", "cars", "--out", str(folder), "--size", "0.1"]) == 0
    told = capsys.readouterr().out
    assert f"wrote {folder}/objects/cars" in told
    assert f"next: halflife replay {folder}" in told


def test_forecasts_are_scored_on_a_made_up_listing(small, tmp_path, capsys):
    config = tmp_path / "halflife.toml"
    config.write_text("[budget]\nrequests = 10\n")
    told = ["--config", str(config)]
    cars = str(small / "objects" / "cars")
    assert main(["import", "parquet", cars, "--as", "cars", *told]) == 0
    capsys.readouterr()
    horizon = ["--horizons", "7d", "--json"]
    assert main(["backtest", "cars", *horizon, *told]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert {row["metric"] for row in rows} == {"precision", "recall"}
    assert all(row["coverage"] > 0.5 for row in rows)


def test_mistakes_are_named(tmp_path, capsys):
    with pytest.raises(UsageError, match="no kind 'planets'; a world has sites, texts"):
        making.make(tmp_path / "w", ("planets",), 1, 0.1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(UsageError, match="is not empty; name a new folder"):
        making.make(tmp_path / "full", ("cars",), 1, 0.1)
    assert main(["world", "make", "cars"]) == 2
    assert "name one with --out DIR" in capsys.readouterr().err
