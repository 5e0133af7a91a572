import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from halflife.core.history import History
from halflife.core.observation import Observation, Seen
from lab.grouping.behaviour import paced, together, windows


def looked(key, days, changes):
    """Daily looks at a page that is seen to change on some of the days."""
    digest = 0
    for day in range(days):
        digest += day in changes
        yield Observation(key, float(day), Seen.PRESENT, str(digest))


@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.2, 1.0, 3.0]), st.integers(0, 2)), max_size=30
    ),
    st.integers(1, 6),
)
def test_equal_rates_share_a_class_and_faster_ones_are_never_in_a_lower(rows, paces):
    rate = np.array([r for r, _ in rows])
    group = np.array([g for _, g in rows], np.intp)
    made = paced(rate, np.ones(rate.size, bool), group, ("a", "b", "c"), paces)
    assert sorted(made.item.tolist()) == list(range(rate.size))
    level = np.zeros(rate.size, int)
    level[made.item] = [int(made.names[j].split()[-1]) for j in made.category]
    name = np.array([made.names[j][0] for j in made.category])
    assert all("abc"[g] == n for g, n in zip(group[made.item], name, strict=True))
    for i in range(rate.size):
        for j in range(rate.size):
            if group[i] == group[j] and rate[i] <= rate[j]:
                assert level[i] <= level[j]


def test_changes_count_in_the_window_of_their_gap_unless_it_is_too_long():
    looks = [
        *looked("a", 8, {1, 5}),
        Observation("b", 0.0, Seen.PRESENT, "1"),
        Observation("b", 7.0, Seen.PRESENT, "2"),
    ]
    seen = windows(History.of(looks), width=2.0)
    assert seen.names == ("day 0", "day 4")
    assert seen.item.tolist() == [0, 0]
    assert seen.n_items == 2


def test_pages_that_change_on_the_same_days_are_together():
    odd, even = {1, 5, 9, 13}, {3, 7, 11, 15}
    pages = {f"p{i}": odd if i % 2 else even for i in range(10)}
    still = {"still": set()}
    looks = [o for k, days in {**pages, **still}.items() for o in looked(k, 20, days)]
    history = History.of(looks)
    group = np.zeros(len(history), np.intp)
    made = together(windows(history, 1.0), group, ["h"], np.random.default_rng(1))
    held = {frozenset(made.members(j).tolist()) for j in range(len(made))}
    assert held == {frozenset({0, 2, 4, 6, 8}), frozenset({1, 3, 5, 7, 9})}
    assert all(name.startswith("h together ") for name in made.names)


def test_pages_of_different_hosts_are_never_together():
    pages = {f"p{i}": {1 + 4 * (i % 2), 9 + i % 2} for i in range(8)}
    history = History.of(o for k, d in pages.items() for o in looked(k, 20, d))
    group = np.arange(8) // 4
    made = together(windows(history, 1.0), group, ["g", "h"], np.random.default_rng(1))
    assert all(len(set(group[made.members(j)].tolist())) == 1 for j in range(len(made)))
    assert sorted(made.item.tolist()) == list(range(8))
