import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from halflife.core.categories import Categories


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=40))
def test_categories_hold_the_pairs_they_were_made_of(pairs):
    category, item = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    made = Categories.of_pairs("abcde", category, item, 10)
    again = zip(made.category.tolist(), made.item.tolist(), strict=True)
    assert list(again) == sorted(set(pairs))
    assert made.size.sum() == len(set(pairs))


@given(st.lists(st.sampled_from("xyz"), max_size=20))
def test_labels_put_each_item_in_one_category(labels):
    made = Categories.of_labels(labels)
    assert sorted(made.item.tolist()) == list(range(len(labels)))
    for j, name in enumerate(made.names):
        assert {labels[i] for i in made.members(j)} == {name}
