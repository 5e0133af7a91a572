"""Keeping the copy of a database behind a form, with the verbs people use."""

import asyncio
import signal

import pytest

from form_worlds import behind, cars
from halflife.config import Config
from halflife.demo.forms import ServerFaults, snippet
from halflife.engine import bootstrap
from halflife.engine.appraisal import Appraiser
from halflife.kinds.form import client as form_client, runner as form_runner
from halflife.web import rows
from lying_forms import Lying
from processes import started, wait_for

HEAD = "[budget]\nrequests = 2000\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"


@pytest.fixture
def office(counter, here):
    """A form with 200 cars behind it, and settings that say how to ask it."""
    url, office = counter
    everything = cars(260)
    first = {key: everything[key] for key in list(everything)[:200]}
    office.form, office.faults, office.asked = behind(first), ServerFaults(), 0
    office.form = behind(first, everything=True, page_size=20)
    text = HEAD + snippet(url, office.form.interface)
    text = text.replace('kind = "form"', 'kind = "form"\npurpose = "both"')
    (here / "halflife.toml").write_text(text)
    return office


def held(here):
    config = Config.load(here / "halflife.toml")
    with bootstrap.reading(config) as store:
        spells = store.register("simulated").spells
        return {s.key for s in spells if s.gone_by == float("inf")}


def test_a_form_is_crawled_first_and_then_asked_for_what_is_new(office, asked, here):
    code, answer = asked("sync")
    assert code == 0
    (row,) = answer["listings"]
    assert row["arrived"] == 200
    assert row["requests"] <= office.asked + 1
    assert held(here) == set(office.form.records)
    everything = cars(260)
    now = {key: everything[key] for key in list(everything)[5:]}
    office.form = behind(now, everything=True, page_size=20)
    office.asked = 0
    code, answer = asked("sync", "--max-requests", 60)
    assert code == 0
    (row,) = answer["listings"]
    assert row["arrived"] >= 50
    assert row["requests"] <= 60
    assert row["asked"]
    assert len(held(here)) >= 250  # nothing goes at the first miss


def test_the_plan_shows_queries_and_sends_nothing(office, asked, told):
    _, answer = asked("plan")
    (first,) = answer["queries"]
    assert first["why"] == "there is no copy yet"
    asked("sync")
    before = office.asked
    _, answer = asked("plan", "--top", 4)
    assert office.asked == before
    assert 0 < len(answer["queries"]) <= 4
    for row in answer["queries"]:
        assert row["source"] == "simulated"
        assert row["requests"] >= 1
        assert row["why"]
    _, out, _ = told("plan", "--top", 2)
    assert "simulated" in out


def test_a_form_that_empties_itself_loses_nothing(office, asked, here):
    asked("sync")
    office.form = behind({}, everything=True, page_size=20)
    for _ in range(3):
        asked("sync", "--max-requests", 80)
    assert len(held(here)) == 200


def test_a_form_that_does_not_answer_is_told_so(office, told, here):
    asked_before = office.asked
    before = (here / "halflife.toml").read_text()
    office.faults = ServerFaults(fails=1)
    code, _, err = told("sync")
    assert code == 4
    assert "did not answer" in err
    assert office.asked >= asked_before
    assert (here / "halflife.toml").read_text() == before


def test_status_counts_a_form_among_the_sets(office, asked):
    asked("sync")
    _, answer = asked("status")
    (row,) = answer["sets"]
    assert row["source"] == "simulated"
    assert (row["held"], row["gone"]) == (200, 0)


def test_what_was_shown_before_a_crash_is_kept(office, here, monkeypatch):
    """The program dies in the middle of the first crawl, without a word."""
    config = Config.load(here / "halflife.toml")
    office.form = behind(office.form.records, everything=True, page_size=2)
    shown = []

    class Died(BaseException):
        pass

    def dies(self, kept, run):
        shown.append(len(kept.records))
        raise Died

    monkeypatch.setattr(form_runner._TurnRecorder, "write", dies)

    async def crawl():
        with bootstrap.writing(config) as store:
            former = form_client.FormClient(config, store)
            await form_runner.sync(former, config.source[0], most=90)

    with pytest.raises(Died):
        asyncio.run(crawl())
    assert shown[0] > 100
    assert len(held(here)) >= shown[0] - 2 * form_runner.NOTED


