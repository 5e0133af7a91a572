"""A reader who knows nothing but the log of changes."""


def held_keys(changes):
    """Return the keys that a reader of the log holds, by source."""
    held = {}
    for change in changes:
        mine = held.setdefault(change.source, set())
        if change.kind in {"new", "returned"}:
            assert change.key not in mine, "it was there already"
            mine.add(change.key)
        elif change.kind == "gone":
            mine.remove(change.key)
        elif change.kind == "changed":
            assert change.key in mine
    return {source: keys for source, keys in held.items() if keys}


def records(changes):
    """Return the records as a reader of the log has them."""
    kept = {}
    for change in changes:
        now = {name: new for name, (_, new) in change.fields.items()}
        if change.kind == "gone":
            del kept[change.key]
        elif change.kind == "changed":
            kept[change.key] = {**kept[change.key], **now}
        else:
            kept[change.key] = now
    return kept
