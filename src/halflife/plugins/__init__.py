"""Load policies by name from entry points, so that any package can add one.

Each kind of source has its own group of entry points (``policy_group`` of its settings)
and its own type of policy. A policy of any type has a one-line description ``about``
and may name the ``paper`` that published it.
"""

import inspect
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint
from typing import TypeVar

from halflife.allocation import Objective
from halflife.config import SourceConfig
from halflife.config.kinds import kinds, settings_of
from halflife.config.registrations import only_entry_point, package_of, registered
from halflife.core.errors import ConfigError, UsageError
from halflife.plugins.containment import contained
from halflife.policies import Strategy
from halflife.policies.champion import champion_of

POLICIES = "halflife.policies"
Loaded = TypeVar("Loaded")


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """One named policy.

    Attributes:
        name: Its name in settings and on the command line.
        kind: The kind of source that it serves.
        where: The module and name that define it.
        package: The distribution that contains it.
        about: What it does, in one line.
        paper: Where it was published; empty if it is ours.
        default: Whether sources of its kind use it if the settings name none.

    """

    name: str
    kind: str
    where: str
    package: str
    about: str
    paper: str = ""
    default: bool = False


def policies(group: str = POLICIES) -> list[str]:
    """Return the names of the policies of a group; by default those of pages."""
    return sorted(registered(group))


def strategy(name: str, objective: Objective | None = None) -> Strategy:
    """Return the strategy of this name; raise ``UsageError`` if there is none.

    ``objective``, if given, selects the variant of ``index`` and ``champion``; the
    other policies ignore it.
    """
    if name == "champion" and objective is not None:
        return champion_of(objective)
    chosen = objective if name == "index" and objective else name
    found = load(POLICIES, chosen, Strategy)
    ours = type(found.policy).__module__.startswith("halflife.")
    return found if ours else contained(chosen, found)


def load(group: str, name: str, expected: type[Loaded]) -> Loaded:
    """Return the policy of this name; raise ``UsageError`` if there is none.

    Also raise it if what is registered is not an instance of ``expected``.
    """
    points = _scanned(group, tuple(sys.path))
    if name not in points:  # it may have been installed since the scan
        points = registered(group)
    if name not in points:
        known = ", ".join(sorted(points)) or "none; is halflife installed?"
        raise UsageError(f"no policy is named {name!r}; known policies: {known}")
    point = only_entry_point(points[name])
    try:
        policy = point.load()
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"the policy {name!r} of {package_of(point)} cannot be loaded from "
            f"{point.value}: {_reason(error)}"
        ) from error
    if not isinstance(policy, expected):
        wanted = f"{expected.__module__}.{expected.__qualname__}"
        raise UsageError(f"the policy {name!r} is not a {wanted}")
    return policy


def describe_policies() -> list[NamedPolicy]:
    """Return the description of every policy, by kind and name."""
    return [
        _describe(point, kind, settings)
        for kind, settings in _families()
        for _, points in sorted(registered(settings.policy_group).items())
        for point in points
    ]


def _families() -> Iterable[tuple[str, type[SourceConfig]]]:
    """Yield the kinds that have policies; of kinds that share a group, the first."""
    seen: set[str] = set()
    for kind in kinds():
        try:
            settings = settings_of(kind)
        except ConfigError:  # a broken plug-in; `halflife doctor` reports it
            continue
        if settings.policy_group and settings.policy_group not in seen:
            seen.add(settings.policy_group)
            yield kind, settings


@lru_cache(maxsize=16)
def _scanned(group: str, path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the cached entry points: a service loads policies at every decision."""
    del path
    return registered(group)


def _describe(
    point: EntryPoint, kind: str, settings: type[SourceConfig]
) -> NamedPolicy:
    package = point.dist.name if point.dist else ""
    default = point.name in settings.usual_policies
    about, paper = _about(point)
    return NamedPolicy(point.name, kind, point.value, package, about, paper, default)


def _about(point: EntryPoint) -> tuple[str, str]:
    try:
        policy = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001  (code of any plug-in)
        return f"cannot be loaded: {_reason(error)}", ""
    about, paper = getattr(policy, "about", None), getattr(policy, "paper", "")
    if not (isinstance(about, str) and isinstance(paper, str)):
        return "is not a policy", ""
    rule = getattr(policy, "policy", policy)
    about = about or (inspect.getdoc(rule) or "").partition("\n")[0]
    return about, paper


def _reason(error: BaseException) -> str:
    """Return why a module cannot be imported, in a line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
