"""The laws of policies: each is broken by the least that breaks it."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.belief.poisson import PoissonBelief
from halflife.core.budget import Budget
from halflife.core.plan import Plan, no_plan
from halflife.policies import Strategy
from halflife.policies.laws import LAWS, NOW, SIZES, broken, made_view, unseen_view


def chosen(view, requests, *, order=None):
    """Return rows that every law allows, who was seen least first."""
    rows = np.argsort(view.looks, kind="stable") if order is None else order
    rows = rows[view.ready[rows] & ~view.looked[rows]]
    if not np.isinf(view.room).all():
        fits = np.ones(rows.size, bool)
        for group in range(3):
            mine = view.group[rows] == group
            tried = view.cost[view.looked & (view.group == group)].sum()
            there = tried + np.cumsum(view.cost[rows[mine]])
            fits[mine] = there <= view.room[rows[mine]]
        rows = rows[fits]
    return rows[np.cumsum(view.cost[rows]) <= requests]


def plan_of(view, rows, *, gain=1.0, why="it is next", keys=None):
    rows = np.asarray(rows, dtype=np.intp)
    named = tuple(view.keys[i] for i in rows) if keys is None else keys
    return Plan(named, rows, np.full(rows.size, gain), lambda _: why)


def plain(view, budget, rng):
    """Ask for all that the laws allow."""
    del rng
    return plan_of(view, chosen(view, budget.requests))


def only(policy, **strategy):
    """Return the laws that a policy breaks."""
    return [line.partition(":")[0] for line in broken(Strategy(policy, **strategy))]


def test_who_does_all_that_is_allowed_breaks_no_law():
    assert broken(Strategy(plain)) == []


def test_who_asks_for_one_page_at_a_time_breaks_no_law():
    def slow(view, budget, rng):
        return plain(view, budget, rng)[:1]

    assert broken(Strategy(slow)) == []


# Of each plan


def test_one_page_more_than_the_budget_pays_is_too_much():
    def one_more(view, budget, _rng):
        return plan_of(view, chosen(view, budget.requests + 1))

    def unpaid(view, budget, _rng):
        return plan_of(view, chosen(view, max(budget.requests, 2)))

    assert "stays_within_budget" in only(one_more)
    assert "asks_nothing_of_nobody" in only(unpaid)
    by_some = replace_rows(
        lambda view, rows, budget: chosen(view, budget + 1) if budget == 20 else rows
    )
    assert only(by_some) == ["stays_within_budget"]


def replace_rows(change):
    """Return a policy whose rows are changed before they are planned."""

    def policy(view, budget, rng):
        del rng
        rows = change(view, chosen(view, budget.requests), budget.requests)
        return plan_of(view, rows)

    return policy


def free(view, rows, wanted):
    """Return a row that is wanted and costs no more than the last one planned."""
    some = [i for i in np.flatnonzero(wanted) if view.cost[i] <= view.cost[rows[-1]]]
    return np.append(rows[:-1], some[0]) if some else rows


def test_a_page_named_twice_is_one_too_many():
    def twice(view, rows, budget):
        # in place of the last one, so that it costs the same
        same = rows.size > 1 and view.cost[rows[0]] <= view.cost[rows[-1]]
        return np.append(rows[:-1], rows[0]) if same and budget == 20 else rows

    found = only(replace_rows(twice))
    assert found[0] == "asks_for_no_page_twice"
    assert set(found) <= {"asks_for_no_page_twice", "heeds_the_room_of_hosts"}


def test_a_page_tried_in_this_turn_is_not_asked_for_again():
    def tried(view, rows, _budget):
        return free(view, rows, view.looked & view.ready) if rows.size else rows

    assert "asks_for_no_page_twice" in only(replace_rows(tried))


def test_a_page_that_must_wait_is_left_alone():
    def early(view, rows, budget):
        held = rows.size and budget != 50  # the law of hosts asks for 50
        return free(view, rows, ~view.looked & ~view.ready) if held else rows

    assert only(replace_rows(early)) == ["leaves_alone_what_is_not_ready"]


@pytest.mark.parametrize("forgotten", ["room", "tried"])
def test_a_host_is_asked_for_no_more_than_it_takes_with_what_was_tried(forgotten):
    def rude(view, budget, _rng):
        blind = {"room": np.full(len(view), np.inf)}
        if forgotten == "tried":  # what was tried in this turn does not count
            looked = view.looked
            rows = chosen(replace(view, looked=np.zeros_like(looked)), budget.requests)
            return plan_of(view, rows[~looked[rows]])
        return plan_of(view, chosen(replace(view, **blind), budget.requests))

    assert only(rude) == ["heeds_the_room_of_hosts"]


def test_a_plan_depends_on_view_and_seed_alone():
    def by_chance(view, budget, rng):
        order = rng.permutation(len(view))
        order = order[np.argsort(view.looks[order], kind="stable")]
        return plan_of(view, chosen(view, budget.requests, order=order))

    assert only(by_chance) == []

    class Forgetful:
        calls = 0

        def __call__(self, view, budget, rng):
            self.calls += 1
            rows = chosen(view, budget.requests)
            return plan_of(view, np.roll(rows, self.calls))

    assert only(Forgetful()) == ["is_determined_by_view_and_seed"]

    class Learning:
        """Go by the view that was planned for before."""

        last = 0

        def __call__(self, view, budget, rng):
            rows = chosen(view, budget.requests)
            odd, self.last = self.last == 9, len(view)
            return plan_of(view, rows[::-1] if odd else rows)

    assert only(Learning()) == ["is_determined_by_view_and_seed"]


@pytest.mark.parametrize("name", ["weight", "looked", "looks", "doubt"])
def test_nothing_is_written_into_a_view(name):
    def marking(view, budget, rng):
        plan = plain(view, budget, rng)
        if len(view) == max(SIZES) and budget.requests == 200:
            column = getattr(view, name)
            column[-1] = ~column[-1] if name == "looked" else column[-1] + 1
        return plan

    assert f"changes_nothing_in_the_view: planning changed {name}" in broken(
        Strategy(marking)
    )


@pytest.mark.parametrize("why", ["", "  ", "two\nlines"])
def test_a_reason_is_a_line(why):
    def dumb(view, budget, rng):
        return replace(plain(view, budget, rng), reason=lambda _: why)

    assert broken(Strategy(dumb)) == [
        f"gives_reasons_and_finite_gains: {why!r} is no reason in a line"
    ]


def test_the_names_of_a_plan_are_those_of_its_rows():
    def mixed(view, budget, rng):
        plan = plain(view, budget, rng)
        return replace(plan, keys=plan.keys[::-1])

    found = only(mixed)
    assert "gives_reasons_and_finite_gains" in found
    assert set(found) <= {"gives_reasons_and_finite_gains", "believes_by_itself"}


@pytest.mark.parametrize("gain", [np.inf, -np.inf])
def test_gains_are_finite_also_of_pages_never_seen(gain):
    def boundless(view, budget, rng):
        plan = plain(view, budget, rng)
        return replace(plan, gain=np.full(len(plan), gain))

    law = ["gives_reasons_and_finite_gains", "believes_by_itself"]
    assert only(boundless) == law

    def boundless_at_first(view, budget, rng):
        plan = plain(view, budget, rng)
        never = len(view) == 6 and not view.looks.any() and budget.requests == 4
        return replace(plan, gain=np.full(len(plan), gain)) if never else plan

    assert only(boundless_at_first) == law[:1]


@pytest.mark.parametrize(
    "gain",
    [
        lambda view: np.full(len(view), np.nan),
        lambda view: np.zeros(len(view) + 1),
        lambda view: np.zeros((len(view), 1)),
        lambda view: np.where(view.looks == 0, np.inf, 1.0),
    ],
)
def test_who_weighs_pages_weighs_each_once_and_finitely(gain):
    class Weighs:
        def __call__(self, view, budget, rng):
            return plain(view, budget, rng)

        def gain(self, view):
            return gain(view)

    assert only(Weighs()) == ["weighs_pages_finitely"]

    class Fine(Weighs):
        def gain(self, view):
            return np.ones(len(view))

    assert only(Fine()) == []


@pytest.mark.parametrize("size", [1, 6, 40])
def test_who_weighs_pages_offers_what_it_plans(size):
    class Forgets:
        def __call__(self, view, budget, rng):
            return plain(view, budget, rng)

        def gain(self, view):
            """Return nothing for one page that is planned, in one of the views."""
            gain = np.ones(len(view))
            if len(view) == size:
                gain[plain(view, Budget(5), None).rows[-1:]] = 0.0
            return gain

    assert broken(Strategy(Forgets())) == [
        "weighs_pages_finitely: it plans a page of which gain(view) offers nothing"
    ]


# Of what a policy comes to


def test_of_no_page_nothing_is_asked():
    def inventive(view, budget, rng):
        if len(view):
            return plain(view, budget, rng)
        one = np.zeros(1, np.intp)
        return Plan(("https://h.example/0",), one, np.ones(1), str)

    assert broken(Strategy(inventive)) == [
        "asks_nothing_of_nobody: a plan of no pages names some"
    ]


def test_the_only_page_there_is_is_fetched():
    def proud(view, budget, rng):
        return no_plan() if len(view) == 1 else plain(view, budget, rng)

    assert only(proud) == ["begins_with_a_single_page"]


@pytest.mark.parametrize("missed", [0, 8])
def test_every_page_never_seen_is_fetched_in_the_end(missed):
    def picky(view, budget, rng):
        plan = plain(view, budget, rng)
        if len(view) != 9:
            return plan
        return plan_of(view, [i for i in plan.rows if i != missed])

    assert broken(Strategy(picky)) == [
        "sees_every_page_once: 1 pages were never seen, and none is fetched"
    ]

    def one_by_one(view, budget, rng):
        """Ask for what was never looked at, and for nothing that was."""
        plan = plain(view, budget, rng)
        if len(view) == 9 and (view.cost == 1.0).all():
            assert (view.age[view.looked] == 0.0).all()
            assert np.isinf(view.age[~view.looked]).all()
            assert (view.due[view.looked] == NOW + 1.0).all()
            assert (view.looks == view.looked).all()
            assert view.exposure.tolist() == view.age.tolist()
            assert budget.requests == 9 - view.looked.sum()
        return plan[:1]

    assert only(one_by_one) == []


# Of beliefs

BELIEVES = "believes_by_itself: "


def test_beliefs_learn_apart():
    one = PoissonBelief()
    assert broken(Strategy(plain, belief=lambda: one)) == [
        f"{BELIEVES}two beliefs are one: what one run learns, another would know"
    ]


@pytest.mark.parametrize("rate", [np.nan, np.inf, -1.0])
def test_a_view_has_a_rate_that_makes_sense(rate):
    class Strange(PoissonBelief):
        def __call__(self, evidence, now, since):
            view = super().__call__(evidence, now, since)
            return replace(view, rate=np.append(view.rate[1:], rate))

    assert broken(Strategy(plain, belief=Strange)) == [
        "believes_by_itself: the view is not one finite rate a page"
    ]


def test_a_rate_of_nothing_makes_sense():
    class Calm(PoissonBelief):
        def __call__(self, evidence, now, since):
            view = super().__call__(evidence, now, since)
            return replace(view, rate=np.zeros(len(view)))

    assert only(plain, belief=Calm) == []


def test_a_belief_lived_with_for_four_days_sees_each_of_six_pages():
    seen = []

    def watching(view, budget, rng):
        if len(view) == 6 and view.keys[0] == "https://a.example/0":
            seen.append((view.now, budget.requests, int((view.looks > 0).sum())))
        return plain(view, budget, rng)

    def stubborn(view, budget, rng):
        plan = plain(view, budget, rng)
        mine = len(view) == 6 and view.keys[0] == "https://a.example/0"
        return plan_of(view, plan.rows[plan.rows < 5]) if mine else plan

    assert broken(Strategy(watching)) == []
    days = sorted({int(now) for now, _, _ in seen})
    assert days == [NOW, NOW + 1, NOW + 2, NOW + 3]
    assert [left for now, left, _ in seen if now == NOW] == [3]
    assert seen[-1][2] == 6
    assert broken(Strategy(stubborn)) == [
        f"{BELIEVES}in four days of three requests, six pages were not all seen"
    ]


def test_every_law_has_a_name_and_says_what_it_asks():
    assert len(LAWS) == 12
    assert all(law.__name__ == name and law.__doc__ for name, law in LAWS.items())


# The views by which policies are judged


def test_a_made_view_has_pages_of_every_sort():
    n = 4000
    view = made_view(n, 3)
    assert view.now == NOW
    assert [sorted(set(each.tolist())) for each in (view.looks, view.weight)] == [
        [0, 1, 2, 3, 4],
        [0.0, 1.0, 2.0, 3.0],
    ]
    assert set(view.cost.tolist()) == {1.0, 2.0}
    assert set(view.group.tolist()) == {0, 1, 2}
    for column, share in ((view.looked, 0.2), (view.changed, 0.3), (view.ready, 0.9)):
        assert column.mean() == pytest.approx(share, abs=0.03)
    never = view.looks == 0
    assert (np.isinf(view.age) == never).all()
    assert (np.isneginf(view.due) == never).all()
    assert view.age[~never].mean() == pytest.approx(3.0, rel=0.1)
    assert view.age[~never].min() >= 0.0
    assert (view.due[~never] - NOW).mean() == pytest.approx(0.0, abs=0.3)
    assert (view.due[~never] - NOW).std() == pytest.approx(3.0, rel=0.1)
    assert (view.changes <= view.looks).all()
    assert view.changes.sum() / view.looks.sum() == pytest.approx(0.4, abs=0.03)
    longer = view.exposure[~never] / view.age[~never]
    assert 1.0 <= longer.min() < 1.01
    assert 2.99 < longer.max() <= 3.0
    assert view.doubt.mean() == pytest.approx(1.0, rel=0.1)
    assert np.isinf(view.room).all()
    law = view.survival
    assert view.rate == pytest.approx(law.shape / law.exposure)
    assert 0.05 <= law.shape.min() < 0.06
    assert law.shape.mean() == pytest.approx(1.05, rel=0.1)
    assert 1e-3 <= law.exposure.min() < 0.02
    assert law.exposure.mean() == pytest.approx(5.0, rel=0.1)


def test_made_views_are_of_three_hosts_and_two_folders_and_repeat_by_seed():
    view = made_view(7, 1)
    assert view.keys[0] == "https://h0.example/f0/0"
    assert view.keys[5] == "https://h2.example/f1/5"
    assert len({key.rsplit("/", 1)[0] for key in view.keys}) == 6
    assert made_view(7, 1).age.tolist() == view.age.tolist()
    assert made_view(7, 2).age.tolist() != view.age.tolist()


def test_an_unseen_view_has_pages_of_which_nothing_is_known():
    view = unseen_view(5)
    assert (len(view), view.looks.tolist(), view.changes.tolist()) == (
        5,
        [0] * 5,
        [0] * 5,
    )
    assert view.weight.tolist() == view.cost.tolist() == [1.0] * 5
    assert np.isposinf(view.age).all()
    assert np.isposinf(view.exposure).all()
    assert np.isneginf(view.due).all()
    assert view.ready.all()
    assert not view.looked.any()
    assert not view.changed.any()


def test_gains_stay_finite_as_days_go_by():
    def rash(view, budget, rng):
        plan = plain(view, budget, rng)
        if len(view) != 6 or view.now < NOW + 0.5 or len(plan) < 2:
            return plan
        return replace(plan, gain=np.append(plan.gain[:-1], np.inf))

    (wrong,) = broken(Strategy(rash))
    assert wrong.endswith("a gain is not finite")
