"""Marks of the sitemaps that were found through other sitemaps."""

from halflife.stores.notes import NoteKind, texts

FOLLOWED_MAPS = NoteKind("followed_maps", 1, list[str], texts)
