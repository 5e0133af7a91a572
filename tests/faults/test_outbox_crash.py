"""A message and what caused it: both are there after a kill, or neither is."""

import time
from random import Random

import outbox_worker
from fault_points import count
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore
from store_processes import rest, start

KILLS = count(60, 6)


def test_kill_9_leaves_no_message_without_its_cause(tmp_path):
    rng = Random(4)
    for trial in range(KILLS):
        path = tmp_path / f"{trial}.db"
        child, pipe = start(outbox_worker.write_until_killed, path)
        for _ in range(rng.randint(1, 40)):
            last = pipe.recv()
        time.sleep(rng.uniform(0.0, 0.004))
        child.kill()
        child.join()
        last = max([last, *rest(pipe)])
        with SqliteStore.open(path) as store:
            assert store.verify() == []
            told = [int(m.kind[1:]) for m in Outbox(store).due(1e9, 10**6)]
            assert told == list(range(len(told)))
            assert len(told) > last
            for number in range(len(told) + 3):
                cause = store.note("", "cause", number)
                assert (cause is None) == (number not in told)
