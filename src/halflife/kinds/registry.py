"""From the name of a kind in the settings to the kind itself, by entry points."""

from functools import cache
from typing import Any

from halflife.config import SourceConfig
from halflife.config.kinds import load_plugin
from halflife.core.errors import ConfigError
from halflife.kinds.protocol import Kind


@cache
def kind_named(name: str) -> Kind[Any, Any]:
    """Return the kind of this name; raise ``ConfigError`` if there is none."""
    point, kind = load_plugin(name)
    if not isinstance(kind, Kind):
        raise ConfigError(f"kind {name!r}: {point.value} is not a halflife Kind")
    return kind


def kind_of(source: SourceConfig) -> Kind[Any, Any]:
    """Return the kind that a source is of."""
    return kind_named(source.kind)
