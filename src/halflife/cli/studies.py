"""Verbs that study policies: replay and bench."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json
from halflife.cli.words import comma_list, positive
from halflife.core.errors import UsageError
from halflife.core.wording import count

if TYPE_CHECKING:
    from halflife.bench.league import LeagueRules
    from halflife.cli.queries import QueryReplay
    from halflife.core.lifetimes import Collection
    from halflife.replay.recorded_source import RecordedSource

SHOWN = (
    "policy", "budget", "freshness", "age", "change_ratio", "starved", "requests",
    "blind", "told", "hindsight",
)  # fmt: skip
TEXT_SHOWN = (
    "view", "policy", "every", "ur", "wr", "up", "wp", "kl", "kl_cut",
    "update_precision", "predicted_precision",
)  # fmt: skip
OWN_RIVALS = "champion,uniform"  # where the service is replayed, which is slow
FOLDER_DAYS = 60.0  # days of a folder that the service is replayed on
MANY_PAGES = 5000  # more pages of a folder are replayed on columns, not by the service
SHARES = "0.1,0.2"
STORE_SHOWN = ("policy", "budget", "quality", "requests_a_day", "against")
BOUNDS = ("blind", "told", "hindsight")
RIVALS = "index,uniform,round-robin,nutch-adaptive,stormcrawler-adaptive"


HistoryPath = Annotated[
    Path | None,
    typer.Argument(
        help="A .csv (key, at), a folder of recorded histories, or a set source."
    ),
]
PagesPath = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Page histories of many sites: 360 days, 60 of them to warm up, one "
        "sync a day, intervals over sites.",
    ),
]
TextPath = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Text databases, week by week: rules for renewing their summaries.",
    ),
]
NewPath = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A history of objects behind a form: find what came from --from to --to.",
    ),
]
KnownPath = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A history of objects behind keyword search: keep known ones fresh.",
    ),
]
Columns = Annotated[
    str,
    typer.Option(
        metavar="A,B:KIND,...",
        help="The form's fields (of --query-new); KIND is select, keyword, range.",
    ),
]
Keywords = Annotated[
    str,
    typer.Option(metavar="A,B,...", help="What can be searched (of --query-known)."),
]
Begin = Annotated[
    str | None,
    typer.Option("--from", metavar="DATE", help="The day of the copy (of --query-*)."),
]
End = Annotated[
    str | None, typer.Option("--to", metavar="DATE", help="The last day (--query-*).")
]
PageSize = Annotated[
    int, typer.Option(min=1, max=1000, help="Records on a page (of --query-*).")
]
Everies = Annotated[
    str,
    typer.Option(
        metavar="T,U,...", help="Weeks between refreshes, on average (of --text)."
    ),
]
OwnStore = Annotated[
    bool, typer.Option("--store", help="Replay what your own store observed.")
]
Chosen = Annotated[
    str,
    typer.Option(
        metavar="A,B:KIND,...", help="Sources to replay (of --store or a folder)."
    ),
]
PlayedAs = Annotated[
    str,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="The kind to replay histories of a folder as, where there is a choice.",
    ),
]
Policies = Annotated[
    str, typer.Option(metavar="A,B,...", help="Policies to compare, or all.")
]
Budgets = Annotated[
    str,
    typer.Option(
        metavar="X,Y,...",
        help="Requests a day, as shares of the items; of --store and a folder "
        "from 1 on as such.",
    ),
]
Days = Annotated[float | None, typer.Option(min=1, help="Replay only the last X days.")]
Jobs = Annotated[
    str,
    typer.Option(
        metavar="N|EXECUTOR", help="Processes to use, or an executor (docs/scale.md)."
    ),
]
Ticks = Annotated[
    int | None,
    typer.Option(min=1, max=1440, help="Syncs a day [default: 4; of --pages: 1]."),
]


@app.command()
def replay(  # noqa: PLR0913  (each is an option)
    history: HistoryPath = None,
    *,
    pages: PagesPath = None,
    text: TextPath = None,
    query_new: NewPath = None,
    query_known: KnownPath = None,
    attributes: Columns = "",
    keywords: Keywords = "",
    begin: Begin = None,
    end: End = None,
    page_size: PageSize = 20,
    every: Everies = "10,20,40",
    policies: Policies = RIVALS,
    budgets: Budgets = SHARES,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Repetitions.")] = 1,
    days: Days = None,
    ticks: Ticks = None,
    jobs: Jobs = "1",
    store: OwnStore = False,
    sources: Chosen = "",
    kind: PlayedAs = "",
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Score policies on a recorded history, under equal budgets."""
    service = ServiceReplay(sources, kind, policies, budgets, days, json=json)
    path, folder = pages or history, query_new or query_known
    if _uses_own_store((history, pages, text, query_new, query_known), store=store):
        _replay_store(config, service)
    elif history is not None and _uses_service(history, service, ticks, seeds, jobs):
        _replay_folder(history, service)
    elif text is not None:
        _replay_texts(text, policies, every, json=json)
    elif folder is not None:
        columns = attributes if query_new else keywords
        task = _query_replay(folder, columns, policies, (begin, end), page_size, seeds)
        _replay_queries(task, budgets, new=query_new is not None, json=json)
    elif path is not None and not _replayed_as_set(path, pages, json=json):
        rules = _rules(budgets, seeds, ticks, jobs, of_pages=pages is not None)
        _replay_pages(path, policies, rules, days, quarter=not pages, json=json)


