import hypothesis.strategies as st
import numpy as np
from hypothesis import given
from scipy import sparse

from halflife.core.categories import Categories
from lab.grouping.texts import clusters, k_means, usual_number
from topic_webs import webs


def test_texts_of_two_kinds_are_told_apart():
    rng = np.random.default_rng(5)
    kind = np.arange(120) % 2
    page = np.repeat(np.arange(120), 6)
    term = rng.integers(0, 15, page.size) + 15 * kind[page]
    terms = Categories.of_pairs([f"w{i}" for i in range(30)], term, page, 120)
    made = clusters(terms, np.random.default_rng(0), k=2)
    assert len(made) == 2
    assert {len({int(k) for k in kind[made.members(j)]}) for j in (0, 1)} == {1}
    assert sorted(made.item.tolist()) == list(range(120))


@given(webs(pages=20, terms=6), st.integers(0, 3), st.none() | st.integers(1, 9))
def test_the_same_chance_gives_the_same_clusters_each_page_in_one(web, seed, k):
    _, terms = web
    one = clusters(terms, np.random.default_rng(seed), k=k)
    two = clusters(terms, np.random.default_rng(seed), k=k)
    assert one.names == two.names
    assert one.item.tolist() == two.item.tolist()
    assert np.unique(one.item).size == one.item.size
    assert np.all(one.size > 0)
    assert len(set(one.names)) == len(one)
    assert one.n_items == terms.n_items
    assert k is None or len(one) <= k


def test_what_is_on_every_page_tells_nothing():
    everywhere = Categories.of_pairs(["a"], np.zeros(4, int), np.arange(4), 4)
    assert len(clusters(everywhere, np.random.default_rng(0))) == 0


def test_a_cluster_is_named_by_its_heaviest_terms():
    term, page = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 2, 3, 3])
    terms = Categories.of_pairs(["tea", "car", "road"], term, page, 4)
    made = clusters(terms, np.random.default_rng(2), k=2)
    words = {frozenset(name.split()[1:]) for name in made.names}
    assert words == {frozenset({"tea"}), frozenset({"car", "road"})}


def test_each_round_brings_pages_nearer_to_their_centres():
    rng = np.random.default_rng(3)
    rows = rng.random((80, 12)) * (rng.random((80, 12)) < 0.4) + 1e-3
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = []
    for rounds in range(6):
        label, centres = k_means(sparse.csr_array(rows), rows[:5].copy(), rounds)
        near.append(float((rows * centres[label]).sum()))
    assert np.all(np.diff(near) >= -1e-12)


def test_the_usual_number_grows_with_the_root_of_the_pages():
    assert [usual_number(n) for n in (0, 1, 2, 200, 20_000)] == [1, 1, 1, 10, 100]


def test_a_centre_is_the_direction_of_its_pages_and_an_empty_one_stays():
    rng = np.random.default_rng(4)
    rows = rng.random((60, 7)) * (rng.random((60, 7)) < 0.5) + 1e-3
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    lonely = -np.ones((1, 7)) / np.sqrt(7)  # nobody is nearest to it
    begin = np.vstack([rows[:4], lonely])
    label, centres = k_means(sparse.csr_array(rows), begin, 50)
    assert sorted(set(label.tolist())) == [0, 1, 2, 3]
    for k in range(4):
        total = rows[label == k].sum(axis=0)
        np.testing.assert_allclose(centres[k], total / np.linalg.norm(total))
    np.testing.assert_allclose(centres[4], lonely[0])
    nearest = (rows @ centres.T).argmax(axis=1)
    assert nearest.tolist() == label.tolist()


def test_many_pages_are_told_apart_block_by_block():
    kind = np.arange(9000) % 3
    rows = sparse.csr_array((np.ones(9000), (np.arange(9000), kind)), shape=(9000, 3))
    label, centres = k_means(rows, np.eye(3), 3)
    assert label.tolist() == kind.tolist()
    np.testing.assert_allclose(centres, np.eye(3))
