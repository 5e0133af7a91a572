"""The sources of one kind, for commands that apply to that kind only."""

from typing import TypeVar

from halflife.config import Config, SourceConfig
from halflife.core.errors import UsageError

Settings = TypeVar("Settings", bound=SourceConfig)


def of_kind(
    config: Config,
    settings: type[Settings],
    names: list[str] | None,
    mismatch: str,
    missing: str,
) -> list[Settings]:
    """Return the named sources of a kind; raise ``UsageError`` if there are none.

    A named source of another kind is an error too. ``mismatch`` says what such a source
    cannot do, ``missing`` what to do if there is none.
    """
    chosen = config.named(names or ())
    wrong = [source.name for source in chosen if not isinstance(source, settings)]
    if names and wrong:
        kind = settings.model_fields["kind"].default
        raise UsageError(f"{wrong[0]!r} {mismatch}; its kind is not {kind}")
    found = settings.among(chosen)
    if not found:
        raise UsageError(missing)
    return found
