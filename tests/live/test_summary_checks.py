"""Summaries are checked before they are made anew, over real HTTP."""

import asyncio
import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.errors import BudgetSpent
from halflife.engine import bootstrap, prices, targets
from halflife.engine.appraisal import Appraiser
from halflife.engine.service import ServiceRhythm
from halflife.kinds.protocol import Desk
from halflife.kinds.search import selection as search_selection
from halflife.kinds.search.audit import audit_summary
from halflife.kinds.search.check import Checker, CheckOutcome
from halflife.kinds.search.kind import KIND
from halflife.kinds.search.runner import SamplingOutcome, Summarizer, SummaryWish
from halflife.market.target_rule import Goal
from halflife.market.target_status import TargetMemory
from halflife.probing.recheck import DEAR, MOST
from halflife.stores import summaries, summary_counts, summary_lifetimes
from halflife.stores.forecasts import Forecasts
from hand_clock import BEGAN, Hands
from search_server import corpus
from service_parts import BEGAN as SERVED, Play

OTHERS = corpus(400, seed=9)
GOAL = Goal(0.5, 0.95)


def settings(search_server, shop, head=""):
    path = "/es/_search?q={query}&from={offset}&size={count}"
    return (
        f"{head}"
        "[budget]\nrequests = 5000\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"
        '[[source]]\nname = "shop"\nkind = "search"\nallow = ["127.0.0.0/8"]\n'
        f'engine = "elasticsearch"\nsearch_url = "{search_server.url}{path}"\n'
        f"per_page = {shop.page}\n"
        'target = "summary >= 0.5 with confidence 0.95"\n'
    )


@pytest.fixture
def config(search_server, shop, tmp_path):
    return Config.parse(settings(search_server, shop), tmp_path / "halflife.toml")


@pytest.fixture
def clock():
    return Hands()


@pytest.fixture
def store(config, clock):
    with bootstrap.writing(config) as store:
        summarizer = Summarizer(config, store, SummaryWish(documents=100), clock)
        asyncio.run(summarizer.summarize(config.source[0]))
        yield store


@pytest.fixture
def kept(store):
    return summaries.current(store, "shop")


def turned(search_server):
    """Let another database answer."""
    search_server.shop = type(search_server.shop)(OTHERS)
    return search_server.shop


def check(config, store, clock, most=None, *, counts=True):
    async def run():
        kept = summaries.current(store, "shop")
        checker = Checker(config, store, clock)
        return await checker.check(config.source[0], kept, most=most, counts=counts)

    return asyncio.run(run())


def look(config, store, clock):
    """What the service does when a look is due."""

    async def run():
        desk = Desk(config, store, None, clock)
        async with KIND.open(desk, config.source) as worker:
            return await worker.work(400)

    return asyncio.run(run())


def stand(config, store, now):
    appraiser = Appraiser(config, store, now)
    return targets.stand(appraiser, config.source[0], GOAL, TargetMemory())[0]


def test_a_check_that_is_passed_is_a_look_and_teaches_a_longer_life(
    config, store, shop, clock, kept
):
    source = config.source[0]
    before = search_selection.survival(kept, source, store).rate[0]
    spent = store.spent(0.0)
    shop.log.clear()
    clock.now = BEGAN + 6.0
    found = check(config, store, clock)
    assert found.holds
    assert found.requests == len(shop.log) == store.spent(0.0) - spent <= MOST
    assert (found.version, found.age) == (1, 6.0)
    assert "it holds" in found.words()
    assert found.row()["check"]
    assert json.dumps(found.row())
    assert search_selection.last_checked(store, kept) == clock.now
    assert summaries.current(store, "shop") == kept  # nothing else has changed
    assert search_selection.survival(kept, source, store).rate[0] < before
    belief = search_selection.belief([kept], [source], clock.now, store)
    assert belief.survival[0] == pytest.approx(1.0)
    assert belief.age[0] == 6.0


