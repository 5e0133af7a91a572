"""Listings that name a policy: the service follows it, in virtual time."""

import json
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.appraisal import Appraiser, limits
from halflife.engine.service import ServiceRhythm
from halflife.kinds.listing import recorded_source
from halflife.kinds.listing.state import policy_of
from halflife.kinds.registry import kind_of
from halflife.market.target_rule import Goal
from halflife.market.target_status import FIRST, LATEST, SOONEST, TargetMemory
from halflife.policies.listings import ListingTerms
from halflife.replay.play import Play, play_recorded
from halflife.replay.world import RecordedAnswer, as_json
from replay.worlds import BEGAN, present

LATE = 200.0 / 86400.0  # days; a turn comes with the next request of the budget
HOST = "http://recorded.invalid"
# It turns when something is due, and else once a day.
SELDOM = ServiceRhythm(5.0, 86400.0, 86400.0, 86400.0, 8640000.0)


@dataclass
class Run:
    """What a service did: when it fetched, and what it knew then."""

    config: Config
    fetches: list = field(default_factory=list)
    known: list = field(default_factory=list)
    reports: list = field(default_factory=list)

    @property
    def gaps(self):
        return [b - a for a, b in pairwise(self.fetches)]


def settings(folder, lines, head='[budget]\nrequests = 480\nper = "day"\n'):
    path = folder / "halflife.toml"
    source = (
        f'[[source]]\nname = "cars"\nkind = "listing"\nurl = "{HOST}/objects"\n'
        'format = "json"\nrecords = "objects"\nkey = "_key"\nnext = "next"\n'
        "robots = false\n"
    )
    path.write_text(f"{head}[fetch]\ndelay = 0.0\n{source}{lines}\n")
    return Config.load(path)


def kept(folder, lines, days, world=None, **given):
    """Return what the service did in so many days."""
    config = settings(folder, lines, **given)
    run = Run(config)
    answer = world or recorded_source.listing(present, 100)
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()

        def told(report):
            run.reports.append(report.result)
            if "cars" in store.collections():
                run.known.append(store.collection("cars"))

        play = Play(BEGAN, days, on_report=told, rhythm=SELDOM)
        sent = play_recorded(config, store, {HOST: answer}, play)
    run.fetches = [one.at for one in sent if "from" not in one.url]
    return run


def steady(now):
    del now
    return {f"car{i}": {} for i in range(40)}


@pytest.mark.parametrize(
    "name", ["threshold", "threshold-adaptive", "threshold-paced", "threshold-groups"]
)
def test_the_service_fetches_at_the_moments_that_the_pure_rule_names(name, tmp_path):
    run = kept(tmp_path, f'policy = "{name}"\nrecall = 0.95\ngroup = "color"', 1.6)
    (source,) = run.config.source
    policy = policy_of(source)
    terms = ListingTerms(source.recall, source.confidence, group=source.group)
    assert len(run.fetches) > 6
    assert len(set(np.round(run.gaps, 4))) > 3  # the rule decides, not its bounds
    for known, after in zip(run.known, run.fetches[1:], strict=False):
        due = policy.due(known, terms)
        assert due <= after + 1e-9
        assert after < due + LATE


def test_a_quiet_listing_is_fetched_ever_less_often(tmp_path):
    world = recorded_source.listing(steady, 100)
    run = kept(tmp_path, 'policy = "threshold-pooled"', 25.0, world)
    assert run.gaps[0] <= FIRST + LATE
    assert run.gaps[-1] > 20 * run.gaps[0]
    assert max(run.gaps) <= LATEST + LATE
    assert min(run.gaps) >= SOONEST


def test_a_longest_interval_of_the_settings_takes_the_place_of_the_week(tmp_path):
    world = recorded_source.listing(steady, 100)
    lines = 'policy = "threshold"\nmax_interval = "{}"'
    seldom = kept(tmp_path, lines.format("9d"), 30.0, world)
    assert LATEST < max(seldom.gaps) <= 9.0 + LATE
    (often := tmp_path / "often").mkdir()
    assert max(kept(often, lines.format("1d"), 5.0, world).gaps) <= 1.0 + LATE


def test_a_fixed_interval_is_kept_from_the_first_fetch_on(tmp_path):
    run = kept(tmp_path, 'policy = "interval"\nmax_interval = "6h"', 1.9)
    assert run.gaps == pytest.approx([0.25] * len(run.gaps), abs=LATE)
    assert len(run.gaps) == 7


def test_a_shortest_interval_binds_a_schedule(tmp_path):
    run = kept(tmp_path, 'policy = "threshold"\nmin_interval = "12h"', 3.0)
    assert len(run.gaps) > 3
    assert min(run.gaps) >= 0.5 - 1e-9


def test_a_target_of_its_own_asks_for_more_than_a_schedule(tmp_path):
    lines = 'policy = "interval"\nmax_interval = "1d"'
    kept(tmp_path, lines, 2.5)
    asked = []
    for more in ("", '\ntarget = "recall >= 0.999 with confidence 0.95"'):
        config = settings(tmp_path, lines + more)
        with bootstrap.reading(config) as store:
            state = Appraiser(config, store, BEGAN + 2.9).state(config.source[0])
        kind = kind_of(config.source[0])
        stand, _ = kind.stand(state, Goal(0.999, 0.95), TargetMemory(), ())
        assert "policy interval: due in" in stand.reason
        asked.append(stand.requests)
    assert asked == [0.0, state.whole]


