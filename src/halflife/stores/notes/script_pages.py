"""Pages of a source that show no text without JavaScript."""

from halflife.stores.notes import NoteKind, texts

SCRIPT_PAGES = NoteKind("script_pages", 1, list[str], texts)
