"""Folders of recorded histories, played by the service itself."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from pyarrow import parquet as pq
from yarl import URL

import league_folder
import objects_folder
import textdb_folder
from halflife.core.errors import ConfigError, UsageError
from halflife.core.forms import Attribute
from halflife.kinds.form.recorded_tables import attributes_of
from halflife.recordings.relations import load_relation
from halflife.replay.contest import (
    DEFAULT,
    ContestRules,
    check,
    contest,
    known_policies,
)
from halflife.replay.folder import aligned, recorded_in
from halflife.replay.recorded_source import source_name
from halflife.replay.world import RecordedRequest
from halflife.stores.memory import MemoryStore


def folder_of_pages(folder, days=6.0):
    folder.mkdir()
    busy = [d / 4 + 0.1 for d in range(4 * int(days) - 1)]
    changes = {
        ("one.org", "news"): busy,
        ("one.org", "about"): [],
        ("two.org", "a"): [],
    }
    return league_folder.write(folder, changes, days=days)


def folder_of_objects(folder):
    folder.mkdir()
    return objects_folder.write(folder, objects_folder.tables())


def folder_of_texts(folder):
    folder.mkdir()
    return textdb_folder.write(folder, textdb_folder.documents(weeks=4, each=6))


@pytest.fixture
def world(tmp_path):
    """A folder with histories of every layout."""
    folder_of_pages(tmp_path / "sites")
    folder_of_objects(tmp_path / "cars")
    folder_of_texts(tmp_path / "texts")
    return tmp_path


def played_as(found):
    return [(source.name, source.kind) for source in found]


def test_a_folder_holds_whatever_its_subfolders_hold(world):
    assert played_as(recorded_in(world)) == [
        ("cars", "listing"),
        ("one.org", "pages"),
        ("two.org", "pages"),
        ("a.com", "search"),
        ("b.org", "search"),
        ("c.uk", "search"),
    ]


def test_an_object_history_can_be_played_as_a_form(world):
    assert played_as(recorded_in(world, kind="form")) == [("cars", "form")]
    assert played_as(recorded_in(world, ["cars:form"])) == [("cars", "form")]
    mixed = recorded_in(world, ["b.org", "cars:form", "one.org"])
    assert played_as(mixed) == [
        ("b.org", "search"), ("cars", "form"), ("one.org", "pages"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "kind", "said"),
    [
        (["trucks"], "", "nothing named 'trucks' was recorded; there is cars, one.org"),
        (["cars:search"], "", "cars cannot be played as kind 'search'; as form or"),
        (["one.org"], "listing", "one.org cannot be played as kind 'listing'"),
        (["cars", "cars:form"], "", "names cars twice"),
        ([], "feed", "no kind is named 'feed'"),
    ],
)
def test_what_cannot_be_played_is_said(world, names, kind, said):
    with pytest.raises(UsageError, match=said):
        recorded_in(world, names, kind)


def test_a_folder_without_a_history_is_told_so(tmp_path):
    with pytest.raises(UsageError, match="holds no recorded history that I know"):
        recorded_in(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        recorded_in(tmp_path / "nowhere")
    folder_of_pages(tmp_path / "sites")
    with pytest.raises(UsageError, match="can be played as kind 'form'"):
        recorded_in(tmp_path / "sites", kind="form")


def test_a_damaged_file_is_named(world):
    (world / "cars" / "versions.parquet").write_bytes(b"PAR1 of no use")
    with pytest.raises(UsageError, match=r"versions\.parquet: cannot be read"):
        recorded_in(world, ["cars"])


def test_recordings_are_moved_by_whole_weeks_to_end_together(world):
    alone = {n: recorded_in(world, [n])[0] for n in ("cars", "a.com", "one.org")}
    together = recorded_in(world, list(alone))
    ends = [source.span[1] for source in together]
    assert max(ends) - min(ends) < 7.0
    for source in together:
        days = source.span[1] - alone[source.name].span[1]
        assert days % 7.0 == 0.0
        assert source.span[0] - alone[source.name].span[0] == days


def test_a_moved_source_answers_later_what_it_answered_then(world):
    urls = {
        "cars": "/objects",
        "cars:form": "/api/records?maker=x",
        "a.com": "/search?q=w03",
        "one.org": "/0",
    }
    for name, path in urls.items():
        (source,) = recorded_in(world, [name])
        asked = RecordedRequest(URL(f"http://recorded-0.invalid{path}"), {})
        begin, end = source.span
        then = [source.answer(asked, at) for at in np.linspace(begin, end, 7)]
        moved = source.moved(70.0)
        later = [moved.answer(asked, at + 70.0) for at in np.linspace(begin, end, 7)]
        assert later == then
        assert then[0].status == 200
        assert moved.items(end + 70.0) == source.items(end)


def test_sources_that_end_together_stay_where_they_are(world):
    found = recorded_in(world, ["one.org", "two.org"])
    assert aligned(found) == found


def test_a_recorded_database_finds_the_documents_of_the_week(tmp_path):
    rows = textdb_folder.documents(weeks=8, each=9)
    textdb_folder.write(tmp_path, rows)
    (source,) = recorded_in(tmp_path, ["b.org"])
    for week in (0, 3, 7):
        now = source.began + 7.0 * week + 3.0
        true = textdb_folder.counts(rows, "b.org", week)
        assert source.items(now) == len(textdb_folder.present(rows, "b.org", week))
        for word in textdb_folder.WORDS[::5]:
            url = URL(f"http://x.invalid/search?q={word}&from=0&size=500")
            hits = json.loads(source.answer(RecordedRequest(url, {}), now).body)["hits"]
            assert hits["total"]["value"] == len(hits["hits"]) == true.get(word, 0)
            assert all(word in h["_source"]["body"].split() for h in hits["hits"])


def test_nothing_is_known_of_a_database_without_a_summary(tmp_path):
    (source,) = recorded_in(folder_of_texts(tmp_path / "texts"), ["a.com"])
    assert source.quality(MemoryStore(), source.span[0]) == 0.0


def test_a_form_asks_for_what_the_columns_are(tmp_path):
    relation = load_relation(folder_of_objects(tmp_path / "cars"))
    select, ranged = attributes_of(relation, float(relation.looks[1]))
    assert select == Attribute("maker", "select", ("x", "y"))
    assert (ranged.name, ranged.kind, ranged.values) == ("price", "range", ())


def test_names_that_settings_cannot_hold_are_written_otherwise():
    assert source_name("a/b c") == "a-b-c"
    assert source_name("..") == "recorded"


def test_every_policy_has_the_same_recording_and_budget(tmp_path):
    pages = recorded_in(folder_of_pages(tmp_path / "sites"), ["one.org"], days=6.0)
    rows = contest(pages, ContestRules([DEFAULT, "uniform"], [4.0], days=6.0))
    assert [row["policy"] for row in rows] == [DEFAULT, "uniform"]
    assert rows[0]["against"] == {
        "policy": DEFAULT, "mean": 0.0, "low": 0.0, "high": 0.0,
    }  # fmt: skip
    for row in rows:
        assert row["granted_a_day"] == 4.0
        assert 0.0 < row["quality"] <= row["hindsight"] + 0.02
        assert 0.0 < row["blind"] <= row["told"] <= 1.0
        assert row["interval"]["low"] <= row["interval"]["high"]
        assert row["sources"][0]["troubles"] == 0


def test_a_budget_below_one_is_a_share_of_the_items(tmp_path):
    pages = recorded_in(folder_of_pages(tmp_path / "sites"), ["one.org"], days=3.0)
    (row,) = contest(pages, ContestRules([DEFAULT], [0.5], days=3.0))
    assert (row["budget"], row["granted_a_day"]) == (0.5, 1.5)  # three pages


def test_a_policy_that_no_source_knows_is_refused_with_names_by_kind(world):
    cars, site = recorded_in(world, ["cars", "one.org"])
    check([DEFAULT, "uniform"], [cars, site])
    with pytest.raises(UsageError, match=r"'best'; known policies: default; .*uniform"):
        check(["best"], [cars, site])
    with pytest.raises(UsageError, match="no source here knows a policy named 'azar'"):
        check(["azar"], [cars])
    with pytest.raises(UsageError, match="name one at least"):
        contest([cars], ContestRules([], [1.0]))


def test_a_form_plays_every_policy_for_what_it_is_kept_for(world):
    (form,) = recorded_in(world, ["cars:form"])
    names = known_policies([form])["form"]
    assert {"expected", "exhaustive"} <= set(names)
    assert not {"cube-root", "naive-1"} & set(names)
    known = replace(form, purpose="known")
    assert {"cube-root", "naive-1"} <= set(known_policies([known])["form"])
    assert "expected" not in known_policies([known])["form"]
    with pytest.raises(UsageError, match="no source here knows a policy named 'cube"):
        check(["cube-root"], [form])
    rules = ContestRules(["cube-root"], [40.0], days=3.0)
    (row,) = contest([replace(known, name="k"), form], rules)  # one can use it
    assert {source["kind"] for source in row["sources"]} == {"form"}


def test_an_object_history_without_a_valid_snapshot_is_refused(world):
    file = world / "cars" / "snapshots.parquet"
    pq.write_table(pq.read_table(file).slice(0, 0), file)
    with pytest.raises(
        UsageError, match=r"snapshots\.parquet: holds no valid snapshot"
    ):
        recorded_in(world, ["cars"])


def test_a_site_without_pages_in_the_window_is_left_out_unless_it_is_named(world):
    file = world / "sites" / "changes.parquet"
    changes = pq.read_table(file)
    rest = changes.filter([site != "one.org" for site in changes["site"].to_pylist()])
    pq.write_table(rest, file)
    names = [name for name, _ in played_as(recorded_in(world))]
    assert "one.org" not in names
    assert "two.org" in names
    with pytest.raises(
        UsageError, match=r"one\.org has no page that was there 60 days"
    ):
        recorded_in(world, ["one.org", "two.org"])
    pq.write_table(rest.slice(0, 0), file)
    with pytest.raises(UsageError, match="has no page that was there"):
        recorded_in(world / "sites")


def test_a_budget_beyond_the_settings_is_refused_without_a_path(world):
    rules = ContestRules(["default"], [1e12], days=3.0)
    with pytest.raises(
        UsageError, match=r"--budgets: 1e\+12 is more than \d+ requests"
    ):
        contest(recorded_in(world, ["cars"]), rules)


def test_a_plug_in_that_cannot_be_imported_spoils_no_replay_of_others(
    world, tmp_path_factory, monkeypatch
):
    site = tmp_path_factory.mktemp("site")
    info = site / "halflife_odd-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[halflife.kinds]\nodd = no_module:KIND\n")
    monkeypatch.syspath_prepend(site)
    assert ("cars", "listing") in played_as(recorded_in(world))
    with pytest.raises(ConfigError, match="No module named 'no_module'"):
        recorded_in(world, kind="odd")
