"""From the names of policies to policies, through entry points: anyone can add one.

Each kind of source has its own group of entry points (``policy_group`` of its settings)
and its own type of policy. Whatever the type, a policy says ``about`` itself in a line,
and in which ``paper`` it was published.
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
from halflife.config.registrations import only, registered
from halflife.core.errors import ConfigError, UsageError
from halflife.policies import Strategy
from halflife.policies.champion import champion_of

POLICIES = "halflife.policies"
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """One named policy.

    Attributes:
        name: What settings and the command line call it.
        kind: The kind of source that it serves.
        where: The module and name that define it.
        package: The distribution that brought it.
        about: What it does, in one line.
        paper: Where it was published; empty if it is ours.
        default: Whether sources of its kind go by it if the settings name none.

    """

    name: str
    kind: str
    where: str
    package: str
    about: str
    paper: str = ""
    default: bool = False


def policies(group: str = POLICIES) -> list[str]:
    """Return the names of the policies of a group; pages' by default."""
    return sorted(registered(group))


def strategy(name: str, objective: Objective | None = None) -> Strategy:
    """Return the strategy of this name; raise ``UsageError`` if there is none.

    ``index`` and ``champion`` go by the objective, if one is given; the other names
    say all there is to say.
    """
    if name == "champion" and objective is not None:
        return champion_of(objective)
    chosen = objective if name == "index" and objective else name
    return load(POLICIES, chosen, Strategy)


def load(group: str, name: str, made: type[Made]) -> Made:
    """Return the policy of this name; raise ``UsageError`` if there is none.

    Also raise it if what is registered is no ``made``.
    """
    found = _scanned(group, tuple(sys.path))
    if name not in found:  # or was it installed since?
        found = registered(group)
    if name not in found:
        known = ", ".join(sorted(found)) or "none; is halflife installed?"
        raise UsageError(f"no policy is named {name!r}; known policies: {known}")
    point = only(found[name])
    try:
        policy = point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"the policy {name!r} cannot be loaded from {point.value}: {error}"
        ) from error
    if not isinstance(policy, made):
        raise UsageError(
            f"the policy {name!r} is not a {made.__module__}.{made.__qualname__}"
        )
    return policy


def described() -> list[NamedPolicy]:
    """Return what there is to know about every policy, by kind and name."""
    return [
        _describe(point, kind, settings)
        for kind, settings in _families()
        for _, points in sorted(registered(settings.policy_group).items())
        for point in points
    ]


def _families() -> Iterable[tuple[str, type[SourceConfig]]]:
    """Return the kinds that have policies; kinds that share a group count once."""
    seen: set[str] = set()
    for kind in kinds():
        try:
            settings = settings_of(kind)
        except ConfigError:  # of a plug-in that is broken; `halflife doctor` says so
            continue
        if settings.policy_group and settings.policy_group not in seen:
            seen.add(settings.policy_group)
            yield kind, settings


@lru_cache(maxsize=16)
def _scanned(group: str, path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the same as it was at first: a service asks again with every decision."""
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
    except (ImportError, AttributeError) as error:
        return f"cannot be loaded: {error}", ""
    said = getattr(policy, "about", None)
    if not isinstance(said, str):
        return "is not a policy", ""
    rule = getattr(policy, "policy", policy)
    about = said or (inspect.getdoc(rule) or "").partition("\n")[0]
    return about, getattr(policy, "paper", "")