def test_what_queries_brought_is_remembered(office, asked, here):
    asked("sync")
    config = Config.load(here / "halflife.toml")
    with bootstrap.reading(config) as store:
        crawled = form_runner.latest_queries(store, config.source[0])
    assert sum(row.new for row in crawled) >= 100
    everything = cars(260)
    office.form = behind(everything, everything=True, page_size=20)
    _, answer = asked("sync", "--max-requests", 30)
    with bootstrap.reading(config) as store:
        latest = form_runner.latest_queries(store, config.source[0])
    now = latest[: len(answer["listings"][0]["asked"])]
    assert sum(row.new for row in now) == answer["listings"][0]["arrived"]
    assert sum(row.requests for row in now) <= 30
    assert [row.what for row in now] == [
        step["what"] for step in reversed(answer["listings"][0]["asked"])
    ]
    assert len(latest) <= form_runner.REMEMBERED


def divided(office, counter, here, n=200, cap=20):
    """Put cars behind a form that shows so many results of a query, 4 to a page."""
    records = cars(n)
    office.form = behind(records, everything=True, page_size=4, cap=cap)
    text = HEAD + snippet(counter[0], office.form.interface)
    (here / "halflife.toml").write_text(text)
    office.asked = 0
    return records


def copied(here):
    config = Config.load(here / "halflife.toml")
    with bootstrap.reading(config) as store:
        return form_runner.load_copy(store, config.source[0])


def test_a_first_crawl_goes_on_turn_by_turn_until_all_is_read(
    office, counter, asked, here
):
    records = divided(office, counter, here)
    asked("sync")
    at_once = office.asked
    (here / "halflife.db").unlink()
    office.asked, turns = 0, 0
    while not turns or not copied(here).begun:
        _, answer = asked("sync", "--max-requests", 20)
        (row,) = answer["listings"]
        assert row["missing"] == row["gone"] == 0
        turns += 1
        assert turns < 30
    assert turns >= 4
    assert held(here) == set(records)
    assert row["stop"] == "everything was read"
    assert office.asked <= at_once + turns  # a query that was cut is begun again
    copy = copied(here)
    assert copy.arrival[0] < 1.0  # what the crawl found later did not come later


@pytest.mark.parametrize("cap", [None, 20])
def test_a_crawl_cut_short_plans_its_open_queries(office, counter, asked, here, cap):
    records = divided(office, counter, here, cap=cap)
    asked("sync", "--max-requests", 25)
    before = office.asked
    _, answer = asked("plan")
    assert office.asked == before
    assert answer["queries"]
    for row in answer["queries"]:
        assert row["why"].startswith("the first crawl goes on; ")
        assert row["gain"] > 0
    asked("sync")
    assert held(here) == set(records)


def test_status_tells_of_a_crawl_under_way_beside_other_sets(
    office, counter, asked, told, here
):
    divided(office, counter, here)
    jobs = here / "jobs.jsonl"
    for day in (1, 2):
        jobs.write_text('{"id": 1}\n{"id": 2}\n')
        jobs.rename(here / f"2026-01-0{day}.jsonl")
    code, _, err = told("import", "snapshots", here, "--key", "id", "--as", "jobs")
    assert code == 0, err
    asked("sync", "simulated", "--max-requests", 25)
    code, out, _ = told("status")
    assert code == 0
    assert "its first crawl goes on" in out
    assert "jobs" in out
    code, out, err = told("whatif", "--budget", 100)
    assert code == 0
    assert "its first crawl has not come to its end" in out + err
    while not copied(here).begun:
        asked("sync", "simulated", "--max-requests", 25)
    (row,) = asked("status", "simulated")[1]["sets"]
    assert row["held"] == 200
    assert row["recall"]["mean"] > 0.9
    assert told("status")[0] == 0


