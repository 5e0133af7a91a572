"""Every registered rule keeps a recorded form through the real service."""

import re
from importlib.metadata import entry_points

import numpy as np
import pytest

from form_plans import planned_queries
from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.core.forms import Attribute, Interface
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.form import recorded_source
from halflife.kinds.form.recorded_pages import snippet
from halflife.plugins import load
from halflife.queries.policies import EXPECTED, INDEX, FormPolicy
from halflife.queries.table_form import TableForm
from halflife.replay.play import Play, play_recorded
from replay.worlds import BEGAN, COLORS, lot

GROUP = "halflife.policies.form"
NAMES = sorted(entry_points(group=GROUP).names)
URL = "http://recorded-0.invalid"
QUARTERLY = ServiceRhythm(21600.0, 21600.0, 21600.0, 21600.0, 86400.0)
DAYS = 1.3
SHAPE = Interface(
    (Attribute("color", "select", COLORS), Attribute("size", "select", ("s", "l"))),
    page_size=10,
    everything=True,
    newest=True,
    lookup=True,
)


def present(now):
    """Return forty records, then eight more every half day, when all prices move."""
    step = int(2.0 * (now - BEGAN))
    return {
        f"car{i:03}": {
            "color": COLORS[int(lot("color", i) * 5)],
            "size": "sl"[i % 2],
            "price": 100 + step,
        }
        for i in range(40 + 8 * step)
    }


def table(now):
    there = present(now)
    dates = {key: float(place) for place, key in enumerate(there)}
    return TableForm(SHAPE, there, rng=np.random.default_rng(0), dates=dates)


def settings(*lines):
    told = snippet(URL, SHAPE, name="cars").replace('allow = ["127.0.0.0/8"]\n', "")
    head, _, attributes = told.partition("[source.attributes]\n")
    more = "robots = false\n" + "".join(f"{line}\n" for line in lines)
    return (
        '[budget]\nrequests = 200\nper = "day"\n[fetch]\ndelay = 0.0\n'
        f"{head}{more}[source.attributes]\n{attributes}"
    )


def loaded(tmp_path, *lines, text=None):
    path = tmp_path / "halflife.toml"
    path.write_text(text or settings(*lines))
    return Config.load(path)


def played(tmp_path, days, *lines):
    """Return what was asked and held after some days of the service, and its plan."""
    config, asked = loaded(tmp_path, *lines), []

    def told(report):
        asked.extend(getattr(getattr(report.result, "kept", None), "asked", ()))

    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        answer = {URL: recorded_source.form(table)}
        play = Play(BEGAN, days, rhythm=QUARTERLY, on_report=told)
        sent = play_recorded(config, store, answer, play)
        register = store.register("cars")
        plan = planned_queries(store, config.source[0], BEGAN + days, 50)
    return asked, register, plan, sent


@pytest.mark.parametrize("name", NAMES)
def test_a_live_form_goes_by_the_rule_that_its_settings_name(name, tmp_path):
    policy = load(GROUP, name, FormPolicy)
    lines = f'policy = "{name}"', f'purpose = "{policy.job}"'
    asked, register, plan, sent = played(tmp_path, DAYS, *lines)
    assert len(sent) <= 200 * DAYS
    if policy.job == "new":
        found = {spell.key for spell in register.spells}
        assert found - present(BEGAN).keys(), "no new record was found"
    else:
        later = [v for v in register.versions if v.seen_from > BEGAN + 0.5]
        assert later, "no known record was refreshed"
    if policy not in (EXPECTED, INDEX):
        told = [one.why for one in (*asked, *plan)]
        assert any(why.startswith(f"{name}: ") for why in told)


def test_a_rule_for_new_records_and_one_for_known_ones_work_together(tmp_path):
    lines = 'policy = ["expected", "cube-root"]', 'purpose = "both"'
    asked, register, _, _ = played(tmp_path, DAYS, *lines)
    assert any(one.why.startswith("cube-root: ") for one in asked)
    assert {spell.key for spell in register.spells} - present(BEGAN).keys()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['policy = "method-1"'],
         'method-1 is for known records; set purpose = "known" or "both"'),
        (['policy = "uniform"', 'purpose = "known"'],
         'uniform is for new records; set purpose = "new" or "both"'),
        (['policy = ["index", "cube-root"]', 'purpose = "known"'],
         "index and cube-root are both for known records; name one for new"),
        (['policy = ["expected", "rotation"]'],
         "expected and rotation are both for new records"),
        (['policy = ["expected", "index", "naive-1"]', 'purpose = "both"'],
         "names 2 policies at most"),
    ],
)  # fmt: skip
def test_policies_that_do_not_fit_are_refused_with_a_remedy(tmp_path, lines, said):
    with pytest.raises(ConfigError, match=re.escape(said)) as error:
        loaded(tmp_path, *lines)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "purpose", "gone", "said"),
    [
        ("newest", "new", "newest =", "set newest and everything = true"),
        ("naive-1", "known", "lookup_url", "set lookup_url"),
    ],
)
def test_a_rule_that_the_form_cannot_serve_is_refused(
    tmp_path, name, purpose, gone, said
):
    text = settings(f'policy = "{name}"', f'purpose = "{purpose}"')
    kept = [line for line in text.splitlines() if not line.startswith(gone)]
    with pytest.raises(ConfigError, match=re.escape(said)):
        loaded(tmp_path, text="\n".join(kept))
