"""The verbs that look work the same way for every kind of source."""

import pytest


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
