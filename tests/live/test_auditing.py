"""Pages drawn at random say how good the copy is; forecasts get their outcomes."""

import asyncio
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.belief.poisson import PoissonBelief
from halflife.config import Config
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.lifetimes import Collection, Lives
from halflife.core.observation import Observations
from halflife.engine import audit_report, bootstrap
from halflife.engine.loop import Loop
from halflife.kinds.listing.audit import audit_set
from halflife.kinds.pages import audit as pages_audit
from halflife.kinds.pages.runner import Keeper, keeping
from halflife.policies.index import harmonic
from halflife.recordings.pages import NAME, RecordedPageSource, Recording
from halflife.replay.listings import thin
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore
from hand_clock import Hands
from store_looks import present


def recording(n=60, rate=0.1, days=60.0, seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rate * days, n)
    item = np.repeat(np.arange(n), counts)
    at = rng.uniform(0.0, days, item.size)
    always = np.full(n, np.inf)
    return Recording(
        tuple(f"p{i}" for i in range(n)),
        np.concatenate([[0], np.cumsum(counts)]),
        at[np.lexsort((at, item))],
        np.ones(n),
        -always,
        always,
    )


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        yield store


@pytest.fixture
def kept(store):
    """A keeper of recorded pages, all looked at once, and its clock."""
    world, hands = recording(), Hands(0.0)
    store.add(world.items())
    run = store.begin((NAME,), 0.0, lease=np.inf)
    store.append(run, world.observe(np.arange(len(world)), 0.0))
    loop = Loop(RecordedPageSource(world), store, PoissonBelief(), harmonic.policy)
    return Keeper(Config.parse("[budget]\nrequests = 1000\n"), store, run, loop, hands)


def at(keeper, now, requests, seed=0):
    keeper.clock.now = now
    return asyncio.run(pages_audit.audit(keeper, requests, np.random.default_rng(seed)))


def test_an_audit_costs_what_it_may_and_is_charged(kept, store):
    assert at(kept, 1.0, 5) == 5
    assert store.spent(0.0) == 5
    checks = Forecasts(store).checks(NAME)
    assert checks.at.tolist() == [1.0] * 5
    assert checks.chance == pytest.approx(5 / 60)


def test_a_page_that_was_checked_is_fresh(kept, store):
    at(kept, 3.0, 60)
    evidence = store.evidence((NAME,))
    assert set(evidence.last_at.tolist()) == {3.0}
    changed = recording().states(np.arange(60), 3.0) > 0
    assert Forecasts(store).checks(NAME).fresh.sum() == 60 - changed.sum()


def test_what_is_found_is_the_truth_in_the_mean():
    rows = {"a": np.arange(6), "b": np.arange(6, 8)}
    evidence = Evidence.of(Item(str(i)) for i in range(8))
    looks = Observations.of([present(str(i), 0.0, "1") for i in range(8)])
    evidence.take(evidence.weigh(looks))
    rng = np.random.default_rng(1)
    counts, chance = np.zeros(8), {}
    for _ in range(4000):
        drawn = pages_audit.draw(evidence, rows, 3, rng)
        assert sum(one.rows.size for one in drawn) == 3
        for one in drawn:
            counts[one.rows] += 1
            chance[one.source] = one.chance
    assert chance == {"a": 1.5 / 6, "b": 1.5 / 2}
    wanted = np.repeat([chance["a"], chance["b"]], [6, 2])
    assert counts / 4000 == pytest.approx(wanted, abs=0.04)


def test_pages_never_seen_are_not_drawn():
    evidence = Evidence.of([Item("a"), Item("b")])
    rng = np.random.default_rng(0)
    assert pages_audit.draw(evidence, {"s": np.arange(2)}, 5, rng) == []
    evidence.take(evidence.weigh(Observations.of([present("b", 0.0, "1")])))
    (drawn,) = pages_audit.draw(evidence, {"s": np.arange(2)}, 5, rng)
    assert drawn.rows.tolist() == [1]
    assert drawn.chance == 1.0


def test_pages_never_tried_come_first():
    evidence = Evidence.of([Item("a", group="g"), Item("b", group="h"), Item("c")])
    assert pages_audit.spare(evidence, 4) == 0
    assert pages_audit.spare(evidence, 10) == 4
    evidence.take(evidence.weigh(Observations.of([present("a", 0.0, "1")])))
    assert pages_audit.spare(evidence, 10) == 6


def test_the_share_is_kept_in_the_mean():
    rng = np.random.default_rng(0)
    parts = [pages_audit.part(0.02, 30, rng) for _ in range(3000)]
    assert set(parts) == {0, 1}
    assert np.mean(parts) == pytest.approx(0.6, abs=0.03)
    assert pages_audit.part(0.0, 30, rng) == 0
    assert pages_audit.part(0.5, 0, rng) == 0


