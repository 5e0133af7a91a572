"""Settings: ``halflife.toml``.

This module and ``config.values`` are the only ones that read the environment.
"""

import difflib
import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from halflife import executors
from halflife.config.alerts import Alerts, KeepConfig
from halflife.config.kinds import BUILT_IN, USUAL, Source, settings_of
from halflife.config.serve import ServeConfig
from halflife.config.sinks import Sink, check_sinks, sink_settings
from halflife.config.source import SourceConfig
from halflife.config.values import MOST_REQUESTS, FromEnv, Line, Secret, SettingsTable
from halflife.core.errors import ConfigError, UsageError
from halflife.core.store_address import PostgresAddress, is_address
from halflife.core.wording import one_line

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

NAME = "halflife.toml"
_RECIPIENTS = {("alert",), ("sink",)}  # tables whose addresses may be secret
WINDOW_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0}

_SECRETS = {
    "headers",
    "parameters",
    "auth",
    "proxy",
    "token",
}  # tables that are never shown
_WAYS = {"FromEnv", "FromFile", "ProxyConfig", "function-after[_http_url(), str]"}
_TAGGED = ("auth", "paging")  # tables of several kinds: which one follows in a path

__all__ = ["Config", "FromEnv", "Secret", "SourceConfig", "problem"]

Objective: TypeAlias = Literal["harmonic", "freshness", "age"]
ExecutorName: TypeAlias = Annotated[str, AfterValidator(executors.check_name)]


class BudgetConfig(SettingsTable):
    """The budget: so many requests in any window of this length.

    Attributes:
        requests: The most requests, redirects and robots.txt included, in any window of
            the length `per`.
        per: The length of that sliding window: `hour`, `day`, `week` or `month` (30
            days).
        mode: What `halflife run` buys with them: `quality`, the best quality for the
            budget, or `targets`, the fewest requests that keep the
            [targets](service.md#no-more-than-targets-ask-for); both keep targets.

    """

    requests: int = Field(default=1000, ge=1, le=MOST_REQUESTS)
    per: Literal["hour", "day", "week", "month"] = "day"
    mode: Literal["quality", "targets"] = "quality"

    @property
    def days(self) -> float:
        """The length of the window, in days; a month has 30."""
        return WINDOW_DAYS[self.per]

    @property
    def pace(self) -> float:
        """Requests a day in the long run."""
        return self.requests / self.days

    @property
    def hourly(self) -> int:
        """Requests that become available within an hour; at least one."""
        return max(ceil(self.pace / 24.0 - 1e-9), 1)


class PolicyConfig(SettingsTable):
    """Which policy spends the budget, and the objective that it minimises.

    Attributes:
        name: The policy of sources of pages that name none themselves; `halflife
            policies` lists them.
        objective: What `champion` and `index` minimise: `harmonic` (missed changes;
            starves no page), `freshness` (stale copies; gives up on pages that change
            too fast) or `age` (how long copies have been stale).

    """

    name: str = "champion"
    objective: Objective = "harmonic"


class FetchConfig(SettingsTable):
    """How requests are sent: identification, pace, concurrency and limits.

    Attributes:
        contact: A web or mail address that is sent with the User-Agent, so that a site
            can reach you.
        delay: Seconds from the end of one request to a host to the next; robots.txt may
            ask for more.
        concurrency: Requests in flight at the same time, over all hosts.
        timeout: Seconds for one request in total.
        max_bytes: The largest answer in bytes, after decoding; larger ones are refused.

    """

    contact: Line = ""
    delay: float = Field(default=1.0, ge=0, le=3600, allow_inf_nan=False)
    concurrency: int = Field(default=16, ge=1, le=256)
    timeout: float = Field(default=30.0, gt=0, le=3600, allow_inf_nan=False)
    max_bytes: int = Field(default=8 * 2**20, ge=1024, le=2**30)


class AuditConfig(SettingsTable):
    """The share of the budget that audits spend to check forecasts.

    Attributes:
        share: The share of the requests of each turn that `halflife sync` and `halflife
            run` spend on pages or records drawn at random, to check whether forecasts
            come true ([auditing](auditing.md)); 0 to 0.5.

    """

    share: float = Field(default=0.02, ge=0, le=0.5, allow_inf_nan=False)


