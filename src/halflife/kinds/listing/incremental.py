"""Listings that are asked only for what is newer than the last time.

Such a pass brings what came and what changed, and says nothing of what has gone: it is
never taken for all of the list. Every so often everything is read, and that shows what
has gone. Up to where a listing is known moves on only after a pass that went through.
"""

from dataclasses import replace
from datetime import UTC, datetime

from halflife.core.object_store import Listing, Scalar
from halflife.core.store import NoteBook
from halflife.kinds.listing.client import ListingSettings
from halflife.kinds.listing.pagination import TokenPlace
from halflife.kinds.listing.settings import ListingConfig
from halflife.net.dates import SECONDS
from halflife.readers.text import fingerprint
from halflife.stores.notes.progress import PROGRESS, Progress

OVERLAP = 5.0 / 1440.0  # days that are asked for again: clocks differ by minutes
_IN_BODY = "body."


def progress(store: NoteBook, source: ListingConfig, now: float) -> Progress | None:
    """Return how far a listing is known; None if the next pass must read everything.

    So it is at first, when the settings have changed, when the clock was set back, and
    every ``full_every``.
    """
    known = remembered(store, source)
    fresh = known and 0.0 <= now - known.full_at < source.full_days
    return known if fresh else None


def remembered(store: NoteBook, source: ListingConfig) -> Progress | None:
    """Return what the last pass came to, under the present settings."""
    known = PROGRESS.load(store, source.name) if source.since else None
    return known if known and known.asked == _asked(source) else None


def newer(
    how: ListingSettings, source: ListingConfig, known: Progress
) -> ListingSettings:
    """Return how a listing is asked only for what is newer."""
    name, _, pattern = source.since.partition("=")
    said, value = _places(source, known.last), pattern
    for place, one in said.items():
        value = value.replace(f"{{{place}}}", str(one))
    alone = said.get(pattern[1:-1], value)  # in JSON a number is not its text
    inside = name.startswith(_IN_BODY)
    return replace(asking(how, name, alone if inside else value), newer=True)


def asking(how: ListingSettings, name: str, value: str | float) -> ListingSettings:
    """Return how a listing is asked with one thing more: a parameter, or in the body.

    A name that begins with ``body.`` is a place in the body.
    """
    if name.startswith(_IN_BODY):
        put = TokenPlace(body=name.removeprefix(_IN_BODY)).put(how.request, value)
        return replace(how, request=put)
    return replace(how, parameters={**how.parameters, name: str(value)})


def _places(source: ListingConfig, last: str | float) -> dict[str, str | float]:
    """Return what stands for each place in ``since``."""
    if isinstance(last, str):
        return {"last": last}
    if source.since_field:
        return {"last": int(last) if last == int(last) else last}
    moment = datetime.fromtimestamp((last - OVERLAP) * SECONDS, UTC)
    return {
        "last": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "last_date": moment.strftime("%Y-%m-%d"),
        "last_unix": int(moment.timestamp()),
    }


def note(
    store: NoteBook, source: ListingConfig, listing: Listing, requests: int
) -> None:
    """Write down how far a listing is known after a pass that went through."""
    if not source.since or not (listing.complete or listing.newer):
        return
    before = remembered(store, source)
    last = _last(source, listing, before)
    if last is None:
        return
    full_at = listing.at
    cost = before.cost if before else 1
    if listing.newer and before is not None:
        full_at, cost = before.full_at, max(requests, 1)
    made = Progress(_asked(source), last, listing.at, full_at, cost)
    PROGRESS.save(store, made, source.name)


def _last(
    source: ListingConfig, listing: Listing, before: Progress | None
) -> str | float | None:
    """Return up to where everything is known; None if nothing says it."""
    if not source.since_field:
        return listing.at
    found = [record.get(source.since_field) for record in listing.records.values()]
    found += [before.last] if before else []
    return greatest(found)


def greatest(values: list[Scalar]) -> str | float | None:
    """Return the greatest of numbers, or of texts; None if there are both or none.

    >>> greatest(["2026-01-02", None, "2026-01-10"]), greatest([3, 10.5]), greatest([])
    ('2026-01-10', 10.5, None)
    """
    some = [v for v in values if v is not None and not isinstance(v, bool) and v != ""]
    texts = [v for v in some if isinstance(v, str)]
    numbers = [v for v in some if not isinstance(v, str)]
    if texts and numbers:
        return None
    return max(texts) if texts else max(numbers, default=None)


def _asked(source: ListingConfig) -> str:
    said = (source.since, source.since_field, source.addresses, source.answer_reading)
    return fingerprint(repr(said).encode())[:16]