@dataclass(frozen=True, slots=True)
class ServiceReplay:
    """The options of a replay of the service, as given on the command line."""

    sources: str
    kind: str
    policies: str
    budgets: str
    days: float | None
    json: bool

    @property
    def is_picked(self) -> bool:
        """Whether the sources were picked by name or kind."""
        return bool(self.sources or self.kind)

    def names(self, recordings: Sequence["RecordedSource"]) -> list[str]:
        """Return the policies to compare; the usual ones if none are named."""
        from halflife.replay.contest import DEFAULT, known_policies

        known = known_policies(recordings)
        if self.policies == "all":
            every = [name for names in known.values() for name in names]
            return [DEFAULT, *dict.fromkeys(every)]
        if self.policies != RIVALS:
            return comma_list(self.policies)
        rivals = comma_list(OWN_RIVALS)
        there = any(set(rivals) <= set(names) for names in known.values())
        return rivals if there else [DEFAULT]

    def play(
        self,
        recordings: Sequence["RecordedSource"],
        head: dict[str, object],
        usual: Sequence[float] | None = None,
    ) -> None:
        """Replay the service on recordings under each policy; print the scores."""
        from halflife.replay.contest import ContestRules, contest

        given = [positive("--budgets", word) for word in comma_list(self.budgets)]
        budgets = usual if usual is not None and self.budgets == SHARES else given
        names = self.names(recordings)
        with show.progress("replaying", len(names) * len(budgets)) as advance:
            step = partial(advance, 1)
            rules = ContestRules(names, budgets, days=self.days, on_replay=step)
            rows = contest(recordings, rules)
        if self.json:
            kinds = [{"source": r.name, "kind": r.kind} for r in recordings]
            show.emit({**head, "sources": kinds, "results": rows})
            return
        bounds = BOUNDS if rows[0]["hindsight"] is not None else ()
        shown = (*STORE_SHOWN, *bounds)
        show.table([show.flat({n: row[n] for n in shown}) for row in rows])
        for line in _troubles(rows):
            show.note(show.plain(line))