def test_forecasts_are_made_and_get_their_outcomes(kept, store):
    book = Forecasts(store)
    at(kept, 1.0, 30)
    made = book.made(NAME, 0.0)
    assert [f.ahead for f in made] == [0.0, *pages_audit.AHEAD]
    assert [f.ahead for f in book.settled(NAME)] == [0.0]
    at(kept, 2.0, 60)
    told = {f.ahead: f for f in book.settled(NAME, 2.0)}
    assert set(told) == {0.0, 1.0}
    # All pages were drawn: it is known which copies of day 1 are right on day 2.
    world, every = recording(), np.arange(60)
    held = np.isin(every, [int(k[1:]) for k in looked_at(store, 1.0)])
    since = np.where(held, 1.0, 0.0)
    right = world.next_change(every, since) > 2.0
    assert told[1.0].looks is None
    assert told[1.0].found == pytest.approx(right.mean())
    # The forecast of an hour later was due between the turns.
    assert [f.ahead for f in book.waiting(NAME) if f.made == 1.0] == [7.0]


def looked_at(store, when):
    with store.reading() as db:
        query = "SELECT key FROM observation JOIN item ON item.id = item WHERE at = ?"
        return [row[0] for row in db.execute(query, (when,))]


def test_forecasts_of_one_horizon_are_made_apart(kept, store):
    for turn in range(1, 20):
        at(kept, turn / 24.0, 2, seed=turn)
    made = [f.ahead for f in Forecasts(store).made(NAME, 0.0)]
    assert made.count(0.0) == 19
    assert made.count(1.0) == 7
    assert made.count(7.0) == 1


def test_the_same_state_draws_the_same_pages(kept):
    kept.clock.now = 4.0
    one, other = (pages_audit.chance(kept).random(3).tolist() for _ in range(2))
    assert one == other
    kept.clock.now = 4.1
    assert pages_audit.chance(kept).random(3).tolist() != one


def test_whoever_was_asked_to_stop_checks_nothing(kept, store):
    kept.ease()
    assert at(kept, 1.0, 5) == 0
    assert Forecasts(store).made(NAME, 0.0) == []


def test_what_is_found_is_judged_beside_what_was_believed(kept, store):
    for day in range(1, 15):
        at(kept, float(day), 20, seed=day)
    judged = audit_report.judge(store, NAME, 15.0)
    assert judged.measure == "freshness"
    assert judged.checked == 14 * 20
    assert judged.quality.low <= judged.believed.mean <= judged.quality.high
    assert judged.coverage.high > 0.9
    assert judged.reliability.size.sum() == judged.checked
    assert not judged.drifting(15.0)
    assert judged.trust.factor < 3.0


def test_pages_that_begin_to_change_faster_cost_trust(kept, store):
    for day in range(1, 15):
        at(kept, float(day), 20, seed=day)
    trusted = audit_report.factor(store, [NAME], 15.0)
    world = recording()
    hurried = replace(
        world, at=np.where(world.at > 14, 14 + (world.at - 14) / 20, world.at)
    )
    kept.loop = replace(kept.loop, source=RecordedPageSource(hurried))
    for day in range(15, 19):
        at(kept, float(day), 20, seed=day)
    judged = audit_report.judge(store, NAME, 18.0)
    assert judged.drifting(18.0)
    assert judged.alarms[-1][1] == "staler"
    assert judged.trust.factor > trusted
    assert judged.trust.factor == audit_report.factor(store, [NAME], 18.0)


def test_without_a_file_there_is_nothing_to_judge():
    judged = audit_report.judge(MemoryStore(), "s", 1.0)
    assert judged.checked == 0
    assert judged.quality is None
    assert judged.trust.factor == 1.0


def listing(days):
    """Return a set source seen daily from which a tenth goes every day."""
    rng = np.random.default_rng(5)
    n = 400
    born = rng.uniform(-20.0, days, n)
    died = born + rng.exponential(10.0, n)
    first, last = np.maximum(np.ceil(born), 0.0), np.minimum(np.floor(died), days)
    seen = first <= last
    first, last = first[seen], last[seen]
    lives = Lives(
        keys=tuple(f"o{i}" for i in np.flatnonzero(seen)),
        absent_before=np.where(first > 0, first - 1.0, -np.inf),
        first_seen=first,
        last_seen=last,
        gone_by=np.where(last < days, last + 1.0, np.inf),
        attributes={},
    )
    none = np.zeros(0)
    looks = np.arange(0.0, days + 1.0)
    return Collection("jobs", looks, lives, none.astype(np.intp), none)


