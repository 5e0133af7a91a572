"""From short names to parts, through entry points, so that anyone can add one."""

import inspect
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from halflife.allocation import Objective
from halflife.core.errors import UsageError
from halflife.policies import Strategy
from halflife.policies.champion import champion_of

POLICIES = "halflife.policies"


@dataclass(frozen=True, slots=True)
class Part:
    """One named part.

    Attributes:
        name: What settings and the command line call it.
        where: The module and name that define it.
        package: The distribution that brought it.
        about: What it does, in one line.

    """

    name: str
    where: str
    package: str
    about: str


def policies() -> list[str]:
    """Return the names of all policies that are installed."""
    return sorted(_found(POLICIES))


def strategy(name: str, objective: Objective | None = None) -> Strategy:
    """Return the strategy of this name; raise ``UsageError`` if there is none.

    ``index`` and ``champion`` go by the objective, if one is given; the other names
    say all there is to say.
    """
    if name == "champion" and objective is not None:
        return champion_of(objective)
    part = _load(POLICIES, objective if name == "index" and objective else name)
    if not isinstance(part, Strategy):
        raise UsageError(f"the policy {name!r} is not a halflife.policies.Strategy")
    return part


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
        part = point.load()
    except (ImportError, AttributeError) as error:
        return Part(point.name, point.value, package, f"cannot be loaded: {error}")
    if not isinstance(part, Strategy):
        return Part(point.name, point.value, package, "is not a strategy")
    about = part.about or (inspect.getdoc(part.policy) or "").partition("\n")[0]
    return Part(point.name, point.value, package, about)
