"""Changes of the settings: written around comments, refused when late, undone."""

import os
import threading
import tomllib

import pytest
from hypothesis import given, strategies as st

from halflife.config import Config, edit
from halflife.config.history import KEPT, SettingsHistory, mark_of
from halflife.config.kinds import read_source
from halflife.core.errors import ConfigError, SettingsChanged, UsageError
from halflife.engine import appraisal, once
from halflife.kinds.protocol import Known

TEXT = """\
store = "halflife.db"   # beside this file

[budget]
requests = 1000         # never more than this ...
per = "day"             # ... in any day

# Who is told.

[[source]]
name = "docs"
pages = ["https://docs.example/"]  # the start

# The vacancies of the town.
[[source]]
name = "jobs"
kind = "listing"
url = "https://jobs.example/list"
key = "id"
target = ["recall >= 0.9", "age p95 <= 6 h"]  # as promised
[source.headers]
Accept = "application/json"

# How to spend it.
[policy]
name = "champion"
"""


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "halflife.toml"
    found.write_text(TEXT, encoding="utf-8")
    return found


@pytest.fixture
def history(path):
    ticks = iter(range(1000))
    return SettingsHistory(path, lambda: float(next(ticks)))


def changed(history, weight):
    text = history.read()
    return history.write(
        mark_of(text),
        edit.text_with_values(text, "docs", {"weight": weight}),
        f"weight of docs: {weight}",
    )


def test_a_new_key_stands_behind_its_table_and_before_the_next_comment():
    text = edit.text_with_values(TEXT, "docs", {"weight": 2.0, "paused": True})
    assert text == TEXT.replace(
        "# the start\n", "# the start\nweight = 2.0\npaused = true\n"
    )


def test_a_new_key_does_not_fall_into_a_table_within_the_source():
    text = edit.text_with_values(TEXT, "jobs", {"max_requests": 7})
    jobs = tomllib.loads(text)["source"][1]
    assert jobs["max_requests"] == 7
    assert jobs["headers"] == {"Accept": "application/json"}


def test_a_changed_value_keeps_the_comment_of_its_line():
    text = edit.text_with_values(TEXT, "jobs", {"target": "recall >= 0.95"})
    assert 'target = "recall >= 0.95"  # as promised\n' in text
    text = edit.text_with_budget(TEXT, {"requests": 50, "per": "day"})
    assert text == TEXT.replace("requests = 1000  ", "requests = 50  ")


def test_the_same_value_changes_nothing():
    targets = ("recall >= 0.9", "age p95 <= 6 h")
    assert edit.text_with_values(TEXT, "jobs", {"target": targets}) == TEXT
    assert edit.text_with_values(TEXT, "docs", {"weight": None}) == TEXT


def test_a_budget_is_written_where_there_was_none():
    text = edit.text_with_budget('store = "x.db"', {"requests": 5, "per": "week"})
    assert tomllib.loads(text)["budget"] == {"requests": 5, "per": "week"}
    inline = "budget = {requests = 3}\n"
    text = edit.text_with_budget(inline, {"requests": 5, "per": "week"})
    assert tomllib.loads(text)["budget"] == {"requests": 5, "per": "week"}


def test_a_source_that_is_not_there_is_named():
    with pytest.raises(UsageError, match="no source is named 'nix'"):
        edit.text_with_values(TEXT, "nix", {"weight": 1.0})
    with pytest.raises(UsageError, match="no source is named 'nix'"):
        edit.text_without(TEXT, "nix")


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "weight": st.none() | st.floats(0.001, 1e6),
            "max_requests": st.none() | st.integers(1, 10**9),
            "paused": st.none() | st.booleans(),
            "window": st.none() | st.just("22:00-06:00 UTC"),
        },
    ),
    st.sampled_from(["docs", "jobs"]),
    st.sampled_from(["", "\r\n"]),
)
def test_only_the_named_values_change_and_every_comment_stays(values, name, end):
    before = TEXT.replace("\n", end) if end else TEXT
    text = edit.text_with_values(before, name, values)
    expected = tomllib.loads(TEXT)
    table = next(one for one in expected["source"] if one["name"] == name)
    for key, value in values.items():
        if value is not None:
            table[key] = value
    assert tomllib.loads(text) == expected
    for line in TEXT.splitlines():
        _, mark, comment = line.partition("#")
        assert not mark or f"#{comment}" in text


def test_a_change_is_written_and_can_be_undone_step_by_step(history, path):
    changed(history, 2.0)
    changed(history, 3.0)
    assert [one.what for one in history.changes()] == [
        "weight of docs: 3.0",
        "weight of docs: 2.0",
    ]
    history.undo()
    assert Config.load(path).source[0].weight == 2.0
    history.undo()
    assert path.read_text() == TEXT
    with pytest.raises(UsageError, match="no change that could be undone"):
        history.undo()


def test_a_text_for_an_older_file_is_refused_and_nothing_is_lost(history, path):
    mark = mark_of(history.read())
    path.write_text(TEXT + "# mine\n")
    with pytest.raises(SettingsChanged, match=r"halflife\.toml has changed on disk"):
        history.write(mark, edit.text_with_values(TEXT, "docs", {"weight": 2.0}), "x")
    assert path.read_text() == TEXT + "# mine\n"
    assert history.changes() == []


def test_nothing_is_undone_over_what_somebody_wrote_since(history, path):
    changed(history, 2.0)
    path.write_text(path.read_text() + "# mine\n")
    with pytest.raises(SettingsChanged, match="nothing was undone"):
        history.undo()
    assert path.read_text().endswith("# mine\n")


