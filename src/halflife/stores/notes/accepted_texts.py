"""Texts of pages that the user has accepted."""

from halflife.stores.notes import NoteKind, texts

ACCEPTED_TEXTS = NoteKind("accepted_texts", 1, list[str], texts)
