"""Modules that are imported when something of them is first used.

A program that keeps pages only need not wait until all is imported that forms,
listings and searches take.
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


class Late(ModuleType):
    """A module that is imported when something of it is first asked for.

    >>> late = Late("halflife.core.gap_bins")
    >>> late.CLASSES_PER_OCTAVE
    8
    """

    def __getattribute__(self, name: str) -> object:
        return getattr(_real(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_real(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_real(self), name)


def _real(stand_in: Late) -> ModuleType:
    return import_module(object.__getattribute__(stand_in, "__name__"))


def late(package: str, *names: str) -> Callable[[str], Late]:
    """Return the ``__getattr__`` of a package of which these modules come late.

    ``from package import name`` then imports nothing yet;
    ``from package.name import something`` does, as always.
    """

    def find(name: str) -> Late:
        if name in names:
            return Late(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
