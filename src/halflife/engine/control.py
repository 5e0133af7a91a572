"""Pausing and draining: said once, it reaches every process that uses the store."""

from halflife.core.store import NoteBook
from halflife.stores.notes.control import CONTROL, Control


def read(book: NoteBook) -> Control:
    """Return whether requests may be sent."""
    return CONTROL.load(book) or Control()


def say(book: NoteBook, state: str, now: float) -> Control:
    """Let all processes pause, go on, or end; return what was said before."""
    before = read(book)
    if before.state != state:
        CONTROL.save(book, Control(state, now))
    return before
