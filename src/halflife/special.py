"""``scipy.special``, imported when one of its functions is first used.

Its import takes longer than that of everything else together, and most commands
need none of it.
"""

from typing import Any


def __getattr__(name: str) -> Any:  # noqa: ANN401  (whatever scipy has by that name)
    if name.startswith("_"):
        raise AttributeError(name)
    from scipy import special  # noqa: PLC0415  (slow)

    found = globals()[name] = getattr(special, name)
    return found
