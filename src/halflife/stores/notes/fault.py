"""What our own code could not handle of a source without pages."""

from halflife.stores.notes import NoteKind, text

FAULT = NoteKind("fault", 1, str, text)
