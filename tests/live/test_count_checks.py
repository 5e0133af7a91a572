"""Match counts check a summary for a few requests, over real HTTP."""

import asyncio
from collections import Counter
from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.appraisal import Appraiser
from halflife.kinds.protocol import Desk
from halflife.kinds.search import rules
from halflife.kinds.search.check import Checker
from halflife.kinds.search.kind import KIND
from halflife.kinds.search.runner import Summarizer, SummaryWish
from halflife.kinds.search.selection import COUNT_REQUESTS, COUNTS_ALONE, next_requests
from halflife.probing.recheck import MOST
from halflife.stores import summaries, summary_counts, summary_drift
from halflife.summary.count_check import FEW, safe_share
from hand_clock import Hands
from search_server import Shop, corpus

TEXTS, OTHERS = corpus(400), corpus(400, seed=9)


def settings(search_server, path, policy="", budget=5000):
    search = "/es/_search?q={query}&from={offset}&size={count}"
    text = (
        f"[budget]\nrequests = {budget}\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"
        '[[source]]\nname = "shop"\nkind = "search"\nallow = ["127.0.0.0/8"]\n'
        f'engine = "elasticsearch"\nsearch_url = "{search_server.url}{search}"\n'
    )
    return Config.parse(text + policy, path / "halflife.toml")


def summarize(config, store, clock):
    work = Summarizer(config, store, SummaryWish(documents=80), clock)
    asyncio.run(work.summarize(config.source[0]))
    return summaries.current(store, "shop")


def check(config, store, clock, **more):
    async def run():
        kept = summaries.current(store, "shop")
        return await Checker(config, store, clock).check(config.source[0], kept, **more)

    return asyncio.run(run())


def look(config, store, clock, requests):
    """What the service does with a grant."""

    async def run():
        desk = Desk(config, store, None, clock)
        async with KIND.open(desk, config.source) as worker:
            return (await worker.work(requests)).result

    return asyncio.run(run())


@pytest.fixture
def world(search_server, shop, tmp_path):
    """A database that was summarised, and the clock of who keeps it."""
    config, clock = settings(search_server, tmp_path), Hands()
    with bootstrap.writing(config) as store:
        kept = summarize(config, store, clock)
        yield config, store, clock, kept, shop


def test_a_summary_that_holds_is_checked_for_three_requests(world):
    config, store, clock, kept, shop = world
    known = summary_counts.counts(store, "shop", kept.version)
    assert known.noise == 0.0
    assert all(
        len(shop.matches(w)) == n
        for w, n in zip(known.words, known.counts, strict=True)
    )
    shop.log.clear()
    clock.now += 6.0
    found = check(config, store, clock)
    assert found.holds
    assert found.counts == 0.0
    assert found.requests == len(shop.log) == FEW + 1  # robots.txt is asked for anew
    assert found.row()["counts"] == 0.0
    (one,) = summary_counts.checks(store, "shop", kept.version)
    assert (one.at, one.kl) == (clock.now, 0.0)
    first = {line for line in shop.log if "robots" not in line}
    shop.log.clear()
    assert check(config, store, clock).requests == FEW
    assert set(shop.log) != first  # other words each time


def test_a_database_that_moved_is_looked_at_by_documents_too(world, search_server):
    config, store, clock, kept, _ = world
    search_server.shop = Shop(OTHERS)
    clock.now += 6.0
    found = check(config, store, clock, most=MOST)  # as the service grants it
    assert found.counts > safe_share(FEW) * config.source[0].tau
    assert found.holds is False
    assert FEW < found.requests <= MOST
    new = summarize(config, store, clock)  # its counts and checks are its own
    assert summary_counts.counts(store, "shop", kept.version) is None
    assert summary_counts.counts(store, "shop", new.version) is not None
    assert summary_counts.checks(store, "shop", new.version) == []


def test_a_summary_as_cheap_as_documents_is_checked_by_counts_alone(
    world, search_server
):
    config, store, clock, kept, shop = world
    cheap = summaries.save(store, replace(kept, requests=MOST))
    known = summary_counts.counts(store, "shop", kept.version)
    assert next_requests(store, config.source[0], cheap) == MOST  # nothing to go by
    summary_counts.note_counts(store, "shop", replace(known, version=cheap.version))
    assert next_requests(store, config.source[0], cheap) == COUNTS_ALONE
    clock.now += 6.0
    shop.log.clear()
    done = look(config, store, clock, COUNTS_ALONE)
    assert (done.holds, done.documents) == (True, 0)
    assert len(shop.log) == COUNTS_ALONE
    search_server.shop = Shop(OTHERS)
    clock.now += 6.0
    done = look(config, store, clock, COUNTS_ALONE)
    assert (done.holds, done.documents) == (False, 0)
    assert done.requests == COUNTS_ALONE  # robots.txt is asked for anew
    assert next_requests(store, config.source[0], cheap) == MOST  # made anew


