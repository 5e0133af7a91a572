"""What our own code could not handle of a source, and what its kind fails at."""

from halflife.stores.notes import NoteKind, text

FAULT = NoteKind("fault", 1, str, text)
KIND_FAULT = NoteKind("kind_fault", 1, str, text)
