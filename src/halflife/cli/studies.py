"""Verbs that study policies: replay and bench."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli.app import app
from halflife.cli.options import ConfigPath, Json
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
OWN_RIVALS = "champion,uniform"  # where the service is played: each takes a while
FOLDER_DAYS = 60.0  # of a folder that the service is played on
MANY_PAGES = 5000  # pages of a folder that are played on columns, not by the service
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
        help="What the form asks for (of --query-new); KIND is select, keyword, range.",
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
        help="What the histories of a folder are played as, where there is a choice.",
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
    if _is_own((history, pages, text, query_new, query_known), store=store):
        _replay_store(config, service)
    elif history is not None and _is_played(history, service, ticks, seeds, jobs):
        _replay_folder(history, service)
    elif text is not None:
        _replay_texts(text, policies, every, json=json)
    elif folder is not None:
        columns = attributes if query_new else keywords
        asked = _asked(folder, columns, policies, (begin, end), page_size, seeds)
        _replay_queries(asked, budgets, new=query_new is not None, json=json)
    elif path is not None and not _replayed_as_set(path, pages, json=json):
        rules = _rules(budgets, seeds, ticks, jobs, of_pages=pages is not None)
        _replay_pages(path, policies, rules, days, quarter=not pages, json=json)


@dataclass(frozen=True, slots=True)
class ServiceReplay:
    """How the service is played on recordings, as words of the command line."""

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

    def names(self, found: Sequence["RecordedSource"]) -> list[str]:
        """Return the policies to compare; the usual ones if none are named."""
        from halflife.cli.words import listed
        from halflife.replay.contest import DEFAULT, known_policies

        known = known_policies(found)
        if self.policies == "all":
            every = [name for names in known.values() for name in names]
            return [DEFAULT, *dict.fromkeys(every)]
        if self.policies != RIVALS:
            return listed(self.policies)
        rivals = listed(OWN_RIVALS)
        there = any(set(rivals) <= set(names) for names in known.values())
        return rivals if there else [DEFAULT]

    def play(
        self,
        found: Sequence["RecordedSource"],
        head: dict[str, object],
        usual: Sequence[float] | None = None,
    ) -> None:
        """Play the service on recorded sources under each policy; show how it did."""
        from halflife.cli import show
        from halflife.cli.words import listed, positive
        from halflife.replay.contest import ContestRules, contest

        given = [positive("--budgets", word) for word in listed(self.budgets)]
        budgets = usual if usual is not None and self.budgets == SHARES else given
        names = self.names(found)
        with show.progress("replaying", len(names) * len(budgets)) as advance:
            told = partial(advance, 1)
            rows = contest(
                found, ContestRules(names, budgets, days=self.days, on_replay=told)
            )
        if self.json:
            kinds = [{"source": one.name, "kind": one.kind} for one in found]
            show.emit({**head, "sources": kinds, "results": rows})
            return
        bounds = BOUNDS if rows[0]["hindsight"] is not None else ()
        shown = (*STORE_SHOWN, *bounds)
        show.table([show.flat({n: row[n] for n in shown}) for row in rows])


def _replay_store(path: Path | None, wanted: ServiceReplay) -> None:
    """Score policies on what the user's own store observed, all kinds together."""
    from halflife.cli.words import listed
    from halflife.config import Config
    from halflife.core.errors import UsageError
    from halflife.engine import bootstrap
    from halflife.replay.own_store import recorded_sources

    if wanted.kind:
        raise UsageError("--kind is for a folder; the store knows what its sources are")
    settings = Config.load(Config.find(path))
    with bootstrap.reading(settings) as store:
        found = recorded_sources(settings, store, listed(wanted.sources))
    head: dict[str, object] = {"store": settings.store_name}
    wanted.play(found, head, [settings.budget.pace])


def _replay_folder(path: Path, wanted: ServiceReplay) -> None:
    """Score policies on the histories of a folder, all kinds together."""
    from halflife.cli.words import listed
    from halflife.replay.folder import recorded_in

    days = wanted.days or FOLDER_DAYS
    found = recorded_in(path, listed(wanted.sources), wanted.kind, days)
    replace(wanted, days=days).play(found, {"history": str(path), "days": days})


def _is_played(
    path: Path, service: ServiceReplay, ticks: int | None, seeds: int, jobs: str
) -> bool:
    """Say whether a history is one that the service is played on.

    Every folder is, but for pages that are too many and of which none were picked, and
    for the options and the oracle that columns alone know.
    """
    from halflife.bench.league import ORACLE
    from halflife.cli.words import listed
    from halflife.recordings.parquet import read_table

    if not path.is_dir() or service.is_picked:
        return path.is_dir()
    pages = path / "pages.parquet"
    if not (pages.is_file() and (path / "changes.parquet").is_file()):
        return True
    many = read_table(pages, ("site", "page")).num_rows > MANY_PAGES
    on_columns = ticks is not None or seeds > 1 or jobs != "1"
    return not (many or on_columns or ORACLE in listed(service.policies))


