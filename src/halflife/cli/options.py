"""Options that many verbs share, and the settings that ``--config`` names."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from halflife.config import Config

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
OfSource = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="NAME",
        help="Of this source, where several have such a record.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="DATE",
        help="As of then; later observations are not used [default: the last sync].",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(metavar="FILTER", help="""Only such objects: 'make = "BMW"'."""),
]
Confidence = Annotated[
    float, typer.Option(help="How often the truth lies within the bounds.")
]


def read_settings(given: Path | None) -> "Config":
    """Return the settings in this file, or in the default place if none is given."""
    from halflife.config import Config

    return Config.load(Config.find(given))
