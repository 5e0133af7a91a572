"""Items that Scrapy exported: feeds in JSON Lines, JSON or CSV, as a first history.

Each feed is one complete observation. Its time is the date in its name, or else the
modification time of the file.
"""

from pathlib import Path

from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection
from halflife.readers.records import RecordReader
from halflife.recordings.imports import SECONDS_A_DAY, moment
from halflife.recordings.snapshots import DatedFile, fold

LARGEST = 256 << 20  # bytes of one feed; 200 000 items, as many as a listing may have
ENDINGS = (".jsonl", ".jl", ".jsonlines", ".ndjson", ".json", ".csv")


def import_feeds(place: Path, name: str, key: str, records: str = "") -> Collection:
    """Return the history in a feed, or in a folder of feeds in the order of time.

    Without a ``key`` items are identified by their field ``url``, or ``id``.
    """
    feeds = sorted(_feeds(place), key=lambda feed: feed.at)
    key = key or _usual_key(feeds[-1])
    reader = RecordReader(key=key, records=records, format=_format(feeds[-1].name))
    for feed in feeds:
        if _format(feed.name) != reader.format:
            raise UsageError(f"{feed.name} is not {reader.format}, as the others are")
    return fold(feeds, reader).collection(name)


def _feeds(place: Path) -> list[DatedFile]:
    if place.is_file():
        return [_dated(place)]
    if not place.is_dir():
        raise UsageError(f"{place}: no such file or folder")
    paths = [p for p in sorted(place.rglob("*")) if p.suffix.lower() in ENDINGS]
    feeds = [_dated(path) for path in paths if path.is_file()]
    if not feeds:
        raise UsageError(f"{place}: it has no feed ({', '.join(ENDINGS)})")
    if len({feed.at for feed in feeds}) < len(feeds):
        raise UsageError(f"{place}: two feeds are of the same time; name them by dates")
    return feeds


def _dated(path: Path) -> DatedFile:
    try:
        status = path.stat()
        if status.st_size > LARGEST:
            raise UsageError(f"{path}: it is larger than {LARGEST} bytes")
        at = moment(path.name)
        at = status.st_mtime / SECONDS_A_DAY if at is None else at
        return DatedFile(at, path.name, path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def _format(name: str) -> str:
    """Return the format of a feed by its name, as Scrapy chooses it.

    >>> _format("jobs.jl"), _format("jobs.json"), _format("jobs.csv")
    ('jsonl', 'json', 'csv')
    """
    ending = Path(name).suffix.lower()
    return {".json": "json", ".csv": "csv"}.get(ending, "jsonl")


def _usual_key(feed: DatedFile) -> str:
    """Return the field that identifies items, if it has a usual name."""
    body = (feed.body or b"")[: 1 << 16]
    for name in ("url", "id"):
        quoted, column = f'"{name}"'.encode(), name.encode()
        head = body.partition(b"\n")[0].strip().split(b",")
        if quoted in body or (_format(feed.name) == "csv" and column in head):
            return name
    raise UsageError("give --key, the field that identifies an item")
