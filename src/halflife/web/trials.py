"""Trials of addresses to add: fetched in the background, and kept for a while."""

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from halflife.config import Config, SourceConfig
from halflife.config.kinds import read_source
from halflife.core.errors import (
    AlreadyRunning,
    HalflifeError,
    NotPublic,
    UsageError,
)
from halflife.core.wording import count
from halflife.kinds import trial as trials
from halflife.kinds.trial import TrialFetch, TrialWish, expected_cost, free_name
from halflife.net.addresses import canonical, host_of
from halflife.readers.containment import describe
from halflife.recognition.guess import NOTHING, Corrections, SourceGuess
from halflife.recognition.record_lists import quoted
from halflife.web import words
from halflife.web.settings_desk import ValuesError, by_field

KEPT = 16  # trials
ANSWERS_KEPT = 3  # trials whose answers are kept, too: tens of MB at most
COLUMNS = 8  # of a preview
CELL = 80  # characters of a value in it
LONGEST = 2000  # characters of an address
_UNUSABLE = re.compile(r"[^A-Za-z0-9._:-]")  # in the name of a source


@dataclass(slots=True)
class AddressTrial:
    """A trial of an address, and its state.

    Attributes:
        id: Its name in addresses of the page.
        url: The address as it was typed.
        kind: The kind of source; empty for the best guess.
        corrections: Corrections of the guess by the user.
        state: ``running``, ``done`` or ``failed``.
        trouble: Why it failed; empty if it did not.
        fetch: The answers and guesses so far.

    """

    id: str
    url: str
    kind: str = ""
    corrections: Corrections = NOTHING
    state: str = "running"
    trouble: str = ""
    fetch: TrialFetch | None = field(default=None, repr=False)

    @property
    def guess(self) -> SourceGuess | None:
        """The best guess; None if there is none, or it cannot be used."""
        best = self.fetch.best if self.fetch is not None else None
        return best if best is not None and best.usable else None

    @property
    def steps(self) -> list[str]:
        """The addresses that have answered so far."""
        recorded = list(self.fetch.recorded) if self.fetch is not None else []
        return [words.plain(url) for url, _, _ in recorded]


