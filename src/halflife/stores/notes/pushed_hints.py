"""Pages pushed as changed, until the next turn takes them in."""

from halflife.stores.notes import NoteKind, moments

PUSHED_HINTS = NoteKind("pushed_hints", 1, dict[str, float], moments)
HUB_HINTS = NoteKind("hub_hints", 1, dict[str, float], moments)