def test_a_form_is_forecast_though_it_was_never_seen_whole(
    office, counter, asked, fails, here
):
    divided(office, counter, here)
    code, said = fails("forecast", "simulated")
    assert code == 2
    assert "simulated was never fetched; run `halflife sync simulated`" in said
    while not (here / "halflife.db").exists() or not copied(here).begun:
        asked("sync", "--max-requests", 25)
    code, cast = asked("forecast", "simulated", "--at", "+30d")
    assert code == 0
    now, later = (row["recall"] for row in cast["results"])
    (row,) = asked("status", "simulated")[1]["sets"]
    assert now["mean"] == pytest.approx(row["recall"]["mean"], abs=1e-3)
    assert later["mean"] <= now["mean"]
    assert later["low"] <= later["mean"] <= later["high"]


def test_nothing_is_foreseen_of_a_copy_that_is_not_whole(office, counter, asked, here):
    divided(office, counter, here)
    config = Config.load(here / "halflife.toml")
    foreseen = []
    for most in (25, 500):
        asked("sync", "--max-requests", most)
        with bootstrap.reading(config) as store:
            now = bootstrap.clock()
            foreseen.append(
                rows.row_of_source(Appraiser(config, store, now), config.source[0])
            )
    (before, nothing), (after, cast) = foreseen
    assert nothing is None
    assert before.why.startswith("its first crawl goes on; ")
    assert cast.mean[0] > 0.9
    assert before.items < after.items == 200


def test_a_crawl_begins_anew_where_the_form_turns_out_to_do_less(
    office, counter, asked, here
):
    divided(office, counter, here)
    asked("sync", "--max-requests", 25)
    assert copied(here).crawl is not None
    records = divided(office, counter, here, cap=12)
    copy = copied(here)
    assert (copy.crawl, copy.begun) == (None, False)
    _, answer = asked("sync")
    assert answer["listings"][0]["stop"] == "everything was read"
    assert held(here) == set(records)


def test_a_crawl_that_is_killed_repeats_no_more_than_the_last_batch(
    office, counter, told, here
):
    """The program is killed twice; nobody tells it beforehand."""
    records = divided(office, counter, here, n=400)
    told("sync")
    at_once = office.asked
    (here / "halflife.db").unlink()
    office.asked, office.faults = 0, ServerFaults(slow=0.01)
    for _ in range(2):
        before = office.asked
        with started(here, "sync") as running:
            wait_for(lambda before=before: office.asked >= before + 50)
            running.send_signal(signal.SIGKILL)
            running.wait(10)
        assert held(here)
        assert not copied(here).begun
    office.faults = ServerFaults()
    code, out, _ = told("sync")
    assert code == 0
    assert "everything was read" in out
    assert held(here) == set(records)
    # What was asked after the last note, and the query that was being read.
    assert office.asked <= at_once + 2 * (form_runner.NOTED + 6)


@pytest.mark.parametrize("lie", ["off by up to 3", "of the page", "up to the cap"])
def test_a_form_that_counts_wrong_is_never_said_to_be_read(
    counter, here, asked, told, lie
):
    url, office = counter
    office.form, office.faults = Lying(lie, cars(200), page_size=20), ServerFaults()
    settings = HEAD + snippet(url, office.form.interface)
    (here / "halflife.toml").write_text(settings)
    _, out, _ = told("sync")
    assert "everything was read" not in out
    (row,) = asked("status")[1]["sets"]
    recall = row["recall"]
    assert recall["low"] - 1e-3 <= row["held"] / 200 <= recall["high"] + 1e-3
    assert recall["low"] < 0.99
    assert "may have more than shown" in str(row)
    _, answer = asked("sync")  # and upkeep does not believe them again
    assert "reports" not in answer["listings"][0]["stop"]
