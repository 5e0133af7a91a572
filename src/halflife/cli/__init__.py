"""The command line."""

import copy
import gc
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache

import typer
import typer.main
from typer.models import CommandInfo

from halflife.cli import (
    add,
    alerts,
    allocate,
    audit,
    budget,
    care,
    changes,
    demo,
    exits,
    inspect,
    objects,
    probe,
    run,
    serve,
    settings,
    show,
    sinks,
    source,
    store,
    studies,
    sync,
    texts,
    worker,
    world,
)
from halflife.cli.app import VERBS, app
from halflife.core.errors import HalflifeError

# Importing a module of verbs adds them to the app.
__all__ = [
    "add",
    "alerts",
    "allocate",
    "audit",
    "budget",
    "care",
    "changes",
    "demo",
    "inspect",
    "main",
    "objects",
    "probe",
    "run",
    "serve",
    "settings",
    "sinks",
    "source",
    "store",
    "studies",
    "sync",
    "texts",
    "worker",
    "world",
]

# New objects after which Python collects garbage. With the default of 700, a sync of a
# listing runs three full collections of 50 ms each that free nothing.
_YOUNG = 10_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    gc.set_threshold(_YOUNG)
    given = list(sys.argv[1:] if argv is None else argv)
    words = [word for word in given if word != "--debug"]
    debug = len(words) < len(given)
    try:
        with _traces() if debug else nullcontext():
            return _run(words)
    except (HalflifeError, OSError) as error:
        if debug:
            traceback.print_exc()
        show.note(f"halflife: {_one_line(error)}")
        return exits.code_of(error) if isinstance(error, HalflifeError) else 1
    except Exception as error:  # noqa: BLE001  (the last edge: say how to report it)
        if debug:
            traceback.print_exc()
        show.note(f"halflife: {_unexpected(error)}")
        return exits.FAILURE


@contextmanager
def _traces() -> Iterator[None]:
    """Print the tracebacks of errors that were contained to one item."""
    import logging

    handler, logger = logging.StreamHandler(), logging.getLogger("halflife")
    handler.addFilter(lambda record: record.exc_info is not None)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _unexpected(error: Exception) -> str:
    from halflife.readers.containment import describe

    return (
        f"an error of the program: {describe(error)}; "
        "run it again with --debug, and report what that prints"
    )


def _run(words: list[str]) -> int:
    program = _program(words[0] if words and words[0] in VERBS else "")
    try:
        code = program(words or ["--help"], prog_name="halflife", standalone_mode=False)
    except typer.TyperException as error:
        show.note(f"halflife: {_one_line(error.format_message())} (try --help)")
        return exits.USAGE
    except typer.Abort:
        return exits.INTERRUPTED
    return code if isinstance(code, int) else exits.FINE


@cache
def _program(verb: str) -> Callable[..., object]:
    """Return the program with one of its verbs, or with all if none is named.

    To make one takes less than a millisecond, to make all of them takes 18.
    """
    app.registered_commands.sort(key=_place)
    part = copy.copy(app)
    if verb:
        at = VERBS.index(verb)
        part.registered_commands = [
            one for one in app.registered_commands if _place(one) == at
        ]
    return typer.main.get_command(part).main


def _place(command: CommandInfo) -> int:
    """Return where a verb stands in the help."""
    return VERBS.index(command.name or getattr(command.callback, "__name__", ""))


def _one_line(error: object) -> str:
    return show.plain(str(error))
