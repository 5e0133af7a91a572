"""From the name of a kind in the settings to the kind itself, by entry points."""

from functools import cache

from halflife.config import SourceConfig
from halflife.config.kinds import load_plugin
from halflife.core.errors import ConfigError
from halflife.kinds.containment import ContainedKind
from halflife.kinds.protocol import Kind

_contained = cache(ContainedKind)


@cache
def kind_named(name: str) -> ContainedKind:
    """Return the kind of this name; raise ``ConfigError`` if there is none.

    Its faults are contained, so that sources of other kinds do not suffer from them.
    """
    point, kind = load_plugin(name)
    if not isinstance(kind, Kind):
        raise ConfigError(f"kind {name!r}: {point.value} is not a halflife Kind")
    return _contained(kind)


def kind_of(source: SourceConfig) -> ContainedKind:
    """Return the kind that a source is of."""
    return kind_named(source.kind)
