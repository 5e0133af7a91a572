"""A user's own store as a recording: what was observed, as if it were all there was."""

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

    Raise ``UsageError`` if one that was named cannot be: of searches only summaries are
    kept, and they do not tell which document held which word.
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
