"""Asking one source after the other, as far as the budget goes."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from halflife.cli import show
from halflife.config import SourceConfig
from halflife.core.errors import BudgetSpent
from halflife.engine.signals import Stop, until_stopped

Result = TypeVar("Result")
Settings = TypeVar("Settings", bound=SourceConfig)


async def in_turn(
    chosen: Sequence[Settings],
    stop: Stop,
    work: Callable[[Settings], Coroutine[Any, Any, Result] | None],
    ease: Callable[[], None],
) -> list[Result]:
    """Return what came of each source until the budget is spent or we are stopped.

    ``work`` returns None when nothing may be spent any more; ``ease`` begins nothing
    new in what is under way. ``BudgetSpent`` passes through if nothing came at all.
    """
    done: list[Result] = []
    for source in chosen:
        begun = None if stop.asked.is_set() else work(source)
        if begun is None:
            break
        try:
            found = await until_stopped(begun, stop, ease)
        except BudgetSpent as error:
            if not done:
                raise
            show.note(f"halflife: {source.name} was not reached: {error}")
            break
        done += [found] if found is not None else []
    return done
