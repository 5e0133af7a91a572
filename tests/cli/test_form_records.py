"""No record of a database behind a form is lost in silence."""

import itertools
import signal
import sqlite3
import time

import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.kinds.form import runner as form_runner
from inside import run_inside
from processes import load_of, started, wait_for
from table_api import Table, rows, serving, settings

DATED = 'newest = "sort=date"\neverything = true\n'
COUNTED = 'total = "count"\n'
LINKED = 'next = "next"\n'


@pytest.fixture
def table(here):
    """Serve a table; return how to write the settings that ask it."""
    with_table = []

    def write(table, *, checked=True, **how):
        with_table.append(serving(table))
        url = with_table[-1].__enter__()
        # Records drawn at random, to check the copy, cost two requests now and then.
        head = "" if checked else "[audit]\nshare = 0.0\n"
        how["more"] = "per_page = 20\n" + how.get("more", "").replace("URL", url)
        (here / "halflife.toml").write_text(head + settings(url, **how))
        return table

    yield write
    for one in with_table:
        one.__exit__(None, None, None)


@pytest.fixture
def sync(asked):
    def run(*words):
        code, answer = asked("sync", *words)
        (row,) = answer["listings"]
        return {**row, "code": code}

    return run


def keys(here):
    config = Config.load(here / "halflife.toml")
    with bootstrap.reading(config) as store:
        spells = store.register("things").spells
        return {int(s.key) for s in spells if s.gone_by == float("inf")}


def ids(table):
    return {row["id"] for row in table.rows}


def recall(asked):
    (row,) = asked("status")[1]["sets"]
    return row["recall"]


def moved(table, step=2):
    """Change every so many records."""
    for row in table.rows[::step]:
        row["name"] += "x"


def test_new_records_of_equal_dates_are_found(table, sync, asked, here):
    things = table(Table(rows(0, 255)), checked=False, more=DATED + COUNTED)
    sync()
    things.rows += rows(255, 315)
    assert sync()["arrived"] == 60
    assert keys(here) == ids(things)
    before = len(things.log)
    assert sync()["stop"] == "nothing more is worth a request"
    # What is met is not read again: two pages of the newest, one of each city.
    assert len(things.log) - before == 5


def test_new_records_of_a_tied_date_are_found_without_counts(table, sync, here):
    old = rows(0, 100, "2026-04-30") + rows(100, 200)
    how = DATED + 'date = "day"\n'
    things = table(Table(old, counted=False), checked=False, more=how)
    sync()
    things.rows += rows(200, 220)
    before = len(things.log)
    assert sync()["arrived"] == 20
    assert keys(here) == ids(things)
    assert len(things.log) - before <= 11  # the older day is not read


def test_as_many_new_records_as_went_are_found_where_dates_are_tied(table, sync, here):
    things = table(Table(rows(0, 200)), more=DATED + COUNTED + 'date = "day"\n')
    sync()
    things.rows = things.rows[10:] + rows(200, 210)
    sync()
    assert ids(things) <= keys(here)


def test_a_reported_total_that_cannot_be_met_is_said_and_counts(
    table, sync, asked, here
):
    things = table(Table(rows(0, 255), cap=60), more=DATED + COUNTED + "cap = 60\n")
    row = sync()
    said = "it reports 255 records, 180 are held: all queries were sent; "
    assert row["stop"].startswith(said), row["stop"]
    assert "60 of a query at most" in row["stop"]
    before = len(things.log)
    assert sync()["stop"].startswith(said)
    assert len(things.log) - before <= 12  # it is not crawled again each time
    assert keys(here) < ids(things)
    quality = recall(asked)
    assert quality["mean"] == pytest.approx(180 / 255, abs=1e-3)
    assert quality["high"] < 0.72


def test_a_total_that_counts_what_is_not_there_leaves_the_upper_bound_open(
    table, sync, asked, here
):
    things = table(Table(rows(0, 100), claims=25), more=DATED + COUNTED)
    assert "it reports 125 records, 100 are held" in sync()["stop"]
    assert keys(here) == ids(things)
    quality = recall(asked)
    assert quality["mean"] == pytest.approx(0.8, abs=1e-3)
    assert quality["high"] == pytest.approx(1.0, abs=1e-3)
    things.rows += rows(100, 130)
    assert sync()["arrived"] == 30  # more are missing than could not be found


def test_a_search_for_missing_records_goes_on_where_the_budget_cut_it_short(
    table, sync, here
):
    things = table(Table(rows(0, 400)), more='everything = true\ntotal = "count"\n')
    sync()
    things.rows += [
        {"id": i, "city": "Bari", "name": "", "day": ""} for i in range(400, 430)
    ]
    for _ in range(12):
        sync("--max-requests", 12)
        if keys(here) == ids(things):
            return
    pytest.fail(f"{len(keys(here))} of {len(ids(things))} were found")


def test_status_counts_the_records_that_have_gone(table, sync, asked, here):
    things = table(Table(rows(0, 57)), more='everything = true\npurpose = "known"\n')
    sync()
    del things.rows[::19]
    sync()
    (row,) = asked("status")[1]["sets"]
    assert (row["held"], row["gone"]) == (54, 0)  # they are missing for the first time
    with sqlite3.connect(here / "halflife.db") as db:  # and for the second
        missing = "missing_since IS NOT NULL"
        db.execute(f"UPDATE life SET gone_by = missing_since WHERE {missing}")
    (row,) = asked("status")[1]["sets"]
    assert (row["held"], row["gone"]) == (54, 3)


