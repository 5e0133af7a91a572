"""Settings: ``halflife.toml``.

This module and ``config_values`` are the only ones that read the environment.
"""

import difflib
import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    ValidationError,
    model_validator,
)

from halflife.config.alerts import Alerts, KeepConfig
from halflife.config.forms import READ, FormConfig
from halflife.config.targets import TargetConfig
from halflife.config.values import Cidr, FromEnv, Line, Secret, Table, Url, value_of
from halflife.core.errors import ConfigError, UsageError

NAME = "halflife.toml"
WINDOW_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0}
SECRET_HEADERS = {"authorization", "cookie", "proxy-authorization", "x-api-key"}

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, s. 5.6.2
_OF_PAGES = {"pages", "maps", "text", "keep"}
MAP_PAGES = 50_000  # pages that maps make known: one full sitemap, by its protocol
_OF_MAPS = {"most", "discovery"}  # of a crawl, and of pages that maps name
_PLACE = re.compile(r"\{([^{}]*)\}")  # in the address of a search
_PLACES = {"query", "page", "offset", "count"}


def _within(scope: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if not scope or (isinstance(scope, str) and scope not in {"host", "folder"}):
        raise ValueError('must be "host", "folder" or a list of patterns')
    return scope


Text: TypeAlias = Literal["visible", "main", "raw"]
Objective: TypeAlias = Literal["harmonic", "freshness", "age"]
Kind: TypeAlias = Literal["pages", "site", "listing", "search", "form"]
Patterns = Annotated[tuple[Line, ...], Field(strict=False)]
Within = Annotated[str | Patterns, AfterValidator(_within)]
Format: TypeAlias = Literal["", "json", "jsonl", "csv", "html"]
Engine: TypeAlias = Literal[
    "", "elasticsearch", "solr", "meilisearch", "json", "html", "feed"
]


class BudgetConfig(Table):
    """How much may be asked: so many requests in any window of this length."""

    requests: int = Field(default=1000, ge=1, le=10**9)
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


class PolicyConfig(Table):
    """Which rule spends the budget, and what it tries to make small."""

    name: str = "champion"
    objective: Objective = "harmonic"


class FetchConfig(Table):
    """How we behave towards the machines we ask."""

    contact: Line = ""
    delay: float = Field(default=1.0, ge=0, le=3600, allow_inf_nan=False)
    concurrency: int = Field(default=16, ge=1, le=256)
    timeout: float = Field(default=30.0, gt=0, le=3600, allow_inf_nan=False)
    max_bytes: int = Field(default=8 * 2**20, ge=1024, le=2**30)


class AuditConfig(Table):
    """How much is spent on finding out whether forecasts come true."""

    share: float = Field(default=0.02, ge=0, le=0.5, allow_inf_nan=False)


class ListingConfig(Table):
    """Where a listing is, how its records are read, and when to believe it."""

    python: str = Field(default="", pattern=r"^([\w.]+:\w+)?$")
    urls: tuple[Url, ...] = Field(default=(), strict=False)
    page_url: Url | None = None
    format: Format = ""
    records: str = ""
    key: str = ""
    fields: dict[str, str] = Field(default_factory=dict)
    next: str = ""
    max_pages: int = Field(default=100, ge=1, le=10_000)
    complete: bool = True
    group: str = ""
    confirm_hours: float = Field(default=1.0, ge=0, le=8760, allow_inf_nan=False)
    recall: float = Field(default=0.9, gt=0, lt=1, allow_inf_nan=False)
    confidence: float = Field(default=0.95, gt=0, lt=1, allow_inf_nan=False)

    @model_validator(mode="after")
    def _pages_can_be_found(self) -> Self:
        if self.page_url is not None and "{n}" not in self.page_url:
            raise ValueError("page_url must hold {n}, the number of the page")
        if self.page_url is not None and (self.urls or self.next):
            raise ValueError("give page_url, or url and next; not both")
        return self


class CrawlConfig(Table):
    """Where a site begins, and how far its links are followed."""

    start: Url | None = None
    scope: Within = "host"
    depth: int = Field(default=20, ge=0, le=1000)
    most: int = Field(default=10_000, ge=1, le=10**6)
    variants: int = Field(default=100, ge=1, le=10**6)
    discovery: float = Field(default=0.5, ge=0, le=1, allow_inf_nan=False)


class SearchConfig(Table):
    """How a database that only answers queries is asked, and its answers read."""

    search_url: Url | None = None
    engine: Engine = ""
    hits: str = ""
    hit_key: str = ""
    hit_link: str = ""
    hit_text: str = ""
    hit_snippet: str = ""
    total: str = ""
    per_page: int = Field(default=10, ge=1, le=1000)
    first_page: int = Field(default=1, ge=0, le=1)
    first_offset: int = Field(default=0, ge=0, le=1)
    cap: int = Field(default=1000, ge=1, le=10**6)

    @model_validator(mode="after")
    def _query_has_its_place(self) -> Self:
        if self.search_url is None:
            return self
        found = _PLACE.findall(self.search_url)
        odd = [name for name in found if name not in _PLACES]
        if "query" not in found:
            raise ValueError("search_url must hold {query}, the words to search for")
        if odd or {"page", "offset"} <= set(found):
            raise ValueError(
                "search_url may hold {query}, {count}, and {page} or {offset}; "
                "nothing else in braces"
            )
        return self


class SourceConfig(ListingConfig, CrawlConfig, SearchConfig, FormConfig, TargetConfig):
    """Pages or objects that belong together, and how to ask for them."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$", max_length=200)
    kind: Kind = "pages"
    url: Url | None = None
    pages: tuple[Url, ...] = Field(default=(), strict=False)
    maps: tuple[Url, ...] = Field(default=(), strict=False)
    weight: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False)
    allow: tuple[Cidr, ...] = Field(default=(), strict=False)
    robots: bool = True
    text: Text = "visible"
    keep: bool = True
    headers: dict[str, Line | FromEnv] = Field(default_factory=dict, repr=False)

    @model_validator(mode="after")
    def _keys_are_of_its_kind(self) -> Self:
        wrong = _foreign(self.kind) & self.model_fields_set
        if self.kind == "listing" and not (self.addresses or self.python):
            raise ValueError("a listing needs url, urls, page_url or python")
        if self.kind == "site" and self.start is None:
            raise ValueError("a site needs start, the page at which it begins")
        if self.kind == "search" and self.search_url is None:
            raise ValueError("a search needs search_url, with {query} in it")
        if self.kind == "form" and not (self.form_url and self.attributes):
            raise ValueError("a form needs form_url and attributes")
        if wrong:
            raise ValueError(
                f"{min(wrong)} has no meaning for a source of kind {self.kind!r}"
            )
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address that the settings name; of numbered pages the first."""
        first = (self.page_url.replace("{n}", "1"),) if self.page_url else ()
        given = tuple(url for url in (self.start, self.url) if url)
        placed = (self.search_url, self.form_url, self.lookup_url)
        asked = (_PLACE.sub("1", url) for url in placed if url)
        return (*given, *self.pages, *self.maps, *self.urls, *first, *asked)

    @property
    def most_pages(self) -> int:
        """Pages of the source that may become known."""
        if self.kind == "site" or "most" in self.model_fields_set:
            return self.most
        return MAP_PAGES

    @property
    def where(self) -> str:
        """What messages name it by: its first address, or its function."""
        return next(iter(self.addresses), self.python or self.name)

    @property
    def has_pages(self) -> bool:
        """Whether it has pages of which copies are kept."""
        return self.kind in {"pages", "site"}

    @model_validator(mode="after")
    def _headers_are_sendable(self) -> Self:
        for name, value in self.headers.items():
            if not _TOKEN.fullmatch(name):
                raise ValueError(f"header {name!r} is not a header name")
            if name.lower() in SECRET_HEADERS and isinstance(value, str):
                raise ValueError(
                    f"header {name} is a secret and must come from the environment; "
                    f'write {name} = {{env = "VARIABLE"}}'
                )
        return self

    @property
    def from_env(self) -> frozenset[str]:
        """The headers whose values stand in the environment: the secret ones."""
        given = self.headers.items()
        return frozenset(n for n, value in given if isinstance(value, FromEnv))

    def secrets(self) -> dict[str, Secret]:
        """Return the headers to send, with the environment looked up."""
        return {name: self._header(name) for name in self.headers}

    def _header(self, name: str) -> Secret:
        what = f"source {self.name}: header {name}"
        return value_of(self.headers[name], what)


def _foreign(kind: str) -> set[str]:
    """Return the keys of sources of other kinds only."""
    listing = {*ListingConfig.model_fields, "url"}
    site, search = {*CrawlConfig.model_fields}, {*SearchConfig.model_fields}
    form = {*FormConfig.model_fields}
    foreign = {
        "pages": listing | (site - _OF_MAPS) | search | form,
        "site": listing | search | form,
        "listing": site | search | form | _OF_PAGES,
        "search": listing | site | form | _OF_PAGES,
        "form": (listing | site | search | _OF_PAGES) - READ,
    }
    return foreign.get(kind, set())


class Config(Table):
    """All settings; ``path`` is the file they were read from."""

    path: Path = Field(default=Path(NAME), exclude=True)
    store: str = Field(default="halflife.db", min_length=1)
    budget: BudgetConfig = BudgetConfig()
    policy: PolicyConfig = PolicyConfig()
    fetch: FetchConfig = FetchConfig()
    keep: KeepConfig = KeepConfig()
    audit: AuditConfig = AuditConfig()
    alert: Alerts = ()
    source: tuple[SourceConfig, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for name, count in Counter(s.name for s in self.source).items():
            if count > 1:
                raise ValueError(f"two sources are named {name!r}; rename one of them")
        return self

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
        """Check settings given as text; ``path`` is where they stand."""
        try:
            table = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also a number without end
            raise ConfigError(f"{path}: not valid TOML: {_brief(error)}") from None
        if "path" in table:
            raise ConfigError(f"{path}: path: unknown key; {_known((), 'path')}")
        try:
            return cls.model_validate({**table, "path": path})
        except ValidationError as error:
            raise ConfigError(f"{path}: {problem(error, table)}") from None

    @property
    def store_path(self) -> Path:
        """Where the state file lies; relative paths start at the settings file."""
        return self.path.absolute().parent / Path(self.store).expanduser()

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
    """Return what is wrong with a file, short and in one line."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return " ".join(str(error).partition(";")[0].split())[:200]


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
    """Say in one line which key is wrong, why, and what would be right.

    ``table`` is what was read; it tells of which kind a source is.
    """
    first = error.errors()[0]
    place, key = first["loc"], _key_path(first["loc"])
    if first["type"] == "extra_forbidden":
        kind = _kind(table, place)
        return f"{key}: unknown key; {_known(place[:-1], str(place[-1]), kind)}"
    said = first["msg"].removeprefix("Value error, ").replace("\n", " ")
    said = said[0].lower() + said[1:]
    shown = first["input"]
    secret = "headers" in place or (place[:1] == ("alert",) and "url" in place)
    if isinstance(shown, str | int | float) and not secret:
        said += f"; got {_without_password(repr(shown))}"
    return f"{key}: {said}" if key else said


def _without_password(text: str) -> str:
    return re.sub(r"//[^/@]*@", "//***@", text)


def _key_path(place: tuple[int | str, ...]) -> str:
    """Write ("source", 0, "weight") as ``source[1].weight``; people count from one."""
    if "headers" in place:  # what follows are the ways in which a header may be given
        place = place[: place.index("headers") + 2]
    if place[:1] == ("alert",) and "url" in place:
        place = place[: place.index("url") + 1]
    text = ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _kind(table: Mapping[str, Any] | None, place: tuple[int | str, ...]) -> str:
    """Return of which kind the source is at whose key something is wrong."""
    match place:
        case ("source", int(number), _):
            found = (table or {}).get("source", [])
            return str(found[number].get("kind", "pages"))
        case _:
            return ""


def _known(place: tuple[int | str, ...], wrong: str, kind: str = "") -> str:
    model: type[BaseModel] = Config
    for part in place:
        if isinstance(part, str) and part in model.model_fields:
            model = _model(model.model_fields[part].annotation) or model
    hidden = {"path", *_foreign(kind)}
    keys = [key for key in model.model_fields if key not in hidden]
    known = f"keys of kind {kind!r} are" if kind else "known keys are"
    return _suggest(wrong, keys, known)


def _model(kind: object) -> type[BaseModel] | None:
    for found in (kind, *get_args(kind)):
        if isinstance(found, type) and issubclass(found, BaseModel):
            return found
    return None


def _suggest(wrong: str, known: Sequence[str], otherwise: str) -> str:
    close = difflib.get_close_matches(wrong, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"{otherwise} {', '.join(known) or 'none'}"
