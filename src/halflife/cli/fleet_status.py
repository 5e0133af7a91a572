"""What ``status`` says of workers, and of pausing and draining."""

from typing import Any

from halflife.cli import show
from halflife.core.wording import count
from halflife.engine import control
from halflife.stores import Store


def rows(store: Store) -> dict[str, Any]:
    """Return it for programs: the state, and workers if there are any."""
    said, fleet = control.read(store), store.fleet()
    since = None if said.since is None else show.date(said.since)
    found: dict[str, Any] = {"control": {"state": said.state, "since": since}}
    if fleet.workers:
        found["workers"] = [
            {
                "name": one.name,
                "alive": one.is_alive,
                "since": show.date(one.began),
                "seen": show.date(one.seen),
                "hosts": one.hosts,
                "requests": one.requests,
            }
            for one in fleet.workers
        ]
        found["handed_out"] = {
            "waiting": fleet.waiting,
            "unfiled": fleet.unfiled,
            "sources_waiting": fleet.sources,
            "sources_read": fleet.reading,
        }
    return found


def words(found: dict[str, Any]) -> list[str]:
    """Return the same in lines; nothing while one process works as always."""
    said = found["control"]
    lines = []
    if said["state"] != "running":
        lines.append(f"{said['state']} since {said['since']}; see `halflife resume`")
    for one in found.get("workers", ()):
        alive = "at work" if one["alive"] else f"lost since {one['seen']}"
        hosts, sent = count(one["hosts"], "host"), count(one["requests"], "request")
        lines.append(f"worker {one['name']}: {alive}, {hosts}, {sent}")
    return [show.plain(line) for line in lines]
