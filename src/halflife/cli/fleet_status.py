"""The part of ``status`` about workers, pausing and draining."""

from typing import Any

from halflife.cli import show
from halflife.core.wording import count
from halflife.engine import control
from halflife.stores import Store


def rows(store: Store) -> dict[str, Any]:
    """Return the state and the workers, if any, as plain values for JSON."""
    order, fleet = control.read(store), store.fleet()
    since = None if order.since is None else show.date(order.since)
    answer: dict[str, Any] = {"control": {"state": order.state, "since": since}}
    if fleet.workers:
        answer["workers"] = [
            {
                "name": worker.name,
                "alive": worker.is_alive,
                "since": show.date(worker.began),
                "seen": show.date(worker.seen),
                "hosts": worker.hosts,
                "requests": worker.requests,
            }
            for worker in fleet.workers
        ]
        answer["handed_out"] = {
            "waiting": fleet.waiting,
            "unfiled": fleet.unfiled,
            "sources_waiting": fleet.sources,
            "sources_read": fleet.reading,
        }
    return answer


def words(answer: dict[str, Any]) -> list[str]:
    """Return the same as lines; none if a single process runs normally."""
    control = answer["control"]
    lines = []
    if control["state"] != "running":
        line = "{state} since {since}; see `halflife resume`".format(**control)
        lines.append(line)
    for row in answer.get("workers", ()):
        alive = "at work" if row["alive"] else f"lost since {row['seen']}"
        hosts, sent = count(row["hosts"], "host"), count(row["requests"], "request")
        lines.append(f"worker {row['name']}: {alive}, {hosts}, {sent}")
    return [show.plain(line) for line in lines]
