"""Sources in the state file that the settings do not name.

They were imported, or removed from the settings. They are never fetched, because they
have no address, but the quality of their copies is forecast.
"""

from collections.abc import Sequence

from halflife.config import Config, SourceConfig
from halflife.core.errors import UsageError
from halflife.kinds.listing.settings import ListingConfig
from halflife.stores import Store

WHY = "it has no address: it was imported, or taken out of the settings"


class StoredListing(ListingConfig):
    """A listing known only from its stored history."""


def stored(config: Config, store: Store) -> tuple[SourceConfig, ...]:
    """Return the listings that only the state file has, by name."""
    named = {source.name for source in config.source}
    return tuple(
        StoredListing.model_construct(name=name)
        for name in store.collections()
        if name not in named
    )


def everything(config: Config, store: Store) -> tuple[SourceConfig, ...]:
    """Return the sources of the settings, then those of the state file alone."""
    return (*config.source, *stored(config, store))


def named(
    config: Config, store: Store, names: Sequence[str]
) -> tuple[SourceConfig, ...]:
    """Return the sources of these names, or all; raise ``UsageError``."""
    if not names:
        return everything(config, store)
    own = {source.name for source in config.source}
    if own.issuperset(names):
        return config.named(names)
    extra = {source.name: source for source in stored(config, store)}
    try:
        return tuple(
            extra[name] if name in extra else config.named([name])[0] for name in names
        )
    except UsageError as error:
        known = f"; the state file also has {', '.join(extra)}" if extra else ""
        raise UsageError(f"{error}{known}") from None


def has_address(source: SourceConfig) -> bool:
    """Say whether a source has an address, so that it can be fetched."""
    return not isinstance(source, StoredListing)
