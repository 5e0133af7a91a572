"""The verbs that look work the same way for every kind of source."""

import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.service import Rhythm
from halflife.replay.play import Play, play_recorded
from replay.worlds import BEGAN, KINDS, settings

HOURLY = Rhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)
DAYS = 2.0


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A store that was kept for two days, with a source of every kind."""
    folder = tmp_path_factory.mktemp("mixed")
    parts = [make() for make in KINDS["mixed"]]
    urls = [f"http://source-{i}.invalid" for i in range(len(parts))]
    path = folder / "halflife.toml"
    path.write_text(settings(parts, urls, 240, 0.0))
    config = Config.load(path)
    world = {url: part.source for url, part in zip(urls, parts, strict=True)}
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        play_recorded(config, store, world, Play(BEGAN, DAYS, rhythm=HOURLY))
    return config


@pytest.fixture
def ask(mixed, asked, monkeypatch):
    """Run a verb just after the two days; return its answer."""
    monkeypatch.setattr(bootstrap, "clock", lambda: BEGAN + DAYS)

    def run(*words):
        code, answer = asked(*words, "--config", mixed.path)
        assert code == 0
        return answer

    return run


def test_every_source_is_in_the_plan(mixed, ask):
    found = ask("plan")
    rows = [row for name in ("listings", "queries", "searches") for row in found[name]]
    assert {row["source"] for row in rows} == {
        source.name for source in mixed.source if source.kind not in {"pages", "site"}
    }
    assert all(row["requests"] > 0 and row["why"] for row in rows)
    assert found["results"]


def test_every_source_can_be_explained(mixed, ask):
    for source in mixed.source:
        said = ask("explain", source.name)
        assert (said["source"], said["kind"]) == (source.name, source.kind)
        assert said["quality"] is None or 0.0 <= said["quality"]["mean"] <= 1.0
        assert said["items"] > 0
        assert said["next"]
        assert all(step["why"] for step in said["next"])


def test_every_source_can_be_forecast(mixed, ask):
    for source in mixed.source:
        results = ask("forecast", source.name, "--at", "+2d")["results"]
        assert results
        measured = [
            value["mean"]
            for row in results
            for value in row.values()
            if isinstance(value, dict) and "mean" in value
        ]
        assert measured
        assert all(mean >= 0.0 for mean in measured)


def test_what_if_and_audit_know_every_source(mixed, ask):
    names = {source.name for source in mixed.source}
    found = ask("whatif", "--budget", 480)
    rows = [*found["results"], *found["without_worth"]]
    assert {row["source"] for row in rows} == names
    assert {row["source"] for row in ask("audit")["results"]} == names


def test_the_quality_that_explain_states_is_that_of_status(mixed, ask):
    status = ask("status")
    for row in status["sets"]:
        said = ask("explain", row["source"])
        if said["quality"] is not None and said["measure"] in row:
            assert row[said["measure"]]["mean"] == pytest.approx(
                said["quality"]["mean"], abs=1e-9
            )
