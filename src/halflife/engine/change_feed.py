"""Changes as a reader wants them: from a number on, none skipped, none twice."""

from collections.abc import Iterator, Sequence

from halflife.core.change import Change
from halflife.core.errors import UsageError
from halflife.stores import Store

CHUNK = 1000  # changes read at once; a slow reader holds no transaction open


def read(
    store: Store, since: int, sources: Sequence[str] = (), until: int | None = None
) -> Iterator[Change]:
    """Return the changes after a number, oldest first, as far as there are any now.

    None after number ``until`` is among them, if it is given. Raise ``UsageError`` if
    some of them were removed already; since 0 means all that are kept.
    """
    check(store, since)
    end = store.changes.last() if until is None else until
    while since < end:
        some = store.changes.read(since, CHUNK, sources)
        yield from (change for change in some if change.seq <= end)
        since = some[-1].seq if some else end


def check(store: Store, since: int) -> None:
    """Raise ``UsageError`` if changes after this number are no longer kept."""
    removed, last = store.changes.removed(), store.changes.last()
    if 0 < since < removed:
        raise UsageError(
            f"the changes {since + 1} to {removed} are no longer kept ([keep] "
            "changes_days); read the copy as a whole with `halflife export`, and go on "
            f"from {removed}"
        )
    if since > last:
        raise UsageError(
            f"there is no change {since} yet, the last one is {last}; if this is "
            "another state file, begin anew at 0"
        )


def row(change: Change, at: str | None) -> dict[str, object]:
    """Return a change as answers in JSON write it; ``at`` is its time as text."""
    return {
        "seq": change.seq,
        "at": at,
        "source": change.source,
        "key": change.key,
        "kind": change.kind,
        "fields": {name: list(pair) for name, pair in change.fields.items()},
    }
