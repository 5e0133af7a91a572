"""Answers that look different: what loses something is held and told, the rest told."""

import json

import pytest
from hypothesis import given, strategies as st

from alert_parts import as_json, jobs, listing, standing
from form_worlds import behind, cars
from halflife.alerts.schemas import KEY, columns, differences
from halflife.config import Config
from halflife.demo.forms import FormServer, serving, snippet
from halflife.kinds.listing import (
    runner as listing_runner,
    schema_drift as listing_schema_drift,
)
from halflife.kinds.listing.schema_drift import TOLERATED_DAYS, updated_memory
from halflife.stores.notes.answer_columns import AnswerMemory
from halflife.stores.sqlite import SqliteStore
from search_server import corpus, serving as searching
from service_parts import HOME, Play

HOUR = 1 / 24


def kept(path, name="jobs"):
    """Return the records of a listing as they are held."""
    config = Config.load(path)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        return listing_runner.tracker(store, config.source[0]).held


def test_a_column_that_is_lost_is_held_and_told_and_ends_when_it_is_back(write, server):
    server.pages["/jobs.json"] = jobs(range(15))
    path = write(listing(f"{server.url}/jobs.json"))
    play = Play(path).run(0.5 * HOUR)
    assert standing(path) == {}
    rows = [{"id": n, "title": f"job {n}"} for n in range(15)]
    server.pages["/jobs.json"] = as_json(rows)
    play.run(0.5 * HOUR)
    why = "'salary' is empty or gone in 15 of 15 records; it was filled in 100%"
    text = f"an answer waits for a decision: {why}"
    assert standing(path) == {("jobs", "held"): text}  # told at once, drift is not
    play.run(1.5 * HOUR)
    drift = f"its answers look different: {why}"
    assert standing(path)["jobs", "schema-drift"] == drift
    assert {row["salary"] for row in kept(path).values()} == set(range(1000, 1015))
    server.pages["/jobs.json"] = jobs(range(15))
    play.run(3 * HOUR)
    assert standing(path) == {}


def test_what_somebody_accepts_is_usual_from_then_on(write, server):
    server.pages["/jobs.json"] = jobs(range(15))
    path = write(listing(f"{server.url}/jobs.json"))
    play = Play(path).run(0.5 * HOUR)
    rows = [{"id": n, "title": f"job {n}"} for n in range(15)]
    server.pages["/jobs.json"] = as_json(rows)
    play.run(2.5 * HOUR)
    assert ("jobs", "schema-drift") in standing(path)
    config = Config.load(path)
    with SqliteStore.open(config.store_path) as store:
        (waiting,) = store.staged()
        listing_runner.accept(config, store, waiting.run, play)
    play.run(2.5 * HOUR)
    assert standing(path) == {}
    assert all("salary" not in row for row in kept(path).values())


def test_a_new_column_is_told_as_information_and_nothing_is_held(write, server):
    server.pages["/jobs.json"] = jobs(range(15))
    path = write(listing(f"{server.url}/jobs.json"))
    play = Play(path).run(0.5 * HOUR)
    server.pages["/jobs.json"] = jobs(range(15), city="Oslo")
    play.run(1.5 * HOUR)
    text = (
        "for your information: its answers look different, and nothing is lost: "
        "a new column 'city'"
    )
    assert standing(path) == {("jobs", "schema-drift"): text}
    assert {row["city"] for row in kept(path).values()} == {"Oslo"}
    play.now += 1.0
    play.run(1.5 * HOUR)
    assert standing(path) == {}


def test_a_column_that_comes_and_goes_is_not_told(write, server):
    server.pages["/jobs.json"] = jobs(range(15))
    path = write(listing(f"{server.url}/jobs.json"))
    play = Play(path).run(0.5 * HOUR)
    looks = len(play.results)

    def flap(play):
        city = {"city": "Oslo"} if (len(play.results) - looks) % 2 else {}
        server.pages["/jobs.json"] = jobs(range(15), **city)

    play.run(3 * HOUR, flap)
    assert len(play.results) > looks + 3
    assert standing(path) == {}


HTML = '<ul>{}</ul><a href="/other">other</a>'


def item(number, name="job", pay=True):
    salary = f"<b>{number}000</b>" if pay else ""
    return f'<li class="{name}" id="j{number}">job {number} {salary}</li>'


def page(*rows):
    return "text/html", HTML.format("".join(rows)).encode()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (page(*(item(n, pay=False) for n in range(15))), "'pay' is empty or gone in"),
        (page(*(item(n, "post") for n in range(15))), "nothing is found at 'li.job'"),
    ],
)
def test_a_selector_that_finds_nothing_is_held_and_told(write, server, changed, said):
    server.pages["/jobs"] = page(*(item(n) for n in range(15)))
    more = 'format = "html"\nrecords = "li.job"\nfields = {id = "@id", pay = "b"}\n'
    path = write(listing(f"{server.url}/jobs", more))
    play = Play(path).run(0.5 * HOUR)
    server.pages["/jobs"] = changed
    play.run(2.5 * HOUR)
    found = standing(path)
    assert said in found["jobs", "held"]
    assert said in found["jobs", "schema-drift"]
    assert len(kept(path)) == 15


