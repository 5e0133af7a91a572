"""Texts of pages that somebody has said are to be believed."""

from halflife.stores.notes import NoteKind, texts

ACCEPTED_TEXTS = NoteKind("accepted_texts", 1, list[str], texts)
