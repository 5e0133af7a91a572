"""Print what a run did, as text or JSON."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from halflife.cli import show
from halflife.core.wording import count

if TYPE_CHECKING:
    from halflife.config import Config
    from halflife.stores.runs import RunAccount


def print_run(config: "Config", run: int, *, json: bool) -> None:
    """Print what a run did; raise ``UsageError`` if there is no such run."""
    from halflife.stores import location

    with location.open_store(config.store_place, readonly=True) as store:
        account = store.reports.account(run)
    if json:
        show.emit(_answer(account))
        return
    for line in _lines(account):
        show.say(show.plain(line))


def _answer(account: "RunAccount") -> dict[str, object]:
    ended = None if account.ended is None else show.date(account.ended)
    listed = [{**asdict(one), "at": show.date(one.at)} for one in account.listed]
    return {
        **asdict(account),
        "began": show.date(account.began),
        "ended": ended,
        "listed": listed,
        "troubles": [{"why": why, "looks": n} for why, n in account.troubles],
        "held": [{"source": name, "why": why} for name, why in account.held],
    }


def _lines(account: "RunAccount") -> list[str]:
    ended = "" if account.ended is None else f" until {show.date(account.ended)}"
    began, sent = show.date(account.began), count(account.requests, "request")
    lines = [
        f"run {account.run} of {', '.join(account.sources)}: {account.state}",
        f"  from {began}{ended}, {sent}",
    ]
    lines += [
        f"  {one.source}: {count(one.looks, 'fetch', 'fetches')}, "
        f"{one.changed} found a change, {one.failed} failed"
        for one in account.pages
    ]
    for look in account.listed:
        counts = f"{count(look.objects, 'object')}, {look.missing} missing"
        part = "" if look.complete else ", not all of it"
        note = f"; {look.note}" if look.note else ""
        lines.append(
            f"  {look.source}: {counts if look.valid else 'no answer'}{part}{note}"
        )
    lines += [
        f"  {count(n, 'fetch', 'fetches')} failed: {why}" for why, n in account.troubles
    ]
    lines += [f"  {name} waits for a decision: {why}" for name, why in account.held]
    return lines