def test_with_a_grant_for_counts_alone_no_document_is_read(world, search_server):
    config, store, clock, kept, _ = world
    search_server.shop = Shop(OTHERS)
    clock.now += 6.0
    found = check(config, store, clock, most=COUNT_REQUESTS)
    assert found.holds is None
    assert found.requests == COUNT_REQUESTS
    assert "by match counts it is off by" in found.words()
    assert found.trouble == ""
    (one,) = summary_counts.checks(store, "shop", kept.version)
    assert one.kl == found.counts
    assert summary_drift.last_check(store, "shop").asked == 0


@pytest.mark.parametrize(("totals", "known"), [
    ("rounded", True), ("capped", False), ("absent", False), ("lying", False),
    ("huge", False),
])  # fmt: skip
def test_counts_are_used_only_if_they_can_be_believed(
    search_server, shop, tmp_path, totals, known
):
    shop.totals = totals
    config, clock = settings(search_server, tmp_path), Hands()
    with bootstrap.writing(config) as store:
        kept = summarize(config, store, clock)
        found = summary_counts.counts(store, "shop", kept.version)
        assert (found is not None) == known
        clock.now += 3.0
        done = check(config, store, clock)
        assert done.holds
        assert isnan(done.counts) == (not known)
        assert (done.documents == 0) == known


@pytest.mark.parametrize(("more", "used"), [(1.08, True), (1.4, False)])
def test_counts_that_differ_when_asked_again_are_seen_and_loud_ones_not_used(
    search_server, shop, tmp_path, more, used
):
    """Every other time a word is asked for, its total is larger."""
    exact, times = shop.total, Counter()

    def total(query, found):
        times[query] += 1
        return round(exact(query, found) * (more if times[query] % 2 == 0 else 1.0))

    shop.total = total
    config, clock = settings(search_server, tmp_path), Hands()
    with bootstrap.writing(config) as store:
        kept = summarize(config, store, clock)
        known = summary_counts.counts(store, "shop", kept.version)
        assert (known is not None) == used
        if used:
            assert known.noise == pytest.approx(np.log(more) ** 2 / 2, rel=0.8)


def test_a_database_that_stops_to_tell_counts_is_checked_by_documents(world):
    config, store, clock, kept, shop = world
    shop.totals = "absent"
    clock.now += 6.0
    found = check(config, store, clock)
    assert found.holds
    assert isnan(found.counts)
    assert found.documents > 0
    assert summary_counts.counts(store, "shop", kept.version) is None
    again = check(config, store, clock)
    assert again.holds
    assert again.requests <= found.requests - FEW


def test_the_champion_checks_by_counts_and_renews_when_they_move(
    search_server, tmp_path
):
    search_server.shop = Shop(TEXTS)
    config = settings(search_server, tmp_path, 'policy = "champion"\n', budget=20)
    clock = Hands()
    with bootstrap.writing(config) as store:
        kept = summarize(config.model_copy(update={"budget": config.budget.model_copy(
            update={"requests": 5000})}), store, clock)  # fmt: skip
        clock.now += 3.0
        state = _state(config, store, clock.now)
        assert state.requests == COUNT_REQUESTS
        assert not state.choice.renews
        done = look(config, store, clock, state.requests)
        assert (done.requests, done.counts) == (COUNT_REQUESTS, 0.0)
        search_server.shop = Shop(OTHERS)
        clock.now += 3.0
        done = look(config, store, clock, COUNT_REQUESTS)
        assert done.counts > 0.1
        after = _state(config, store, clock.now)
        assert after.choice.every < state.choice.every or after.choice.renews
        assert len(summary_counts.checks(store, "shop", kept.version)) == 2


def test_rules_that_need_documents_do_not_ask_for_counts(search_server, tmp_path):
    for policy, asks in (("", True), ("champion", True), ("sampling", False),
                         ("index", False), ("naive", False)):  # fmt: skip
        named = f'policy = "{policy}"\n' if policy else ""
        (source,) = settings(search_server, tmp_path, named).source
        assert rules.uses_match_counts(source) == asks


def test_notes_of_another_shape_count_as_absent(world):
    _, store, _, kept, _ = world
    known = summary_counts.counts(store, "shop", kept.version)
    broken = replace(known, counts=known.counts[:-1])
    summary_counts.note_counts(store, "shop", broken)
    assert summary_counts.counts(store, "shop", kept.version) is None


def _state(config, store, now):
    reading = Appraiser(config, store, now).reading
    return KIND.states(reading, config.source)["shop"]
