"""One budget over sources: shares in the long run, and what to do next."""

import itertools
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq, linprog

from halflife.core.value_curve import Offers, Worth
from halflife.market import (
    FREE,
    Limits,
    Window,
    Zone,
    price as market_price,
    share,
    take,
)
from halflife.market.offers import OfferTurn, intervals
from halflife.market.shares import hull
from halflife.market.windows import ALWAYS
from halflife.models.poisson import Exponential

NAMES = "abcdef"


def worth(name, requests, quality, weight=1.0):
    x, y = np.array(requests, float), np.array(quality, float)
    return Worth(name, "recall", weight, x, y, y, y)


@st.composite
def worths(draw, least=1):
    """Curves that rise, bent any way."""
    found = []
    for name in NAMES[: draw(st.integers(least, 5))]:
        steps = draw(st.lists(st.integers(1, 20), min_size=1, max_size=5))
        rises = draw(
            st.lists(st.integers(0, 9), min_size=len(steps), max_size=len(steps))
        )
        quality = np.cumsum([draw(st.integers(0, 3)), *rises]) / 60.0
        weight = draw(st.sampled_from([0.5, 1.0, 3.0]))
        found.append(worth(name, np.cumsum([0, *steps]), quality, weight))
    return found


@st.composite
def limits(draw):
    some = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 30), max_size=3)
    host = st.dictionaries(st.sampled_from(NAMES), st.sampled_from("xy"), max_size=5)
    room = st.dictionaries(st.sampled_from("xy"), st.integers(0, 40), max_size=2)
    return Limits(most=draw(some), host=draw(host), room=draw(room))


def best_total(found, budget, limited):
    """The optimum of the same problem as a linear programme over corners.

    Each source is spread over the points of its curve: the hull by definition.
    """
    names = [w.source for w in found]
    sizes = [w.requests.size for w in found]
    start = np.cumsum([0, *sizes])
    n = start[-1]
    gain = np.concatenate([w.weight * w.quality for w in found])
    cost = np.concatenate([w.requests for w in found])
    one = np.zeros((len(found), n))
    for i in range(len(found)):
        one[i, start[i] : start[i + 1]] = 1.0
    rows, right = [cost], [budget]
    for i, name in enumerate(names):
        if np.isfinite(limited.caps([name])[0]):
            rows.append(one[i] * cost)
            right.append(limited.most[name])
    for host, room in limited.room.items():
        mine = [limited.host.get(name) == host for name in names]
        rows.append(np.array(mine, float) @ one * cost)
        right.append(room)
    found_best = linprog(
        -gain, A_ub=np.array(rows), b_ub=right, A_eq=one, b_eq=np.ones(len(found))
    )
    return -found_best.fun


@given(worths(), st.integers(0, 90), limits())
def test_shares_reach_the_optimum_of_the_linear_programme(found, budget, limited):
    shares = share(found, budget, limited)
    weight = np.array([w.weight for w in found])
    assert weight @ shares.quality == pytest.approx(
        best_total(found, budget, limited), abs=1e-7
    )


@given(worths(), st.integers(0, 90), limits())
def test_no_limit_is_ever_broken(found, budget, limited):
    shares = share(found, budget, limited)
    assert shares.spent <= budget + 1e-9
    assert (shares.requests <= limited.caps(shares.sources) + 1e-9).all()
    for host, room in limited.room.items():
        mine = [limited.host.get(name) == host for name in shares.sources]
        assert shares.requests[mine].sum() <= room + 1e-9


@given(worths(), st.integers(0, 90), st.integers(1, 30), limits())
def test_more_budget_never_hurts_and_the_price_only_falls(found, budget, more, limited):
    poor, rich = share(found, budget, limited), share(found, budget + more, limited)
    assert rich.total >= poor.total - 1e-12
    assert rich.price <= poor.price + 1e-12
    assert (rich.requests >= poor.requests - 1e-9).all()
    weight = sum(w.weight for w in found)
    assert (rich.total - poor.total) * weight <= poor.price * more + 1e-9


@given(worths(least=2), st.integers(0, 90), limits(), st.randoms())
def test_the_order_of_sources_does_not_matter(found, budget, limited, chance):
    shuffled = list(found)
    chance.shuffle(shuffled)
    one, other = share(found, budget, limited), share(shuffled, budget, limited)
    place = [other.sources.index(name) for name in one.sources]
    assert one.requests == pytest.approx(other.requests[place], abs=1e-9)
    assert one.total == pytest.approx(other.total)


