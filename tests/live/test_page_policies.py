"""Pages are kept by the policies that the settings name, source by source."""

import asyncio
import json

import numpy as np
import pytest

from halflife.cli import main
from halflife.config import Config
from halflife.engine import bootstrap, groups, network, once, scheduler
from halflife.engine.appraisal import Appraiser
from halflife.engine.service import ServiceRhythm
from halflife.engine.workers import Crew
from halflife.kinds.pages import recorded_source as pages_recorded
from halflife.kinds.protocol import Desk, Memo
from halflife.kinds.registry import kind_of
from halflife.policies.valuation import freshness_days
from halflife.replay import virtual_loop
from halflife.replay.play import DAY, Play, VirtualClock, play_recorded
from halflife.replay.world import RecordedTransport, VirtualTimeTransport
from halflife.web import survey
from replay.worlds import BEGAN, HOME, lot

HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 21600.0)
PAGES = 16
URLS = {"docs": "http://127.0.0.1:8001", "news": "http://127.0.0.1:8002"}
POLICIES = {"docs": "champion", "news": "nutch-adaptive"}


def world(name):
    def text(page, now):
        if not page.isdigit() or int(page) >= PAGES:
            return None
        every = 0.1 + 4.0 * lot(name, page)
        return f"page {page}, version {int((now - BEGAN) / every)}"

    return pages_recorded.site(text)


WORLD = {url: world(name) for name, url in URLS.items()}


def settings(names, policies, requests=96, usual=""):
    lines = [f'[budget]\nrequests = {requests}\nper = "day"', "[fetch]\ndelay = 0.0"]
    lines += [f'[policy]\nname = "{usual}"'] if usual else []
    for name in names:
        pages = ", ".join(f'"{URLS[name]}/{i}"' for i in range(PAGES))
        named = f'policy = "{policies[name]}"\n' if name in policies else ""
        head = f'[[source]]\nname = "{name}"\nkind = "pages"\n'
        # Recorded pages have no noise, and what is fetched is what policies chose.
        lines.append(f"{head}{named}{HOME}noise = 0.0\npages = [{pages}]")
    return "\n".join(lines) + "\n"


def loaded(folder, text):
    folder.mkdir(exist_ok=True)
    path = folder / "halflife.toml"
    path.write_text(text)
    return Config.load(path)


def opened(config):
    store = bootstrap.writing(config)
    store.skip_disk_syncs()
    return store


def alone(config, name, grants, earlier):
    """Return what a worker of one source fetches that is granted just this."""
    sent, clock = [], VirtualClock(BEGAN)

    async def main(loop):
        clock.loop = loop
        inner = RecordedTransport(WORLD, clock)
        transport = VirtualTimeTransport(inner, loop, clock, sent)
        (source,) = config.named([name])
        with opened(config) as store:
            for _ in range(earlier):  # chance goes by the number of the run
                store.finish(store.begin(["other"], BEGAN, lease=1.0), BEGAN)
            async with network.gate(config, store, clock, transport) as gate:
                desk = Desk(config, store, gate, clock)
                async with kind_of(source).open(desk, [source]) as worker:
                    for at, requests in grants:
                        await asyncio.sleep(max((at - clock()) * DAY, 0.0))
                        await worker.work(requests)

    virtual_loop.run(main)
    return [one.url for one in sent]


