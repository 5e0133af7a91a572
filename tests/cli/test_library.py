"""The library gives the answers of the verbs, for every kind of source."""

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import halflife
from halflife.core.errors import UsageError


@pytest.fixture
def project(mixed, ask):
    """A project whose store was kept for two days, just after these."""
    return halflife.open_project(mixed.path)


def test_every_public_name_can_be_imported_and_says_what_it_is():
    assert len(set(halflife.__all__)) == len(halflife.__all__) > 20
    for name in halflife.__all__:
        assert getattr(halflife, name).__doc__, name
    assert set(halflife.__all__) <= set(dir(halflife))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'snyc'"):
        halflife.snyc  # noqa: B018


def test_type_checkers_see_the_same_names():
    text = Path(halflife.__file__).read_text(encoding="utf-8")
    for name in halflife.__all__:
        assert f"{name} as {name}" in text


def test_importing_the_package_imports_nothing_slow():
    code = "import sys, halflife; print('numpy' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "False"


def test_status_states_the_quality_that_explain_states(project, ask):
    for one in halflife.status(project):
        said = ask("explain", one.source)
        assert (said["kind"], said["items"]) == (one.kind, one.description.items)
        if one.quality is None:
            assert said["quality"] is None
            continue
        shown = [said["quality"][side] for side in ("mean", "low", "high")]
        own = [one.quality.mean[0], one.quality.low[0], one.quality.high[0]]
        assert own == pytest.approx(shown, abs=1e-9)


def test_a_forecast_falls_if_nothing_is_fetched(project):
    for name in project.sources:
        cast = halflife.forecast(project, name, days=[0.0, 1.0, 30.0])
        if cast is not None:
            assert np.all(np.diff(cast.mean) <= 1e-9)
            assert np.all((cast.low <= cast.mean) & (cast.mean <= cast.high))


def test_the_bounds_of_a_forecast_hold_at_95_per_cent_for_every_kind(project):
    casts = [halflife.forecast(project, name) for name in project.sources]
    stated = [cast.confidence for cast in casts if cast]
    assert stated == pytest.approx([0.95] * len(stated))


def test_what_if_is_what_the_verb_says(project, ask):
    found, said = halflife.what_if(project, 480), ask("whatif", "--budget", 480)
    rows = {row["source"]: row for row in said["results"]}
    assert {one.source for one in found.sources} == set(rows)
    for one in found.sources:
        assert one.requests[1] == pytest.approx(rows[one.source]["requests_then"])
        assert one.change == pytest.approx(rows[one.source]["change"], abs=1e-9)
    assert found.winners == said["winners"]
    assert found.losers == said["losers"]


def test_the_plan_is_that_of_explain(project, ask):
    for name in project.sources:
        steps = halflife.plan(project, name, most=3)[:3]
        said = ask("explain", name)["next"]
        assert [step.why for step in steps] == [one["why"] for one in said]


def test_one_sync_fetches_and_reports(settings):
    project = halflife.open_project(settings)
    assert halflife.status(project)[0].quality is None
    (report,) = halflife.sync(project, most=10)
    assert 0 < report.requests <= 10
    assert not report.trouble
    (after,) = halflife.status(project, ["demo"])
    assert after.description.items > 1
    assert after.quality is not None


CALLS = {
    "status": lambda p: [one.quality is None for one in halflife.status(p)],
    "forecast": lambda p: [str(halflife.forecast(p, name)) for name in p.sources],
    "plan": lambda p: [halflife.plan(p, name, most=3) for name in p.sources],
    "what_if": lambda p: halflife.what_if(p, 480).winners,
    "changes": lambda p: list(halflife.changes(p, since=0)),
    "records": lambda p: list(halflife.records(p, p.sources[0])),
    "replay_store": lambda p: str(
        halflife.replay_store(p, ["default"], sources=["site"], days=1.0)
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_answers_in_a_notebook_and_in_a_thread_as_anywhere(project, call):
    async def notebook():  # a kernel runs its cells in a loop
        return call(project)

    async def service():
        return await asyncio.to_thread(call, project)

    wanted = call(project)
    assert wanted
    assert asyncio.run(notebook()) == wanted
    assert asyncio.run(service()) == wanted


def test_a_sync_can_be_made_in_a_notebook_and_in_a_thread(settings):
    project = halflife.open_project(settings)

    async def notebook():
        return halflife.sync(project, most=10)

    async def service():
        return await asyncio.to_thread(halflife.sync, project, most=10)

    for work in (notebook, service):
        (report,) = asyncio.run(work())
        assert 0 < report.requests <= 10
        assert not report.trouble


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: halflife.forecast(p, "demo", days=[-1.0]), "days must be numbers"),
        (lambda p: halflife.forecast(p, "demo", days=[]), "one at least"),
        (lambda p: halflife.what_if(p, 0), "above 0"),
        (lambda p: halflife.what_if(p, 10, per="year"), "per must be one of"),
        (lambda p: halflife.plan(p, "nobody"), "nobody"),
        (lambda p: halflife.status(p, ["nobody"]), "nobody"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_line(settings, call, said):
    with pytest.raises(UsageError, match=said):
        call(halflife.open_project(settings))


def test_a_folder_will_do_to_open_a_project(settings):
    assert halflife.open_project(settings.parent).sources == ["demo"]
