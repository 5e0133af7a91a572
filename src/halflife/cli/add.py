"""The verb that adds sources: add."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflife.cli import exits, show
from halflife.cli.app import app
from halflife.cli.options import ConfigPath, DryRun, Json
from halflife.cli.words import name_option, naming_options
from halflife.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflife.kinds.pages.discovery import AddRequest, AddResult


Urls = Annotated[
    list[str] | None,
    typer.Argument(metavar="[URL]...", help="Pages or maps; the name of a site."),
]
Site = Annotated[
    str | None, typer.Option(metavar="URL", help="Start here and follow links.")
]
Search = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="A search: its address with {query}, or its description."
    ),
]
Form = Annotated[
    str | None, typer.Option(metavar="URL", help="A search page with a form.")
]
Scope = Annotated[
    list[str] | None,
    typer.Option(
        metavar="host|folder|PATTERN", help="How far to follow links [default: host]."
    ),
]
Depth = Annotated[
    int | None, typer.Option(min=0, help="Links from the start, at most.")
]
Most = Annotated[int | None, typer.Option(min=1, help="Pages of the site, at most.")]
SourceName = Annotated[
    str | None, typer.Option(metavar="NAME", help="Source [default: the host].")
]
Weight = Annotated[
    float | None, typer.Option(help="How much fresh copies of the source matter.")
]
Listed = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="A file with one URL a line."),
]
Check = Annotated[
    bool, typer.Option("--check/--no-check", help="Fetch each URL once first.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="CIDR", help="A network that need not be public."),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        metavar="'NAME: VALUE'", help="A header to send; env:VARIABLE for a secret."
    ),
]
AsKind = Annotated[
    str | None, typer.Option("--kind", help="The kind of source it should become.")
]
Records = Annotated[
    str | None, typer.Option(metavar="WHERE", help="Where its records are.")
]
Key = Annotated[
    str | None, typer.Option(metavar="FIELD", help="The key field of a record.")
]
Next = Annotated[
    str | None,
    typer.Option("--next", metavar="WHERE", help="Where the next page's address is."),
]
Graphql = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A file with a GraphQL query.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Write what was recognised.")]


@app.command()
def add(  # noqa: PLR0913  (each is an option)
    urls: Urls = None,
    *,
    site: Site = None,
    search: Search = None,
    form: Form = None,
    scope: Scope = None,
    depth: Depth = None,
    most: Most = None,
    source: SourceName = None,
    weight: Weight = None,
    listed: Listed = None,
    check: Check = True,
    allow: Allow = None,
    header: Header = None,
    kind: AsKind = None,
    records: Records = None,
    key: Key = None,
    next_: Next = None,
    graphql: Graphql = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    config: ConfigPath = None,
    json: Json = False,
) -> None:
    """Add an address to the settings: its pages, records, search or form."""
    from halflife.config import Config

    path, given = Config.find(config), {"records": records, "key": key, "next": next_}
    limits = _given_limits({"scope": _within(scope), "depth": depth, "most": most})
    wish = AddOptions(urls or [], source, weight, listed, tuple(allow or ()), check)
    if (form or search or site) is None and wish.is_one_address and not dry_run:
        _refuse_site_options(limits)
        _add_one(path, wish, (header, kind, given, graphql), yes=yes, json=json)
        return
    _refuse_trial_options({**given, "header": header, "kind": kind, "graphql": graphql})
    if (form or search) is None:
        _add_pages(path, wish, (site, limits), write=not dry_run, json=json)
        return
    _refuse_page_options({**limits, "site": site, "weight": weight})
    _add_database(path, (form, search), wish, write=not dry_run, json=json)


@dataclass(frozen=True, slots=True)
class AddOptions:
    """The options that every way of adding has.

    Attributes:
        words: The arguments: addresses, or a name.
        name: The name of the source.
        weight: How much it matters.
        listed: A file with more addresses.
        allow: Networks that need not be public.
        checked: Whether addresses are fetched once.

    """

    words: list[str]
    name: str | None
    weight: float | None
    listed: Path | None
    allow: tuple[str, ...]
    checked: bool

    @property
    def is_one_address(self) -> bool:
        """Whether it is a single address, which is fetched to recognise it."""
        return len(self.words) == 1 and self.listed is None and self.checked


def _add_pages(
    path: Path,
    wish: AddOptions,
    crawl: "tuple[str | None, Mapping[str, object]]",
    *,
    write: bool,
    json: bool,
) -> None:
    """Add pages and maps, or a site that begins somewhere."""
    from halflife.kinds.pages import discovery as pages_discovery

    (site, limits), name = crawl, wish.name
    if site is None:
        _refuse_site_options(limits)
        urls = pages_discovery.collect_urls(wish.words, wish.listed)
    else:
        name = _given_name(wish.words, wish.listed, name)
        urls = pages_discovery.collect_urls([site], None)
    keep = pages_discovery.AddRequest(
        urls, name, wish.weight, wish.allow, None if site is None else limits
    )
    added = _added(path, keep, check=wish.checked, dry_run=not write)
    _report(path, added, json=json)


@naming_options()
def _add_one(
    path: Path,
    wish: AddOptions,
    trial: "tuple[list[str] | None, str | None, Mapping[str, str | None], Path | None]",
    *,
    yes: bool,
    json: bool,
) -> None:
    """Fetch one address, recognise what it is, and add it."""
    from halflife.cli import recognition
    from halflife.kinds.pages import discovery as pages_discovery
    from halflife.recognition.guess import Corrections

    header, kind, given, query = trial
    (url,) = pages_discovery.collect_urls(wish.words, None)
    added = recognition.add(
        path,
        recognition.AddWish(
            url,
            wish.name,
            wish.weight,
            wish.allow,
            recognition.parse_headers(header or []),
            kind or "",
            Corrections(**{name: value or "" for name, value in given.items()}),
            query,
        ),
        yes=yes,
        json=json,
    )
    if added is not None:
        rows, more = added
        _report(path, rows, json=json, more=more)


@naming_options()
def _add_database(
    path: Path,
    urls: tuple[str | None, str | None],
    wish: AddOptions,
    *,
    write: bool,
    json: bool,
) -> None:
    """Add a form or a search."""
    form, search = urls
    if form is not None:
        _refuse_page_options({"search": search})
    common = _given_name(wish.words, wish.listed, wish.name), wish.allow
    if form is not None:
        _add_form(path, form, *common, write=write, json=json)
    elif search is not None:
        _add_search(path, search, *common, check=wish.checked, write=write, json=json)


def _given_limits(limits: "Mapping[str, object]") -> dict[str, object]:
    """Return the limits that were given."""
    return {name: value for name, value in limits.items() if value is not None}


def _within(scope: list[str] | None) -> str | tuple[str, ...] | None:
    """Return a scope as the settings write it; several words are patterns."""
    if not scope:
        return None
    word = scope[0]
    return word if len(scope) == 1 and "*" not in word else tuple(scope)


def _refuse_site_options(given: "Iterable[str]") -> None:
    for name in given:
        raise UsageError(f"--{name} has no meaning without --site")


def _given_name(
    words: list[str], listed: Path | None, source: str | None
) -> str | None:
    """Return the name of a site or search, given as a word or with --source."""
    names = [*words, *((source,) if source else ())]
    if listed is not None or len(names) > 1 or any("://" in name for name in names):
        raise UsageError("give one name at most, and no other URL")
    return names[0] if names else None


def _refuse_trial_options(given: "Mapping[str, object]") -> None:
    for name, value in given.items():
        if value:
            raise UsageError(f"--{name} needs one address, which is fetched")


def _refuse_page_options(given: "Mapping[str, object]") -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"--{name} has no meaning with --search or --form")


def _add_search(  # noqa: PLR0913  (values of the options)
    path: Path,
    url: str,
    name: str | None,
    allow: tuple[str, ...],
    *,
    check: bool,
    write: bool,
    json: bool,
) -> None:
    """Add a database that can be searched; print what a first query found."""
    from halflife.kinds.search import discovery as search_discovery

    wanted = search_discovery.DatabaseRequest(url, name, allow)
    added = search_discovery.add(path, wanted, check=check, write=write)
    _show_row(path, added.row(), json=json)


def _add_form(
    path: Path,
    url: str,
    name: str | None,
    allow: tuple[str, ...],
    *,
    write: bool,
    json: bool,
) -> None:
    """Add a database behind a form; print the fields of its search page."""
    from halflife.kinds.form import discovery as form_discovery
    from halflife.kinds.search import discovery as search_discovery

    if not write:
        raise UsageError("the fields of a form are not known before it is fetched")
    wanted = search_discovery.DatabaseRequest(url, name, allow, kind="form")
    _show_row(path, form_discovery.row(form_discovery.add(path, wanted)), json=json)


def _show_row(path: Path, row: "show.Row", *, json: bool) -> None:
    if json:
        show.emit({"config": str(path), "results": [row]})
    else:
        show.table([row])


def _added(
    path: Path, wish: "AddRequest", *, check: bool, dry_run: bool
) -> "list[AddResult]":
    from halflife.kinds.pages import discovery as pages_discovery

    if dry_run:
        return pages_discovery.preview(path, wish)
    return pages_discovery.add(path, wish, check=check)


def _note_overlaps(path: Path, names: "set[str]") -> None:
    """Print which addresses of the sources belong to others, and so stay there."""
    from halflife.config import Config
    from halflife.engine import bootstrap, ownership

    config = Config.load(path)
    with bootstrap.state_file(config) as store:
        overlaps = [] if store is None else ownership.overlaps(config, store)
    for overlap in overlaps:
        if {overlap.wants, overlap.owner} & names:
            show.note(show.plain(f"halflife: {overlap.words()}; {overlap.advice}"))


def _report(
    path: Path,
    added: "list[AddResult]",
    *,
    json: bool,
    more: "Mapping[str, object] | None" = None,
) -> None:
    _note_overlaps(path, {row.source for row in added})
    added = [replace(row, trouble=name_option(row.trouble)) for row in added]
    if json:
        rows = [row.row() for row in added]
        show.emit({"config": str(path), **(more or {}), "results": rows})
    else:
        _print(added)
    if any(row.trouble for row in added):
        every = all(row.trouble for row in added)
        raise typer.Exit(exits.FAILURE if every else exits.SOME_FAILED)


def _print(added: "list[AddResult]") -> None:
    for row in added:
        if row.trouble:
            show.note(f"halflife: not added: {show.plain(row.trouble)}")
    show.table([row.row() for row in added if not row.trouble])
