"""Entry points that packages register: a name in a group belongs to one package.

Kinds, sinks and policies are found by them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halflife.core.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def registered(group: str) -> "dict[str, tuple[EntryPoint, ...]]":
    """Return the entry points of a group, by name; more than one if names clash."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (slow, rarely needed)

    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group):
        points[point.name] = (*points.get(point.name, ()), point)
    return points


def only_entry_point(points: "tuple[EntryPoint, ...]") -> "EntryPoint":
    """Return the only entry point of a name; raise ``ConfigError`` if several exist."""
    if len(points) == 1:
        return points[0]
    where = sorted(f"{package_of(point)} ({point.value})" for point in points)
    raise ConfigError(
        f"{points[0].name!r} is registered in {points[0].group} by "
        f"{' and by '.join(where)}; uninstall one of them"
    )


def package_of(point: "EntryPoint") -> str:
    """Return the name of the package of an entry point, as messages show it."""
    return f"the package {point.dist.name}" if point.dist else "a plug-in"


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
