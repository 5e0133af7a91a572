"""Options that many verbs share."""

from pathlib import Path
from typing import Annotated

import typer

ConfigPath = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="PATH",
        help="Settings file [default: $HALFLIFE_CONFIG or ./halflife.toml].",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done; do nothing.")
]
Sources = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SOURCE]...", help="Only these sources [default: all]."),
]