def test_a_worked_example_of_one_price():
    quick = worth("quick", [0, 10, 20], [0.0, 0.8, 0.9])
    slow = worth("slow", [0, 10, 20], [0.5, 0.6, 0.65], weight=4.0)
    shares = share([quick, slow], 20.0)  # slopes .08, .01 and .04, .02
    assert shares.requests.tolist() == [10.0, 10.0]
    assert shares.price == pytest.approx(0.02)
    assert shares.total == pytest.approx((0.8 + 4 * 0.6) / 5)


def test_floors_come_first_and_are_cut_in_proportion_if_they_do_not_fit():
    two = [worth("a", [0, 10], [0, 1]), worth("b", [0, 10], [0, 0.1])]
    kept = share(two, 10.0, Limits(least={"b": 4.0}))
    assert kept.requests.tolist() == [6.0, 4.0]
    cut = share(two, 6.0, Limits(least={"a": 4.0, "b": 8.0}))
    assert cut.requests.tolist() == pytest.approx([2.0, 4.0])
    assert cut.short == pytest.approx(6.0)


def test_a_source_at_its_limit_has_a_higher_price_of_its_own():
    two = [worth("a", [0, 10], [0, 1]), worth("b", [0, 10], [0, 0.1])]
    shares = share(two, 8.0, Limits(most={"a": 3.0}))
    assert shares.requests.tolist() == [3.0, 5.0]
    assert shares.host_price == pytest.approx([0.1, 0.01])


def test_hosts_have_a_room_that_their_best_sources_fill():
    three = [worth(n, [0, 10], [0, q]) for n, q in (("a", 1), ("b", 0.9), ("c", 0.1))]
    limited = Limits(host={"a": "x", "b": "x"}, room={"x": 12.0})
    assert share(three, 20.0, limited).requests.tolist() == [10.0, 2.0, 8.0]


def test_what_buys_nothing_is_not_bought():
    shares = share([worth("a", [0, 5, 50], [0, 1, 1])], 50.0)
    assert shares.spent == 5.0
    assert shares.price == 0.0
    assert share([], 10.0).total == 1.0


@given(worths())
def test_the_hull_is_concave_and_nowhere_below_the_curve(found):
    for one in found:
        x, y = hull(one.requests, one.quality)
        assert (np.diff(np.diff(y) / np.diff(x)) <= 1e-12).all()
        assert (np.interp(one.requests, x, y) >= one.quality - 1e-12).all()


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_a_negative_budget_or_limit_is_refused(wrong):
    with pytest.raises(ValueError, match="budget"):
        share([], wrong)
    with pytest.raises(ValueError, match="limit of a"):
        Limits(most={"a": wrong})


@st.composite
def offered(draw, costs=(1, 2, 3, 7)):
    count = draw(st.integers(0, 8))
    names = tuple(NAMES[:3])
    return Offers(
        names,
        np.array([draw(st.integers(0, 2)) for _ in range(count)], dtype=np.intp),
        np.array([float(draw(st.sampled_from(costs))) for _ in range(count)]),
        np.array([draw(st.integers(0, 20)) / 4.0 for _ in range(count)]),
    )


def fits(offers, rows, budget, limited):
    rows = np.array(rows, dtype=np.intp)
    cost = np.bincount(offers.source[rows], offers.cost[rows], len(offers.sources))
    group, room = limited.hosts(offers.sources)
    return (
        cost.sum() <= budget + 1e-9
        and (cost <= limited.caps(offers.sources) + 1e-9).all()
        and (np.bincount(group, cost, room.size) <= room + 1e-9).all()
    )


def knapsack(offers, budget, limited):
    """The most that any set of offers gains."""
    rows = range(len(offers))
    sets = itertools.chain.from_iterable(
        itertools.combinations(rows, k) for k in range(len(offers) + 1)
    )
    return max(
        offers.gain[list(s)].sum() for s in sets if fits(offers, s, budget, limited)
    )


@given(offered(), st.integers(0, 15), limits())
def test_what_is_taken_fits(offers, budget, limited):
    taken = take(offers, budget, limited)
    assert fits(offers, taken.rows, budget, limited)
    assert len(set(taken.rows.tolist())) == taken.rows.size
    assert taken.gain == pytest.approx(offers.gain[taken.rows].sum())


@given(offered(), st.integers(0, 15))
def test_what_is_taken_gains_at_least_half_of_the_best(offers, budget):
    best = knapsack(offers, budget, FREE)
    assert take(offers, budget).gain >= best / 2.0 - 1e-9


@given(offered(costs=(1,)), st.integers(0, 9), limits())
def test_of_single_requests_the_best_are_taken(offers, budget, limited):
    taken = take(offers, budget, limited)
    assert taken.gain == pytest.approx(knapsack(offers, budget, limited))


