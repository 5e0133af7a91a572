"""The command line."""

import sys
import traceback
from collections.abc import Sequence

import typer
import typer.main

from halflife.cli import exits, settings, show
from halflife.cli.app import app
from halflife.errors import HalflifeError

__all__ = ["main", "settings"]  # importing a module of verbs adds them to the app


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


def _one_line(error: object) -> str:
    return show.plain(str(error))
