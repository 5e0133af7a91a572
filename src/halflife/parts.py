"""From short names to parts, through entry points, so that anyone can add one."""

import inspect
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, cast

from halflife.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflife.policies import Policy

POLICIES = "halflife.policies"


@dataclass(frozen=True, slots=True)
class Part:
    """One named part.

    Attributes:
        name: What settings and the command line call it.
        where: The module and name that define it.
        package: The distribution that brought it.
        about: The first line of its docstring.

    """

    name: str
    where: str
    package: str
    about: str


def policies() -> list[str]:
    """Return the names of all policies that are installed."""
    return sorted(_found(POLICIES))


def policy(name: str, objective: str = "harmonic") -> "Policy":
    """Return the policy of this name; raise ``UsageError`` if there is none.

    An entry point names a policy, or a class that makes one. A class is given
    the objective if it asks for one.
    """
    part = _load(POLICIES, name)
    if not isinstance(part, type):
        return cast("Policy", part)
    make = cast("Callable[..., Policy]", part)
    if "objective" in inspect.signature(make).parameters:
        return make(objective=objective)
    return make()


def described() -> list[Part]:
    """Return what there is to know about every policy, by name."""
    return [_describe(_found(POLICIES)[name]) for name in policies()]


def _found(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


def _load(group: str, name: str) -> object:
    found = _found(group)
    if name not in found:
        known = ", ".join(sorted(found)) or "none; is halflife installed?"
        raise UsageError(f"no policy is named {name!r}; known policies: {known}")
    try:
        return found[name].load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"the policy {name!r} cannot be loaded from {found[name].value}: {error}"
        ) from error


def _describe(point: EntryPoint) -> Part:
    package = point.dist.name if point.dist else ""
    try:
        about = (inspect.getdoc(point.load()) or "").partition("\n")[0]
    except (ImportError, AttributeError) as error:
        about = f"cannot be loaded: {error}"
    return Part(point.name, point.value, package, about)
