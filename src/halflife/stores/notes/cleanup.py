"""When the state file was last cleaned up, in days."""

from halflife.stores.notes import NoteKind, finite

TIDIED_AT = NoteKind("tidied_at", 1, float, finite)
