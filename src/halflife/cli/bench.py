"""The figures that ``halflife bench`` prints, by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from halflife.bench import allocate, fit, lifetimes, policies, turns
from halflife.core.errors import UsageError

Rows: TypeAlias = Sequence[Mapping[str, object]]

_BENCHES: dict[str, Callable[[int | None, int], Rows]] = {
    "allocate": lambda items, _: [allocate.run(items or 1_000_000)],
    "allocate weibull": lambda items, _: [allocate.weibull(items or 1_000_000)],
    "fit": lambda items, _: [fit.run(items or 100_000)],
    "index": lambda items, _: [policies.known_rates(items or 10_000)],
    "learn": lambda items, seeds: policies.learning(seeds, items=items or 2000),
    "lifetimes": lambda items, _: [lifetimes.run(items or 50_000)],
    "turns": lambda items, _: [turns.run(items or 1_000_000)],
}


def measure(
    name: str, items: int | None, seeds: int, *, shape: str | None = None
) -> Rows:
    """Return what a bench measured; raise ``UsageError`` if there is none so named."""
    if name not in _BENCHES:
        known = ", ".join(name for name in _BENCHES if " " not in name)
        raise UsageError(f"no bench is named {name!r}; there are {known}")
    whole = f"{name} {shape}" if shape else name
    if whole not in _BENCHES:
        raise UsageError("--shape goes with allocate, and can only be weibull")
    return _BENCHES[whole](items, seeds)
