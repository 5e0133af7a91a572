"""The log of a service: one event a line.

An event is a short name with fields, written as a line of words for people or as a JSON
object for programs. Fields are names, numbers and the program's own words, never
addresses with secrets in them, headers or settings.
"""

import json
import logging
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO

from halflife.core.wording import number, plain

NAME = "halflife"
_FIELDS = "halflife_fields"

EVENTS: Mapping[str, str] = {
    "answer dropped": "What a worker brought of a page could not be taken in.",
    "answer mishandled": "Our code failed at an answer; the item counts as failed.",
    "batch lost": "A worker could not hand in what it saw; others fetch these pages.",
    "changes refused": "A sink will never take some changes: they are dead letters.",
    "clock jumped": "The clock of the machine moved; waiting times were adjusted.",
    "database is back": "The database answers a worker again.",
    "database lost": "The database does not answer a worker, which goes on trying.",
    "elected planner": "This worker decides from now on what is fetched.",
    "kind failed": "The code of a kind of source raised an error.",
    "lease lost": "A worker was too late: what it brought was refused.",
    "not delivered": "A sink did not take a batch; it is tried again.",
    "not tidied": "Old rows could not be removed from the store.",
    "offline": "No host answers: this machine is offline.",
    "online again": "A host answers again.",
    "planner": "The planner of a worker failed, and why; another is elected.",
    "settings not used": "The settings on disk are wrong; the old ones stay in use.",
    "settings read again": "Changed settings are in use.",
    "source not read": "A worker could not report on a source; another reads it.",
    "stopped": "The service has ended.",
    "taken over": "A source took over items that another source owned.",
    "targets beyond the budget": "The budget does not cover all targets.",
    "tidied": "Old rows were removed from the store.",
    "trouble": "A source failed, or an answer of it is held.",
    "unknown source": "A page was handed out of a source that a worker does not know.",
    "watched": "The port that answers /health and /metrics.",
    "worked": "A turn of a source has ended: requests sent, and why.",
    "working": "The service has started.",
}  # every event, and what it means


def event(
    name: str, *, level: int = logging.INFO, fields: Mapping[str, object]
) -> None:
    """Log an event; where no log is written, only errors are shown, on stderr."""
    logger = logging.getLogger(NAME)
    if not logger.hasHandlers():  # Python prints no more than the message then
        if level < logging.ERROR:
            return
        name = f"{NAME}: {_sentence(name, fields)}"
    logger.log(level, name, extra={_FIELDS: dict(fields)})


@contextmanager
def silenced() -> Iterator[None]:
    """Log no event while the block runs, as in a replay."""
    logger = logging.getLogger(NAME)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


class Json(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        row: dict[str, object] = {
            "at": _moment(record.created),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        for name, value in getattr(record, _FIELDS, {}).items():
            row[name] = _plain(value)
        return json.dumps(row, allow_nan=False)


class Words(logging.Formatter):
    """One line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        head = f"{_moment(record.created)} {record.getMessage()}"
        if record.levelno >= logging.WARNING:
            head = f"{head} ({record.levelname.lower()})"
        return _sentence(head, getattr(record, _FIELDS, {}))


def _sentence(head: str, fields: Mapping[str, object]) -> str:
    """Return an event with its fields, in words."""
    given = [(name, v) for name, v in fields.items() if v not in ("", None)]
    words = ", ".join(f"{name} {_text(v)}" for name, v in given)
    return f"{head}: {words}" if words else head


def set_up(*, as_json: bool, stream: IO[str] | None = None) -> logging.Handler:
    """Write events to a stream, by default stderr; return the handler for ``end``."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(Json() if as_json else Words())
    logger = logging.getLogger(NAME)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    return handler


def line(name: str, *, as_json: bool) -> str:
    """Return the line of a warning, without taking the logger's lock."""
    record = logging.LogRecord(NAME, logging.WARNING, "", 0, name, (), None)
    return (Json() if as_json else Words()).format(record)


def end(handler: logging.Handler) -> None:
    """Write no more events to a stream."""
    logging.getLogger(NAME).removeHandler(handler)


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: object) -> object:
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str | None) else str(value)


def _text(value: object) -> str:
    """Return a value as text without control characters, which a terminal may obey."""
    return plain(number(value, 4) if isinstance(value, float) else value)
