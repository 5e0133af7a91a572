"""Run a job for one source after the other, as far as the budget goes."""

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
    """Return the result of each source, until the budget is spent or a signal stops it.

    ``work`` returns None when nothing may be spent any more; ``ease`` keeps the running
    job from starting more requests. ``BudgetSpent`` is raised if there is no result.
    """
    done: list[Result] = []
    for source in chosen:
        job = None if stop.asked.is_set() else work(source)
        if job is None:
            break
        try:
            result = await until_stopped(job, stop, ease)
        except BudgetSpent as error:
            if not done:
                raise
            show.note(f"halflife: {source.name} was not reached: {error}")
            break
        done += [result] if result is not None else []
    return done
