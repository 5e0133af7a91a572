"""From the name of a kind in the settings to the kind itself, by entry points."""

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from halflife.config import SourceConfig
from halflife.core.errors import UsageError
from halflife.kinds.protocol import Kind

KINDS = "halflife.kinds"


@cache
def kind_named(name: str) -> Kind[Any]:
    """Return the kind of this name; raise ``UsageError`` if there is none."""
    found = {point.name: point for point in entry_points(group=KINDS)}
    if name not in found:
        known = ", ".join(sorted(found)) or "none; is halflife installed?"
        raise UsageError(f"no kind of source is named {name!r}; known kinds: {known}")
    try:
        kind = found[name].load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"the kind {name!r} cannot be loaded from {found[name].value}: {error}"
        ) from error
    if not isinstance(kind, Kind):
        raise UsageError(f"the kind {name!r} is not a halflife Kind")
    return kind


def kind_of(source: SourceConfig) -> Kind[Any]:
    """Return the kind that a source is of."""
    return kind_named(source.kind)