def test_a_look_at_a_listing_is_its_audit(store):
    whole = listing(30.0)
    told = 0
    for day in range(20, 31):
        run = store.begin(["jobs"], float(day), lease=1e9)
        store.save_collection(run, whole.until(float(day)))
        told += audit_set(store, "jobs", run.id)
        store.finish(run, float(day))
    assert audit_set(store, "jobs", 1) == 0  # nothing new was seen
    settled = Forecasts(store).settled("jobs")
    assert told == len(settled) > 10
    assert {f.ahead for f in settled} == {1.0, 7.0}
    for one in settled:
        assert one.found == pytest.approx(whole.quality(one.made, one.told)[1])
    judged = audit_report.judge(store, "jobs", 30.0)
    assert judged.measure == "recall"
    assert judged.coverage.high > 0.9
    assert judged.quality.low <= judged.quality.mean <= judged.quality.high


def test_a_set_that_nobody_knows_is_no_audit(store):
    assert audit_set(store, "nothing", 1) == 0
    assert audit_set(MemoryStore(), "nothing", 1) == 0


def test_each_source_of_a_run_is_audited(tmp_path):
    text = "".join(
        f'[[source]]\nname = "{name}"\npages = ["http://127.0.0.1:9/{name}"]\n'
        for name in ("one", "two")
    )
    config = Config.parse(text, tmp_path / "halflife.toml")

    async def scene():
        with bootstrap.writing(config) as store:
            async with keeping(config, store, config.source, Hands(0.0)) as keeper:
                evidence = store.evidence(keeper.run.sources)
                return pages_audit.rows_of(store, keeper.run.sources, evidence)

    rows = asyncio.run(scene())
    assert {name: mine.size for name, mine in rows.items()} == {"one": 1, "two": 1}


def told_at(made, told, found=0.9, mean=0.9, draw=0.5):
    return IssuedForecast(
        "s", "recall", made, told - made, mean, mean - 0.1, mean + 0.05,
        told=told, found=found, draw=draw,
    )  # fmt: skip


@given(
    spans=st.lists(
        st.tuples(st.integers(0, 12), st.integers(1, 6)), max_size=7, unique=True
    )
)
def test_chained_forecasts_are_as_many_as_share_no_time(spans):
    told = [told_at(float(begin), float(begin + days)) for begin, days in spans]
    found = audit_report.consecutive(told)
    assert all(a.told <= b.made + 1e-6 for a, b in pairwise(found))
    most = max(
        len(some)
        for n in range(len(told) + 1)
        for some in combinations(sorted(told, key=lambda f: f.told), n)
        if all(a.told <= b.made for a, b in pairwise(some))
    )
    assert len(found) == most


def test_outcomes_that_come_true_raise_no_alarm_and_others_soon_do():
    scores = np.random.default_rng(6).standard_normal(300)
    off = np.where(scores < 0, 0.1, 0.05) * scores / 1.96
    calm = [
        told_at(float(d), d + 1.0, found=float(0.8 + off[d]), mean=0.8)
        for d in range(300)
    ]
    right, _ = audit_report.drift_of_scores(calm)
    assert right.alarms.size <= 1
    low = [told_at(d, d + 1.0, found=0.5, mean=0.8) for d in np.arange(300.0, 310.0)]
    wrong, moments = audit_report.drift_of_scores([*calm, *low])
    assert wrong.alarms.size > right.alarms.size
    assert moments[wrong.alarms[right.alarms.size]] <= 305.0
    assert wrong.staler[-1]


def test_a_copy_that_never_changes_is_no_drift():
    rng = np.random.default_rng(0)
    flat = [
        IssuedForecast("s", "recall", d, 1.0, 1.0, 1.0, 1.0, told=d + 1.0, found=1.0,
               draw=float(rng.random()))
        for d in np.arange(400.0)
    ]  # fmt: skip
    found, _ = audit_report.drift_of_scores(flat)
    assert found.alarms.size == 0
    assert audit_report.trust_in(flat, (), 400.0).factor == 1.0


def test_an_alarm_doubles_bounds_for_a_week():
    told = [told_at(d, d + 1.0) for d in np.arange(10.0)]
    alarms = ((8.0, "staler"),)
    doubted = audit_report.trust_in(told, alarms, 10.0)
    assert doubted.factor == audit_report.ALARMED
    assert doubted.why == "2.0 days ago the copy was clearly staler than believed"
    assert audit_report.trust_in(told, alarms, 15.5).factor == 1.0


def test_looks_that_come_at_other_times_tell_of_forecasts_too(store):
    whole = listing(30.0)
    looks = [0.0, 4.0, 9.0, 12.0, 16.5, 19.0, 23.0, 26.0, 30.0]
    for day in looks:
        run = store.begin(["jobs"], day, lease=1e9)
        store.save_collection(run, thin(whole, np.array(looks)).until(day))
        audit_set(store, "jobs", run.id)
        store.finish(run, day)
    told = Forecasts(store).settled("jobs")
    read = [one for one in told if one.ahead not in {1.0, 7.0, 30.0}]
    assert len(read) >= 6
    for one in read:
        assert one.told - one.made == pytest.approx(one.ahead)
        assert one.low <= one.mean <= one.high
