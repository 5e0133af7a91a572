"""Five programs want to sync the same source at once: one does, the others say so."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import pytest

from fault_points import count
from halflife.config import Config
from halflife.engine import bootstrap
from nursery import STATE, Nursery

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


@pytest.fixture(scope="module")
def rivals():
    nurseries = [Nursery() for _ in range(RIVALS)]
    yield nurseries
    for nursery in nurseries:
        nursery.close()


def race(rivals, folders, server):
    """Let all sync at once; the winner's server waits until the others have ended."""
    server.go.clear()
    with ThreadPoolExecutor(RIVALS) as pool:
        running = {
            pool.submit(rival.run, folder, "sync", "--config", folders[0] / "h.toml")
            for rival, folder in zip(rivals, folders, strict=True)
        }
        ended = set()
        while len(ended) < RIVALS - 1:
            done, running = wait(running, timeout=60, return_when=FIRST_COMPLETED)
            ended |= done
        server.go.set()
        return [one.result() for one in ended | running]


def test_of_five_syncs_at_once_one_applies_and_the_others_exit_with_7(
    server, rivals, tmp_path
):
    server.pages["/"] = ("text/plain", b"one")
    for number in range(ROUNDS):
        folders = [tmp_path / f"{number}-{i}" for i in range(RIVALS)]
        for folder in folders:
            folder.mkdir()
        settings = folders[0] / "h.toml"
        settings.write_text(SETTINGS.format(url=server.url))
        server.asked.clear()
        ended = race(rivals, folders, server)
        assert sorted(one.code for one in ended) == [0, 7, 7, 7, 7]
        assert all("is being synced by process" in e.err for e in ended if e.code == 7)
        assert sorted(server.asked) == ["/", "/robots.txt"]
        with bootstrap.reading(Config.load(settings)) as store:
            assert store.verify() == []
            assert store.evidence(["site"]).looks.tolist() == [1]
            assert store.spent(0.0) == 2
        assert (folders[0] / STATE).exists()