class Trials:
    """Tries addresses in the background, and keeps the latest of them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, AddressTrial] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, name: str) -> AddressTrial | None:
        """Return a trial; None if it is no longer kept."""
        with self._lock:
            return self._kept.get(name)

    def start(
        self,
        config: Config,
        url: str,
        kind: str = "",
        corrections: Corrections = NOTHING,
        before: AddressTrial | None = None,
    ) -> AddressTrial:
        """Start a trial of an address; raise ``UsageError`` if it is none.

        The answers of an earlier trial of the same address are used again.
        """
        if len(url) > LONGEST:
            raise UsageError(f"an address has {LONGEST} characters at most")
        address = canonical(url.strip())
        trial = AddressTrial(secrets.token_urlsafe(9), url, kind, corrections)
        known = before.fetch if before is not None and before.url == url else None
        recorded = dict(known.recorded) if known is not None else {}
        allow = known.wish.given["allow"] if known is not None else ()
        allow = allow or _allowed(config, address)
        name = free_name(config, _usual_name(address), address, joins=True)
        wish = TrialWish(address, name, {"allow": allow}, kind, corrections)
        trial.fetch = TrialFetch(wish, recorded=recorded)
        with self._lock:
            self._kept[trial.id] = trial
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            for old in list(self._kept.values())[:-ANSWERS_KEPT]:
                if old.state != "running" and old.fetch is not None:
                    old.fetch.recorded.clear()
        threading.Thread(target=self._run, args=(config, trial), daemon=True).start()
        return trial

    def _run(self, config: Config, trial: AddressTrial) -> None:
        state = "failed"
        try:
            _try(config, trial)
            trial.trouble, state = _trouble(trial), "done"
        except AlreadyRunning:
            trial.trouble = "this host is being tried already; wait for that to end"
        except (HalflifeError, OSError) as error:
            trial.trouble = _in_words(config, error)
        except Exception as error:  # noqa: BLE001  (else it would run for ever)
            trial.trouble = f"an error of the program: {describe(error)}"
        trial.state = state if not trial.trouble else "failed"


def _usual_name(address: str) -> str:
    """Return the default name of a source: its host."""
    return _UNUSABLE.sub("", host_of(address)).lstrip("._:-") or "source"


def _allowed(config: Config, address: str) -> tuple[str, ...]:
    """Return the allowed networks if the host is an IP address in one of them.

    A host name is resolved only when it is fetched.
    """
    with suppress(ValueError):
        host = ip_address(urlsplit(address).hostname or "")
        if any(host in ip_network(network) for network in config.serve.allow):
            return config.serve.allow
    return ()


def _try(config: Config, trial: AddressTrial) -> None:
    """Fetch an address; one that is not public only if the settings allow it."""
    fetch = trial.fetch
    assert fetch is not None
    try:
        trials.fetch(config, fetch)
    except NotPublic:
        allow = config.serve.allow
        if not allow or fetch.wish.given.get("allow"):
            raise
        fetch = replace(fetch, wish=replace(fetch.wish, given={"allow": allow}))
        trial.fetch = fetch
        trials.fetch(config, fetch)


def _in_words(config: Config, error: Exception) -> str:
    message = words.plain(error)
    if isinstance(error, NotPublic):
        host = message.partition(":")[0]
        return (
            f"{host}: its address is not public, and so it is not fetched from here. "
            f"If that is meant, write its network into {config.path.name}: "
            '[serve] allow = ["10.0.0.0/8"]'
        )
    return message


def _trouble(trial: AddressTrial) -> str:
    """Return why the address cannot be kept as a source; empty if it can."""
    fetch = trial.fetch
    guess = fetch.best if fetch is not None else None
    if fetch is None or guess is None:
        known = dict.fromkeys(other.what for other in fetch.guesses) if fetch else {}
        ways = f"; it can be kept as: {', '.join(known)}" if known else ""
        return f"no kind of source can read this answer{ways}"
    if guess.package:
        return f"it is an {guess.what}; install {guess.package} to keep it"
    if guess.missing and guess.missing != ("key",):
        why = guess.reasons.get("trouble", "") or guess.reasons.get("key", "")
        lacking = ", ".join(guess.missing)
        text = f"{guess.what}: these settings could not be guessed: {lacking}"
        return words.plain(f"{text}; {why}" if why else text)
    return ""


def headline(guess: SourceGuess) -> str:
    """Return a line that describes an answer.

    >>> headline(SourceGuess("listing", "JSON listing", 0.9, {"key": "id"}, records=22))
    'JSON listing of 22 records, key: id'
    """
    line = guess.what[:1].upper() + guess.what[1:]
    key = guess.settings.get("key")
    if guess.records and "maps" in guess.settings:
        line += f" of {count(guess.records, 'page')}"
    elif guess.records and "pages" not in guess.settings:
        line += f" of {count(guess.records, 'record')}"
        if guess.total and guess.total > guess.records:
            line += f" on the first page, {words.count(guess.total)} in all"
    return words.plain(f"{line}, key: {key}" if key else line)


def table(guess: SourceGuess) -> dict[str, Any]:
    """Return the first records as a table, cut to what fits on a page."""
    names = list(dict.fromkeys(name for record in guess.sample for name in record))
    key = str(guess.settings.get("key", ""))
    if key in names and key != "key":  # the reader repeats it under the name "key"
        names = [key, *(name for name in names if name not in {"key", key})]
    shown = names[:COLUMNS]
    rows = [[_cell(record.get(name)) for name in shown] for record in guess.sample]
    heads = [_cell(name) for name in shown]
    return {"heads": heads, "rows": rows, "more": max(len(names) - COLUMNS, 0)}


def _cell(value: object) -> str:
    text = words.plain("" if value is None else value)
    return text if len(text) <= CELL else f"{text[: CELL - 1]}…"


def field_names(guess: SourceGuess) -> list[str]:
    """Return the fields of the first records."""
    own = guess.settings.get("fields")
    if isinstance(own, Mapping):
        return list(own)
    if "format" not in guess.settings:
        return []  # pages have none
    names = dict.fromkeys(name for record in guess.sample for name in record)
    # Records that were read have their key again, under the name "key".
    shown = guess.settings.get("key", "key") != "key"
    return [str(name) for name in names if name != "key" or not shown]


def trial_source(
    trial: AddressTrial, config: Config, values: Mapping[str, Any]
) -> SourceConfig:
    """Return the source that would be written; raise ``ValuesError``.

    ``values`` may have its name, the chosen fields, and settings of every source.
    """
    guess, fetch = trial.guess, trial.fetch
    if guess is None or fetch is None:
        why = trial.trouble or "choose first the key: the field that names a record"
        raise ValuesError({"": why})
    more = {k: v for k, v in values.items() if v is not None and k != "fields"}
    table = {
        **fetch.wish.given,
        **guess.settings,
        **_chosen(guess, values.get("fields") or ()),
        "name": usual_name(trial, config),
        **more,
    }
    try:
        return read_source({k: v for k, v in table.items() if v not in ((), {})})
    except ValidationError as error:
        raise ValuesError(by_field(error.errors())) from None


def _chosen(guess: SourceGuess, chosen: Sequence[str]) -> dict[str, Any]:
    """Return the setting that keeps the chosen fields only; empty if all are kept."""
    names, own = field_names(guess), guess.settings.get("fields")
    kept = [name for name in names if words.plain(name) in chosen]
    if not kept or len(kept) == len(names):
        return {}
    if isinstance(own, Mapping):
        return {"fields": {name: own[name] for name in kept}}
    return {"fields": {name: _expression(guess, name) for name in kept}}


def usual_name(trial: AddressTrial, config: Config) -> str:
    """Return the default name of the source.

    Pages join the source of the same host; other kinds get a new name.
    """
    fetch = trial.fetch
    if fetch is None:
        return ""
    name, url = fetch.wish.name, fetch.wish.url
    return name if fetch.is_page else free_name(config, name, url)


def _expression(guess: SourceGuess, name: str) -> str:
    return quoted(name) if guess.settings.get("format") in {"json", "jsonl"} else name


def trial_answer(trial: AddressTrial, config: Config) -> dict[str, Any]:
    """Return a trial as pages show it and as JSON."""
    fetch, guess = trial.fetch, trial.fetch.best if trial.fetch else None
    answer: dict[str, Any] = {
        "trial": trial.id,
        "url": words.plain(trial.url),
        "state": trial.state,
        "trouble": words.plain(trial.trouble),
        "answered": trial.steps,
        "kind": trial.kind,
        "given": {
            name: words.plain(getattr(trial.corrections, name))
            for name in ("records", "key", "next")
        },
    }
    if trial.state == "running" or guess is None or fetch is None:
        return answer
    return answer | {
        "headline": headline(guess),
        "needs_key": "key" in guess.missing,
        "usable": guess.usable,
        "kinds": [
            {"kind": each.kind, "what": words.plain(each.what)}
            for each in fetch.guesses
        ],
        "recognised": guess.kind,
        "name": usual_name(trial, config),
        "reasons": {k: _reason(v) for k, v in guess.reasons.items()},
        "hints": [words.plain(hint) for hint in guess.hints],
        "notes": [words.plain(note) for note in fetch.notes],
        "key": words.plain(guess.settings.get("key", "")),
        "fields": [words.plain(name) for name in field_names(guess)],
        "measure": _measure(trial, config),
        "cost": expected_cost(guess, config).words(),
        "sample": table(guess),
    }


def _reason(text: str) -> str:
    """Return the reason for a guess, without advice for the command line."""
    return words.plain(text.partition("; say it with --")[0])


def _measure(trial: AddressTrial, config: Config) -> str:
    """Return a quality measure that a target may name."""
    try:
        measures = trial_source(trial, config, {}).measures
    except ValuesError:
        return "age"
    return min(measures, default="age")
