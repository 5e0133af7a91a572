"""The program ``halflife``: its verbs are defined in the modules beside this one."""

from typing import Annotated

import typer

from halflife import __version__

# In the order in which a newcomer needs them.
VERBS = (
    "demo", "init", "add", "sync", "run",
    "worker", "pause", "resume", "drain",
    "status", "changes", "diff", "get", "export",
    "plan", "explain", "forecast", "whatif", "budget", "audit",
    "import", "since", "when", "backtest", "study",
    "summarize", "select", "probe",
    "policies", "replay", "world", "bench", "allocate",
    "source", "serve", "alerts", "sinks",
    "doctor", "verify", "backup", "restore", "store", "gc",
)  # fmt: skip


app = typer.Typer(
    name="halflife",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Add --debug to any command to see where an error came from.",
)


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"halflife {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, help="Say which version this is."),
    ] = False,
) -> None:
    """Keep local copies of remote web data fresh on a budget of requests."""
    del version
