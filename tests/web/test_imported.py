"""Sources that only the state file knows: imported, or taken out of the settings."""

import json

import numpy as np
import pytest

import halflife
from halflife.cli import main
from halflife.config import Config
from halflife.core.lifetimes import Collection, Lives
from halflife.engine import bootstrap
from halflife.web import board

NOTHING = '[budget]\nrequests = 24\nper = "day"\n'


def history(name, now, *, days=20, objects=60, seed=3):
    """Return the history of a list of which some objects come and go each day."""
    rng = np.random.default_rng(seed)
    looks = now - 1.0 - np.arange(days)[::-1]
    start = np.where(rng.random(objects) < 0.5, 0, rng.integers(0, days - 2, objects))
    stop = np.minimum(start + rng.integers(1, 2 * days, objects), days - 1)
    padded = np.r_[-np.inf, looks, np.inf]
    lives = Lives(
        tuple(f"{name}-{i}" for i in range(objects)),
        padded[start], looks[start], looks[stop], padded[stop + 2],
        {"city": np.array(["Oslo", "Rome"], dtype=object)[rng.integers(0, 2, objects)]},
    )  # fmt: skip
    none = np.zeros(0)
    return Collection(name, looks, lives, none.astype(np.intp), none)


def save(config, found):
    now = bootstrap.clock()
    with bootstrap.writing(config) as store:
        run = store.begin([found.name], now, lease=1.0)
        store.save_collection(run, found)
        store.finish(run, now)


@pytest.fixture
def imported(tmp_path):
    """Settings without a source, and a state with one."""
    path = tmp_path / "halflife.toml"
    path.write_text(NOTHING)
    save(Config.load(path), history("flats", bootstrap.clock()))
    return path


@pytest.mark.parametrize("page", ["overview", "sources", "source?name=flats"])
def test_an_imported_source_is_on_every_page_and_said_to_have_no_address(
    imported, visit, page
):
    shown = visit(imported).get(f"/{page}")
    assert shown.status == 200
    assert "Nothing is kept yet" not in shown.text
    if page == "overview":
        assert "1 no target" in shown.text
    else:
        assert "flats" in shown.text
        assert "no address" in shown.text


def test_an_imported_source_has_the_same_quality_in_every_answer(
    imported, visit, capsys, monkeypatch
):
    now = bootstrap.clock() + 3.0
    monkeypatch.setattr(bootstrap, "clock", lambda: now)
    here = visit(imported)
    (row,) = here.get("/sources.json").json["results"]
    assert row["imported"] is True
    assert row["why"] == halflife_words()
    assert main(["status", "--json", "--config", str(imported)]) == 0
    (told,) = json.loads(capsys.readouterr().out)["sets"]
    (library,) = halflife.status(halflife.open_project(imported))
    one = here.get("/source.json?name=flats").json
    ahead = here.get("/api/v1/forecast/flats?days=0").json["results"][0]
    for bound in ("mean", "low", "high"):
        close = pytest.approx(row["quality"][bound], abs=1e-9)
        assert one["quality"][bound] == close
        assert ahead[bound] == close
        assert told["recall"][bound] == close
        assert getattr(library.quality, bound)[0] == close
    assert here.get("/overview.json").json["sources"] == 1
    lines = here.get("/api/v1/records/flats").text.splitlines()
    assert len(lines) == row["items"]
    assert here.get("/api/v1/changes?source=flats").status == 200
    assert here.get("/api/v1/records/flots").status == 404


def halflife_words():
    return "it has no address: it was imported, or taken out of the settings"


def test_an_imported_source_is_not_fetched_and_takes_no_request(imported, visit):
    here = visit(imported)
    page = here.get("/source?name=flats").text
    assert "Sync now" not in page
    assert here.get("/source.json?name=flats").json["syncs"] is False
    bought = here.get("/what-if.json").json
    assert bought["results"] == []
    assert bought["without_worth"] == []
    assert here.post("/sync", "source=flats").status == 404


def test_an_imported_source_beside_others_is_listed_last(made, tmp_path, visit):
    path = tmp_path / "halflife.toml"
    pages = '[[source]]\nname = "zoo"\npages = ["https://zoo.example/"]\n'
    path.write_text(NOTHING + pages)
    save(Config.load(path), history("flats", bootstrap.clock()))
    seen = board.Board(path).survey()
    assert [row.name for row in seen.rows] == ["zoo", "flats"]
    assert [row.imported for row in seen.rows] == [False, True]


def test_the_first_page_of_a_large_state_shows_imported_sources(imported, visit, slow):
    assert "flats" in visit(imported).get("/sources").text


def test_a_name_that_neither_has_is_said_with_those_of_the_state(imported):
    project = halflife.open_project(imported)
    with pytest.raises(halflife.HalflifeError, match="the state file also has flats"):
        halflife.forecast(project, "flots")


def test_a_history_is_read_once_for_all_visits_of_a_page(imported, monkeypatch):
    from halflife.stores import lifetimes  # noqa: PLC0415
    from halflife.web import source_page  # noqa: PLC0415

    read, asked = lifetimes.collection, []
    seen = board.Board(imported).survey()
    monkeypatch.setattr(
        lifetimes, "collection", lambda *given: asked.append(1) or read(*given)
    )
    first, second = (source_page.source(seen, {"name": "flats"}) for _ in range(2))
    assert len(asked) == 1
    assert first["items_shown"] == second["items_shown"]


def test_a_listing_that_was_read_long_ago_shows_what_came_of_it_then(tmp_path, visit):
    path = tmp_path / "halflife.toml"
    path.write_text(NOTHING)
    now = bootstrap.clock()
    for name, ago in (("flats", 90.0), ("ruins", 900.0)):
        save(Config.load(path), history(name, now - ago))
    here = visit(path)
    answer = here.get("/source.json?name=flats").json
    past, came = answer["figures"]
    assert past["table"]["expected"][0] == 1.0
    assert sum(came["table"]["arrived"]) > 0
    assert "when it was last read" in came["about"]
    assert "as later fetches showed" in here.get("/source?name=flats").text
    quality = answer["quality"]["mean"]
    is_now = past["table"]["time"].index(past["table"]["time"][-8])
    assert past["table"]["expected"][is_now] == pytest.approx(quality)
    text = here.get("/source?name=ruins").text  # years ago: only what is to come
    assert "as later fetches showed" not in text
    assert "as it was forecast" not in text


def test_listings_alone_have_a_chart_on_the_overview(imported, visit):
    here = visit(imported)
    answer = here.get("/overview.json").json
    chart = answer["figures"][0]
    assert chart["title"] == "Recall: the next 7 days"
    mean = answer["measures"][0]["quality"]["mean"]
    assert chart["table"]["expected"][0] == pytest.approx(mean)