def _troubles(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each source whose work failed, with the latest reason."""
    return [
        f"{source['source']} under {row['policy']} at {row['budget']:g}: "
        f"{count(source['troubles'], 'task')} failed, the last: {source['trouble']}"
        for row in rows
        for source in row["sources"]
        if source["troubles"]
    ]


def _replay_store(path: Path | None, service: ServiceReplay) -> None:
    """Score policies on the observations of the user's store, all kinds together."""
    from halflife.config import Config
    from halflife.engine import bootstrap
    from halflife.replay.own_store import recorded_sources

    if service.kind:
        raise UsageError("--kind is for a folder; the store knows what its sources are")
    settings = Config.load(Config.find(path))
    with bootstrap.reading(settings) as store:
        recordings = recorded_sources(settings, store, comma_list(service.sources))
    head: dict[str, object] = {"store": settings.store_name}
    service.play(recordings, head, [settings.budget.pace])


def _replay_folder(path: Path, service: ServiceReplay) -> None:
    """Score policies on the histories of a folder, all kinds together."""
    from halflife.replay.folder import recorded_in

    days = service.days or FOLDER_DAYS
    recordings = recorded_in(path, comma_list(service.sources), service.kind, days)
    head: dict[str, object] = {"history": str(path), "days": days}
    replace(service, days=days).play(recordings, head)


def _uses_service(
    path: Path, service: ServiceReplay, ticks: int | None, seeds: int, jobs: str
) -> bool:
    """Return whether the service is replayed on a history.

    Every folder is, except too many pages without a choice of sources, and except the
    options and the oracle that only the replay on columns has.
    """
    from halflife.bench.league import ORACLE
    from halflife.recordings.parquet import read_table

    if not path.is_dir() or service.is_picked:
        return path.is_dir()
    pages = path / "pages.parquet"
    if not (pages.is_file() and (path / "changes.parquet").is_file()):
        return True
    many = read_table(pages, ("site", "page")).num_rows > MANY_PAGES
    on_columns = ticks is not None or seeds > 1 or jobs != "1"
    return not (many or on_columns or ORACLE in comma_list(service.policies))


def _uses_own_store(given: Sequence[Path | None], *, store: bool) -> bool:
    """Return whether to replay the user's own store, not one of the given histories.

    Raise ``UsageError`` unless exactly one is named.
    """
    named = sum(path is not None for path in given)
    if named != 1 and not (store and not named):
        raise UsageError(
            "name one history: HISTORY, or --pages, --text, --query-new or "
            "--query-known with a folder, or --store alone"
        )
    return not named


def _query_replay(
    folder: Path,
    columns: str,
    policies: str,
    when: tuple[str | None, str | None],
    page_size: int,
    seeds: int,
) -> "QueryReplay":
    from halflife.cli.queries import QueryReplay

    names = [] if policies == RIVALS else comma_list(policies)
    return QueryReplay(folder, comma_list(columns), names, *when, page_size, seeds)


def _replayed_as_set(path: Path, pages: Path | None, *, json: bool) -> bool:
    """Replay a set source of the store if one is named; return whether it is."""
    from halflife.cli import sets

    history = None if path.exists() or pages else sets.stored_collection(str(path))
    if history is not None:
        _replay_set(history, json=json)
    return history is not None


def _rules(
    budgets: str, seeds: int, ticks: int | None, jobs: str, *, of_pages: bool
) -> "LeagueRules":
    """Return the rules of a replay of pages."""
    from halflife.bench import league

    shares = [positive("--budgets", word) for word in comma_list(budgets)]
    usual = league.TICKS if of_pages else 4
    executor = f"local:{jobs}" if jobs.isdecimal() else jobs
    return league.LeagueRules(shares, seeds, ticks or usual, executor=executor)


def _replay_queries(
    task: "QueryReplay", budgets: str, *, new: bool, json: bool
) -> None:
    """Score query policies on a source that only answers queries."""
    from halflife.cli import queries

    if new:
        queries.replay_new(task, json=json)
        return
    shares = [positive("--budgets", word) for word in comma_list(budgets)]
    queries.replay_known(task, shares, json=json)


def _replay_pages(
    path: Path,
    policies: str,
    rules: "LeagueRules",
    days: float | None,
    *,
    quarter: bool,
    json: bool,
) -> None:
    """Score policies on a recording of pages; with ``quarter``, 25 % is warm-up."""
    from halflife.bench import league
    from halflife.recordings import histories

    names = league.all_policies() if policies == "all" else comma_list(policies)
    league.check(names)
    recorded = histories.load(path, days=days if quarter else days or league.DAYS)
    if quarter:
        rules = replace(rules, warm=0.25 * (recorded.end - recorded.begin))
    steps = len(names) * len(rules.shares)
    with show.progress("replaying", steps) as advance:
        rows = league.compare(recorded, names, rules, advance)
    if json:
        show.emit({"history": str(path), **league.report(recorded, rules, rows)})
    else:
        show.table([show.flat({n: row[n] for n in SHOWN}) for row in rows])


def _replay_texts(path: Path, policies: str, every: str, *, json: bool) -> None:
    """Score rules for summaries on recorded text databases."""
    from halflife.bench import textviews
    from halflife.policies.texts.names import RULES

    usual = textviews.POLICIES if policies == RIVALS else comma_list(policies)
    names = list(RULES) if policies == "all" else list(usual)
    everies = [positive("--every", word) for word in comma_list(every)]
    if not names or not everies or min(everies) < 1:
        raise UsageError("--policies and --every name one at least; T is 1 or more")
    with show.progress("replaying", 2) as advance:
        scores = textviews.report(path, names, everies, advance)
    if json:
        show.emit(scores)
        return
    rows = scores["results"]
    show.table([show.flat({n: row[n] for n in TEXT_SHOWN}) for row in rows])


def _replay_set(history: "Collection", *, json: bool) -> None:
    """Score schedules on the later part of a set source's history."""
    from halflife.bench.setpolicies import FEWEST, schedules

    if history.looks.size < FEWEST:
        raise UsageError(
            f"{history.name} has {count(history.looks.size, 'observation')}; a replay "
            f"needs {FEWEST}"
        )
    rows = schedules(history)
    if json:
        show.emit({"source": history.name, "target": 0.9, "results": rows})
        return
    scores = [row for row in rows if row["figure"] == "schedule"]
    show.table(
        [{n: v for n, v in show.flat(row).items() if n != "figure"} for row in scores]
    )


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="What to measure: allocate.")],
    *,
    items: Annotated[int, typer.Option(min=10, help="Pages.")] = 1_000_000,
    shape: Annotated[
        str | None, typer.Option(help="The distribution of lifetimes: weibull.")
    ] = None,
    out_of_core: Annotated[
        bool, typer.Option("--out-of-core", help="From Parquet files to others.")
    ] = False,
    executor: Annotated[
        str, typer.Option(help="The executor (--out-of-core); see docs/scale.md.")
    ] = "local",
    json: Json = False,
) -> None:
    """Measure how fast and how exactly requests are allocated to many pages."""
    from halflife.bench import allocate, out_of_core as files

    if name != "allocate":
        raise UsageError(f"no bench is named {name!r}; there is allocate")
    if shape not in (None, "weibull"):
        raise UsageError("--shape can only be weibull")
    if out_of_core and shape:
        raise UsageError("--out-of-core knows random changes only; leave out --shape")
    row: dict[str, float | int | str]
    if out_of_core:
        row = files.run(items, executor)
    else:
        row = {**(allocate.weibull(items) if shape else allocate.run(items))}
    if json:
        show.emit({"bench": name, **row, "results": [row]})
    else:
        show.table([{"figure": n, "value": v} for n, v in show.flat(row).items()])
