"""Exploring what is held: every item is reachable, once, in the order asked for."""

import pytest

from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Observations
from halflife.core.tracker import Tracker
from halflife.stores import item_search
from halflife.stores.item_search import ItemQuery
from halflife.stores.sqlite import SqliteStore
from store_looks import absent, failed, present


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with SqliteStore.open(tmp_path_factory.mktemp("s") / "s.db", create=True) as made:
        made.add([Item(f"https://a.example/{n:03}", "pages") for n in range(40)])
        run = made.begin(["pages", "list"], 0.0, lease=1e6)
        looks = [present(f"https://a.example/{n:03}", 1.0 + n) for n in range(30)]
        made.append(run, Observations.of(looks))
        made.append(run, Observations.of([absent("https://a.example/003", 90.0)]))
        made.append(
            run, Observations.of([failed("https://a.example/004", 91.0, "503")])
        )
        tracker = Tracker()
        for day in range(4):
            shown = {f"k{n}": record(n, day) for n in range(day, 100 + day)}
            tracker.take(Listing(float(day), shown))
        made.save_register(run, "list", tracker.register(), anew=True)
        made.finish(run, 99.0)
        yield made


def record(n, day):
    price = None if n % 7 == 0 else n % 5 if n % 2 else f"{n % 5} €"
    return {"title": f"Ärger {n}" if n % 3 else "quiet", "price": price, "day": day}


def walk(store, wanted, most):
    found, place = [], None
    while True:
        some = item_search.find(store, wanted, place, most)
        found += some.rows
        assert some.total == len(list(item_search.iterate(store, wanted)))
        if some.next is None:
            return found
        place = some.next


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize(
    "sort", ["key", "first_seen", "last_seen", "changes", "field:price", "field:none"]
)
@pytest.mark.parametrize("source", ["pages", "list"])
def test_page_by_page_each_item_comes_once_and_in_order(store, source, sort, down):
    wanted = ItemQuery(source, state="all", sort=sort, down=down)
    found = walk(store, wanted, 7)
    assert found == list(item_search.iterate(store, wanted))
    assert len({row.place[1] for row in found}) == len(found)
    assert len(found) == (40 if source == "pages" else 103)
    if sort in {"key", "changes"}:
        values = [getattr(row, sort) for row in found]
        assert values == sorted(values, reverse=down)
    numbers = [r.place[0] for r in found if isinstance(r.place[0], int | float)]
    assert numbers == sorted(numbers, reverse=down)


def test_items_are_found_by_what_became_of_them(store):
    def count(source, state):
        return len(walk(store, ItemQuery(source, state=state), 50))

    assert count("pages", "gone") == 1
    assert count("pages", "failing") == 1
    assert count("pages", "there") == 39
    states = ("there", "missing", "gone")
    assert [count("list", state) for state in states] == [100, 1, 2]
    assert count("list", "all") == 103
    assert count("nobody", "all") == 0


@pytest.mark.parametrize("text", ["ärger 5", "QUIET", "K10", "€", "no such thing"])
def test_text_is_found_in_keys_and_fields_in_either_case(store, text):
    every = item_search.iterate(store, ItemQuery("list", state="all"))
    part = text.casefold()
    wanted = [
        row.key
        for row in every
        if part in row.key.casefold()
        or any(part in str(v).casefold() for v in row.fields.values())
    ]
    found = walk(store, ItemQuery("list", text, state="all"), 9)
    assert [row.key for row in found] == wanted


def test_the_name_of_a_field_is_only_a_name(store):
    for name in ('x" OR 1', "$", "a.b", "'; DROP TABLE life; --", "[0]"):
        wanted = ItemQuery("list", sort=f"field:{name}")
        assert len(walk(store, wanted, 50)) == 100
