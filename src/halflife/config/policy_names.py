"""The policies that a source may name, by the entry points of its kind."""

from collections.abc import Sequence

from halflife.config.registrations import only_entry_point, registered
from halflife.core.errors import ConfigError


def policy_names(group: str) -> list[str]:
    """Return the names that are registered in an entry point group."""
    return sorted(registered(group))


def check_policies(kind: str, group: str, most: int, names: Sequence[str]) -> None:
    """Raise ``ValueError`` unless a source of this kind may name these policies."""
    if not names:
        return
    if not group:
        raise ValueError(f"a source of kind {kind!r} has no policies to choose from")
    known = registered(group)
    for name in names:
        if name not in known:
            raise ValueError(
                f"no policy of kind {kind!r} is named {name!r}; "
                f"known policies: {', '.join(sorted(known))}"
            )
        try:
            only_entry_point(known[name])
        except ConfigError as error:
            raise ValueError(str(error)) from None
    if len(names) > most:
        allowed = "one policy" if most == 1 else f"{most} policies"
        raise ValueError(f"a source of kind {kind!r} names {allowed} at most")
