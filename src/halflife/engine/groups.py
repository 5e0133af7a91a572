"""Which sources are worked at together, and which have items of their own."""

from collections.abc import Callable, Sequence

from halflife.config import SourceConfig
from halflife.kinds.registry import kind_of


def grouped(
    sources: Sequence[SourceConfig],
    usual: str = "",
    *,
    is_apart: Callable[[SourceConfig], bool] = lambda _: False,
) -> list[tuple[SourceConfig, ...]]:
    """Return sources by those that are worked at together, these groups first.

    Their kind says which are; ``is_apart`` names sources that are kept apart all the
    same. ``usual`` is the policy that the settings name for all.
    """
    joint: dict[tuple[int, str], list[SourceConfig]] = {}
    alone: list[tuple[SourceConfig, ...]] = []
    for source in sources:
        kind = kind_of(source)
        key = None if is_apart(source) else kind.together(source, usual)
        if key is None:
            alone.append((source,))
        else:
            joint.setdefault((id(kind), key), []).append(source)
    return [*(tuple(group) for group in joint.values()), *alone]


def by_item(sources: Sequence[SourceConfig]) -> list[SourceConfig]:
    """Return the sources whose items are chosen one by one, from all of them at once.

    Verbs about single items are about these: each item has a copy, a rate of change
    and a forecast of its own. Other sources are forecast and fetched whole.
    """
    return [s for s in sources if kind_of(s).together(s, "") is not None]