def test_a_check_that_is_not_passed_asks_for_a_new_summary(
    config, store, search_server, shop, clock, kept
):
    del shop
    turned(search_server)
    clock.now = BEGAN + 6.0
    found = check(config, store, clock)
    assert found.holds is False
    assert "to be renewed" in found.words()
    assert search_selection.life(store, kept).is_doubted
    source = config.source[0]
    assert search_selection.next_requests(store, source, kept) == kept.requests
    alive = search_selection.survival(kept, source, store).alive(np.array([6.0]))[0]
    wrong, right = (
        alive * search_selection.ALARMS,
        (1.0 - alive) * search_selection.FOUND,
    )
    belief = search_selection.belief([kept], [source], clock.now, store)
    assert belief.survival[0] == pytest.approx(wrong / (wrong + right))
    asked = stand(config, store, clock.now)
    assert asked.requests == kept.requests
    assert asked.reason.endswith("; renewed, as it did not pass a check")
    done = look(config, store, clock)
    assert isinstance(done.result, SamplingOutcome)
    assert done.result.in_use
    old, new = summary_lifetimes.lives(store, "shop")
    assert (old.held, old.failed, old.is_doubted) == (0.0, 6.0, False)
    assert (new.version, new.made) == (2, clock.now)
    assert stand(config, store, clock.now).requests == 0.0


def test_a_check_that_was_wrong_teaches_nothing_wrong(config, store, clock, kept):
    doubt = search_selection.life(store, kept).with_doubt(BEGAN + 3.0)
    summary_lifetimes.note(store, "shop", doubt)
    clock.now = BEGAN + 3.0
    assert isinstance(look(config, store, clock).result, SamplingOutcome)
    old = summary_lifetimes.lives(store, "shop")[0]
    assert (old.held, old.failed, old.is_doubted) == (3.0, inf, False)


def test_a_look_that_is_due_is_a_check_first(config, store, clock, kept):
    clock.now = BEGAN + 6.0
    asked = stand(config, store, clock.now)
    assert asked.requests == MOST < kept.requests
    assert asked.reason.endswith("; by a check")
    aim = targets.aim(Appraiser(config, store, clock.now), config.source)
    assert aim.asks == {"shop": MOST}
    done = look(config, store, clock)
    assert isinstance(done.result, CheckOutcome)
    assert (done.trouble, done.requests) == ("", done.result.requests)
    assert stand(config, store, clock.now + 0.5).requests == 0.0


def test_a_check_that_is_cut_off_leaves_all_as_it_was(config, store, clock, kept):
    clock.now = BEGAN + 6.0
    spent = store.spent(0.0)
    found = check(config, store, clock, most=3)
    assert found.holds is None
    assert found.requests == store.spent(0.0) - spent == 3
    assert "cut off" in found.words()
    assert search_selection.last_checked(store, kept) == BEGAN
    assert stand(config, store, clock.now).requests == MOST
    assert check(config, store, clock).holds


def test_a_database_that_fails_is_no_evidence(config, store, shop, clock, kept):
    clock.now = BEGAN + 6.0
    shop.fault = "500"
    found = check(config, store, clock)
    assert found.holds is None
    assert "it answered 500" in found.trouble
    assert search_selection.life(store, kept).looked == BEGAN
    assert found.row()["excess"] is None


def test_a_database_that_shows_only_snippets_now_is_named(
    config, store, clock, search_server
):
    html = Config.parse(
        "[budget]\nrequests = 5000\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"
        '[[source]]\nname = "shop"\nkind = "search"\nallow = ["127.0.0.0/8"]\n'
        f'search_url = "{search_server.url}/html?q={{query}}&page={{page}}"\n'
        'engine = "html"\n'
        'hits = "li.hit"\nhit_snippet = "p"\nhit_key = "a"\ntotal = "#n"\n',
        config.path,
    )
    clock.now = BEGAN + 6.0
    found = check(html, store, clock, counts=False)
    assert found.holds is None
    assert "only snippets" in found.trouble


def test_a_check_stays_within_the_budget(config, store, clock):
    clock.now = BEGAN + 0.5
    poor = config.model_copy(
        update={"budget": config.budget.model_copy(update={"requests": 1})}
    )
    with pytest.raises(BudgetSpent):
        check(poor, store, clock)


