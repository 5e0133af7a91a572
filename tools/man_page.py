"""Write the manual page ``halflife.1`` from the program's own help.

python tools/man_page.py > docs/halflife.1
"""

import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

import typer.main

from halflife import __version__, cli
from halflife.cli import exits
from halflife.cli.app import VERBS, app

Node: TypeAlias = Any  # typer's own copies of click's classes have no public name

EXITS = (
    (exits.FINE, "All went well."),
    (exits.FAILURE, "It failed; one line says why and what to do."),
    (exits.USAGE, "The command or the settings cannot be used as written."),
    (exits.BELOW_TARGET, "The copy is less fresh than asked for."),
    (exits.SOME_FAILED, "Some sources did not answer; the others were kept."),
    (exits.HELD, "A sync waits for a decision."),
    (exits.SPENT, "No request is left in this window."),
    (exits.RUNNING, "Another process keeps the same source."),
    (exits.INTERRUPTED, "It was interrupted."),
    (exits.TERMINATED, "It was terminated."),
)
FILES = (
    ("halflife.toml", "The settings, in the present folder; --config names another."),
    ("halflife.db", "The state: a SQLite file beside the settings."),
)


def escaped(text: str) -> str:
    r"""Return text as roff takes it.

    >>> escaped(".a\\b-c")
    '\\&.a\\eb\\-c'
    """
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain


def paragraphs(text: str) -> Iterator[str]:
    """Return the lines of a help text, its paragraphs parted."""
    for number, part in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        yield escaped(" ".join(part.split()))


def commands(name: str, command: Node) -> Iterator[tuple[str, Node]]:
    """Return a verb, and those below it, with their full names."""
    inner = getattr(command, "commands", None)
    if not inner:
        yield name, command
        return
    for below, one in inner.items():
        yield from commands(f"{name} {below}", one)


def verb(name: str, command: Node) -> Iterator[str]:
    """Return the part about one verb."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    shape = " ".join([*(["[OPTIONS]"] if options else []), *map(metavar, arguments)])
    yield f'.SS "{name} {escaped(shape)}"'
    yield from paragraphs(command.help or "")
    for option in options:
        if not option.hidden:
            yield ".TP"
            yield f".B {escaped(', '.join((*option.opts, *option.secondary_opts)))}"
            yield from paragraphs(option.help or "")


def metavar(argument: Node) -> str:
    """Return how an argument is written."""
    name = (argument.metavar or argument.name.upper()).strip("[].")
    name += "..." if argument.nargs == -1 else ""
    return name if argument.required else f"[{name}]"


def page() -> str:
    """Return the whole page."""
    app.registered_commands.sort(key=cli._place)  # noqa: SLF001
    root = typer.main.get_command(app)
    lines = [
        f'.TH HALFLIFE 1 "" "halflife {__version__}" "User commands"',
        ".SH NAME",
        f"halflife \\- {escaped(first_sentence(root.help or ''))}",
        ".SH SYNOPSIS",
        ".B halflife",
        "COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        *paragraphs(root.help or ""),
        ".PP",
        "With \\-\\-debug any command prints where an error came from.",
        ".SH COMMANDS",
    ]
    known = root.commands  # type: ignore[attr-defined]
    for name in VERBS:
        for full, command in commands(name, known[name]):
            lines += verb(full, command)
    for title, rows in (("EXIT STATUS", EXITS), ("FILES", FILES)):
        lines.append(f".SH {title}")
        for term, meaning in rows:
            lines += [".TP", f".B {escaped(str(term))}", escaped(meaning)]
    return "\n".join(lines) + "\n"


def first_sentence(text: str) -> str:
    """Return what comes before the first full stop, without a capital letter.

    >>> first_sentence("Keep copies. Or not.")
    'keep copies'
    """
    first = " ".join(text.split()).partition(".")[0]
    return first[:1].lower() + first[1:]


if __name__ == "__main__":
    sys.stdout.write(page())
