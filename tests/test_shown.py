"""What notebooks show: whole, escaped, nothing that runs."""

import doctest
from pathlib import Path

import numpy as np
from lxml import etree, html

from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.core import notebook
from halflife.core.forecast import Forecast
from halflife.core.plan import Plan, no_plan
from halflife.policies.listings.schedules import FixedInterval
from halflife.policies.simple import uniform
from halflife.replay.listings import SetReplay
from halflife.replay.pages import Replay
from set_lives import grown

EVIL = "<script>alert(1)</script>\"'"


def forecast(n, measure="freshness"):
    at = 20_000.0 + np.arange(float(n))
    mean = np.exp(-0.1 * np.arange(n))
    return Forecast(measure, at, mean, mean * 0.9, np.minimum(mean * 1.1, 1.0))


def test_a_forecast_draws_its_curve_within_its_band():
    drawn = etree.fromstring(forecast(8).plot())
    band, line = [p.get("d") for p in drawn.iter("{*}path")][-2:]
    assert line.count("L") == 7
    assert band.count("L") == 15
    assert drawn.findtext("{*}title") == "freshness, with its 95% interval"


def test_a_notebook_shows_a_forecast_with_its_ends_in_numbers():
    tree = html.fromstring(f"<div>{forecast(8)._repr_html_()}</div>")
    cells = [[c.text for c in row] for row in tree.findall(".//tbody/tr")]
    assert cells[0] == ["2024-10-04 00:00 UTC", "1.000", "0.900", "1.000"]
    assert cells[1][1:] == ["0.497", "0.447", "0.546"]


def test_a_forecast_of_one_moment_or_none_is_shown_too():
    etree.fromstring(forecast(1).plot())
    assert "<table>" in forecast(0)._repr_html_()


def test_a_plan_shows_its_first_steps_and_how_many_more():
    keys = tuple(f"k{i}" for i in range(25))
    plan = Plan(keys, np.arange(25), np.arange(25.0), lambda row: f"because {row}")
    tree = html.fromstring(f"<div>{plan._repr_html_()}</div>")
    assert len(tree.findall(".//tbody/tr")) == 20
    assert tree.findtext("p") == "and 5 more"
    assert "<tbody></tbody>" in no_plan()._repr_html_()


def test_what_others_wrote_is_only_ever_text():
    plan = Plan((EVIL,), np.zeros(1, np.intp), np.ones(1), lambda _: EVIL)
    for said in (plan._repr_html_(), forecast(3, EVIL)._repr_html_()):
        assert "<script" not in said
        assert not html.fromstring(f"<div>{said}</div>").xpath("//script")


def test_a_replay_shows_its_days_and_its_scores():
    rate, weight = rates_and_weights(30, 1)
    recording = poisson_recording(rate, weight, 12, 1)
    score = Replay(recording, 10.0, 0.0, 12.0, warm=4.0).score(uniform)
    tree = html.fromstring(f"<div>{score._repr_html_()}</div>")
    cells = dict([c.text for c in row] for row in tree.findall(".//tbody/tr"))
    assert cells["freshness"] == f"{score.freshness:.3f}"
    assert cells["requests"] == str(score.requests)
    drawn = etree.fromstring(score.plot())
    assert drawn.findtext("{*}title").endswith("4 days of warming up")
    assert [p.get("d") for p in drawn.iter("{*}path")][-1].count("L") == 11
    assert [t.text for t in drawn.iter("{*}text")][-2:] == ["day 1", "day 12"]


def test_a_replay_of_a_set_source_shows_its_recall_and_its_scores():
    source = grown(np.random.default_rng(2), [0.05], days=30)
    score = SetReplay(source, 10.0).score(FixedInterval(5.0))
    tree = html.fromstring(f"<div>{score._repr_html_()}</div>")
    cells = dict([c.text for c in row] for row in tree.findall(".//tbody/tr"))
    assert cells["recall"] == f"{score.recall:.3f}"
    assert cells["recall per sync"] == f"{score.recall / score.syncs:.3g}"
    drawn = etree.fromstring(score.plot())
    line = [p.get("d") for p in drawn.iter("{*}path")][-1]
    assert line.count("L") == score.recalls.size - 1


def test_a_line_leaves_out_what_is_no_number_and_says_only_text():
    y = np.array([0.5, np.nan, 1.0])
    drawn = notebook.line(EVIL, np.arange(3.0), y, (EVIL, "b"))
    assert "<script" not in drawn
    tree = etree.fromstring(drawn)
    assert [p.get("d") for p in tree.iter("{*}path")][-1].count("L") == 1
    etree.fromstring(notebook.line("none", y[:0], y[:0], ("a", "b")))


def test_what_the_page_says_of_notebooks_is_true():
    page = Path(__file__).parents[1] / "docs" / "web.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried >= 4
    assert not failed