def test_only_the_last_change_can_be_undone(history):
    first = changed(history, 2.0)
    changed(history, 3.0)
    with pytest.raises(SettingsChanged, match="later ones first"):
        history.undo(first.number)


def test_settings_that_would_be_wrong_are_not_written(history, path):
    with pytest.raises(ConfigError, match="weight"):
        changed(history, -1.0)
    assert path.read_text() == TEXT
    assert history.changes() == []


def test_the_oldest_versions_are_removed(history):
    for n in range(KEPT + 3):
        changed(history, n + 2.0)
    numbers = [one.number for one in history.changes()]
    assert numbers == list(range(KEPT + 3, 3, -1))


def test_versions_are_for_their_owner_alone(history, path):
    changed(history, 2.0)
    assert history.folder == path.with_name("halflife.db-settings")
    assert history.folder.stat().st_mode & 0o777 == 0o700
    (entry,) = history.folder.glob("*.json")
    assert entry.stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_not_there_goes_again(tmp_path):
    history = SettingsHistory(tmp_path / "halflife.toml", lambda: 1.0)
    history.write(mark_of(None), TEXT, "all")
    assert Config.load(history.path).source[0].name == "docs"
    history.undo()
    assert not history.path.exists()


def test_a_change_that_never_came_to_pass_is_passed_over(history, path):
    changed(history, 2.0)
    path.write_text(TEXT)  # as after a crash before the file was replaced
    assert history.last() is None
    with pytest.raises(UsageError):
        history.undo()


def test_a_broken_version_is_passed_over(history):
    changed(history, 2.0)
    (history.folder / "00000009.json").write_text('{"number": ')
    assert history.undo().what == "weight of docs: 2.0"


def test_of_two_who_save_at_once_one_is_refused(history, path):
    mark, refused = mark_of(history.read()), []
    start = threading.Barrier(8)

    def save(weight):
        text = edit.text_with_values(TEXT, "docs", {"weight": weight})
        start.wait()
        try:
            SettingsHistory(path, lambda: 1.0).write(mark, text, str(weight))
        except SettingsChanged:
            refused.append(weight)

    threads = [threading.Thread(target=save, args=(n + 2.0,)) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(refused) == 7
    assert Config.load(path).source[0].weight not in refused


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(history, path):
    path.parent.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written"):
        changed(history, 2.0)
    path.parent.chmod(0o700)


def test_a_full_disk_is_told_and_leaves_the_old_file(history, path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left on device"):
        changed(history, 2.0)
    assert path.read_text() == TEXT
    assert history.changes() == []


def test_a_paused_source_is_fetched_only_if_it_is_named(path):
    text = edit.text_with_values(TEXT, "docs", {"paused": True})
    config = Config.parse(text, path)
    assert [one.name for one in once.sources_to_sync(config, [])] == ["jobs"]
    assert [one.name for one in once.sources_to_sync(config, ["docs"])] == ["docs"]
    none = Config.parse(edit.text_without(text, "jobs"), path)
    with pytest.raises(UsageError, match="every source is paused"):
        once.sources_to_sync(none, [])


def test_a_paused_source_gets_nothing_of_the_budget(path):
    text = edit.text_with_values(TEXT, "docs", {"paused": True, "max_interval": "1 d"})
    known = [Known(one, 1.0) for one in Config.parse(text, path).source]
    limits = appraisal.limits(Config.parse(text, path), known)
    assert limits.caps(["docs", "jobs"]).tolist() == [0.0, float("inf")]
    assert limits.fewest(["docs"]).tolist() == [0.0]


def test_a_new_source_stands_behind_the_others_and_before_the_next_comment():
    source = read_source({"name": "wiki", "pages": ("https://wiki.example/",)})
    text = edit.text_with_new_source(TEXT, source)
    table = '\n[[source]]\nname = "wiki"\npages = ["https://wiki.example/"]\n'
    assert text == TEXT.replace('json"\n\n# How', f'json"\n{table}\n# How')
    for before in ("", "# nothing\n", "[budget]\nrequests = 5", 'store = "x"'):
        after = tomllib.loads(edit.text_with_new_source(before, source))
        assert [one["name"] for one in after["source"]] == ["wiki"]
        assert tomllib.loads(before).items() <= after.items()


@pytest.mark.parametrize(
    "text",
    [
        '[[source]]\nname = "a"\nx = """\n[[source]]\nname = "docs"\n"""\n' + TEXT,
        '[[source]]\nname = "a"\nx = [\n["docs"]\n]\n' + TEXT,
        "source = [{name = 'docs'}]\n",
        "[[source]]\nname = 'docs'\n",
        '[[ source ]] # "docs"\nname = "do\\u0063s"\n[source.headers]\nA = "docs"\n',
        'budget = {requests = 3}\n[[source]]\nname = "docs"\n[budgets]\nrequests = 1\n',
    ],
)
def test_only_the_table_that_is_meant_changes_however_it_is_written(text):
    expected = tomllib.loads(text)
    next(one for one in expected["source"] if one["name"] == "docs")["weight"] = 2.0
    assert (
        tomllib.loads(edit.text_with_values(text, "docs", {"weight": 2.0})) == expected
    )
    expected = tomllib.loads(text)
    expected.setdefault("budget", {})["requests"] = 7
    assert tomllib.loads(edit.text_with_budget(text, {"requests": 7})) == expected
