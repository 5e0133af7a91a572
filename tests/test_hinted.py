"""Belief in hints: laws, learning, and the live loop on sites that tell and lie."""

import asyncio
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from faults.evil import Evil, response
from halflife.belief import view_of
from halflife.belief.hints import HintedBelief, expected_changes, stretched_exposure
from halflife.belief.plain import KnownRates
from halflife.belief.poisson import PoissonBelief
from halflife.bench.population import poisson_recording
from halflife.cli import hint_trust
from halflife.config import Config
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.hint_claims import by_kind
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.engine import bootstrap
from halflife.kinds.pages.runner import keeping
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.models.signals import Announced
from halflife.policies import Strategy
from halflife.policies.index import Index, freshness
from halflife.policies.ncis import HintedIndex, greedy_ncis, index_hinted, ncis
from halflife.replay.pages import Replay
from hand_clock import Hands
from lab import hints
from lab.revealed_hints import reveal
from store_cases import fold
from store_looks import hint, present

positive = st.floats(0.01, 100.0)


@dataclass(frozen=True)
class Steps:
    """A survival that no closed form knows: a mixture of two rates."""

    rate: np.ndarray = field(default_factory=lambda: np.array([0.5]))

    def alive(self, t):
        return (np.exp(-self.rate * t) + np.exp(-self.rate * t / 9)) / 2

    def lasting(self, t):
        return t

    def moment(self, t):
        return t


@given(a=st.floats(0.3, 50.0), b=positive, t=st.floats(0, 50), load=st.floats(0, 2))
def test_stretched_exposure_has_the_survival_that_hints_leave(a, b, t, load):
    survival = GammaSurvival(np.array([a]), np.array([b]))
    after = stretched_exposure(survival, np.array([t]), np.array([load]))
    assert t <= after[0] <= max(t, 1000.0)
    if after[0] < 1000.0:
        wanted = survival.alive(np.array([t])) * np.exp(-load)
        assert survival.alive(after)[0] == pytest.approx(wanted[0], rel=1e-6)


def test_a_known_rate_makes_the_age_longer_by_the_worth_over_the_rate():
    survival = Exponential(np.array([0.1, 0.1, 0.0]))
    age, load = np.array([3.0, 3.0, 3.0]), np.array([0.5, 0.0, 0.5])
    assert stretched_exposure(survival, age, load).tolist() == [8.0, 3.0, 1000.0]


def test_any_survival_can_be_stretched():
    survival, age = Steps(), np.array([2.0])
    after = stretched_exposure(survival, age, np.array([0.7]))
    wanted = survival.alive(age) * np.exp(-0.7)
    assert survival.alive(after) == pytest.approx(wanted, rel=1e-6)
    never = stretched_exposure(survival, np.array([np.inf]), np.array([0.7]))
    assert never.tolist() == [np.inf]


def evidence_of(*looks):
    return fold(Evidence.of(Item(k, group=k) for k in "abc"), [Observations.of(looks)])


def test_expected_changes_are_those_of_the_survival_at_hand():
    evidence = evidence_of(present("a", 0.0))
    rate = np.array([0.1, 0.2, 0.3])
    item, length = np.array([0, 2, 0, 9]), np.array([1.0, 2.0, 3.0, 4.0])
    for survival in (Exponential(rate), GammaSurvival(1e9 * rate, np.full(3, 1e9))):
        view = view_of(evidence, 1.0, 1.0, rate, survival)
        found = expected_changes(view, item, length)
        assert found == pytest.approx([0.1, 0.6, 0.3, 0.0], rel=1e-6)


