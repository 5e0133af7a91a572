"""Until when the income of requests is spent, in days."""

from halflife.stores.notes import NoteKind, finite

SPENT_UNTIL = NoteKind("income_spent_until", 1, float, finite)
