"""The verb that plans items of which only the rates are known."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json

__all__ = ["allocate"]

Objective: TypeAlias = Literal["freshness", "age", "harmonic"]


@app.command()
def allocate(  # noqa: PLR0913  (options)
    folder: Annotated[Path, typer.Argument(help="A folder of Parquet files.")],
    *,
    budget: Annotated[float, typer.Option(min=0, help="Requests a day.")],
    out: Annotated[Path, typer.Option(help="A new folder, for the plan.")],
    objective: Annotated[
        Objective, typer.Option(help="What the plan makes the most of.")
    ] = "freshness",
    keep: Annotated[
        str, typer.Option(help="Columns to copy to the plan, as A,B.")
    ] = "",
    executor: Annotated[
        str | None, typer.Option(help="Who does the work; see docs/scale.md.")
    ] = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Say how often to fetch each of very many items, from Parquet to Parquet."""
    from time import perf_counter

    from halflife.cli import show
    from halflife.cli.words import listed
    from halflife.recordings.item_parts import allocate_folder

    began = perf_counter()
    plan = allocate_folder(
        folder,
        out,
        budget,
        objective=objective,
        keep=listed(keep),
        executor=executor or _configured(config),
    )
    told = {
        "items": plan.items,
        "budget": budget,
        "spent": plan.spent,
        "budget_error": abs(plan.spent / budget - 1.0) if budget else plan.spent,
        "price": plan.price,
        "value": plan.value,
        "kkt_residual": plan.kkt_residual,
        "passes": plan.passes,
        "seconds": perf_counter() - began,
        "plan": str(out),
    }
    if json:
        show.emit(told)
    else:
        show.table([{"figure": n, "value": v} for n, v in show.flat(told).items()])


def _configured(given: Path | None) -> str:
    """Return the executor of the settings, or the usual one without settings."""
    from halflife import executors
    from halflife.config import Config

    path = Config.find(given)
    if given is None and not path.exists():
        return executors.DEFAULT
    return Config.load(path).executor
