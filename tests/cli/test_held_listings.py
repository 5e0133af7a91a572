"""Answers whose removals are held, although what they show is taken; over HTTP."""

import json

import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.stores.record_changes import current

KEYS = range(40)


@pytest.fixture
def cars(here, server):
    """Settings that keep a listing of a server; returns how to set what it lists."""
    (here / "halflife.toml").write_text(
        "[fetch]\ndelay = 0.0\n"
        '[[sink]]\nname = "log"\nkind = "jsonl"\npath = "changes.jsonl"\n'
        '[[source]]\nname = "cars"\nkind = "listing"\nallow = ["127.0.0.0/8"]\n'
        f'url = "{server.url}/cars.json"\nformat = "json"\nkey = "id"\n'
        "confirm_hours = 0.0\n"
    )

    def lists(keys, price=10, model="model", **other):
        rows = [{"id": f"k{i}", "model": f"{model} {i}", "price": price} for i in keys]
        rows += [{"id": key, "model": key, "price": row} for key, row in other.items()]
        server.pages["/cars.json"] = ("application/json", json.dumps(rows).encode())

    return lists


@pytest.fixture
def copied(here):
    """Return the objects in the copy: their keys and prices."""

    def read():
        config = Config.load(here / "halflife.toml")
        with bootstrap.reading(config) as store:
            rows = current(store.register("cars"))
        return {key: row["price"] for key, row in rows.items()}

    return read


def delivered(here):
    """Return what the sink got: kind and key."""
    text = (here / "changes.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    return [(row["kind"], row["key"]) for row in rows]


def halved(cars, told, *, first=1):
    """Sync a full list, then half of it with two new cars; return the run and texts."""
    cars(KEYS)
    for _ in range(first):
        assert told("sync")[0] == 0
    cars(KEYS[:20], new1=5, new2=6)
    code, out, err = told("sync")
    assert code == 5
    return err.partition("--accept ")[2].partition("`")[0], out, err


@pytest.mark.parametrize("first", [1, 8])
def test_what_a_held_answer_shows_is_taken_and_what_it_lacks_stays(
    cars, told, copied, here, first
):
    _, out, err = halved(cars, told, first=first)
    assert "20 of 40 objects are missing" in out
    assert "what it shows is in the copy: 2 new, 0 updated" in out
    assert "nothing was removed" in err
    assert copied() == {f"k{i}": 10 for i in KEYS} | {"new1": 5, "new2": 6}
    got = delivered(here)[40:]
    assert sorted(got) == [("held", ""), ("new", "new1"), ("new", "new2")]


def test_if_it_is_accepted_the_removals_follow(cars, told, asked, copied, here):
    run, *_ = halved(cars, told)
    code, answer = asked("sync", "--accept", run)
    assert (code, answer["arrived"], answer["missing"]) == (0, 0, 20)
    assert len(copied()) == 42  # missing once is not gone
    code, out, _ = told("sync")
    assert (code, out.splitlines()[0]) == (
        0, "cars: 22 objects: 0 new, 0 updated, 0 missing, 20 gone"
    )  # fmt: skip
    assert copied().keys() == {f"k{i}" for i in KEYS[:20]} | {"new1", "new2"}
    got = delivered(here)[40:]
    assert len(got) == len(set(got)) == 2 + 2 + 20  # each once, and held and accepted
    assert [change for change, _ in got].count("gone") == 20


def test_if_it_is_not_believed_all_is_kept(cars, told, asked, copied, here):
    run, *_ = halved(cars, told)
    assert told("sync", "--keep", run)[0] == 0
    assert len(copied()) == 42
    assert asked("status")[1]["waiting"] == []
    assert "held_removals" not in asked("status")[1]["sets"][0]
    cars(KEYS, new1=5, new2=6)
    code, out, _ = told("sync")
    assert (code, out.splitlines()[0]) == (
        0, "cars: 42 objects: 0 new, 0 updated, 0 missing, 0 gone"
    )  # fmt: skip
    got = delivered(here)[40:]
    assert sorted(got) == [("held", ""), ("new", "new1"), ("new", "new2")]


def test_changed_cars_are_taken_and_the_same_answer_again_says_nothing_new(
    cars, told, copied, here
):
    halved(cars, told)
    for _ in range(2):
        cars(KEYS[:20], new1=5, new2=7)
        code, _, _ = told("sync")
        assert code == 5
    assert (copied()["new2"], len(copied())) == (7, 42)
    got = delivered(here)[40:]
    assert got[-1] == ("changed", "new2")
    assert len(got) == 4  # one notice that something waits, two new, one changed


@pytest.mark.parametrize(
    "answer",
    [
        {"keys": range(100, 130)},  # another list
        {"keys": [*KEYS[:12], *range(100, 112)]},  # a list that has some of ours
        {"keys": KEYS[:20], "model": "Modell"},  # another language
        {"keys": KEYS[:20], "model": "model", "price": "ask us"},  # another schema
        {"keys": KEYS[:5]},  # too little to be sure of
        {"keys": []},
    ],
    ids=["others", "mixed", "language", "schema", "few", "empty"],
)
def test_of_an_answer_that_may_be_anything_nothing_is_taken(
    cars, told, asked, copied, here, answer
):
    cars(KEYS)
    assert told("sync")[0] == 0
    cars(**answer)
    code, out, _ = told("sync")
    assert code == 5
    assert "what it shows" not in out
    assert copied() == {f"k{i}": 10 for i in KEYS}
    assert delivered(here)[40:] == [("held", "")]
    assert "held_removals" not in asked("status")[1]["sets"][0]


def test_of_an_old_answer_nothing_is_taken(cars, told, copied):
    cars(KEYS)
    told("sync")
    cars(range(4, 44), price=11)
    for _ in range(2):
        assert told("sync")[0] == 0
    before = copied()
    cars(KEYS[:25])  # as it was at first, and cut off
    code, out, _ = told("sync")
    assert code == 5
    assert "what it shows" not in out
    assert copied() == before


def test_an_error_and_a_login_page_are_failures_as_ever(cars, told, copied, server):
    cars(KEYS)
    told("sync")
    server.pages["/cars.json"] = ("text/html", b"<form>log in</form>")
    assert told("sync")[0] == 4
    assert len(copied()) == 40


def test_status_forecast_and_json_say_that_removals_wait(cars, told, asked):
    cars(KEYS)
    for _ in range(3):
        assert told("sync")[0] == 0
    (before,) = asked("status")[1]["sets"]
    cars(KEYS[:20], new1=5)
    assert told("sync")[0] == 5
    answer = asked("status")[1]
    (row,) = answer["sets"]
    assert (row["held"], row["held_removals"]) == (41, 20)
    assert "what it shows is in the copy" in answer["waiting"][0]["why"]
    share = 20 / 41
    for_all = row["precision"], before["precision"]
    assert for_all[0]["low"] <= for_all[1]["low"] * (1 - share) + 1e-6
    assert for_all[0]["high"] >= 1 - share
    assert row["gone_estimate"]["high"] >= 20
    assert row["recall"]["low"] <= row["recall"]["mean"] <= row["recall"]["high"]
    ahead = asked("forecast", "cars", "--days", "1")[1]
    assert ahead["held_removals"] == 20
    assert ahead["results"][-1]["precision"]["low"] <= 1 - share
