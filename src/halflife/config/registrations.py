"""Entry points that packages register: a name in a group belongs to one package."""

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
