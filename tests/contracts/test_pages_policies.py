"""The laws of policies for pages, for every one that is registered, ours or not."""

from dataclasses import replace

import numpy as np
import pytest

from halflife import plugins
from halflife.config import Config
from halflife.core.plan import Plan, no_plan
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.pages import recorded_source as pages_recorded
from halflife.kinds.registry import kind_of
from halflife.policies import Strategy
from halflife.policies.index import Index
from halflife.policies.laws import broken
from halflife.replay.play import Play, play_recorded
from replay.worlds import BEGAN, HOME, lot

NAMES = plugins.policies()
HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 21600.0)
PAGES = 2


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_keeps_every_law(name):
    assert broken(plugins.strategy(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_says_what_it_is(name):
    strategy = plugins.strategy(name)
    assert strategy.about.endswith(".")
    assert "\n" not in strategy.about + strategy.paper
    assert not strategy.paper.endswith(".")


def text(page, now):
    if not page.isdigit() or int(page) >= PAGES:
        return None
    return f"page {page}, version {int((now - BEGAN) / (0.1 + lot('law', page)))}"


def test_every_policy_works_in_the_live_service(tmp_path):
    urls = {name: f"http://127.0.0.1:{9000 + i}" for i, name in enumerate(NAMES)}
    lines = ['[budget]\nrequests = 4000\nper = "day"', "[fetch]\ndelay = 0.0"]
    for name, url in urls.items():
        pages = ", ".join(f'"{url}/{i}"' for i in range(PAGES))
        head = f'[[source]]\nname = "{name}"\npolicy = "{name}"\nkind = "pages"'
        lines.append(f"{head}\n{HOME}pages = [{pages}]")
    path = tmp_path / "halflife.toml"
    path.write_text("\n".join(lines) + "\n")
    config, reports = Config.load(path), []
    site = dict.fromkeys(urls.values(), pages_recorded.site(text))
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        play = Play(BEGAN, 0.13, on_report=reports.append, rhythm=HOURLY)
        play_recorded(config, store, site, play)
        looks = {name: store.evidence((name,)).looks for name in urls}
    faults = {s.name: kind_of(s).fault(s.name) for s in config.source}
    assert not any(faults.values()), faults
    assert not any(report.trouble for report in reports)
    assert all(found.size == PAGES and found.all() for found in looks.values())
    assert not [name for name, found in looks.items() if found.sum() <= PAGES]


def greedy(view, budget, rng):
    """Ask for every page there is."""
    del budget, rng
    rows = np.arange(len(view))
    return Plan(tuple(view.keys), rows, np.full(len(view), np.inf), lambda _: "")


def idle(view, budget, rng):
    """Ask for nothing, ever."""
    del view, budget, rng
    return no_plan()


class Forgetful:
    """Ask for another page each time."""

    def __init__(self):
        self.calls = 0

    def __call__(self, view, budget, rng):
        self.calls += 1
        return Index("freshness")(view, budget, rng)[self.calls % 3 :]


def marking(view, budget, rng):
    """Write into the view."""
    plan = Index("freshness")(view, budget, rng)
    view.looked[plan.rows] = True
    return plan


@pytest.mark.parametrize(
    ("policy", "laws"),
    [
        (
            greedy,
            {
                "stays_within_budget",
                "asks_for_no_page_twice",
                "leaves_alone_what_is_not_ready",
                "gives_reasons_and_finite_gains",
                "heeds_the_room_of_hosts",
            },
        ),
        (idle, {"begins_with_a_single_page", "sees_every_page_once"}),
        (Forgetful(), {"is_determined_by_view_and_seed"}),
        (marking, {"changes_nothing_in_the_view"}),
    ],
)
def test_a_policy_that_breaks_a_law_is_found_out(policy, laws):
    found = {line.partition(":")[0] for line in broken(Strategy(policy))}
    assert laws <= found


def test_a_belief_that_all_runs_share_is_found_out():
    strategy = plugins.strategy("champion")
    one = strategy.belief()
    found = broken(replace(strategy, belief=lambda: one))
    assert [line.partition(":")[0] for line in found] == ["believes_by_itself"]
