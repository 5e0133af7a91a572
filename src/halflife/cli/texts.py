"""Verbs for searchable databases: summarize, select."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from halflife.cli import exits, show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json, Sources, read_settings
from halflife.core.errors import UsageError
from halflife.core.wording import span
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
Snippets = Annotated[
    bool, typer.Option("--snippets", help="Use snippets, not documents.")
]
Words = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="First query words [default: common]."),
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
    """Sample databases that can be searched; store the frequencies of their words."""
    import asyncio

    settings = read_settings(config)
    chosen = runner.databases(settings, sources)
    wish = runner.SummaryWish(method, documents, snippets, dictionary, probes)
    results, stop = asyncio.run(
        _summarize(settings, chosen, wish, max_requests, json=json)
    )
    if json:
        show.emit({"results": [result.row() for result in results]})
    else:
        for result in results:
            show.say(show.plain(result.words()))
    if stop.code:
        raise typer.Exit(stop.code)
    if any(result.kept is None for result in results):
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
    from halflife.cli.in_turn import in_turn
    from halflife.engine import bootstrap
    from halflife.engine.signals import Stop

    stop = Stop()
    done: list[runner.SamplingOutcome] = []
    with bootstrap.writing(config) as store, stop.on_signals():
        summarizer = runner.Summarizer(config, store, wish)

        async def summarize_one(
            source: "SearchConfig", left: int | None
        ) -> "runner.SamplingOutcome":
            label = f"summarising {source.name}"
            with show.progress(label, left, quiet=json) as advance:

                def count(answer: "SearchAnswer") -> None:
                    advance(answer.requests, "")

                done.append(await summarizer.summarize(source, most=left, notify=count))
                audit.audit_summary(store, source)
                return done[-1]

        def work(
            source: "SearchConfig",
        ) -> "Coroutine[Any, Any, runner.SamplingOutcome] | None":
            left = None if most is None else most - sum(d.requests for d in done)
            return None if left == 0 else summarize_one(source, left)

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
    from halflife.engine import bootstrap

    settings = read_settings(config)
    selection.check_method(method)
    chosen = runner.databases(settings)
    now, words = bootstrap.clock(), " ".join(query)
    with bootstrap.reading(settings) as store:
        summaries, lacking = selection.stored_summaries(store, chosen)
        if not summaries:
            raise UsageError("there is no summary yet; run `halflife summarize` first")
        ranking = selection.rank(
            summaries, chosen, words, now, method=method, most=top, store=store
        )
    rows = _rows(ranking, summaries, now)
    names = [source.name for source in lacking]
    if json:
        head = {"query": words, "method": method, "status": ranking.status.value}
        more = {"unknown_words": list(ranking.unknown), "without_summary": names}
        show.emit({**head, **more, "results": rows})
        return
    show.table([{n: row[n] for n in ("database", "score", "why")} for row in rows])
    for line in _notes(ranking, names):
        show.note(line)


def _rows(
    ranking: "Ranking", summaries: "Sequence[StoredSummary]", now: float
) -> "list[dict[str, str | int | float | None]]":
    by_source = {summary.source: summary for summary in summaries}
    return [
        {
            "database": name,
            "score": float(ranking.score[i]),
            "backed": bool(ranking.backed[i]),
            "age_days": now - by_source[name].at,
            "still_true": float(ranking.fresh[i]),
            "why": ranking.reasons[i],
        }
        for i, name in enumerate(ranking.names)
    ]


def _notes(ranking: "Ranking", lacking: "Sequence[str]") -> "list[str]":
    from halflife.selection.choice import RankingStatus

    notes = []
    if ranking.status is not RankingStatus.RANKED:
        notes.append(f"halflife: {ranking.status.value}; the order means nothing")
    elif ranking.unknown:
        notes.append(f"no database contains {', '.join(ranking.unknown)}")
    if lacking:
        names = ", ".join(lacking)
        notes.append(f"no summary yet of {names}; run `halflife summarize`")
    return notes


def status_cells(row: "Mapping[str, object]") -> "Row":
    """Return a status row of a database as cells of a table."""
    size, cells = row["size"], {("age" if k == "age_days" else k): row[k] for k in row}
    cells.pop("summary", None)  # its mean is ``still_true``
    if isinstance(age := cells["age"], float):
        cells["age"] = span(age)
    if isinstance(size, dict):
        high = f"{size['high']:.0f}" if isfinite(size["high"]) else "?"
        cells["size"] = f"{size['mean']:.0f} [{size['low']:.0f}, {high}]"
    return cast("Row", cells)
