"""Errors in our own code while working on a source, and failures of its kind."""

from halflife.stores.notes import NoteKind, text

FAULT = NoteKind("fault", 1, str, text)
KIND_FAULT = NoteKind("kind_fault", 1, str, text)