def test_without_hints_it_is_the_belief_inside():
    looks = [present(k, float(t), str(t // 3)) for t in range(9) for k in "abc"]
    evidence = evidence_of(*looks)
    plain = PoissonBelief()(evidence, 12.0, 12.0)
    view = HintedBelief(PoissonBelief(), announced=False)(evidence, 12.0, 12.0)
    for name in ("rate", "age", "exposure", "looks", "changes"):
        assert getattr(view, name).tolist() == getattr(plain, name).tolist()
    assert view.survival.shape.tolist() == plain.survival.shape.tolist()


def test_hints_make_only_their_own_items_older():
    evidence = evidence_of(
        present("a", 0.0), present("b", 0.0), hint("a", 2.0, modified=1.5)
    )
    rate = np.full(3, 0.1)
    view = HintedBelief(KnownRates(rate), worth=0.5)(evidence, 3.0, 3.0)
    assert view.exposure.tolist() == [8.0, 3.0, np.inf]
    assert isinstance(view.survival, Announced)


def test_what_hints_are_worth_is_learned_anew_though_items_became_known():
    evidence = evidence_of(present("a", 0.0), present("b", 0.0))
    belief = HintedBelief(PoissonBelief())
    belief(evidence, 1.0, 1.0)
    evidence.add([Item(k, group="a") for k in "de"])
    looks = [hint("a", 2.0, modified=1.5), present("a", 3.0, "new")]
    fold(evidence, [Observations.of([*looks, present("e", 3.0)])])
    view = belief(evidence, 4.0, 4.0)
    assert len(view) == 5
    assert np.isfinite(view.exposure[[0, 1, 4]]).all()


def test_policies_without_news_of_hints_are_the_plain_index():
    looks = [present(k, float(t), str(t // 3)) for t in range(9) for k in "abc"]
    evidence = evidence_of(*looks)
    rate, rng = np.array([0.1, 0.2, 0.3]), np.random.default_rng(0)
    view = KnownRates(rate)(evidence, 12.0, 12.0)
    wanted = Index("freshness")(view, Budget(3), rng)
    for policy in (greedy_ncis, HintedIndex()):
        plan = policy(view, Budget(3), rng)
        assert plan.keys == wanted.keys
        assert plan.gain == pytest.approx(wanted.gain, rel=1e-9)
        assert "likely changed" in plan.reason(0)


def replayed(share, hit, precision, days=60.0):
    rate = np.geomspace(0.01, 2.0, 120)
    plain = poisson_recording(rate, np.ones(120), days, 5)
    rng = np.random.default_rng(6)
    told = reveal(plain, share, hit, precision, rng)
    return Replay(told, 12.0, 0.0, days, ticks=2, warm=20.0)


def test_good_hints_are_found_out_and_keep_the_copy_fresher():
    replay = replayed(1.0, 0.9, 0.9)
    made = []

    def belief():
        made.append(HintedBelief(PoissonBelief()))
        return made[-1]

    without = replay.score(freshness).freshness
    assert replay.score(Strategy(HintedIndex(), belief)).freshness > without + 0.03
    assert replay.score(ncis).freshness > without + 0.03
    assert made[0].trusts[0].precision_[0] > 0.6


def test_useless_hints_cost_little():
    replay = replayed(1.0, 0.02, 0.02)
    without = replay.score(freshness).freshness
    assert replay.score(index_hinted).freshness > without - 0.03


def test_hints_of_a_recording_are_told_once_and_in_time():
    recording = reveal(
        poisson_recording(np.full(50, 0.5), np.ones(50), 40.0, 1),
        1.0,
        1.0,
        1.0,
        np.random.default_rng(0),
    )
    told = [recording.hints(float(t), t + 1.0) for t in range(40)]
    assert all((t < h.at).all() and (h.at <= t + 1).all() for t, h in enumerate(told))
    assert all(len(set(h.keys)) == len(h) for h in told)
    moments = {(k, a) for h in told for k, a in zip(h.keys, h.at.tolist(), strict=True)}
    changes = np.repeat(np.arange(50), np.diff(recording.start))
    true = {(recording.keys[i], a) for i, a in zip(changes, recording.at, strict=True)}
    assert moments <= true
    assert len(moments) > 0.7 * len(true)  # the last of each item and day


def test_revealed_hints_have_the_recall_and_precision_asked_for():
    recording = poisson_recording(np.full(400, 0.5), np.ones(400), 60.0, 1)
    told = reveal(recording, 0.5, 0.6, 0.3, np.random.default_rng(0))
    true = np.isin(told.hint_at, recording.at).mean()
    count = np.diff(told.hint_start)
    assert true == pytest.approx(0.3, abs=0.03)
    assert (count > 0).mean() == pytest.approx(0.5, abs=0.08)
    assert true * told.hint_at.size / recording.at.size == pytest.approx(0.3, abs=0.03)
    with pytest.raises(ValueError, match="precision"):
        reveal(recording, 0.5, 0.6, 0.0, np.random.default_rng(0))


# The live loop


BEGAN, PAGES = 20_000.0, 12


@dataclass
class Town:
    """A site whose map tells when its pages changed, or says ``now`` of all."""

    evil: Evil
    lying: bool
    changed: dict[int, float] = field(default_factory=dict)

    def publish(self, now):
        entries = []
        for i in range(PAGES):
            at = now if self.lying else self.changed.get(i, BEGAN - 50.0)
            date = np.datetime64("1970-01-01") + np.timedelta64(int(at * 86400), "s")
            url = self.evil.url(f"/p{i}")
            entries.append(f"<url><loc>{url}</loc><lastmod>{date}Z</lastmod></url>")
            body = f"<p>page {i} of {self.changed.get(i, 0)}"
            self.evil.pages[f"/p{i}"] = response(body)
        text = f'<?xml version="1.0"?><urlset>{"".join(entries)}</urlset>'
        self.evil.pages["/map.xml"] = response(text, Content_Type="text/xml")

    def visits(self):
        """Return which page each visit was to."""
        return [int(p[2:]) for p in self.evil.paths() if p.startswith("/p")]


def config_of(towns, folder):
    text = "[budget]\nrequests = 1000\n[fetch]\ndelay = 0.0\n"
    for i, town in enumerate(towns):
        pages = ", ".join(f'"{town.evil.url(f"/p{k}")}"' for k in range(PAGES))
        more = 'allow = ["127.0.0.0/8"]\nrobots = false\n'
        text += f'[[source]]\nname = "pages{i}"\npages = [{pages}]\n{more}'
        text += f'[[source]]\nname = "map{i}"\nweight = 1000.0\n{more}'
        text += f'maps = ["{town.evil.url("/map.xml")}"]\n'
    return Config.parse(text, folder / "halflife.toml")


async def keep(towns, folder, days, requests, happen):
    """Turn the loop once a day; ``happen`` changes the world before each turn."""
    hands, config = Hands(), config_of(towns, folder)
    with bootstrap.writing(config) as store:
        async with keeping(config, store, config.source, hands) as keeper:
            for day in range(days):
                hands.now = BEGAN + day
                happen(day, hands.now)
                for town in towns:
                    town.publish(hands.now)
                await keeper.turn(100 if day == 0 else requests)


def test_a_page_is_fetched_soon_after_a_truthful_map_told_of_a_change(tmp_path):
    waits, due = [], {}

    async def scene():
        async with Evil() as evil:
            town = Town(evil, lying=False)
            rng = np.random.default_rng(0)
            seen = 0

            def happen(day, now):
                nonlocal seen
                news = (p for p in town.visits()[seen:] if p in due)
                waits.extend(day - 1 - due.pop(page) for page in dict.fromkeys(news))
                seen = len(town.visits())
                if day and day % 2 == 0:
                    page = int(rng.integers(PAGES))
                    town.changed[page] = now - 0.1
                    due.setdefault(page, day)

            await keep([town], tmp_path, 60, 2, happen)

    asyncio.run(scene())
    late = waits[len(waits) // 2 :]
    assert len(late) >= 5
    assert np.mean(late) <= 2.0  # in turn it would be half of twelve days


def test_a_site_whose_map_always_says_now_is_not_hammered(tmp_path):
    async def scene():
        async with Evil() as one, Evil() as two:
            liar, plain = Town(one, lying=True), Town(two, lying=False)
            rng = np.random.default_rng(1)

            def happen(day, now):
                for town in (liar, plain):
                    if day and day % 3 == 0:
                        town.changed[int(rng.integers(PAGES))] = now - 0.1

            await keep([liar, plain], tmp_path, 40, 6, happen)
            return len(liar.visits()), len(plain.visits())

    lied, told = asyncio.run(scene())
    assert lied < 2.0 * told


# The bench


def test_the_table_of_bounds_has_every_recall_and_precision():
    table = hints.bounds(items=60)
    assert [row["recall"] for row in table["rows"]] == list(hints.RECALLS)
    cells = [v for row in table["rows"] for v in row["bounds"].values()]
    assert len(cells) == 12
    assert table["blind"] < min(cells) < max(cells) < table["perfect"]


def test_thinned_recordings_keep_each_page_s_changes():
    whole = poisson_recording(np.geomspace(0.1, 1.0, 30), np.ones(30), 20.0, 1)
    part = hints.thinned(replace(whole, group=("x", "y") * 15), 7)
    assert part.keys == whole.keys[::7]
    assert part.group == ("x", "y", "x", "y", "x")
    for i, row in enumerate(range(0, 30, 7)):
        mine = part.at[part.start[i] : part.start[i + 1]]
        assert (
            mine.tolist() == whole.at[whole.start[row] : whole.start[row + 1]].tolist()
        )


def test_hints_on_made_up_pages_are_measured_against_the_bound(monkeypatch):
    monkeypatch.setattr(hints, "MADE_UP", ((0.6, 0.5),))
    rows = hints.made_up(items=20, seeds=2, days=32.0)
    assert len(rows) == 1
    for row in rows:
        assert 0 < row["bound"] <= 1
        assert row["index"]["gain"]["mean"] == 0.0
        gain = row["ncis"]["gain"]
        assert gain["low"] <= gain["mean"] <= gain["high"]


def two_tellers(seed=1, pages=40, days=60):
    """A sitemap that always says "now" and a feed that says the truth, of one host."""
    rng = np.random.default_rng(seed)
    evidence = Evidence.of(Item(f"p{i}", "s", group="host") for i in range(pages))
    edition, changed = np.zeros(pages, int), np.zeros(pages)
    for day in range(days):
        now = changed < 0
        now[:] = rng.random(pages) < 0.1
        edition, changed = edition + now, np.where(now, day + 0.3, changed)
        looks = [hint(f"p{i}", day + 0.5, modified=day + 0.49) for i in range(pages)]
        looks += [
            replace(hint(f"p{i}", day + 0.5, modified=changed[i]), digest="feed")
            for i in np.flatnonzero(now)
        ]
        for i in np.flatnonzero(rng.random(pages) < 0.3):
            looks.append(present(f"p{i}", day + 0.6, str(edition[i])))
        evidence.take(evidence.weigh(Observations.of(looks)))
    return evidence, float(days)


def test_a_feed_is_trusted_though_the_sitemap_of_its_host_lies():
    evidence, now = two_tellers()
    belief = HintedBelief(PoissonBelief(), announced=False)
    for _ in range(3):
        view = belief(evidence, now, now)
        belief._learned = 0  # learn again from the same
    trusted = 1 - np.exp(-belief.worth(evidence)[:, 0])
    assert trusted[0] < 0.1  # the sitemap
    assert trusted[1] > 0.8  # the feed
    assert trusted[2:].tolist() == [0.0, 0.0]  # nobody pushed
    told = by_kind(evidence.hints)[1] > 0
    assert told.any()
    assert view.exposure[told].min() > view.exposure[~told].max()


def test_explain_says_how_far_each_kind_is_trusted():
    evidence, now = two_tellers()
    belief = HintedBelief(PoissonBelief(), announced=False)
    seen = bootstrap.Outlook(evidence, belief, now, index_hinted.policy, "hinted")
    found = hint_trust.hint_precision(seen, 0)
    assert list(found) == ["sitemap", "feed"]
    assert found["sitemap"] < 0.2
    assert found["feed"] > 0.5
    (line,) = hint_trust.lines(found)
    assert line.startswith("hints of this host that are right: sitemap ")
    silent = Evidence.of([Item("p0", "s", group="host")])
    assert hint_trust.hint_precision(replace(seen, evidence=silent), 0) == {}
    assert hint_trust.lines({}) == []
