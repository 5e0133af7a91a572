"""Marks of the maps that other maps have led to."""

from halflife.stores.notes import NoteKind, texts

FOLLOWED_MAPS = NoteKind("followed_maps", 1, list[str], texts)
