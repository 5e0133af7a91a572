"""Incremental fetches: only what is newer than the last time is requested.

Such a pass shows what arrived and changed, but not what is gone: it is never taken for
the whole list. From time to time everything is read, which shows what is gone. The
position moves forward only after a pass that was completed.
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

OVERLAP = 5.0 / 1440.0  # days requested again: clocks differ by minutes
_IN_BODY = "body."


def progress(store: NoteBook, source: ListingConfig, now: float) -> Progress | None:
    """Return the position in a listing; None if the next pass must read everything.

    That is so at first, when the settings have changed, when the clock was set back,
    and every ``full_every``.
    """
    last = last_progress(store, source)
    fresh = last and 0.0 <= now - last.full_at < source.full_days
    return last if fresh else None


def last_progress(store: NoteBook, source: ListingConfig) -> Progress | None:
    """Return the position after the last pass under the present settings."""
    last = PROGRESS.load(store, source.name) if source.since else None
    return last if last and last.asked == _settings_mark(source) else None


def newer(
    how: ListingSettings, source: ListingConfig, position: Progress
) -> ListingSettings:
    """Return the settings to request only what is newer."""
    name, _, pattern = source.since.partition("=")
    values, value = _values(source, position.last), pattern
    for place, filled in values.items():
        value = value.replace(f"{{{place}}}", str(filled))
    alone = values.get(pattern[1:-1], value)  # in JSON a number is not its text
    inside = name.startswith(_IN_BODY)
    return replace(with_value(how, name, alone if inside else value), newer=True)


def with_value(how: ListingSettings, name: str, value: str | float) -> ListingSettings:
    """Return the settings with one more value: a parameter, or a field of the body.

    A name that begins with ``body.`` is a path in the body.
    """
    if name.startswith(_IN_BODY):
        put = TokenPlace(body=name.removeprefix(_IN_BODY)).put(how.request, value)
        return replace(how, request=put)
    return replace(how, parameters={**how.parameters, name: str(value)})


def _values(source: ListingConfig, last: str | float) -> dict[str, str | float]:
    """Return the value of each placeholder in ``since``."""
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
    """Save the position in a listing after a completed pass."""
    if not source.since or not (listing.complete or listing.newer):
        return
    before = last_progress(store, source)
    last = _last(source, listing, before)
    if last is None:
        return
    full_at = listing.at
    cost = before.cost if before else 1
    if listing.newer and before is not None:
        full_at, cost = before.full_at, max(requests, 1)
    position = Progress(_settings_mark(source), last, listing.at, full_at, cost)
    PROGRESS.save(store, position, source.name)


def _last(
    source: ListingConfig, listing: Listing, before: Progress | None
) -> str | float | None:
    """Return the position up to which everything is known; None if unknown."""
    if not source.since_field:
        return listing.at
    values = [record.get(source.since_field) for record in listing.records.values()]
    values += [before.last] if before else []
    return greatest(values)


def greatest(values: list[Scalar]) -> str | float | None:
    """Return the greatest of numbers, or of texts; None if mixed or empty.

    >>> greatest(["2026-01-02", None, "2026-01-10"]), greatest([3, 10.5]), greatest([])
    ('2026-01-10', 10.5, None)
    """
    kept = [v for v in values if v is not None and not isinstance(v, bool) and v != ""]
    texts = [v for v in kept if isinstance(v, str)]
    numbers = [v for v in kept if not isinstance(v, str)]
    if texts and numbers:
        return None
    return max(texts) if texts else max(numbers, default=None)


def _settings_mark(source: ListingConfig) -> str:
    keys = (source.since, source.since_field, source.addresses, source.answer_reading)
    return fingerprint(repr(keys).encode())[:16]
