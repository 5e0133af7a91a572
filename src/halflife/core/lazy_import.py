"""Modules that are imported when they are first used.

A program that keeps only pages need not wait for the imports of forms, listings and
searches.
"""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


class LazyModule(ModuleType):
    """A module that is imported when one of its attributes is first read.

    >>> module = LazyModule("halflife.core.gap_bins")
    >>> module.CLASSES_PER_OCTAVE
    8
    """

    def __getattribute__(self, name: str) -> object:
        return getattr(_real(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_real(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_real(self), name)


def _real(stand_in: LazyModule) -> ModuleType:
    return import_module(object.__getattribute__(stand_in, "__name__"))


def lazy_modules(package: str, *names: str) -> Callable[[str], LazyModule]:
    """Return the ``__getattr__`` of a package that imports these modules lazily.

    ``from package import name`` then imports nothing yet;
    ``from package.name import something`` does, as always.
    """

    def find(name: str) -> LazyModule:
        if name in names:
            return LazyModule(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