@pytest.mark.parametrize("total", ["", COUNTED])
def test_known_and_new_records_are_kept_where_the_newest_come_first(
    table, sync, here, total
):
    things = table(Table(rows(0, 255)), more=DATED + 'purpose = "both"\n' + total)
    sync()
    for turn in range(3):
        moved(things)
        things.rows += rows(255 + 20 * turn, 275 + 20 * turn)
        sync()
    assert keys(here) == ids(things)


@pytest.mark.parametrize("purpose", ["new", "known", "both"])
def test_links_lead_to_all_pages(table, sync, here, purpose):
    how = f'everything = true\npurpose = "{purpose}"\n' + LINKED
    things = table(Table(rows(0, 255), links="next"), paged=False, more=how)
    assert sync()["requests"] == 1 + 13
    assert keys(here) == ids(things)


@pytest.mark.parametrize("links", ["circle", "self", "endless"])
def test_links_in_a_circle_end(table, sync, here, links):
    how = "everything = true\n" + LINKED
    things = table(Table(rows(0, 95), links=links), paged=False, more=how)
    row = sync()
    assert row["requests"] <= 25
    assert keys(here) == ids(things) or links != "circle"


@pytest.mark.parametrize(
    ("links", "why"),
    [
        ("abroad", "its next page lies on another host"),
        ("broken", "its next page has no address"),
    ],
)
def test_a_link_that_leads_nowhere_is_said(table, told, here, links, why):
    how = "everything = true\n" + LINKED
    table(Table(rows(0, 95), links=links), paged=False, more=how)
    _, out, err = told("sync")
    assert why in out + err
    assert len(keys(here)) == 20  # what was shown is kept


def test_a_walk_along_links_goes_on_where_the_budget_cut_it_short(table, sync, here):
    how = "everything = true\n" + LINKED
    things = table(Table(rows(0, 400), links="next"), paged=False, more=how)
    while len(things.log) < 20:
        sync("--max-requests", 4)
    assert keys(here) == ids(things)
    assert len(set(things.log)) == 20  # each page once


def test_a_walk_begins_anew_where_its_link_has_expired(table, sync, here):
    how = "everything = true\n" + LINKED
    things = table(Table(rows(0, 100), links="next"), paged=False, more=how)
    sync("--max-requests", 3)
    things.stale = True
    sync("--max-requests", 3)
    things.stale = False
    sync()
    assert keys(here) == ids(things)


def colourful(**how):
    """Return a table with a second attribute that can be asked for."""
    colours = ("red", "blue", "green", "pink", "grey")
    things = Table(rows(0, 255), **how)
    for row in things.rows:
        row["name"] = colours[row["id"] * 7 // 5 % 5]
    plain = things.matching
    things.matching = lambda asked: [
        row for row in plain(asked) if asked.get("name") in (None, row["name"])
    ]
    return things


@pytest.mark.timeout(60)
@pytest.mark.parametrize("purpose", ["new", "known", "both"])
@pytest.mark.parametrize("total", ["", COUNTED])
def test_records_that_went_from_a_form_without_pages_do_not_hang_it(
    table, here, purpose, total
):
    things = colourful()
    how = f'everything = true\npurpose = "{purpose}"\n' + total
    table(things, paged=False, more=how)
    text = (here / "halflife.toml").read_text()
    (here / "halflife.toml").write_text(text + 'name = {values = ["red", "blue"]}\n')
    assert run_inside(here, "sync")[0] == 0
    del things.rows[::3]
    # 5: so many are missing that somebody decides
    assert run_inside(here, "sync")[0] in {0, 5}


def test_a_signal_ends_a_turn_before_its_time(table, here):
    things = table(Table(rows(0, 4000)), more='everything = true\npurpose = "both"\n')
    plain = things.answer

    def slow(path, asked):
        time.sleep(0.05)
        return plain(path, asked)

    things.answer = slow
    with started(here, "sync") as process:
        wait_for(lambda: len(things.log) > 5)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 143
        assert time.monotonic() - began < 1.5 + 0.5 * load_of()
        assert len(things.log) < 100  # of 200 pages, at 20 a second


SHOWS = ("", DATED, 'newest = "sort=date"\n', "everything = true\n")
PAGES = ("numbers", "numbers, cut off", "links", "links, cut off", "none")
FORMS = list(itertools.product(("new", "known", "both"), SHOWS, ("", COUNTED), PAGES))


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_every_kind_of_form_is_read_to_its_end(table, sync, here, form):
    purpose, shows, total, pages = form
    link = LINKED if pages.startswith("links") else ""
    cap = 40 if pages.endswith("cut off") else None
    how = f'purpose = "{purpose}"\n' + shows + total + link
    how += f"cap = {cap}\n" if cap else ""
    things = Table(rows(0, 57), links="next" if link else "page", cap=cap or 10**9)
    table(things, paged=pages.startswith("numbers"), more=how)
    sync()
    moved(things)
    row = sync()
    assert (row["code"], row["trouble"]) == (0, "")
    assert keys(here) == ids(things)
    assert row["stop"] == "nothing more is worth a request"
    config = Config.load(here / "halflife.toml")
    with bootstrap.reading(config) as store:
        assert form_runner.load_copy(store, config.named(())[0]).missing == 0
