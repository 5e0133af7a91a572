"""What notebooks show: whole, escaped, nothing that runs."""

import numpy as np
from lxml import etree, html

from halflife.forecast import Forecast
from halflife.plan import Plan, no_plan

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
