"""Another budget is imagined: what it buys, which targets it keeps, and a picture."""

import json
import math
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from halflife.cli import main
from halflife.config import Config
from halflife.core.value_curve import Worth
from halflife.kinds.protocol import Known
from halflife.market.targets import Target
from halflife.study.axes import logarithmic
from halflife.web.what_if_page import TargetNeed, _needed


def asked(full, budget):
    return full.get(f"/what-if.json?budget={budget}").json


def test_a_target_is_kept_from_the_budget_on_that_it_needs(full):
    found = asked(full, 300)
    needs = [t["needs"] for row in found["results"] for t in row["targets"]]
    assert found["targets"]["all"] == len(needs) >= 5
    for budget in (1, 40, 300, 1200, 30_000):
        rows = asked(full, budget)["results"]
        for row in rows:
            for one in row["targets"]:
                if one["needs"] is not None:
                    enough = row["requests_then"] >= one["needs"] * (1 - 1e-6)
                    assert one["then"] is enough
                elif one["then"] is not None:  # no budget keeps it
                    assert one["then"] is False
        kept = [t["then"] for row in rows for t in row["targets"]]
        assert asked(full, budget)["targets"]["then"] == sum(k is True for k in kept)


def test_a_kept_target_has_at_least_its_quality(full):
    config = full.site.board.config()
    targets = {one.name: one.targets for one in config.source}
    for budget in (40, 300, 5000):
        for row in asked(full, budget)["results"]:
            for one, target in zip(row["targets"], targets[row["source"]], strict=True):
                if target.measure != "age" and target.confidence is None:
                    if one["then"]:
                        assert row["quality_then"] >= target.level - 1e-6
                    else:
                        assert row["quality_then"] <= target.level + 1e-6


def worth():
    requests = np.array([0.0, 10.0, 20.0])
    quality = np.array([0.0, 0.8, 0.9])
    return Worth("s", "recall", 1.0, requests, quality, quality - 0.1, quality)


@pytest.mark.parametrize(
    ("target", "needed"),
    [
        ("recall >= 0.4", 5.0),
        ("recall >= 0.8", 10.0),
        ("recall >= 0.7 with confidence 0.95", 10.0),
        ("recall >= 0.95", math.inf),
        ("recall >= 0.7 with confidence 0.8", math.nan),  # other bounds than are known
        ("age p95 <= 22.8 h", 4.0),
    ],
)
def test_what_a_target_needs(target, needed):
    text = (
        '[[source]]\nname = "s"\nkind = "listing"\nkey = "id"\n'
        f'url = "https://a.example/"\ntarget = "{target}"\n'
    )
    (source,) = Config.parse(text).source
    (found,) = _needed(Known(source, 4.0, worth()))
    assert found.needed == pytest.approx(needed, nan_ok=True)
    if math.isnan(needed):
        assert found.kept(1e9) is None


def test_a_target_is_kept_by_exactly_what_it_needs():
    need = TargetNeed(Target("recall", 0.9), 0.1 + 0.2)
    assert need.kept(0.3) is True
    assert need.kept(0.29) is False


def test_page_and_command_say_the_same(full, capsys):
    path = str(full.site.board.path)
    assert main(["whatif", "--budget", "600", "--config", path, "--json"]) == 0
    out = capsys.readouterr().out
    told, found = json.loads(out), asked(full, 600)
    assert found["quality"]["then"] == pytest.approx(told["quality"]["then"], abs=1e-3)


def test_the_picture_stands_alone(full):
    answer = full.get("/what-if.svg?budget=600")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert "attachment" in answer.headers["content-disposition"]
    assert "sandbox" in answer.headers["content-security-policy"]
    root = ET.fromstring(answer.text)  # noqa: S314  (ours)
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "What a budget buys"
    assert "600 would buy" in texts[1]
    assert "<script" not in answer.text


def test_the_page_leads_to_the_change_that_adopts_the_budget(full):
    page = full.get("/what-if?budget=600").text
    assert "/edit?preview=1&amp;requests=600&amp;per=day" in page
    assert "requests = 600" in full.get("/edit?preview=1&requests=600&per=day").text
    assert "Adopt" not in full.get("/what-if").text


def test_equal_ratios_are_equally_far_apart():
    axis = logarithmic("n", 1.0, 1000.0)
    places = axis.place(np.array([1.0, 10.0, 100.0, 1000.0]), 0.0, 300.0)
    assert places == pytest.approx([0.0, 100.0, 200.0, 300.0])
    assert axis.place(np.array([0.0]), 0.0, 300.0) == pytest.approx([0.0])
    assert [v for v, _ in axis.ticks] == [1.0, 10.0, 100.0, 1000.0]
    assert logarithmic("n", 3.0, 3.0).high > 3.0
