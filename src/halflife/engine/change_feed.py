"""Read the change log from a number on, without gaps or repetitions."""

from collections.abc import Iterator, Sequence

from halflife.core.change import Change
from halflife.core.errors import UsageError
from halflife.stores import Store

CHUNK = 1000  # changes read at once; a slow reader holds no transaction open


def read(
    store: Store, since: int, sources: Sequence[str] = (), until: int | None = None
) -> Iterator[Change]:
    """Return the present changes after a number, oldest first.

    They end with number ``until``, if it is given. Raise ``UsageError`` if some of them
    were removed already; 0 means all that are kept.
    """
    check(store, since)
    end = store.changes.last() if until is None else until
    while since < end:
        batch = store.changes.read(since, CHUNK, sources)
        yield from (change for change in batch if change.seq <= end)
        since = batch[-1].seq if batch else end


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
    """Return a change as a JSON object; ``at`` is its time as text."""
    return {
        "seq": change.seq,
        "at": at,
        "source": change.source,
        "key": change.key,
        "kind": change.kind,
        "fields": {name: list(pair) for name, pair in change.fields.items()},
    }
