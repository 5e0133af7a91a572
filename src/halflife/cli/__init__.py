"""The command line."""

import sys
import traceback
from collections.abc import Sequence

import typer
import typer.main
from typer.models import CommandInfo

from halflife.cli import (
    adding,
    alerting,
    asking,
    auditing,
    buying,
    care,
    exits,
    objects,
    probing,
    running,
    serving,
    settings,
    show,
    showing,
    source,
    studies,
    syncing,
    texts,
)
from halflife.cli.app import VERBS, app
from halflife.errors import HalflifeError

# Importing a module of verbs adds them to the app.
__all__ = [
    "adding",
    "alerting",
    "asking",
    "auditing",
    "buying",
    "care",
    "main",
    "objects",
    "probing",
    "running",
    "serving",
    "settings",
    "showing",
    "source",
    "studies",
    "syncing",
    "texts",
]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    words = [word for word in given if word != "--debug"]
    try:
        return _run(words)
    except (HalflifeError, OSError) as error:
        if len(words) < len(given):
            traceback.print_exc()
        show.note(f"halflife: {_one_line(error)}")
        return exits.code_of(error) if isinstance(error, HalflifeError) else 1


def _run(words: list[str]) -> int:
    app.registered_commands.sort(key=_place)
    command = typer.main.get_command(app)
    try:
        code = command.main(
            words or ["--help"], prog_name="halflife", standalone_mode=False
        )
    except typer.TyperException as error:
        show.note(f"halflife: {_one_line(error.format_message())} (try --help)")
        return exits.USAGE
    except typer.Abort:
        return exits.INTERRUPTED
    return code if isinstance(code, int) else exits.FINE


def _place(command: CommandInfo) -> int:
    """Return where a verb stands in the help."""
    return VERBS.index(command.name or getattr(command.callback, "__name__", ""))


def _one_line(error: object) -> str:
    return show.plain(str(error))
