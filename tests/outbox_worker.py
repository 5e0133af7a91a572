"""A process that writes causes and messages together, to be killed at any moment."""

from halflife.alerts.messages import Event, Letter
from halflife.core.store import Note
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore


def write_until_killed(path, pipe):
    store = SqliteStore.open(path, create=True)
    number = 0
    while True:
        event = Event(f"s{number}", float(number), "why")
        letter = Letter("ops", f"k{number}", "raised", number, number, (event,))
        with store.together():
            store.save_note("", "cause", Note(1, "it happened"), number)
            Outbox(store).post([letter])
        pipe.send(number)
        number += 1
