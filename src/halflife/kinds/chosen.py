"""The sources of one kind, for verbs that only make sense for that kind."""

from typing import TypeVar

from halflife.config import Config, SourceConfig
from halflife.core.errors import UsageError

Settings = TypeVar("Settings", bound=SourceConfig)


def of_kind(
    config: Config,
    settings: type[Settings],
    names: list[str] | None,
    said: str,
    unsaid: str,
) -> list[Settings]:
    """Return the sources of a kind, of those named; raise ``UsageError`` if none is.

    A source that is named and is of another kind is a mistake too. ``said`` is what it
    cannot do, ``unsaid`` what to do if there is none.
    """
    chosen = config.named(names or ())
    wrong = [source.name for source in chosen if not isinstance(source, settings)]
    if names and wrong:
        kind = settings.model_fields["kind"].default
        raise UsageError(f"{wrong[0]!r} {said}; its kind is not {kind}")
    found = settings.among(chosen)
    if not found:
        raise UsageError(unsaid)
    return found
