import pytest
from hypothesis import example, given, strategies as st

from halflife.config import BudgetConfig
from halflife.core.errors import BudgetSpent
from halflife.core.item import Item
from halflife.engine.wallet import Wallet, WindowPurse
from halflife.stores.memory import MemoryStore

DAY = 20_000.0


class Clock:
    def __init__(self):
        self.now = DAY

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def opened(requests=100, per="day"):
    store = MemoryStore()
    store.add([Item("a", "one"), Item("b", "two")])
    return Wallet(store, BudgetConfig(requests=requests, per=per))


def purse_of(wallet, clock, requests, source="one"):
    run = wallet.store.begin([source], clock(), lease=1e9)
    return WindowPurse(wallet, run, requests, clock=clock)


def test_nothing_has_come_in_before_the_first_sync():
    wallet = opened()
    assert wallet.income(DAY) == 0
    assert wallet.room(DAY) == 100


def test_requests_come_in_evenly_and_fractions_are_kept():
    wallet = opened(requests=24)  # one an hour
    assert wallet.take_income(DAY) == 0
    assert wallet.take_income(DAY + 1.5 / 24) == 1
    assert wallet.take_income(DAY + 2.0 / 24) == 1
    assert wallet.take_income(DAY + 2.5 / 24) == 0
    assert wallet.next_income(DAY + 2.5 / 24) == pytest.approx(0.5 / 24)


@given(st.lists(st.floats(0.0, 0.3), min_size=1, max_size=40), st.integers(1, 500))
@example([0.3] * 40, 1)  # one comes in a day: what is over when it is taken stays
def test_what_comes_in_adds_up_to_the_pace(steps, requests):
    wallet = opened(requests=requests)
    now = DAY
    wallet.take_income(now)
    taken = 0
    for step in steps:
        now += step
        taken += wallet.take_income(now)
    assert taken <= (now - DAY) * requests + 1e-6
    assert taken >= (now - DAY) * requests - 1 - 1e-6


def test_a_long_absence_brings_one_window_and_no_more():
    wallet = opened(requests=100)
    wallet.take_income(DAY)
    assert wallet.income(DAY + 30) == 100
    assert wallet.take_income(DAY + 30.005) == 100
    assert wallet.take_income(DAY + 30.005) == 0
    assert wallet.take_income(DAY + 30.01) == 1  # half of it had come in before


def test_a_clock_that_was_set_back_owes_nothing():
    wallet = opened(requests=100)
    wallet.take_income(DAY)
    assert wallet.income(DAY - 5) == 0
    assert wallet.take_income(DAY - 5) == 0
    assert wallet.income(DAY - 4.5) == 50


def test_what_was_not_spent_is_given_back(clock):
    wallet = opened()
    purse = purse_of(wallet, clock, 40)
    purse.pay()
    assert wallet.room(clock()) == 100 - 16  # a block is drawn before anything is sent
    purse.close()
    assert wallet.room(clock()) == 99
    assert purse.spent == 1
    assert purse.left == 24


def test_the_purse_holds_what_it_was_given(clock):
    purse = purse_of(opened(), clock, 3)
    purse.pay(2)
    with pytest.raises(BudgetSpent, match="100 requests per day is spent"):
        purse.pay(2)
    assert purse.spent == 2
    assert purse.left == 0


def test_a_stopped_purse_pays_for_nothing(clock):
    wallet = opened()
    purse = purse_of(wallet, clock, 40)
    purse.pay(5)
    purse.stop()
    assert purse.left == 0
    assert wallet.room(clock()) == 95
    with pytest.raises(BudgetSpent):
        purse.pay()


def test_two_syncs_at_once_keep_the_budget_together(clock):
    wallet = opened(requests=50)
    purses = [purse_of(wallet, clock, 50, source) for source in ("one", "two")]
    for _ in range(50):
        for purse in purses:
            if purse.left:
                try:
                    purse.pay()
                except BudgetSpent:
                    assert purse.left == 0
    for purse in purses:
        purse.close()
    assert wallet.store.spent(0.0) == sum(p.spent for p in purses)
    assert 50 - 16 <= wallet.store.spent(0.0) <= 50


@given(
    st.lists(
        st.tuples(st.floats(0.0, 0.4), st.integers(0, 30), st.integers(0, 40)),
        max_size=30,
    ),
    st.integers(1, 60),
)
def test_no_window_ever_holds_more_than_the_budget(syncs, requests):
    wallet, clock = opened(requests=requests), Clock()
    run = wallet.store.begin(["one"], clock(), lease=1e9)
    sent = []
    for wait, want, pays in syncs:
        clock.now += wait
        purse = WindowPurse(wallet, run, want, clock=clock)
        for _ in range(pays):
            try:
                purse.pay()
            except BudgetSpent:
                break
            sent.append(clock())
            clock.now += 1e-6
        purse.close()
        assert wallet.room(clock()) >= 0
    for at in sent:
        assert sum(at - 1.0 < t <= at for t in sent) <= requests


def test_a_crash_wastes_at_most_a_block(clock):
    wallet = opened()
    purse_of(wallet, clock, 90).pay()  # and never closed
    assert wallet.room(clock()) == 84
