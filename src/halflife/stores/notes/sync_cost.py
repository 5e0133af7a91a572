"""The cost of the last full sync of a source, in requests."""

from halflife.stores.notes import NoteKind


def _read(value: int) -> int:
    if value < 1:
        raise ValueError(f"{value} requests")
    return int(value)


SYNC_COST = NoteKind("sync_cost", 1, int, _read)
