"""How often a copy is renewed follows from settings and politeness alone."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from alert_parts import listing
from halflife.cli import main
from halflife.config import Config
from halflife.core.object_store import Listing
from halflife.engine import appraisal, bootstrap, renewals
from halflife.engine.loop import LEASE
from halflife.engine.service import ServiceRhythm
from halflife.engine.service_terms import SHORTEST_NAP
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.whole import AHEAD, step_of
from halflife.market import price
from halflife.market.curves import Decay
from halflife.market.target_rule import Goal
from halflife.stores.sqlite import SqliteStore
from service_parts import BEGAN, HOME, Play

MINUTE = 1 / 1440
REQUESTS = 24
HEAD = '[budget]\nrequests = {}\nper = "hour"\n[fetch]\ndelay = {}\n'
JOBS = listing("http://a.example/jobs.json")


@pytest.fixture
def busy(tmp_path):
    """A listing of 60 of which one an interval of 2 minutes is replaced."""

    def build(more="", *, requests=24, delay=0.0):
        path = tmp_path / "halflife.toml"
        path.write_text(HEAD.format(requests, delay) + JOBS + more)
        config = Config.load(path)
        with SqliteStore.open(config.store_path, create=True) as store:
            for n in range(60):
                at = BEGAN + 2 * n * MINUTE
                run = store.begin(["jobs"], at, lease=LEASE)
                records = {str(k): {"x": k} for k in range(n, n + 60)}
                answer = Listing(at, records)
                listing_runner.write(store, run, config.source[0], answer, 1, "")
                store.finish(run, at)
        return path, at

    return build


def asked(path, at, monkeypatch, capsys, *words):
    monkeypatch.setattr(bootstrap, "clock", lambda: at)
    capsys.readouterr()
    code = main([*words, "--json", "--config", str(path)])
    return code, json.loads(capsys.readouterr().out)


def test_a_larger_budget_buys_more_also_below_the_hour(busy, monkeypatch, capsys):
    path, at = busy(requests=1)
    words = ("whatif", "--budget", "24000", "--per", "hour")
    _, answer = asked(path, at, monkeypatch, capsys, *words)
    (row,) = answer["results"]
    assert row["quality_now"] < 0.9
    assert row["quality_then"]["mean"] > 0.98
    assert row["requests_then"] > 24 * 24


def test_a_target_that_minutes_keep_is_within_reach(busy, monkeypatch, capsys):
    path, at = busy('target = "recall >= 0.95"\n', requests=1200)
    _, when = asked(path, at, monkeypatch, capsys, "when", "jobs", "--recall", "0.95")
    assert 0 < when["days"] < 1 / 24
    code, answer = asked(path, at, monkeypatch, capsys, "budget")
    assert (code, answer["unreachable"]) == (0, [])
    (row,) = answer["results"]
    assert MINUTE < row["looks_every_days"] < 30 * MINUTE


def test_politeness_and_settings_are_what_limits(busy, monkeypatch, capsys):
    found = []
    for more, delay in (("", 0.0), ("", 120.0), ('min_interval = "20 min"\n', 0.0)):
        path, at = busy(more, requests=24_000, delay=delay)
        config = Config.load(path)
        with SqliteStore.open(config.store_path, readonly=True) as store:
            appraiser = appraisal.Appraiser(config, store, at)
            known = appraiser.known(config.source[0])
        found.append(known.whole / float(known.worth.requests[-1]))
        path.unlink()
        config.store_path.unlink()
    assert found == pytest.approx([renewals.QUICKEST, 2 * MINUTE, 20 * MINUTE])


@given(
    st.floats(0, 3600), st.integers(1, 10_000), st.sampled_from(["", "1 min", "2 d"])
)
def test_nothing_but_settings_and_politeness_is_the_shortest(delay, whole, least):
    more = f'min_interval = "{least}"\n' if least else ""
    config = Config.parse(HEAD.format(24, delay) + JOBS + more)
    source = config.source[0]
    found = renewals.shortest(config, source, whole)
    assert found in {source.soonest, whole * delay / 86400.0, renewals.QUICKEST}
    assert found >= max(source.soonest, whole * delay / 86400.0)


def test_the_least_age_is_the_least_time_between_two_turns():
    assert price.AGES[0] * 86400.0 == pytest.approx(SHORTEST_NAP)
    assert pytest.approx(SHORTEST_NAP) == renewals.QUICKEST * 86400.0


@given(st.floats(1e-5, 1.0), st.floats(1.1, 1e6), st.integers(1, 9))
def test_a_spread_has_its_ends_and_even_steps(first, ratio, each):
    found = renewals.spread(first, first * ratio, each)
    assert found[0] == pytest.approx(first)
    assert found[-1] == pytest.approx(first * ratio)
    assert np.all(np.diff(found) > 0)
    assert np.ptp(np.diff(np.log(found))) < 1e-6


def falling(days):
    """Return a copy that loses a hundredth in so many days."""
    ahead = np.geomspace(1e-5, 365.0, 200)
    mean = np.exp(-0.01 * ahead / days)
    return Decay(ahead, mean, mean)


def test_a_round_is_half_of_what_a_level_holds():
    """0.98 holds for 2 (1.0101 ... 1.02) hundredths: 20.2 minutes at one in ten."""
    step = step_of(falling(10 * MINUTE), Goal(0.98), renewals.QUICKEST)
    assert step == pytest.approx(10.1 * MINUTE, rel=0.25)
    assert step_of(falling(1.0), Goal(0.9), renewals.QUICKEST) == AHEAD


@given(st.floats(1e-4, 10.0), st.floats(0.5, 0.99), st.floats(1e-5, 1.0))
def test_a_round_is_never_shorter_than_allowed_and_keeps_the_level(days, level, least):
    decay = falling(days)
    step = step_of(decay, Goal(level), least)
    assert min(least, AHEAD) <= step <= AHEAD
    if step > least:
        assert decay.at(np.array([step]))[0][0] >= level


def test_a_busy_listing_is_not_left_below_its_target(server, tmp_path):
    """One of 100 jobs is replaced each minute; the budget is far from spent."""
    path = tmp_path / "halflife.toml"
    path.write_text(
        '[budget]\nrequests = 3600\nper = "hour"\nmode = "targets"\n'
        "[fetch]\ndelay = 0.0\ntimeout = 5.0\n[audit]\nshare = 0.0\n"
        f'[[source]]\nname = "jobs"\nkind = "listing"\n{HOME}key = "id"\n'
        f'url = "{server.url}/jobs.json"\nconfirm_hours = 0.0\n'
        'target = "recall >= 0.98"\n'
    )
    seen, missed = [], []

    def turn(play):
        first = int((play.now - BEGAN) / MINUTE)
        body = json.dumps([{"id": n} for n in range(first, first + 100)]).encode()
        server.pages["/jobs.json"] = ("application/json", body)
        looks = [at for at, _ in play.results]
        if looks and play.now > BEGAN + 1 / 24:
            held = int((looks[-1] - BEGAN) / MINUTE)
            missed.append(max(first - held, 0) / 100)
        seen[:] = looks

    # 13 s: a rhythm that divides the minute would fetch just before each change.
    play = Play(path, rhythm=ServiceRhythm(shortest=13.0))
    turn(play)
    play.run(1.5 / 24, turn)
    late = [at for at in seen if at > BEGAN + 1 / 24]
    assert np.max(np.diff(late)) < 8 * MINUTE
    assert max(missed) <= 0.08
    assert np.mean(missed) <= 0.03  # of which some is lent at first
    assert play.named("trouble") == []
