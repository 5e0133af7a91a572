"""What a run did, told to people and programs."""

from typing import TYPE_CHECKING

from halflife.cli import show
from halflife.core.wording import count

if TYPE_CHECKING:
    from halflife.config import Config
    from halflife.stores.runs import RunAccount


def tell_run(config: "Config", run: int, *, json: bool) -> None:
    """Say what a run did; raise ``UsageError`` if nothing is known of it."""
    from halflife.stores import location

    with location.open_store(config.store_place, readonly=True) as store:
        found = store.reports.account(run)
    if json:
        show.emit(_answer(found))
        return
    for line in _lines(found):
        show.say(show.plain(line))


def _answer(found: "RunAccount") -> dict[str, object]:
    from dataclasses import asdict

    ended = None if found.ended is None else show.date(found.ended)
    listed = [{**asdict(one), "at": show.date(one.at)} for one in found.listed]
    return {
        **asdict(found),
        "began": show.date(found.began),
        "ended": ended,
        "listed": listed,
        "troubles": [{"why": why, "looks": n} for why, n in found.troubles],
        "held": [{"source": name, "why": why} for name, why in found.held],
    }


def _lines(found: "RunAccount") -> list[str]:
    ended = "" if found.ended is None else f" until {show.date(found.ended)}"
    lines = [
        f"run {found.run} of {', '.join(found.sources)}: {found.state}",
        f"  from {show.date(found.began)}{ended}, {count(found.requests, 'request')}",
    ]
    lines += [
        f"  {one.source}: {count(one.looks, 'fetch', 'fetches')}, "
        f"{one.changed} found a change, {one.failed} failed"
        for one in found.pages
    ]
    for look in found.listed:
        said = f"{count(look.objects, 'object')}, {look.missing} missing"
        part = "" if look.complete else ", not all of it"
        note = f"; {look.note}" if look.note else ""
        lines.append(
            f"  {look.source}: {said if look.valid else 'no answer'}{part}{note}"
        )
    lines += [
        f"  {count(n, 'fetch', 'fetches')} failed: {why}" for why, n in found.troubles
    ]
    lines += [f"  {name} waits for a decision: {why}" for name, why in found.held]
    return lines