def test_a_check_scores_the_forecast_and_the_rest_is_forecast_anew(
    config, store, clock
):
    source = config.source[0]
    assert not audit_summary(store, source)  # the first summary is forecast
    clock.now = BEGAN + 6.0
    check(config, store, clock)
    assert audit_summary(store, source)
    (told,) = Forecasts(store).settled("shop")
    assert (told.made, told.told, told.found) == (BEGAN, clock.now, 1.0)
    waiting = Forecasts(store).waiting("shop")
    assert all(one.made == clock.now for one in waiting)
    assert not audit_summary(store, source)  # nothing new was seen
    clock.now = BEGAN + 10.0
    check(config, store, clock)
    assert audit_summary(store, source)
    assert [one.made for one in Forecasts(store).settled("shop")] == [
        BEGAN,
        BEGAN + 6.0,
    ]


def test_a_check_that_is_not_passed_scores_when_there_is_a_new_summary(
    config, store, search_server, shop, clock
):
    del shop
    source = config.source[0]
    audit_summary(store, source)
    turned(search_server)
    clock.now = BEGAN + 6.0
    check(config, store, clock)
    assert not audit_summary(store, source)
    clock.now = BEGAN + 6.5
    look(config, store, clock)
    assert audit_summary(store, source)
    (told,) = Forecasts(store).settled("shop")
    assert (told.told, told.found) == (BEGAN + 6.5, 0.0)


def test_what_a_check_buys_is_offered_at_its_price(config, store, kept):
    source = config.source[0]
    appraiser = Appraiser(config, store, BEGAN + 6.0)
    offers = appraiser.offers([source])
    assert offers.cost.tolist() == [MOST]
    survival = search_selection.survival(kept, source, store)
    age = np.array([6.0])
    gain = survival.lasting(age) - age * survival.alive(age)
    share = search_selection.cost_in_renewals(survival.alive(age), source, kept)
    each = gain / (kept.requests * share)
    assert offers.gain / offers.cost == pytest.approx(each)
    assert 0.0 < share[0] < 1.0
    worth = appraiser.known(source).worth
    assert (np.diff(worth.requests) >= 0).all()
    assert prices.long_run(appraiser, [source], 5.0) > 0.0


def test_what_a_check_cannot_tell_is_made_anew(config, store, kept):
    source = config.source[0]
    by_topics = summaries.save(store, replace(kept, method="fps"))
    assert search_selection.next_requests(store, source, by_topics) == kept.requests
    cheap = replace(kept, requests=MOST)
    alone = search_selection.COUNTS_ALONE  # it told counts
    assert search_selection.next_requests(store, source, cheap) == alone
    summary_counts.forget(store, "shop")
    assert search_selection.next_requests(store, source, cheap) == MOST
    alive = np.array([0.9])
    cost = search_selection.cost_in_renewals(alive, source, by_topics)
    assert cost == pytest.approx(1.0)
    html = source.model_copy(update={"engine": "html"})
    assert search_selection.check_requests(html, kept) == DEAR


def test_a_summary_keeps_its_target_by_checks_until_the_database_moves(
    search_server, shop, tmp_path
):
    path = tmp_path / "halflife.toml"
    text = settings(search_server, shop, 'store = "kept.db"\n')
    path.write_text(text.replace("[fetch]", 'mode = "targets"\n[fetch]'))
    moved = []

    def move(play):
        if not moved and play.now >= SERVED + 9.0:
            moved.append(play.now)
            turned(search_server)

    rhythm = ServiceRhythm(21600.0, 21600.0, 21600.0, 21600.0, judged=86400.0)
    play = Play(path, rhythm=rhythm).run(16.0, move)
    looks = np.array([at for at, _ in play.results])
    assert np.diff(looks).max() <= 3.3  # three days, and a turn
    made = [at for at, one in play.results if isinstance(one, SamplingOutcome)]
    assert len(made) == 2
    assert moved[0] < made[1] <= moved[0] + 3.6  # 0.5 of a turn after its check
    checks = [one for _, one in play.results if isinstance(one, CheckOutcome)]
    passed = [one for one in checks if one.holds]
    assert len(passed) >= 3
    assert sum(one.requests for one in passed) <= 5 * len(passed)  # with robots.txt