def test_a_schedule_is_kept_where_only_targets_are_paid_for(tmp_path):
    head = '[budget]\nrequests = 480\nper = "day"\nmode = "targets"\n'
    run = kept(tmp_path, 'policy = "interval"\nmax_interval = "6h"', 1.9, head=head)
    assert run.gaps == pytest.approx([0.25] * 7, abs=LATE)


def test_no_schedule_spends_more_than_the_budget_has(tmp_path):
    head = '[budget]\nrequests = 10\nper = "day"\n'
    lines = 'policy = "interval"\nmax_interval = "1h"'
    run = kept(tmp_path, lines, 3.0, head=head)
    for at in run.fetches:
        assert sum(at <= one < at + 1.0 - 1e-9 for one in run.fetches) <= 10


def test_a_held_answer_is_asked_for_again_after_an_hour(tmp_path):
    def emptied(now):
        return {} if now > BEGAN + 0.5 else steady(now)

    world = recorded_source.listing(emptied, 100)
    run = kept(tmp_path, 'policy = "threshold"', 1.0, world)
    held = [
        at for at, result in zip(run.fetches, run.reports, strict=True) if result.held
    ]
    assert len(held) > 3
    assert min(b - a for a, b in pairwise(held)) >= 1.0 / 24.0 - 1e-9
    assert not any(result.change.gone for result in run.reports if result.change)


def test_a_held_listing_with_a_target_is_asked_for_less_and_less_often(tmp_path):
    def emptied(now):
        return {} if now > BEGAN + 0.5 else steady(now)

    head = '[budget]\nrequests = 480\nper = "day"\nmode = "targets"\n'
    lines = 'target = "recall >= 0.9 with confidence 0.95"'
    world = recorded_source.listing(emptied, 100)
    run = kept(tmp_path, lines, 6.0, world, head=head)
    held = [
        at for at, result in zip(run.fetches, run.reports, strict=True) if result.held
    ]
    hours = 24.0 * np.diff(held)
    assert hours[:5] == pytest.approx([1.0, 2.0, 4.0, 8.0, 16.0], rel=0.1)
    assert (hours[5:] >= 24.0 - 1e-6).all()  # at last once a day
    assert len(held) <= 11  # 132 if it were each hour


def test_a_listing_that_fails_is_left_alone_longer_each_time(tmp_path):
    def broken(asked, now):
        del asked, now
        return RecordedAnswer(500)

    run = kept(tmp_path, 'policy = "threshold"', 1.0, broken)
    assert 2 < len(run.fetches) < 40
    assert run.gaps[-1] > run.gaps[0]


def test_a_listing_that_answers_in_part_only_is_asked_once_an_hour(tmp_path):
    def partly(asked, now):
        del asked, now
        return as_json({"objects": [{"_key": "a"}], "next": "/nowhere", "count": 50})

    run = kept(tmp_path, 'policy = "threshold"\nmax_pages = 1', 1.0, partly)
    assert 2 < len(run.fetches) <= 26


def appraised(folder, lines, now=BEGAN + 3.1):
    run = kept(folder, lines, 3.0)
    with bootstrap.reading(run.config) as store:
        appraiser = Appraiser(run.config, store, now)
        (source,) = run.config.source
        return appraiser, source, kind_of(source), appraiser.state(source)


@pytest.mark.parametrize("name", ["market-price", "priced"])
def test_the_market_asks_what_a_fetch_buys_of_the_policy(name, tmp_path):
    _, source, kind, state = appraised(tmp_path, f'policy = "{name}"')
    assert not kind.is_scheduled(source)
    gain = float(kind.offers(state).gain[0])
    assert gain > 0
    prospects = kind.prospects(state)
    assert (prospects.gain[0] > 0).any()
    assert f"policy {name}: when a fetch is worth its price" in (
        kind.steps(state, 1)[0].why
    )


def test_nothing_is_offered_before_a_schedule_has_it_due(tmp_path):
    lines = 'policy = "interval"\nmax_interval = "2d"'
    appraiser, source, kind, state = appraised(tmp_path, lines)
    assert kind.is_scheduled(source)
    assert kind.offers(state).gain.tolist() == [0.0]
    (step,) = kind.steps(state, 1)
    assert "policy interval: due in" in step.why
    assert step.gain > 0
    # what it takes a day, whatever requests are worth
    known = kind.worth(state, 0.95)
    bounds = limits(appraiser.config, [known])
    assert known.pace == pytest.approx(known.whole / 2.0)
    assert bounds.least["cars"] == bounds.most["cars"] == known.pace


def test_a_plan_names_the_policy(tmp_path, capsys):
    from halflife.cli import main  # noqa: PLC0415  (slow)

    run = kept(tmp_path, 'policy = "threshold"', 1.0)
    path = str(run.config.store_path.parent / "halflife.toml")
    assert main(["plan", "--config", path, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["listings"]
    assert "policy threshold: due since" in row["why"]
