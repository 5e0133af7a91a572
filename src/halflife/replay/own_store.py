"""A user's own store as a recording, as if its observations were all that happened."""

from collections.abc import Sequence

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.kinds.registry import kind_of
from halflife.replay.recorded_source import RecordedSource
from halflife.stores import Store


def recorded_sources(
    config: Config, store: Store, names: Sequence[str] = ()
) -> list[RecordedSource]:
    """Return the sources of a store that can be replayed; ``names`` picks some.

    Raise ``UsageError`` if a named one cannot be: of searches only summaries are
    stored, which do not show which document contained which word.
    """
    found: list[RecordedSource] = []
    for source in config.named(names):
        recorded = kind_of(source).recorded(store, source)
        if recorded is not None:
            found.append(recorded)
        elif names:
            raise UsageError(
                f"{source.name}: the store does not hold what a replay of it needs; "
                "replay a recorded folder"
            )
    return found
