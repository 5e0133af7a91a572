"""A record beside the settings: where the state lies, and the recent spending.

The ledger in the state file keeps the budget. If that file is moved, deleted, or named
differently in the settings, a new one would begin with nothing spent. So a small file
beside the settings repeats what a new ledger needs, and the user of a new state file
learns where the old one was.
"""

import json
import os
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Self

from halflife.config import Config
from halflife.core.errors import HalflifeError
from halflife.core.store import NoteBook
from halflife.core.store_address import is_address
from halflife.core.wording import count
from halflife.stores import ledger, location
from halflife.stores.backup import WINDOW
from halflife.stores.ledger import Charges
from halflife.stores.notes.state_origin import MADE_ANEW
from halflife.stores.table_store import TableStore


@dataclass(frozen=True, slots=True)
class Record:
    """The record beside the settings.

    Attributes:
        store: The state file, or the address of the database without its password.
        spent: Requests of the last 31 days, as pairs of a time in days and a number.

    """

    store: str
    spent: Charges = ()

    @classmethod
    def read(cls, config: Config) -> Self | None:
        """Return the record of settings; None if there is none that can be read."""
        try:
            row = json.loads(place(config).read_text(encoding="utf-8"))
            spent = tuple((float(at), int(n)) for at, n in row["spent"])
            return cls(str(row["store"]), spent)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, config: Config) -> None:
        """Write the record down, all of it or nothing; a folder may refuse it."""
        text = json.dumps({"store": self.store, "spent": self.spent})
        target = place(config)
        with suppress(OSError):
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                Path(name).replace(target)
            finally:
                Path(name).unlink(missing_ok=True)


def place(config: Config) -> Path:
    """Return where the record of settings lies."""
    path = config.path.absolute()
    return path.with_name(f".{path.name}.state")


def note(store: TableStore, config: Config) -> None:
    """Write down where the state lies, and the spending."""
    with store.reading() as db:
        spent = ledger.by_hour(db, _now() - WINDOW)
    Record(config.store_name, spent).write(config)


def open_store(config: Config) -> tuple[TableStore, str]:
    """Open the state, created if missing; return it, and a message if it was lost.

    Spending under these settings counts in a new state, too. Closing the state writes a
    record beside the settings.
    """
    record = (
        None if location.is_there(config.store_place, least=1) else Record.read(config)
    )
    lost = "" if record is None else _lost(config, record)
    spent = () if record is None else _spent(record)
    store = location.open_store(config.store_place, create=True)
    words = _carry(store, spent, lost) if lost else ""
    store.before_close = lambda closed: note(closed, config)
    store.page_versions = config.keep.page_versions
    with suppress(HalflifeError):
        note(store, config)
    return store, words


def missing(config: Config) -> str:
    """Return a message if the state of settings that were used before is missing."""
    record = (
        None if location.is_there(config.store_place, least=1) else Record.read(config)
    )
    return "" if record is None else _lost(config, record)


def _has_state(place: str) -> bool:
    """Say whether the state of a record exists and can be reached."""
    try:
        return location.is_there(place, least=1)
    except HalflifeError:
        return False


def _carry(store: TableStore, spent: Charges, words: str) -> str:
    """Charge earlier spending to a new state file; return the message for users."""
    now = _now()
    recent = [(at, n) for at, n in spent if at >= now - WINDOW]
    total, days = sum(n for _, n in recent), f"the last {WINDOW:.0f} days"
    if total:
        words += f"; {count(total, 'request')} of {days} still count as spent"
    with store.together() as db:
        ledger.carry(db, recent, now)
        MADE_ANEW.save(store, (now, words))
    return words


def _spent(record: Record) -> Charges:
    """Return the spending by the old state file if it exists, else by the record."""
    if _has_state(record.store):
        with suppress(HalflifeError):
            return location.spent_by_hour(record.store, _now() - WINDOW)
    return record.spent


def _lost(config: Config, record: Record) -> str:
    there = record.store != config.store_name and _has_state(record.store)
    where = f"is in {record.store}" if there else f"was in {record.store}"
    gone = "" if there else ", which no longer exists"
    what = "store" if is_address(config.store) else "state file"
    return (
        f"there is no {what} {config.store_name}, so everything begins anew; what was "
        f"known {where}{gone}; to go on with it, put it back or set store in "
        f"{config.path.name}"
    )


def made_anew(store: NoteBook, days: float) -> str:
    """Return the message of a new state file, for so many days after it was made."""
    at, words = MADE_ANEW.load(store) or (-inf, "")
    return words if _now() - at < days else ""


def _now() -> float:
    return time.time() / 86400.0
