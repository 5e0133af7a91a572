"""Add one address: fetch it, show what it is, and write its settings."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

from halflife.cli import exits, show
from halflife.config import Config, SourceConfig
from halflife.config.edit import add_sources, source_text
from halflife.core.errors import SourceError, UsageError
from halflife.engine import bootstrap
from halflife.kinds.pages import discovery
from halflife.kinds.trial import (
    TrialCost,
    TrialFetch,
    TrialWish,
    ask,
    expected_cost,
    free_name,
)
from halflife.net.addresses import host_of
from halflife.recognition.guess import Corrections, SourceGuess

if TYPE_CHECKING:
    from halflife.kinds.pages.discovery import AddResult

CELL = 40  # characters of a value in a table of samples
LONGEST = 100_000  # characters of a GraphQL query, as in the settings
COLUMNS = 6  # of a table of samples


@dataclass(frozen=True, slots=True)
class AddWish:
    """One address to add, and its options.

    Attributes:
        url: The address.
        name: The name of the source; None for its host.
        weight: How much it matters.
        allow: Networks that need not be public.
        headers: Headers to send.
        kind: The kind of source; empty for the best guess.
        corrections: Where records, their key and the next page are.
        question: A file with a GraphQL query; None for a plain address.

    """

    url: str
    name: str | None
    weight: float | None
    allow: tuple[str, ...]
    headers: dict[str, object]
    kind: str
    corrections: Corrections
    question: Path | None = None

    def trial(self, config: Config) -> TrialFetch:
        """Return a trial of the address."""
        name = self.name or free_name(config, host_of(self.url), self.url, joins=True)
        given = {"weight": self.weight, "allow": self.allow, "headers": self.headers}
        options = {k: v for k, v in given.items() if v is not None}
        query = _read(self.question) if self.question else ""
        return TrialFetch(
            TrialWish(self.url, name, options, self.kind, self.corrections, query)
        )


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(LONGEST + 1).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    if not text or len(text) > LONGEST:
        raise UsageError(
            f"{path}: must hold one query, of {LONGEST} characters at most"
        )
    return text


def parse_headers(given: list[str]) -> dict[str, object]:
    """Return headers as settings: ``Name: value``, or ``Name: env:VARIABLE``.

    >>> parse_headers(["Accept: text/csv", "Authorization: env:TOKEN"])
    {'Accept': 'text/csv', 'Authorization': {'env': 'TOKEN'}}
    """
    headers: dict[str, object] = {}
    for line in given:
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not (colon and name and value):
            raise UsageError(f"--header: write 'Name: value'; got {line!r}")
        where, mark, rest = value.partition(":")
        headers[name] = {"env": rest} if mark and where == "env" else value
    return headers


def add(
    path: Path, wish: AddWish, *, yes: bool, json: bool
) -> "tuple[list[AddResult], dict[str, object]] | None":
    """Fetch an address, recognise it and add it to the settings.

    For pages and maps return their rows and the other keys of the JSON answer, to be
    reported by the caller. For all else report here and return None.
    """
    config = Config.load(path)
    trial = wish.trial(config)
    if wish.question is not None or _describes_itself(path, trial):
        if wish.question is not None:
            ask(path, trial)
        _write(path, _named(config, trial), yes=yes, json=json)
        return None
    keep = discovery.AddRequest(
        (wish.url,), trial.wish.name, wish.weight, wish.allow, headers=wish.headers
    )
    rows = discovery.add(path, keep, check=True, trial=trial)
    if any(row.trouble for row in rows):
        return [_with_advice(row, wish.url) for row in rows], {}
    if trial.is_page:
        return rows, _page_answer(path, trial, json=json)
    _write(path, _named(config, trial), yes=yes, json=json)
    return None


def _describes_itself(path: Path, trial: TrialFetch) -> bool:
    """Return whether an address is a GraphQL server with introspection."""
    if not _is_graphql(trial.wish.url):
        return False
    try:
        ask(path, trial)
    except SourceError:
        return False  # it may still be a page
    return True


def _is_graphql(url: str) -> bool:
    return urlsplit(url).path.rstrip("/").lower().endswith("graphql")


def _with_advice(row: "AddResult", url: str) -> "AddResult":
    """Return a failed row, with advice if the address is that of a GraphQL server."""
    if not _is_graphql(url):
        return row
    advice = "a GraphQL server needs a query: give it with --graphql FILE"
    return replace(row, trouble=f"{row.trouble}; {advice}")


def _named(config: Config, trial: TrialFetch) -> TrialFetch:
    """Return a trial whose source has a name of its own."""
    wish = trial.wish
    named = free_name(config, wish.name, wish.url)
    return replace(trial, wish=replace(wish, name=named))


def _write(path: Path, trial: TrialFetch, *, yes: bool, json: bool) -> None:
    """Print what was recognised; write it if the user agrees."""
    guess = _usable(trial)
    source = trial.wish.source(guess)
    cost = expected_cost(guess, Config.load(path))
    if not json:
        _show(trial, guess, source, cost)
        for line in source_text(source).splitlines():
            show.say(show.plain(line))
    written = yes or (not json and _agreed(path))
    if written:
        config = add_sources(path, [source])
        with bootstrap.writing(config):  # adds the new source to the store
            pass
    if json:
        show.emit(_answer(path, trial, source, cost, written=written))
    elif written:
        show.say(f"written to {path}; next: halflife sync {source.name}")
    if not written:
        show.note("halflife: nothing was written; give --yes to write it")
        raise typer.Exit(exits.USAGE)


def _usable(trial: TrialFetch) -> SourceGuess:
    """Return the best guess; raise ``UsageError`` if the address cannot be kept."""
    guess, wish = trial.best, trial.wish
    if guess is None and (wish.kind or wish.corrections.given):
        known = ", ".join(dict.fromkeys(g.kind for g in trial.guesses)) or "nothing"
        wanted = wish.kind or "a listing, with the given options for its records"
        raise UsageError(f"{wish.url}: it cannot be kept as {wanted}; as {known}")
    if guess is None:
        raise UsageError(f"{wish.url}: no kind of source can read this answer")
    if guess.package:
        raise UsageError(
            f"{wish.url}: it is {_a(guess.what)}; install {guess.package} to keep it"
        )
    if not guess.usable:
        lacking = ", ".join(guess.missing) or "its settings"
        why = guess.reasons.get("key", "") or guess.reasons.get("trouble", "")
        advice = show.plain(why or "write its table by hand, or try another kind")
        raise UsageError(
            f"{wish.url}: it is {_a(guess.what)}, but some of its settings could not "
            f"be guessed: {lacking}; {advice}"
        )
    return guess


def _a(what: str) -> str:
    """Return a noun with its article.

    >>> _a("page"), _a("OpenSearch description")
    ('a page', 'an OpenSearch description')
    """
    return f"an {what}" if what[:1].lower() in set("aeiou") else f"a {what}"


def _agreed(path: Path) -> bool:
    if not sys.stdin.isatty():
        return False
    return typer.confirm(f"write this to {path}?", default=True, err=True)


def _show(
    trial: TrialFetch, guess: SourceGuess, source: SourceConfig, cost: TrialCost
) -> None:
    """Print what an address is, why, and what it will cost."""
    show.say(show.plain(f"{trial.wish.url} is {_a(guess.what)} (kind {source.kind})"))
    for part, why in guess.reasons.items():
        show.say(show.plain(f"{part}: {why}"))
    for hint in guess.hints:
        show.say(show.plain(f"changes: {hint}"))
    for note in trial.notes:
        show.say(show.plain(f"note: {note}"))
    others = dict.fromkeys(f"{g.what} (--kind {g.kind})" for g in trial.others())
    if others:
        show.say(f"it could also be kept as: {', '.join(others)}")
    _sample(guess)
    show.say(f"cost: {cost.words()}")
    show.say()


def _sample(guess: SourceGuess) -> None:
    """Print the first records as a table."""
    if not guess.sample:
        return
    names = list(guess.sample[0])[:COLUMNS]
    show.say()
    show.table(
        [{_cell(n): _cell(record.get(n)) for n in names} for record in guess.sample]
    )


def _cell(value: object) -> str:
    text = show.plain("" if value is None else str(value))
    return text if len(text) <= CELL else f"{text[: CELL - 1]}…"


def _answer(
    path: Path,
    trial: TrialFetch,
    source: SourceConfig,
    cost: TrialCost,
    *,
    written: bool,
) -> dict[str, object]:
    guess = trial.best
    row = {"url": trial.wish.url, "source": source.name, "kind": source.kind}
    table = source.model_dump(exclude_unset=True, exclude_none=True, mode="json")
    return {
        "config": str(path),
        "written": written,
        "source": {**table, "kind": source.kind},
        "toml": source_text(source),
        **_recognised(trial),
        "cost": {
            "requests_per_read": cost.read,
            "requests_a_month": cost.month,
            "budget_a_month": cost.budget,
        },
        "results": [{**row, "records": guess.records if guess else 0}],
    }


def _recognised(trial: TrialFetch) -> dict[str, object]:
    best = trial.best
    return {
        "recognised": best.row() if best else {},
        "others": [guess.row() for guess in trial.others()],
        "notes": trial.notes,
    }


def _page_answer(path: Path, trial: TrialFetch, *, json: bool) -> dict[str, object]:
    """Print what a page or a map that was added is; return its answer in JSON."""
    config = Config.load(path)
    source = next((s for s in config.source if s.name == trial.wish.name), None)
    if source is None or trial.best is None:
        return {}
    cost = expected_cost(trial.best, config)
    if not json:
        _show(trial, trial.best, source, cost)
    return _answer(path, trial, source, cost, written=True)
