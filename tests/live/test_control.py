"""Pausing, resuming and draining the service of one machine."""

import json

from halflife import cli
from halflife.config import Config
from halflife.core.store import Note
from halflife.engine import bootstrap, control
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.control import CONTROL, DRAINING, PAUSED, RUNNING
from halflife.web import activity
from service_parts import HOME, Play

SETTINGS = f"""
[budget]
requests = 2400
per = "day"
[fetch]
delay = 0.0
[[source]]
name = "site"
robots = false
{HOME}pages = [{{pages}}]
"""


def played(tmp_path, server):
    server.pages = {f"/{i}": ("text/html", b"<p>a</p>") for i in range(5)}
    site = f"http://127.0.0.1:{server.server_port}"
    path = tmp_path / "halflife.toml"
    pages = ", ".join(f'"{site}/{i}"' for i in range(5))
    path.write_text(SETTINGS.format(pages=pages))
    return Play(path)


def test_a_service_that_is_paused_sends_nothing_until_it_is_resumed(tmp_path, server):
    asked = {}

    def each(play):
        store = play.service.store
        if play.naps == 1:
            control.set_state(store, PAUSED, play.now)
            asked["paused"] = len(server.asked)
        elif play.naps == 40:
            asked["resumed"] = len(server.asked)
            control.set_state(store, RUNNING, play.now)

    play = played(tmp_path, server).run(0.05, each)
    assert asked["paused"] == asked["resumed"] == 5
    assert len(server.asked) > 5
    assert [one["event"] for one in play.events if one["event"] in (PAUSED, RUNNING)]


def test_a_service_that_is_drained_ends_with_exit_code_0(tmp_path, server):
    def each(play):
        if play.naps == 1:
            control.set_state(play.service.store, DRAINING, play.now)

    play = played(tmp_path, server).run(1.0, each)
    assert play.now < 20000.5
    assert play.stop.code == 0
    assert len(server.asked) == 5


def test_the_verbs_say_what_holds_and_status_shows_it(tmp_path, server, capsys):
    path = str(played(tmp_path, server).path)

    def say(*words):
        assert cli.main([*words, "--config", path]) == 0
        return capsys.readouterr().out

    assert json.loads(say("status", "--json"))["control"]["state"] == "running"
    assert "until `halflife resume`" in say("pause")
    assert "(it was already)" in say("pause")
    assert "paused since" in say("status")
    assert json.loads(say("drain", "--json")) == {
        "state": "draining",
        "before": "paused",
    }
    assert "running" in say("resume")
    assert "since" not in say("status").splitlines()[-1]


def test_a_note_that_says_nonsense_holds_nothing_up():
    store = MemoryStore()
    store.save_note("", CONTROL.name, Note(1, '{"state": "asleep", "since": null}'))
    assert control.read(store).state == RUNNING


def test_the_page_says_that_all_is_paused(tmp_path, server):
    path = played(tmp_path, server).path
    assert cli.main(["pause", "--config", str(path)]) == 0
    with bootstrap.reading(Config.load(path)) as store:
        assert activity.take(store, 20000.0)["service"]["control"] == "paused"