def test_two_policies_in_one_service_each_choose_from_their_own_share(
    tmp_path, monkeypatch
):
    config = loaded(tmp_path, settings(URLS, POLICIES))
    granted, work = {name: [] for name in URLS}, Crew.work

    def heard(crew, group, requests):
        (source,) = group
        granted[source.name].append((crew.gate.clock(), requests))
        return work(crew, group, requests)

    monkeypatch.setattr(Crew, "work", heard)
    with opened(config) as store:
        sent = play_recorded(config, store, WORLD, Play(BEGAN, 2.0, rhythm=HOURLY))
    for number, (name, url) in enumerate(URLS.items()):
        fetched = [one.url for one in sent if one.url.startswith(url)]
        own = loaded(tmp_path / name, settings([name], POLICIES))
        assert len(fetched) > 2 * PAGES
        assert alone(own, name, granted[name], number) == fetched


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Two sources with policies of their own, kept for two days."""
    config = loaded(tmp_path_factory.mktemp("kept"), settings(URLS, POLICIES))
    with opened(config) as store:
        play_recorded(config, store, WORLD, Play(BEGAN, 2.0, rhythm=HOURLY))
    return config


def appraised(config, store, groups=()):
    return Appraiser(config, store, BEGAN + 2.0, groups=groups)


def test_sources_are_grouped_by_the_policy_that_keeps_them(tmp_path):
    config = loaded(tmp_path, settings(URLS, {"news": "nutch-adaptive"}))
    found = scheduler.grouped(config.source, usual="champion")
    assert [scheduler.names(group) for group in found] == [("docs",), ("news",)]
    config = loaded(tmp_path, settings(URLS, {"news": "champion"}))
    for grouped in (scheduler.grouped, groups.grouped):
        (group,) = grouped(config.source, usual="champion")
        assert scheduler.names(group) == ("docs", "news")


def test_what_pages_offer_is_what_their_policy_would_fetch(kept):
    with bootstrap.reading(kept) as store:
        appraiser = appraised(kept, store)
        docs, news = (appraiser.offers([source]) for source in kept.source)
        state = appraiser.state(kept.source[1])
        steps = kind_of(kept.source[1]).steps(state, 4)
        view, rows = state.pages
    keys = [view.keys[row] for row in rows.tolist()]
    assert np.count_nonzero(docs.gain > 0) > 4  # the champion weighs every page
    picked = {keys[i] for i in np.flatnonzero(news.gain > 0).tolist()}
    assert picked == {step.what for step in steps}  # 4 requests come in an hour
    assert all("due" in step.why for step in steps)


def test_the_policy_of_all_sources_decides_what_is_offered(kept, tmp_path):
    gains = []
    for usual in ("champion", "round-robin"):
        text = settings(URLS, {}, usual=usual)
        config = loaded(tmp_path, f'store = "{kept.store_path}"\n{text}')
        with bootstrap.reading(config) as store:
            appraiser = appraised(config, store)
            gains.append(appraiser.offers(config.source).gain)
            ages = np.concatenate([appraiser.age(one) for one in config.source])
            pages = [appraiser.state(one).pages for one in config.source]
    champion, in_turn = gains
    assert np.count_nonzero(in_turn > 0) == 4 < np.count_nonzero(champion > 0)
    assert ages[in_turn > 0].min() >= np.sort(ages)[-4]
    # Pages weigh alike; each policy values what it fetches by its own belief.
    own = np.concatenate([freshness_days(v)[rows] / rows.size for v, rows in pages])
    assert in_turn.sum() == pytest.approx(own[in_turn > 0].sum())
    assert in_turn.sum() <= np.sort(own)[-4:].sum() * (1 + 1e-9)


@pytest.fixture(scope="module")
def worths(kept, tmp_path_factory):
    """Return what requests buy at a source, by the policy that keeps it."""
    found, folder = {}, tmp_path_factory.mktemp("worths")
    for name in ("champion", "uniform", "round-robin", "proportional"):
        text = settings(["docs"], {"docs": name})
        config = loaded(folder, f'store = "{kept.store_path}"\n{text}')
        with bootstrap.reading(config) as store:
            appraiser = appraised(config, store)
            found[name] = appraiser.known(config.source[0]).worth
            view, rows = appraiser.state(config.source[0]).sampled
            found[f"{name} view"] = view, rows
    return found


def test_what_requests_buy_goes_by_how_often_a_policy_looks(worths):
    """By hand: each page every T days is fresh for the share L(T) / T of the time."""
    for name in ("uniform", "proportional"):
        (view, rows), worth = worths[f"{name} view"], worths[name]
        often = np.ones(rows.size) if name == "uniform" else view.rate[rows]
        share = view.weight[rows] / view.weight[rows].sum()
        for requests, mean in zip(worth.requests[1:], worth.quality[1:], strict=True):
            every = np.ones(len(view))
            every[rows] = often.sum() / often / requests
            fresh = (view.survival.lasting(every) / every)[rows] @ share
            assert mean >= fresh - 1e-9
        assert mean == pytest.approx(fresh, abs=1e-9)  # where it still rises


def test_no_policy_is_worth_more_than_the_best_schedule(worths):
    same = np.linspace(0.5, 60.0, 30)
    best, *others = (
        np.interp(same, worths[name].requests, worths[name].quality)
        for name in ("champion", "uniform", "round-robin")
    )
    for other in others:
        assert (other <= best + 0.01).all()
        assert other.mean() < best.mean()


def test_a_sync_shares_what_has_come_in_between_policies(kept):
    together = groups.grouped(kept.source, kept.policy.name)
    with bootstrap.reading(kept) as store:
        shares = once.shared_income(kept, store, together, BEGAN + 2.25)
    assert set(shares) == {("docs",), ("news",)}
    assert 20 <= sum(shares.values()) <= 25
    assert min(shares.values()) > 0


def test_one_policy_gets_all_that_has_come_in(kept, tmp_path):
    config = loaded(tmp_path, settings(URLS, {}))
    together = groups.grouped(config.source, config.policy.name)
    with bootstrap.reading(kept) as store:
        assert once.shared_income(config, store, together, BEGAN + 2.25) == {}


def test_what_is_believed_of_all_pages_is_what_each_policy_believes(kept):
    with bootstrap.reading(kept) as store:
        whole = bootstrap.outlook(kept, store, kept.source, BEGAN + 2.0)
        parts = [
            bootstrap.outlook(kept, store, [source], BEGAN + 2.0)
            for source in kept.source
        ]
    for part in parts:
        rows = [whole.evidence.row(key) for key in part.evidence.keys]
        for column in ("rate", "age", "weight", "exposure", "looks", "held"):
            mine = getattr(whole.view, column)[rows]
            assert np.array_equal(mine, getattr(part.view, column)), column
        t = np.full(len(whole.view), 1.5)
        stays = whole.view.survival.alive(t)[rows]
        assert np.allclose(stays, part.view.survival.alive(t[rows]), rtol=1e-12)
    plan, both = whole.plan(8), {one.request.key for p in parts for one in p.plan(8)}
    assert len(plan) == 8
    assert {step.request.key for step in plan} <= both
    assert all(step.why for step in plan)


def test_every_verb_answers_for_two_policies(kept, capsys):
    page = f"{URLS['news']}/3"
    verbs = [
        ["status"], ["plan"], ["explain", page], ["explain", "docs"],
        ["explain", "news"], ["forecast"], ["whatif", "--budget", "200"], ["doctor"],
        ["audit"],
    ]  # fmt: skip
    for verb in verbs:
        code = main([*verb, "--config", str(kept.path), "--json"])
        out = capsys.readouterr().out
        assert code in (0, 4), (verb, code)
        assert json.loads(out), verb


def test_the_page_shows_sources_under_both_policies(kept):
    with bootstrap.reading(kept) as store:
        seen = survey.take(kept, store, BEGAN + 2.0, Memo())
        assert [row.name for row in seen.rows] == ["docs", "news"]
        assert all(0.0 < row.mean < 1.0 for row in seen.rows)
        assert seen.together
        both = {step.item[: len(URLS["docs"])] for step in seen.steps}
        assert both == set(URLS.values())
        worths = {known.source.name: known.worth for known in seen.appraised}
    assert all(worth is not None for worth in worths.values())