def _is_own(given: Sequence[Path | None], *, store: bool) -> bool:
    """Say whether one's own store is to be replayed, not one of the histories given.

    Raise ``UsageError`` unless just one of all is named.
    """
    from halflife.core.errors import UsageError

    named = sum(one is not None for one in given)
    if named != 1 and not (store and not named):
        raise UsageError(
            "name one history: HISTORY, or --pages, --text, --query-new or "
            "--query-known with a folder, or --store alone"
        )
    return not named


def _asked(
    folder: Path,
    columns: str,
    policies: str,
    when: tuple[str | None, str | None],
    page_size: int,
    seeds: int,
) -> "QueryReplay":
    from halflife.cli.queries import QueryReplay
    from halflife.cli.words import listed

    names = [] if policies == RIVALS else listed(policies)
    return QueryReplay(folder, listed(columns), names, *when, page_size, seeds)


def _replayed_as_set(path: Path, pages: Path | None, *, json: bool) -> bool:
    """Replay a set source of the store, if that is what is named."""
    from halflife.cli import sets

    known = None if path.exists() or pages else sets.stored(str(path))
    if known is not None:
        _replay_set(known, json=json)
    return known is not None


def _rules(
    budgets: str, seeds: int, ticks: int | None, jobs: str, *, of_pages: bool
) -> "LeagueRules":
    """Return how pages are replayed."""
    from halflife.bench import league
    from halflife.cli.words import listed, positive

    shares = [positive("--budgets", word) for word in listed(budgets)]
    usual = league.TICKS if of_pages else 4
    executor = f"local:{jobs}" if jobs.isdecimal() else jobs
    return league.LeagueRules(shares, seeds, ticks or usual, executor=executor)


def _replay_queries(
    asked: "QueryReplay", budgets: str, *, new: bool, json: bool
) -> None:
    """Score ways to ask a source that only answers queries."""
    from halflife.cli import queries
    from halflife.cli.words import listed, positive

    if new:
        queries.replay_new(asked, json=json)
        return
    shares = [positive("--budgets", word) for word in listed(budgets)]
    queries.replay_known(asked, shares, json=json)


def _replay_pages(
    path: Path,
    policies: str,
    rules: "LeagueRules",
    days: float | None,
    *,
    quarter: bool,
    json: bool,
) -> None:
    """Score policies on a recording of pages; ``quarter`` of it may be to warm up."""
    from halflife.bench import league
    from halflife.cli import show
    from halflife.cli.words import listed
    from halflife.recordings import histories

    names = league.everybody() if policies == "all" else listed(policies)
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
    from halflife.cli import show
    from halflife.cli.words import listed, positive
    from halflife.core.errors import UsageError
    from halflife.policies.texts.names import RULES

    usual = textviews.POLICIES if policies == RIVALS else listed(policies)
    names = list(RULES) if policies == "all" else list(usual)
    everies = [positive("--every", word) for word in listed(every)]
    if not names or not everies or min(everies) < 1:
        raise UsageError("--policies and --every name one at least; T is 1 or more")
    with show.progress("replaying", 2) as advance:
        found = textviews.report(path, names, everies, advance)
    if json:
        show.emit(found)
        return
    show.table([show.flat({n: row[n] for n in TEXT_SHOWN}) for row in found["results"]])


def _replay_set(known: "Collection", *, json: bool) -> None:
    """Score schedules on the later part of a set source's history."""
    from halflife.bench.setpolicies import FEWEST, schedules
    from halflife.cli import show
    from halflife.core.errors import UsageError

    if known.looks.size < FEWEST:
        raise UsageError(
            f"{known.name} has {count(known.looks.size, 'observation')}; a replay "
            f"needs {FEWEST}"
        )
    rows = schedules(known)
    if json:
        show.emit({"source": known.name, "target": 0.9, "results": rows})
        return
    told = [row for row in rows if row["figure"] == "schedule"]
    show.table(
        [{n: v for n, v in show.flat(row).items() if n != "figure"} for row in told]
    )


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="What to measure: allocate.")],
    *,
    items: Annotated[int, typer.Option(min=10, help="Pages.")] = 1_000_000,
    shape: Annotated[str | None, typer.Option(help="Of lifetimes: weibull.")] = None,
    out_of_core: Annotated[
        bool, typer.Option("--out-of-core", help="From Parquet files to others.")
    ] = False,
    executor: Annotated[
        str, typer.Option(help="Who does it (--out-of-core); see docs/scale.md.")
    ] = "local",
    json: Json = False,
) -> None:
    """Measure how fast and how exactly requests are allocated to many pages."""
    from halflife.bench import allocate, out_of_core as files
    from halflife.cli import show
    from halflife.core.errors import UsageError

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