@given(offered(), st.integers(0, 15), limits(), st.randoms())
def test_the_order_of_offers_does_not_change_the_gain(offers, budget, limited, chance):
    order = list(range(len(offers)))
    chance.shuffle(order)
    mixed = Offers(
        offers.sources,
        offers.source[order].astype(np.intp),
        offers.cost[order],
        offers.gain[order],
    )
    one, other = take(offers, budget, limited), take(mixed, budget, limited)
    if np.unique(offers.gain / offers.cost).size == len(offers):  # without ties
        assert one.gain == pytest.approx(other.gain)
    assert one.requests <= budget


def listing_and_pages(gain=50.0):
    """A listing of 10 requests and twenty pages."""
    return Offers(
        ("jobs", "site"),
        np.array([0, *[1] * 20], dtype=np.intp),
        np.array([10.0, *[1.0] * 20]),
        np.array([gain, *[1.0] * 20]),
    )


def test_a_listing_that_does_not_fit_is_saved_for_and_not_starved():
    offers = listing_and_pages()
    hurried = take(offers, 5.0)
    assert hurried.requests == 5.0
    assert 0 not in hurried.rows
    patient = take(offers, 5.0, patient=True)
    assert patient.rows.size == 0
    assert patient.waits == 0
    enough = take(offers, 12.0, patient=True)
    assert enough.rows[0] == 0
    assert enough.requests == 12.0


def test_nobody_waits_for_what_a_limit_forbids():
    taken = take(listing_and_pages(), 5.0, Limits(most={"jobs": 3.0}), patient=True)
    assert 0 not in taken.rows
    assert taken.waits != 0
    assert taken.requests == 5.0


def test_below_the_usual_price_requests_are_kept_for_later():
    taken = take(listing_and_pages(), 15.0, price=2.0)
    assert taken.rows.tolist() == [0]
    assert taken.price == pytest.approx(5.0)


def test_overdue_things_come_first_and_early_ones_wait():
    offers = listing_and_pages(gain=0.0)
    age = np.full(21, 1.0)
    age[0], age[1] = 9.0, 0.01
    turn = intervals(age, np.full(21, 0.5), np.full(21, 7.0))
    taken = take(offers, 15.0, turn=turn)
    assert taken.rows[0] == 0
    assert 1 not in taken.rows
    assert taken.requests == 15.0
    nothing = OfferTurn(np.zeros(21, bool), np.zeros(21, bool))
    assert take(offers, 15.0, turn=nothing).rows.size == 0


def test_what_was_never_done_is_urgent_only_if_it_may_not_wait_for_ever():
    age, soonest = np.full(2, np.inf), np.zeros(2)
    turn = intervals(age, soonest, np.array([np.inf, 7.0]))
    assert turn.ready.all()
    assert turn.urgent.tolist() == [False, True]


def test_a_dear_offer_is_taken_if_it_beats_all_that_fits_beside_it():
    offers = Offers(
        ("a",), np.zeros(2, np.intp), np.array([1.0, 10]), np.array([2.0, 10])
    )
    assert take(offers, 10.0).rows.tolist() == [1]


HOUR = 1 / 24
SPRING = 20177.0 + 1 * HOUR  # 2025-03-30T01:00Z: 02:00 becomes 03:00 in Berlin
AUTUMN = 20387.0 + 1 * HOUR  # 2025-10-26T01:00Z: 03:00 becomes 02:00
BERLIN = Zone(np.array([-np.inf, SPRING, AUTUMN]), np.array([1.0, 2.0, 1.0]) * HOUR)


def hours(window, day):
    """The openings of a local day, in hours UTC from its midnight UTC."""
    opens, closes = window.spans(day - 1, day + 2)
    found = (opens >= day - 2 * HOUR) & (opens < day + 22 * HOUR)
    return [
        (round((o - day) * 24, 6), round((c - day) * 24, 6))
        for o, c in zip(opens[found], closes[found], strict=True)
    ]


def test_the_table_of_berlin_is_that_of_the_time_zone_database():
    for at in (SPRING - HOUR, SPRING + HOUR, AUTUMN - HOUR, AUTUMN + HOUR):
        moment = datetime.fromtimestamp(at * 86400, UTC).astimezone(
            ZoneInfo("Europe/Berlin")
        )
        mine = BERLIN.offset[np.searchsorted(BERLIN.since, at, side="right") - 1]
        assert moment.utcoffset().total_seconds() / 86400 == pytest.approx(mine)


