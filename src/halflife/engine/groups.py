"""Groups of sources that are fetched together."""

from collections.abc import Callable, Sequence

from halflife.config import SourceConfig
from halflife.kinds.registry import kind_of


def grouped(
    sources: Sequence[SourceConfig],
    usual: str = "",
    *,
    is_apart: Callable[[SourceConfig], bool] = lambda _: False,
) -> list[tuple[SourceConfig, ...]]:
    """Return the groups of sources that are fetched together, joint groups first.

    Their kind defines the groups; ``is_apart`` names sources that stay separate.
    ``usual`` is the policy that the settings name for all.
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
    """Return the sources whose items are chosen one by one, across sources.

    Verbs about single items apply to these: each item has its own copy, change rate and
    forecast. Other sources are forecast and fetched whole.
    """
    return [s for s in sources if kind_of(s).together(s, "") is not None]