def test_an_answer_that_cannot_be_read_is_told_after_two(write, server):
    rows = json.dumps({"data": [{"id": n} for n in range(15)]}).encode()
    server.pages["/jobs.json"] = ("application/json", rows)
    path = write(listing(f"{server.url}/jobs.json", 'records = "data"\n'))
    play = Play(path).run(0.5 * HOUR)
    moved = rows.replace(b'"data"', b'"items"')
    server.pages["/jobs.json"] = ("application/json", moved)
    play.run(1.5 * HOUR)
    text = standing(path)["jobs", "schema-drift"]
    assert text == (
        "its answers look different: its answer cannot be read as the settings say: "
        "it has nothing at 'data'"
    )
    server.pages["/jobs.json"] = ("application/json", rows)
    play.run(3 * HOUR)
    assert standing(path) == {}
    write(listing(f"{server.url}/jobs.json", 'records = "items"\n'))


def test_records_without_keys_are_told_and_the_rest_is_kept(write, server):
    server.pages["/jobs.json"] = jobs(range(40))
    path = write(listing(f"{server.url}/jobs.json"))
    play = Play(path).run(0.5 * HOUR)
    rows = [{"id": n if n > 9 else None, "title": "x", "salary": n} for n in range(40)]
    server.pages["/jobs.json"] = as_json(rows)
    play.run(1.5 * HOUR)
    text = "its answers look different: 10 of 40 records have no usable key"
    assert standing(path) == {("jobs", "schema-drift"): text}
    assert kept(path)["19"]["salary"] == 19
    assert kept(path)["9"]["salary"] == 1009  # nothing is removed meanwhile


def test_new_settings_begin_with_a_clean_slate(write, server):
    server.pages["/jobs.json"] = jobs(range(15))
    path = write(listing(f"{server.url}/jobs.json"))
    play = Play(path).run(0.5 * HOUR)
    server.pages["/jobs.json"] = as_json([{"id": n} for n in range(15)])
    play.run(2.5 * HOUR)
    assert ("jobs", "schema-drift") in standing(path)
    write(listing(f"{server.url}/jobs.json", 'fields = {id = "id"}\n'))
    play.run(3 * HOUR)
    assert standing(path) == {}


def test_a_form_whose_records_lose_a_column_is_held_and_told(write):
    office = FormServer(behind(cars(60), everything=True, page_size=20))
    with serving(office) as url:
        path = write(snippet(url, office.form.interface))
        play = Play(path).run(1 * HOUR)
        assert standing(path) == {}
        poor = {key: {**row, "price": None} for key, row in cars(60).items()}
        office.form = behind(poor, everything=True, page_size=20)
        play.run(6 * HOUR)
    found = standing(path)
    assert "'price' is empty or gone in" in found["simulated", "held"]
    assert "'price' is empty or gone in" in found["simulated", "schema-drift"]
    assert all(row["price"] is not None for row in kept(path).values())


def test_a_search_that_no_longer_tells_its_totals_is_told(write):
    with searching(corpus(100)) as server:
        path = write(
            f'[[source]]\nname = "words"\nkind = "search"\n{HOME}'
            'engine = "elasticsearch"\n'
            f'search_url = "{server.url}/es/_search?q={{query}}&from={{offset}}'
            '&size={count}"\nmin_interval = "30 min"\nmax_interval = "1 h"\n',
            requests=9600,
        )
        play = Play(path).run(1.2 * HOUR)
        assert standing(path) == {}
        server.shop.totals = "absent"
        play.run(3 * HOUR)
    text = standing(path)["words", "schema-drift"]
    assert text.startswith("its answers look different: 'number of hits' is empty or")


PLAIN = {f"k{n}": {"pay": n} for n in range(40)}
OTHER = {
    "same": PLAIN,
    "new": {key: {**row, "city": "Rome"} for key, row in PLAIN.items()},
    "lost": {key: {"pay": None} for key in PLAIN},
}


@given(looks=st.lists(st.sampled_from(sorted(OTHER)), max_size=25))
def test_only_what_two_looks_in_a_row_show_is_told(looks):
    """Oracle: a new column is told once, a lost one while it lasts, both after two."""
    memory = updated_memory(AnswerMemory(), columns(PLAIN), [], 0.0)
    known, before = False, "same"
    for n, look in enumerate(looks, 1):
        seen = columns(OTHER[look])
        memory = updated_memory(memory, seen, differences(memory.usual, seen), 0.01 * n)
        assert bool(memory.lost) == (look == before == "lost")
        known = known or look == before == "new"
        assert [text for text, _ in memory.news] == ["a new column 'city'"] * known
        before = look
        if known:  # from here on it is missed where it is not
            return


def test_what_nobody_can_decide_on_is_usual_after_a_week():
    rows = {f"k{n}": {"a": n} for n in range(50)}
    memory = updated_memory(AnswerMemory(), columns(rows), [], 0.0)
    for day in range(9):
        seen = columns(rows, 10)
        found = differences(memory.usual, seen)
        assert bool(found) == (day <= TOLERATED_DAYS)
        memory = updated_memory(memory, seen, found, float(day))
        assert bool(memory.lost) == (1 <= day < TOLERATED_DAYS)
    assert memory.usual[KEY].share == pytest.approx(50 / 60)


def test_what_is_remembered_outlives_the_program(tmp_path):
    source = Config.parse(
        '[[source]]\nname = "s"\nkind = "listing"\nurl = "http://a.example/"\n'
        'key = "id"\n'
    ).source[0]
    with SqliteStore.open(tmp_path / "s.db", create=True) as store:
        listing_schema_drift.note_answers(store, source, columns({"a": {"n": 1}}), 1.0)
        first = listing_schema_drift.recall(store, source, listing_schema_drift.ANSWERS)
    with SqliteStore.open(tmp_path / "s.db") as store:
        assert (
            listing_schema_drift.recall(store, source, listing_schema_drift.ANSWERS)
            == first
        )
        assert first.usual["n"].records == 1
