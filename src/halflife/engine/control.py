"""Pausing and draining of all processes that use a store."""

from halflife.core.store import NoteBook
from halflife.stores.notes.control import CONTROL, Control


def read(book: NoteBook) -> Control:
    """Return whether requests may be sent."""
    return CONTROL.load(book) or Control()


def set_state(book: NoteBook, state: str, now: float) -> Control:
    """Let all processes pause, go on, or end; return the previous state."""
    before = read(book)
    if before.state != state:
        CONTROL.save(book, Control(state, now))
    return before
