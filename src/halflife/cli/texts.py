"""Verbs for databases that only answer queries: summarize, select."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources
from halflife.kinds.search import audit, runner, selection

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from halflife.cli.show import Row
    from halflife.config import Config
    from halflife.core.search import SearchAnswer
    from halflife.engine.signals import Stop
    from halflife.kinds.search.settings import SearchConfig
    from halflife.selection.choice import Ranking
    from halflife.stores.summaries import StoredSummary

Query = Annotated[
    list[str], typer.Argument(metavar="QUERY", help="Words to search for.")
]


Method = Annotated[
    str,
    typer.Option(metavar="qbs|fps", help="Query-based sampling or focused probing."),
]
Documents = Annotated[int, typer.Option(min=1, help="Documents to read; for qbs.")]
Snippets = Annotated[bool, typer.Option("--snippets", help="Be content with snippets.")]
Words = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Words to begin with [default: common]."),
]
Topics = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Topics and their queries, TOML; for fps."),
]
Most = Annotated[int | None, typer.Option(min=1, help="Spend at most N requests.")]


@app.command()
def summarize(  # noqa: PLR0913  (each is an option)
    sources: Sources = None,
    *,
    method: Method = "qbs",
    documents: Documents = 300,
    snippets: Snippets = False,
    dictionary: Words = None,
    probes: Topics = None,
    max_requests: Most = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Sample databases that can be searched; keep how often words are in them."""
    import asyncio

    from halflife.cli import exits, show
    from halflife.config import Config

    settings = Config.load(Config.find(config))
    chosen = runner.databases(settings, sources)
    wish = runner.SummaryWish(method, documents, snippets, dictionary, probes)
    done, stop = asyncio.run(
        _summarize(settings, chosen, wish, max_requests, json=json)
    )
    if json:
        show.emit({"results": [one.row() for one in done]})
    else:
        for one in done:
            show.say(show.plain(one.words()))
    if stop.code:
        raise typer.Exit(stop.code)
    if any(one.kept is None for one in done):
        raise typer.Exit(exits.SOME_FAILED)


async def _summarize(
    config: "Config",
    chosen: "Sequence[SearchConfig]",
    wish: "runner.SummaryWish",
    most: int | None,
    *,
    json: bool,
) -> "tuple[list[runner.SamplingOutcome], Stop]":
    """Summarise one database after the other, as far as the budget goes."""
    from halflife.cli import show
    from halflife.cli.in_turn import in_turn
    from halflife.engine import bootstrap
    from halflife.engine.signals import Stop

    stop = Stop()
    done: list[runner.SamplingOutcome] = []
    with bootstrap.writing(config) as store, stop.heard():
        summarizer = runner.Summarizer(config, store, wish)

        async def summarized(
            source: "SearchConfig", left: int | None
        ) -> "runner.SamplingOutcome":
            label = f"summarising {source.name}"
            with show.progress(label, left, quiet=json) as advance:

                def told(answer: "SearchAnswer") -> None:
                    advance(answer.requests, "")

                done.append(await summarizer.summarize(source, most=left, notify=told))
                audit.audit_summary(store, source)
                return done[-1]

        def work(
            source: "SearchConfig",
        ) -> "Coroutine[Any, Any, runner.SamplingOutcome] | None":
            left = None if most is None else most - sum(one.requests for one in done)
            return None if left == 0 else summarized(source, left)

        return await in_turn(chosen, stop, work, summarizer.ease), stop


@app.command()
def select(
    query: Query,
    *,
    method: Annotated[
        str, typer.Option(metavar="cori|bgloss|lm|redde|crcs", help="How to rank.")
    ] = "cori",
    top: Annotated[
        int | None, typer.Option(min=1, help="How many databases to show.")
    ] = None,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Rank databases for a query by their summaries; sends nothing."""
    from halflife.cli import show
    from halflife.config import Config
    from halflife.core.errors import UsageError
    from halflife.engine import bootstrap

    settings = Config.load(Config.find(config))
    selection.check_method(method)
    chosen = runner.databases(settings)
    now, words = bootstrap.clock(), " ".join(query)
    with bootstrap.reading(settings) as store:
        kept, lacking = selection.stored_summaries(store, chosen)
        if not kept:
            raise UsageError("there is no summary yet; run `halflife summarize` first")
        found = selection.rank(
            kept, chosen, words, now, method=method, most=top, store=store
        )
    rows = _rows(found, kept, now)
    names = [source.name for source in lacking]
    if json:
        head = {"query": words, "method": method, "status": found.status.value}
        more = {"unknown_words": list(found.unknown), "without_summary": names}
        show.emit({**head, **more, "results": rows})
        return
    show.table([{n: row[n] for n in ("database", "score", "why")} for row in rows])
    for line in _notes(found, names):
        show.note(line)


def _rows(
    found: "Ranking", kept: "Sequence[StoredSummary]", now: float
) -> "list[dict[str, str | int | float | None]]":
    at = {one.source: one for one in kept}
    return [
        {
            "database": name,
            "score": float(found.score[i]),
            "backed": bool(found.backed[i]),
            "age_days": now - at[name].at,
            "still_true": float(found.fresh[i]),
            "why": found.reasons[i],
        }
        for i, name in enumerate(found.names)
    ]


def _notes(found: "Ranking", lacking: "Sequence[str]") -> "list[str]":
    from halflife.selection.choice import RankingStatus

    said = []
    if found.status is not RankingStatus.RANKED:
        said.append(f"halflife: {found.status.value}; the order means nothing")
    elif found.unknown:
        said.append(f"no database knows {', '.join(found.unknown)}")
    if lacking:
        names = ", ".join(lacking)
        said.append(f"no summary yet of {names}; run `halflife summarize`")
    return said


def status_cells(row: "Mapping[str, object]") -> "Row":
    """Return such a row for people."""
    size, cells = row["size"], {**row}
    cells.pop("summary", None)  # its mean is ``still_true``
    if isinstance(size, dict):
        high = f"{size['high']:.0f}" if isfinite(size["high"]) else "?"
        cells["size"] = f"{size['mean']:.0f} [{size['low']:.0f}, {high}]"
    return cast("Row", cells)
