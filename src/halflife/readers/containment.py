"""Containment: an exception caused by one answer fails only that answer.

Readers refuse bad answers with ``SourceError``. Any other exception of them, or of the
libraries that they use, is a bug of ours that a remote answer has found. It must not
stop the work on other items, and it must not be hidden: the item gets a failed
observation whose note names the address and the exception, and the place of the error
is logged (with ``--debug`` the whole traceback).

Errors of our own state are never contained: an error that passed through the store or
the ledger ends the run, because going on could lose records or overspend the budget.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache
from traceback import walk_tb
from typing import ParamSpec, TypeVar

from halflife.core.errors import (
    AlreadyRunning,
    BudgetSpent,
    HalflifeError,
    LeaseLost,
    Mishandled,
    SourceError,
    StoreError,
)
from halflife.net.addresses import shown
from halflife.readers.reader_thread import in_thread

Given = ParamSpec("Given")
Result = TypeVar("Result")

MARK = "halflife could not handle the answer"  # every such note has it
_OURS = ("halflife.stores.", "halflife.engine.wallet")  # modules of our own state
_PASS = (
    SourceError,
    StoreError,
    LeaseLost,
    BudgetSpent,
    AlreadyRunning,
    CancelledError,
)
_LOGGER, _FIELDS = "halflife", "halflife_fields"  # as in ``engine.logs``
_HALFLIFE = frozenset({"halflife"})
_FRAMES = 8  # innermost frames of the traceback in the log line


@contextmanager
def contained(where: str) -> Iterator[None]:
    """Turn an unexpected exception of the work on one answer into ``SourceError``.

    ``where`` is the requested address. A spent budget, a lost lease and errors of our
    own state pass through.
    """
    try:
        yield
    except _PASS:
        raise
    except Exception as error:
        if is_own_state(error):
            raise
        raise failure(error, where) from error


async def read_in_thread(
    where: str,
    read: Callable[Given, Result],
    *args: Given.args,
    **named: Given.kwargs,
) -> Result:
    """Return the result of a reader, which runs in a thread of its own.

    Cancelling stops the reader. Its error is contained in that thread, because a future
    cannot carry ``StopIteration`` and would never end.
    """

    def work() -> Result:
        with contained(where):
            return read(*args, **named)

    return await in_thread(work)


def failure(error: BaseException, where: str) -> SourceError:
    """Return the ``SourceError`` for an unexpected error, and log its place."""
    if isinstance(error, SourceError):
        return error
    address = shown(where)
    if isinstance(error, HalflifeError):  # raised on purpose, with a clear text
        return SourceError(f"{address}: {error}")
    text = describe(error)
    _log(address, text, error)
    return Mishandled(f"{address}: {MARK}: {text}")


def describe(error: BaseException) -> str:
    """Return an exception in one line: its name, and where it was raised.

    A plug-in is named before halflife if its code was running. The message is left
    out: it may quote the answer, or a secret that was sent.
    """
    frames = list(walk_tb(error.__traceback__))
    for packages in (plugin_packages(tuple(sys.path)), _HALFLIFE, None):
        for frame, line in reversed(frames):
            module = _module(frame.f_globals)
            if packages is None or module.partition(".")[0] in packages:
                return f"{type(error).__name__} in {module}, line {line}"
    return type(error).__name__


@lru_cache(maxsize=4)
def plugin_packages(path: tuple[str, ...]) -> frozenset[str]:
    """Return the packages of installed plug-ins, which are blamed before halflife."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (slow, rarely needed)

    del path
    points = entry_points()
    groups = [name for name in points.groups if name.startswith("halflife.")]
    modules = (point.value for name in groups for point in points.select(group=name))
    found = {module.partition(":")[0].partition(".")[0] for module in modules}
    return frozenset(found) - _HALFLIFE


def is_mishandled(note: str) -> bool:
    """Say whether the note of a failed observation reports a bug of ours."""
    return MARK in note


def is_own_state(error: BaseException) -> bool:
    """Say whether an error passed through the store or the ledger."""
    frames = walk_tb(error.__traceback__)
    return any(_module(frame.f_globals).startswith(_OURS) for frame, _ in frames)


def trace(error: BaseException) -> str:
    """Return the innermost frames of a traceback in one line, the last one first."""
    frames = list(walk_tb(error.__traceback__))[-_FRAMES:]
    return " < ".join(
        f"{_module(frame.f_globals)}:{line} {frame.f_code.co_name}"
        for frame, line in reversed(frames)
    )


def _module(names: dict[str, object]) -> str:
    return str(names.get("__name__", "?"))


def _log(address: str, text: str, error: BaseException) -> None:
    logger = logging.getLogger(_LOGGER)
    if logger.hasHandlers():  # else Python prints the bare message on stderr
        fields = {"address": address, "error": text, "trace": trace(error)}
        logger.warning("answer mishandled", extra={_FIELDS: fields}, exc_info=error)
