import json

import pytest


@pytest.fixture
def jobs(here, server):
    """Settings that keep a listing of a server; returns how to set what it lists."""
    (here / "halflife.toml").write_text(
        "[fetch]\ndelay = 0.0\n"
        '[[source]]\nname = "jobs"\nkind = "listing"\nallow = ["127.0.0.0/8"]\n'
        f'url = "{server.url}/jobs.json"\nformat = "json"\nkey = "id"\n'
        "confirm_hours = 0.0\n"
    )

    def lists(n):
        body = json.dumps([{"id": i, "pay": 10} for i in range(n)]).encode()
        server.pages["/jobs.json"] = ("application/json", body)

    return lists


def test_a_sync_looks_at_listings(jobs, asked, told):
    jobs(30)
    code, answer = asked("sync")
    assert code == 0
    (row,) = answer["listings"]
    assert (row["source"], row["listed"], row["arrived"]) == ("jobs", 30, 30)
    assert row["requests"] == 2
    jobs(29)
    code, out, _ = told("sync")
    assert code == 0
    assert out == "jobs: 29 objects: 0 new, 0 updated, 1 missing, 0 gone\n"


def test_an_emptied_listing_is_held_and_can_be_accepted(jobs, asked, told):
    jobs(30)
    told("sync")
    jobs(0)
    code, out, err = told("sync")
    assert code == 5
    assert "30 of 30 objects are missing" in out
    assert "nothing was removed" in err
    run = err.partition("--accept ")[2].partition("`")[0]
    code, answer = asked("sync", "--accept", run)
    assert code == 0
    assert answer["missing"] == 30
    assert asked("sync")[1]["listings"][0]["gone"] == 30
    assert asked("status")[1]["sets"][0]["gone"] == 30


def test_status_tells_what_a_listing_is_worth_and_what_waits(jobs, asked, told):
    jobs(30)
    told("sync")
    code, answer = asked("status")
    assert code == 0
    (row,) = answer["sets"]
    assert (row["source"], row["held"]) == ("jobs", 30)
    assert 0 <= row["recall"]["low"] <= row["recall"]["mean"] <= 1
    assert row["gone"] == 0
    assert 0 <= row["gone_estimate"]["mean"] <= 30
    assert (answer["waiting"], answer["results"]) == ([], [])
    jobs(0)
    told("sync")
    assert asked("status")[1]["waiting"][0]["source"] == "jobs"
    assert "halflife sync --accept" in told("status")[1]


def test_accepting_what_does_not_wait_is_a_slip(jobs, told):
    for what, said in (("7", "left nothing to decide"), ("x", "neither a run nor")):
        code, _, err = told("sync", "--accept", what)
        assert code == 2
        assert said in err
    assert told("sync", "--accept", "jobs=acme")[0] == 2


def test_a_listing_that_does_not_answer_is_told(jobs, told):
    code, out, err = told("sync")
    assert (code, out) == (4, "")
    assert "source jobs did not answer in full" in err
    assert "/jobs.json: it answered 404" in err
