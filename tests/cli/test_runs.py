"""What a run did, as `explain --run` tells it."""


def jobs(here, server):
    server.pages["/jobs.json"] = ("application/json", b'[{"id": 1}, {"id": 2}]')
    with (here / "halflife.toml").open("a") as settings:
        settings.write(
            '\n[[source]]\nname = "jobs"\nkind = "listing"\nkey = "id"\n'
            f'allow = ["127.0.0.0/8"]\nurl = "{server.url}/jobs.json"\n'
        )


def test_a_run_is_accounted_for(here, server, keep, asked, told):
    server.pages["/a"] = ("text/plain", b"one")
    server.pages["/b"] = ("text/plain", b"two")
    keep(server, "/a", "/b", "/c")
    jobs(here, server)
    asked("sync")
    server.pages["/a"] = ("text/plain", b"another")
    asked("sync", "s", "--all")
    _, first = asked("explain", "--run", 1)
    assert first["sources"] == ["s"]
    assert first["state"] == "done"
    assert first["began"] <= first["ended"]
    assert first["requests"] == 4  # three pages and robots.txt
    assert first["pages"] == [{"source": "s", "looks": 3, "failed": 0, "changed": 0}]
    _, second = asked("explain", "--run", 2)
    assert second["sources"] == ["jobs"]
    (look,) = second["listed"]
    assert (look["objects"], look["complete"], look["missing"]) == (2, True, 0)
    _, third = asked("explain", "--run", 3)
    assert third["pages"][0]["changed"] == 1
    code, out, _ = told("explain", "--run", 3)
    assert code == 0
    assert "run 3 of s: done" in out
    assert "s: 3 fetches, 1 found a change, 0 failed" in out


def test_what_went_wrong_in_a_run_is_told(here, server, keep, asked, told):
    keep(server, "/a")
    server.pages["/robots.txt"] = ("text/plain", b"User-agent: *\nDisallow: /\n")
    asked("sync")
    _, answer = asked("explain", "--run", 1)
    assert answer["pages"][0]["failed"] == 1
    (trouble,) = answer["troubles"]
    assert "robots.txt" in trouble["why"]
    assert "1 fetch failed" in told("explain", "--run", 1)[1]


def test_a_run_that_never_was(here, server, keep, asked, fails):
    keep(server, "/a")
    asked("sync")
    code, said = fails("explain", "--run", "9")
    assert code == 2
    assert said == "nothing is known of run 9; the last one is 1"
    assert fails("explain")[0] == 2
    assert fails("explain", "x", "--run", "1")[0] == 2


def test_a_sync_says_that_pages_which_failed_have_to_wait(here, told):
    (here / "halflife.toml").write_text(
        "[fetch]\ndelay = 0.0\n"
        '[[source]]\nname = "s"\nallow = ["127.0.0.0/8"]\n'
        'pages = ["http://127.0.0.1:9/"]\n'  # nobody listens there
    )
    code, _, err = told("sync")
    assert (code, "not fetched again" in err) == (4, False)
    code, out, err = told("sync", "--all")
    assert code == 0
    assert out.startswith("0 requests: 0 fetches")
    assert (
        "1 page failed and is not fetched again yet; the next one is due in 5 min"
        in err
    )