@pytest.mark.parametrize(
    ("begin", "end", "day", "open_hours"),
    [
        (22, 6, 20100.0, (21, 29)),  # an ordinary winter night
        (22, 6, 20176.0, (21, 28)),  # an hour shorter
        (22, 6, 20386.0, (20, 29)),  # an hour longer
        (2, 3, 20177.0, (1, 2)),  # the hour that is left out: made up for at once
        (2.5, 3.5, 20177.0, (1, 1.5)),
        (2, 3, 20387.0, (0, 1)),  # the hour that comes twice: the first time
        (2.5, 3, 20387.0, (0.5, 1)),
        (3, 5, 20387.0, (2, 4)),
        (1, 2, 20387.0, (-1, 0)),
    ],
)
def test_windows_go_by_the_clock_of_their_place(begin, end, day, open_hours):
    window = Window(begin / 24, end / 24, BERLIN)
    assert hours(window, day) == [open_hours]


def test_a_window_opens_once_a_day_whatever_the_clock_does():
    for begin, end in itertools.product(range(0, 24, 1), (0.5, 3, 8)):
        window = Window(begin / 24, (begin + end) % 24 / 24, BERLIN)
        for around in (SPRING, AUTUMN):
            opens, closes = window.spans(around - 5, around + 5)
            assert np.diff(opens) == pytest.approx(1.0, abs=1.001 * HOUR)
            assert (closes > opens).all()
            assert (closes[:-1] <= opens[1:] + 1e-9).all()


def test_a_window_knows_whether_it_is_open_and_when_next():
    night = Window(22 / 24, 6 / 24, BERLIN)
    assert night.is_open(20100.0)
    assert not night.is_open(20100.5)
    assert night.next_open(20100.5) == pytest.approx(20100.0 + 21 / 24)
    assert night.next_open(20100.0) == 20100.0
    assert ALWAYS.is_open(12345.6)
    with pytest.raises(ValueError, match="within a day"):
        Window(1.5, 0.2)
    with pytest.raises(ValueError, match="-inf"):
        Zone(np.zeros(1), np.zeros(1))


def every(rate, worth):
    """Days between looks at a page of this rate whose look gains so much."""

    def short(days):
        return (1 - (1 + rate * days) * np.exp(-rate * days)) / rate - worth

    return brentq(short, 1e-6, 1e4)


@pytest.mark.parametrize("budget", [1.0, 4.0, 20.0])
def test_at_the_price_of_the_long_run_all_together_take_the_budget(budget):
    rate = np.array([0.02, 0.1, 0.5, 0.5])
    cost, many = np.array([1.0, 1.0, 2.0, 5.0]), np.array([10.0, 1.0, 3.0, 1.0])
    gain = market_price.gains(Exponential(rate), 4)
    price = market_price.long_run(gain, cost, budget, many)
    most = 0.999 / rate  # what a look gains after ages
    taken = [
        n * c / every(r, price * c)
        for r, c, n, top in zip(rate, cost, many, most, strict=True)
        if price * c < top
    ]
    assert sum(taken) == pytest.approx(budget, rel=0.005)


def test_what_is_enough_for_everything_has_no_price():
    gain = market_price.gains(Exponential(np.array([0.1, 0.2])), 2)
    everything = 2.0 / market_price.QUICKEST
    assert market_price.long_run(gain, np.ones(2), everything, np.ones(2)) == 0.0
    assert market_price.long_run(gain, np.ones(2), everything / 9.0, np.ones(2)) > 0.0
    still = market_price.gains(Exponential(np.zeros(2)), 2)
    assert market_price.long_run(still, np.ones(2), 0.1, np.ones(2)) == 0.0


@given(
    st.floats(0.0, 1.0), st.floats(-10.0, 100.0), st.floats(0.0, 50.0), st.floats(0, 9)
)
def test_the_more_is_saved_the_less_is_asked_for(price, saved, most, more):
    asked = market_price.reserve_price(price, saved, most)
    assert 0.0 <= asked <= price
    assert market_price.reserve_price(price, saved + more, most) <= asked
    assert market_price.reserve_price(price, max(saved, most), most) == 0.0


def test_a_window_that_ends_when_it_begins_is_open_all_day():
    assert Window(0.25, 0.25).length == 1.0
    assert Window(0.25, 0.75).length == 0.5
    assert Window(0.75, 0.25).length == 0.5
    assert all(Window(0.5, 0.5).is_open(at) for at in np.linspace(3.0, 5.0, 41))


def test_of_the_dear_offers_left_out_the_one_that_gains_most_is_tried():
    offers = Offers(
        ("a",),
        np.zeros(4, dtype=np.intp),
        np.array([1.0, 10.0, 10.0, 10.0]),
        np.array([2.0, 11.0, 15.0, 12.0]),
    )
    turn = intervals(np.ones(4), np.zeros(4), np.full(4, np.inf))
    taken = take(offers, 10.0, turn=turn)
    assert (taken.rows.tolist(), taken.gain) == ([2], 15.0)
