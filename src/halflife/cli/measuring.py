"""The figures that ``halflife bench`` prints, by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from halflife.bench import allocate, fit, lifetimes, policies
from halflife.errors import UsageError

Rows: TypeAlias = Sequence[Mapping[str, object]]

_BENCHES: dict[str, Callable[[int | None, int], Rows]] = {
    "allocate": lambda items, _: [allocate.run(items or 1_000_000)],
    "fit": lambda items, _: [fit.run(items or 100_000)],
    "index": lambda items, _: [policies.known_rates(items or 10_000)],
    "learn": lambda items, seeds: policies.learning(seeds, items=items or 2000),
    "lifetimes": lambda items, _: [lifetimes.run(items or 50_000)],
}


def measure(name: str, items: int | None, seeds: int) -> Rows:
    """Return what a bench measured; raise ``UsageError`` if there is none so named."""
    if name not in _BENCHES:
        known = ", ".join(_BENCHES)
        raise UsageError(f"no bench is named {name!r}; there are {known}")
    return _BENCHES[name](items, seeds)