class Config(SettingsTable):
    """All settings; ``path`` is the file they were read from.

    Attributes:
        path: The file that the settings were read from; not a key of it.
        store: The SQLite file that holds all state, relative to this file; or a schema
            of a [PostgreSQL](postgres.md) database:
            `"postgresql://user@host/database?schema=name"`.
        executor: Which processes compute [large plans](scale.md): `in-process`,
            `local`, `local:4`, `ray`, `ray:4`, `ray://host:port` or `auto`.
        budget: The table [`[budget]`](#budget).
        policy: The table [`[policy]`](#policy).
        fetch: The table [`[fetch]`](#fetch).
        keep: The table [`[keep]`](#keep).
        audit: The table [`[audit]`](#audit).
        serve: The table [`[serve]`](#serve).
        alert: Tables [`[[alert]]`](#alert), one for each recipient.
        sink: Tables [`[[sink]]`](#sink), one for each place that gets changes.
        source: Tables [`[[source]]`](#source), one for each source.

    """

    path: Path = Field(default=Path(NAME), exclude=True)
    store: str = Field(default="halflife.db", min_length=1)
    executor: ExecutorName = executors.DEFAULT
    budget: BudgetConfig = BudgetConfig()
    policy: PolicyConfig = PolicyConfig()
    fetch: FetchConfig = FetchConfig()
    keep: KeepConfig = KeepConfig()
    audit: AuditConfig = AuditConfig()
    serve: ServeConfig = ServeConfig()
    alert: Alerts = ()
    sink: tuple[Sink, ...] = Field(default=(), strict=False)
    source: tuple[Source, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for name, count in Counter(s.name for s in self.source).items():
            if count > 1:
                raise ValueError(f"two sources are named {name!r}; rename one of them")
        check_sinks(self.sink, [source.name for source in self.source])
        return self

    @field_validator("store")
    @classmethod
    def _can_be_read(cls, store: str) -> str:
        if is_address(store):
            try:
                PostgresAddress.parse(store)
            except UsageError as error:
                raise ValueError(str(error).removeprefix("store: ")) from None
        return store

    @classmethod
    def find(cls, given: Path | None = None) -> Path:
        """Return the file to read: ``given``, $HALFLIFE_CONFIG or ./halflife.toml."""
        return given or Path(os.environ.get("HALFLIFE_CONFIG") or NAME)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read and check a file; raise ``ConfigError`` in one line."""
        return cls.parse(_read(path), path)

    @classmethod
    def parse(cls, text: str, path: Path = Path(NAME)) -> Self:
        """Check settings given as text; ``path`` is their file."""
        try:
            table = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also a number without end
            raise ConfigError(f"{path}: not valid TOML: {_brief(error)}") from None
        if "path" in table:
            raise ConfigError(
                f"{path}: path: unknown key; {_known_keys(cls, (), 'path')}"
            )
        try:
            return cls.model_validate({**table, "path": path})
        except ValidationError as error:
            raise ConfigError(f"{path}: {problem(error, table)}") from None

    @property
    def store_place(self) -> Path | str:
        """The location of the state: a file, or the address of a database."""
        return self.store if is_address(self.store) else self.store_path

    @property
    def store_name(self) -> str:
        """The location of the state for messages: an address without its password."""
        if is_address(self.store):
            return PostgresAddress.parse(self.store).name
        return str(self.store_path)

    @property
    def store_path(self) -> Path:
        """The path of the state file; relative paths start at the settings file.

        For a database it is a name beside the settings, for files such as locks.
        """
        folder = self.path.absolute().parent
        if is_address(self.store):
            return folder / f"{PostgresAddress.parse(self.store).schema}.postgresql"
        return folder / Path(self.store).expanduser()

    def named(self, names: Sequence[str] = ()) -> tuple[SourceConfig, ...]:
        """Return the sources of these names, or all; raise ``UsageError``."""
        known = {s.name: s for s in self.source}
        for name in names:
            if name not in known:
                raise UsageError(
                    f"no source is named {name!r} in {self.path}; "
                    + _suggest(name, tuple(known), "it has")
                )
        return tuple(known[n] for n in names) if names else self.source


def _brief(error: Exception) -> str:
    """Return a parse error as one short line."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return one_line(str(error).partition(";")[0])


def _read(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():  # to read from a pipe might never end
            raise ConfigError(f"{path}: not a file; name one with --config")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: no such file; run `halflife init` to write one, "
            "or name it with --config"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def problem(error: ValidationError, table: Mapping[str, Any] | None = None) -> str:
    """Return one line that says which key is wrong, why, and what would be right.

    ``table`` holds the settings as read; it gives the kind of each source.
    """
    first = _most_specific(error.errors())
    place, key = first["loc"], _key_path(first["loc"])
    if first["type"] == "extra_forbidden":
        return _unexpected(place, table or {})
    message = first["msg"].removeprefix("Value error, ").replace("\n", " ")
    message = message[0].lower() + message[1:]
    if first["type"] == "tuple_type":  # TOML has no tuples
        message = "input should be a list"
    value = first["input"]
    secret = bool(_SECRETS & {*place}) or (place[:1] in _RECIPIENTS and "url" in place)
    secret = secret or (place == ("store",) and is_address(str(value)))
    if isinstance(value, str | int | float) and not secret:
        message += f"; got {_without_password(repr(value))}"
    return f"{key}: {message}" if key else message


def _most_specific(errors: "list[ErrorDetails]") -> "ErrorDetails":
    """Return the error to report, where a value may be given in several ways.

    A table was not meant as a plain value, and an error inside it says more than that
    it is not another table.
    """
    first, *others = errors
    if first["type"] != "string_type" or not isinstance(first["input"], dict):
        return first
    inside = [e for e in others if e["loc"][:3] == first["loc"][:3]]
    own = [e for e in inside if e["type"] == "value_error"]
    return next(iter((*own, *inside)), first)


def _without_password(text: str) -> str:
    return re.sub(r"//[^/@]*@", "//***@", text)


def _key_path(place: tuple[int | str, ...]) -> str:
    """Write ("source", 0, "weight") as ``source[1].weight``; people count from one."""
    for table in ("headers", "parameters"):
        if table in place:  # what follows names the types of value it may have
            place = place[: place.index(table) + 2]
    # The name of a variant among several tables is no part of the path.
    pairs = zip(("", *place), place, strict=False)
    place = tuple(p for last, p in pairs if p not in _WAYS and last not in _TAGGED)
    if place[:1] in _RECIPIENTS and "url" in place:
        place = place[: place.index("url") + 1]
    text = ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _unexpected(place: tuple[int | str, ...], table: Mapping[str, Any]) -> str:
    """Return a message about an unknown key: which one, and which keys exist."""
    match place:
        case ("source", int(number), str(key)):
            kind = _kind(table, number)
            if _is_foreign(key, kind):
                why = f"{key} has no meaning for a source of kind {kind!r}"
                return f"{_key_path(place[:-1])}: {why}"
            keys = tuple(settings_of(kind).model_fields)
            known = _suggest(key, keys, f"keys of kind {kind!r} are")
        case ("source", int(number), *inner, _):
            model = settings_of(_kind(table, number))
            known = _known_keys(model, inner, str(place[-1]))
        case ("sink", int(number), str(key)):
            kind = str(table["sink"][number]["kind"])
            keys = tuple(sink_settings(kind).model_fields)
            known = _suggest(key, keys, f"keys of a sink of kind {kind!r} are")
        case _:
            known = _known_keys(Config, place[:-1], str(place[-1]))
    return f"{_key_path(place)}: unknown key; {known}"


def _kind(table: Mapping[str, Any], number: int) -> str:
    """Return the kind of a source."""
    return str(table.get("source", [])[number].get("kind", USUAL))


def _is_foreign(key: str, kind: str) -> bool:
    """Return whether a key belongs to other kinds of source only."""
    others = (settings_of(other) for other in BUILT_IN if other != kind)
    return any(key in settings.model_fields for settings in others)


def _known_keys(model: type[BaseModel], place: Sequence[int | str], wrong: str) -> str:
    """Return a message with the keys of the table at a place within ``model``."""
    for part, tag in zip(place, (*place[1:], ""), strict=False):
        if isinstance(part, str) and part in model.model_fields:
            model = _model(model.model_fields[part].annotation, tag) or model
    keys = [key for key in model.model_fields if key != "path"]
    return _suggest(wrong, keys, "known keys are")


def _model(kind: object, tag: int | str = "") -> type[BaseModel] | None:
    """Return the table class of an annotation; of several, the one with this tag."""
    models = _models(kind)
    for model in models:
        field = model.model_fields.get("kind")
        if field and tag in get_args(field.annotation):
            return model
    return models[0] if models else None


def _models(kind: object) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for part in get_args(kind) for model in _models(part)]


def _suggest(wrong: str, known: Sequence[str], otherwise: str) -> str:
    close = difflib.get_close_matches(wrong, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"{otherwise} {', '.join(known) or 'none'}"
