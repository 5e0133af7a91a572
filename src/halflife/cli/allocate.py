"""The verb that plans items from a table of their change rates: allocate."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json
from halflife.cli.words import comma_list

if TYPE_CHECKING:
    from halflife.allocation.parts import PartedAllocation

Objective: TypeAlias = Literal["freshness", "age", "harmonic"]
Items = Annotated[
    str,
    typer.Argument(help="A folder of Parquet files, or postgresql://…&table=NAME."),
]
Budget = Annotated[float, typer.Option(min=0, help="Requests a day.")]
Out = Annotated[Path, typer.Option(help="A new folder, for the plan.")]
Wanted = Annotated[Objective, typer.Option(help="What the plan optimises.")]
Keep = Annotated[str, typer.Option(metavar="A,B", help="Columns to copy to the plan.")]
Who = Annotated[
    str | None,
    typer.Option(help="The executor [default: that of the settings]."),
]


@app.command()
def allocate(  # noqa: PLR0913  (each is an option)
    items: Items,
    *,
    budget: Budget,
    out: Out,
    objective: Wanted = "freshness",
    keep: Keep = "",
    executor: Who = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Compute how often to fetch each of very many items, into Parquet files."""
    from halflife.recordings.item_parts import allocate_folder

    began, who = perf_counter(), executor or _configured(config)
    plan = allocate_folder(
        items, out, budget, objective=objective, keep=comma_list(keep), executor=who
    )
    seconds = perf_counter() - began
    row = {**_figures(plan, budget), "seconds": seconds, "plan": str(out)}
    if json:
        show.emit(row)
    else:
        show.table([{"figure": n, "value": v} for n, v in show.flat(row).items()])


def _figures(plan: "PartedAllocation", budget: float) -> dict[str, object]:
    return {
        "items": plan.items,
        "budget": budget,
        "spent": plan.spent,
        "budget_error": abs(plan.spent / budget - 1.0) if budget else plan.spent,
        "price": plan.price,
        "value": plan.value,
        "kkt_residual": plan.kkt_residual,
        "passes": plan.passes,
    }


def _configured(given: Path | None) -> str:
    """Return the executor of the settings, or the usual one without settings."""
    from halflife import executors
    from halflife.config import Config

    path = Config.find(given)
    if given is None and not path.exists():
        return executors.DEFAULT
    return Config.load(path).executor
