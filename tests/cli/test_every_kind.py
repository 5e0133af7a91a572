"""The verbs that look work the same way for every kind of source."""

import pytest

import halflife
from halflife.config import Config
from halflife.engine import bootstrap
from halflife.web.words import date as halflife_date
from replay.worlds import BEGAN as STARTED


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


DAYS = 2.0  # that the store was kept
NEVER_FETCHED = """
[budget]
requests = 300
[[source]]
name = "cars"
kind = "form"
form_url = "https://cars.example/find"
key = "id"
attributes = { city = { param = "city", values = ["Oslo", "Rome"] } }
[[source]]
name = "library"
kind = "search"
search_url = "https://library.example/?q={query}"
"""


@pytest.mark.parametrize("name", ["cars", "library"])
def test_a_first_fetch_costs_the_same_wherever_it_is_shown(here, asked, name):
    (here / "halflife.toml").write_text(NEVER_FETCHED)
    _, explained = asked("explain", name)
    costs = [explained["next"][0]["requests"]]
    for top in (1, 10, 50):
        _, plan = asked("plan", "--top", top)
        costs += [r["requests"] for r in plan["queries"] + plan["searches"]
                  if r["source"] == name]  # fmt: skip
    (step,) = halflife.plan(halflife.open_project(here), name)
    assert costs == [step.requests] * 4 == [300] * 4


SHARED = """
[budget]
requests = 500
[[source]]
name = "rare"
weight = 0.001
pages = ["https://rare.example/"]
[[source]]
name = "often"
pages = [{}]
"""


def test_the_next_fetches_of_a_source_are_its_own(here, asked):
    urls = ", ".join(f'"https://often.example/{i}"' for i in range(20))
    path = here / "halflife.toml"
    path.write_text(SHARED.format(urls))
    with bootstrap.writing(Config.load(path)) as store:
        bootstrap.add_items(Config.load(path), store)
    _, explained = asked("explain", "rare")
    assert [row["what"] for row in explained["next"]] == ["https://rare.example/"]
    (step,) = halflife.plan(halflife.open_project(here), "rare", most=1)
    assert step.what == "https://rare.example/"


def test_a_target_of_a_forecast_is_answered_for_every_kind(mixed, asked, ask):
    for source in mixed.source:
        if source.kind == "listing":
            continue  # `when` says it of sets
        words = ("forecast", source.name, "--config", mixed.path, "--target")
        low, far = asked(*words, "0.999")
        assert (low, far["target"]) == (3, 0.999)
        assert far["below_target"] == halflife_date(STARTED + DAYS)
        high, near = asked(*words, "0.01")
        assert (high, near["target"]) == (0, 0.01)
        assert (
            near["below_target"] is None or near["below_target"] > far["below_target"]
        )


def test_verbs_of_sets_name_the_verb_for_other_kinds(mixed, fails, ask):
    for source in mixed.source:
        if source.kind == "listing":
            continue
        verb = f"`halflife forecast {source.name} --target Q`"
        for words in (("when", "--recall", "0.9"), ("since",), ("backtest",)):
            first, *rest = words
            code, said = fails(first, source.name, *rest, "--config", mixed.path)
            assert code == 2
            assert verb in said


def test_a_wrong_name_is_answered_with_the_names_of_all_sources(mixed, fails, ask):
    names = ", ".join(source.name for source in mixed.source)
    for verb in ("forecast", "plan", "status", "audit", "budget", "changes"):
        code, said = fails(verb, "nobody", "--config", mixed.path)
        assert (code, said.endswith(f"it has {names}")) == (2, True), (verb, said)


def test_nothing_fetched_is_an_unknown_quality_and_no_none(here, told, asked):
    (here / "halflife.toml").write_text(SHARED.format('"https://often.example/"'))
    _, answer = asked("status")
    assert answer["freshness"] is None
    code, out, _ = told("status")
    assert code == 0
    assert "None" not in out
    assert "freshness of all pages" not in out


def test_a_source_without_a_target_is_named_with_one_that_it_may_have(here, fails):
    (here / "halflife.toml").write_text(
        NEVER_FETCHED + '[[source]]\nname = "docs"\npages = ["https://d.example/"]\n'
    )
    for name, measure in (("cars", "recall"), ("library", "summary"),
                          ("docs", "freshness")):  # fmt: skip
        said = f'no target is set for {name}; write target = "{measure} >= 0.9"'
        assert fails("budget", name) == (2, f"{said} under [[source]]")


def test_what_is_not_kept_is_said_without_a_verb_that_would_fail(here, fails):
    (here / "halflife.toml").write_text(NEVER_FETCHED)
    code, said = fails("export", "library")
    assert code == 2
    assert "halflife sync" not in said
    assert "only a summary is kept" in said


def test_a_list_that_is_missing_is_named_as_a_list(here, fails):
    (here / "halflife.toml").write_text(
        '[[source]]\nname = "a"\npages = "https://a/"\n'
    )
    code, said = fails("status")
    assert (code, said) == (
        2, "halflife.toml: source[1].pages: input should be a list; got 'https://a/'"
    )  # fmt: skip
