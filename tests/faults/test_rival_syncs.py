"""Five programs want to sync the same source at once: one does, the others say so."""

from fault_points import count
from halflife.config import Config
from halflife.engine import bootstrap
from nursery import STATE

ROUNDS, RIVALS = count(50, 2), 5
SETTINGS = """\
[fetch]
delay = 0.0
timeout = 25.0
[[source]]
name = "site"
allow = ["127.0.0.0/8"]
pages = ["{url}/"]
"""


def race(nursery, folders, server):
    """Let all sync at once; the winner's server waits until the others have ended."""
    server.go.clear()
    nursery.race(folders, "sync", "--config", folders[0] / "h.toml")
    losers = [nursery.end() for _ in range(RIVALS - 1)]
    server.go.set()
    return [*losers, nursery.end()]


def test_of_five_syncs_at_once_one_applies_and_the_others_exit_with_7(
    server, nursery, tmp_path
):
    server.pages["/"] = ("text/plain", b"one")
    for number in range(ROUNDS):
        folders = [tmp_path / f"{number}-{i}" for i in range(RIVALS)]
        for folder in folders:
            folder.mkdir()
        settings = folders[0] / "h.toml"
        settings.write_text(SETTINGS.format(url=server.url))
        server.asked.clear()
        ended = race(nursery, folders, server)
        assert sorted(one.code for one in ended) == [0, 7, 7, 7, 7]
        assert all("is being synced by process" in e.err for e in ended if e.code == 7)
        assert sorted(server.asked) == ["/", "/robots.txt"]
        with bootstrap.reading(Config.load(settings)) as store:
            assert store.verify() == []
            assert store.evidence(["site"]).looks.tolist() == [1]
            assert store.spent(0.0) == 2
        assert (folders[0] / STATE).exists()
