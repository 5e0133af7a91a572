"""Current activity: whether the service runs, and which syncs are under way."""

from collections.abc import Sequence
from typing import Any

from halflife.core.wording import count
from halflife.engine import control, heartbeat
from halflife.engine.heartbeat import ServiceState
from halflife.stores import Store
from halflife.stores.owner import Owner
from halflife.web import words
from halflife.web.actions import Job

MOST = 5  # syncs that are named


def take(store: Store, now: float) -> dict[str, Any]:
    """Return whether the service runs, and the syncs that are under way."""
    state = heartbeat.read(store, now)
    return {
        "service": {
            "state": state.state,
            "since": words.date(state.since),
            "last_turn": words.date(state.turned),
            "control": control.read(store).state,
            "words": service_words(state, now),
        },
        "running": under_way(store, now),
    }


def service_words(state: ServiceState, now: float) -> str:
    """Return the state of the service, as text.

    >>> service_words(ServiceState("running", 1.0, 2.0), 2.0 + 40 / 86400)
    'running, last turn 40 s ago'
    """
    if state.state == "never":
        return "not running"
    if state.state == "stopped":
        return f"not running since {words.moment(state.since)}"
    if state.turned is None:
        return f"running since {words.moment(state.since)}, first turn under way"
    return f"running, last turn {words.ago(state.turned, now)}"


def under_way(store: Store, now: float) -> list[dict[str, Any]]:
    """Return the syncs that are under way: since when, and requests so far."""
    here = Owner.here()
    alive = [
        lease.source
        for lease in store.reports.holders()
        if lease.expires > now and not lease.owner.is_gone(here)
    ]
    rows = []
    for name in sorted(alive)[:MOST]:
        for run in store.reports.recent_runs(name, 1):
            row = {"source": name, "since": words.date(run.began)}
            age = words.span(max(now - run.began, 0.0))
            text = f"{count(run.requests, 'request')} so far, for {age}"
            rows.append({**row, "requests": run.requests, "words": text})
    return rows


def progress(jobs: Sequence[Job], running: Sequence[dict[str, Any]]) -> dict[int, str]:
    """Return the progress of running jobs as text, by their numbers."""
    texts = {row["source"]: row["words"] for row in running}
    return {
        job.id: texts[job.source]
        for job in jobs
        if job.state == "running" and job.source in texts
    }
