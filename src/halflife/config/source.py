"""Settings that every source has: ``[[source]]``.

Each kind of source adds its own keys in ``kinds/<kind>/settings.py``; a plug-in does so
in its own package. This module knows none of them.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable
from math import inf
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from halflife.config.credentials import Auth, ClientAuth, ProxyConfig
from halflife.config.registrations import check_policies
from halflife.config.targets import Hours, Span, Targets
from halflife.config.values import (
    MOST_REQUESTS,
    Cidr,
    FilePath,
    FromEnv,
    FromFile,
    Line,
    Secret,
    SettingsTable,
    Url,
    value_of,
)
from halflife.market.targets import Target, days_of, parse

SECRET_HEADERS = {"authorization", "cookie", "proxy-authorization", "x-api-key"}

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, s. 5.6.2

Policies = Annotated[tuple[Line, ...], Field(strict=False)]
Given = Line | FromEnv | FromFile
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$", max_length=200)]


class SourceConfig(SettingsTable):
    """A source: pages or objects that belong together, and how to request them.

    The base of every kind's settings. A kind must define ``addresses`` and may
    override the other properties.

    Attributes:
        name: Letters, digits, `.` `_` `-` `:`; unique.
        kind: `pages` to keep, a `site` whose links are followed, a `listing` of objects
            that come, change and go, a `search` that answers words, or a `form` that
            answers conditions on attributes. Default: `"pages"`.
        weight: How much a fresh copy of this source matters, relative to other sources.
        allow: Networks (`"10.0.0.0/8"`) that may be reached although they are not
            public.
        robots: Obey robots.txt; turn this off only for sites of your own.
        headers: [Headers](#sourceheaders) to send with each request to the hosts of
            this source.
        parameters: [Parameters of the query](#sourceparameters), mostly secret ones.
        auth: [How it authenticates us](#sourceauth).
        cookies: Keep the cookies of this source while the program runs, and send them
            back to its own hosts only.
        proxy: `"http://proxy.example:3128"`, or a [table](#ways-to-a-source).
        ca: A file (PEM) of certificate authorities that this source may use, in
            addition to those of the system.
        certificate: A file (PEM) with our client certificate and its key.
        certificate_key: A file with the key, if it is separate; without a password.
        policy: The policy of this source, by its name in `halflife policies`. Sources
            under one policy are ranked together and share their beliefs; the budget is
            split between policies by what their next requests are worth.
        target: The quality to keep, one or a list: `"recall >= 0.9 with confidence
            0.95"`, `"freshness >= 0.95"`, `"content >= 0.9"`, `"summary >= 0.9"`, `"age
            p95 <= 6 h"`.
        max_requests: The most requests in the budget's window that go to this source.
        paused: `run` and `sync` skip the source and it gets nothing of the budget;
            `sync NAME` still fetches it.
        window: Hours in which it may be fetched, in the time of a place: `"22:00-06:00
            Europe/Berlin"`.
        min_interval: The shortest time between two fetches: `"30 min"`, `"6 h"`, `"2
            d"`.
        max_interval: The longest time between two fetches, whatever a fetch gains.

    """

    # The quality measures that a target may name, besides the age of the copy.
    measures: ClassVar[frozenset[str]] = frozenset()
    # The entry point group of its policies, the default ones, and how many a source
    # may name.
    policy_group: ClassVar[str] = ""
    usual_policies: ClassVar[tuple[str, ...]] = ()
    most_policies: ClassVar[int] = 1
    # Whether parameters may be plain text; otherwise they belong into the addresses.
    plain_parameters: ClassVar[bool] = False

    name: Name
    kind: Line
    weight: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False)
    allow: tuple[Cidr, ...] = Field(default=(), strict=False)
    robots: bool = True
    headers: dict[str, Given] = Field(default_factory=dict, repr=False)
    parameters: dict[Line, Given] = Field(default_factory=dict, repr=False)
    auth: Auth | None = Field(default=None, repr=False)
    cookies: bool = False
    proxy: Url | ProxyConfig | None = Field(default=None, repr=False)
    ca: FilePath | None = None
    certificate: FilePath | None = None
    certificate_key: FilePath | None = None
    policy: Line | Policies = ""
    target: Targets = ()
    max_requests: int | None = Field(default=None, ge=1, le=MOST_REQUESTS)
    paused: bool = False
    window: Hours = ""
    min_interval: Span = ""
    max_interval: Span = ""

    @classmethod
    def of(cls, source: "SourceConfig") -> Self:
        """Return a source as one of this kind; raise ``TypeError`` if it is another."""
        if not isinstance(source, cls):
            raise TypeError(
                f"source {source.name} is of kind {source.kind!r}: its settings are a "
                f"{type(source).__name__}, not a {cls.__name__}"
            )
        return source

    @classmethod
    def among(cls, sources: Iterable["SourceConfig"]) -> list[Self]:
        """Return the sources that are of this kind, in their order."""
        return [source for source in sources if isinstance(source, cls)]

    @model_validator(mode="after")
    def _targets_are_of_its_kind(self) -> Self:
        known = {"age", *self.measures}
        for target in self.targets:
            if target.measure not in known:
                raise ValueError(
                    f"a source of kind {self.kind!r} has a target of "
                    f"{' or '.join(sorted(known))}, not of {target.measure}"
                )
        if self.soonest > self.latest:
            raise ValueError("min_interval must not be longer than max_interval")
        return self

    @model_validator(mode="after")
    def _policies_exist(self) -> Self:
        names, most = self.policies, self.most_policies
        check_policies(self.kind, self.policy_group, most, names)
        return self

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
        if self.auth and "authorization" in {name.lower() for name in self.headers}:
            raise ValueError("give auth, or a header Authorization; not both")
        if self.cookies and "cookie" in {name.lower() for name in self.headers}:
            raise ValueError("give cookies = true, or a header Cookie; not both")
        return self

    @model_validator(mode="after")
    def _parameters_are_sendable(self) -> Self:
        plain = [n for n, v in self.parameters.items() if isinstance(v, str)]
        if plain and not self.plain_parameters:
            raise ValueError(
                f"parameter {plain[0]} is no secret; write it into the addresses of "
                f'this source, or {plain[0]} = {{env = "VARIABLE"}}'
            )
        if "" in self.parameters:
            raise ValueError("a parameter needs a name")
        return self

    @model_validator(mode="after")
    def _key_has_a_certificate(self) -> Self:
        if self.certificate_key and not self.certificate:
            raise ValueError("certificate_key is the key of a certificate; give both")
        return self

    @property
    @abstractmethod
    def addresses(self) -> tuple[str, ...]:
        """Every address that the settings name; of numbered pages the first."""

    @property
    def where(self) -> str:
        """What messages name it by: its first address, or its name."""
        return next(iter(self.addresses), self.name)

    @property
    def landmarks(self) -> tuple[str, ...]:
        """Addresses of which each by itself says where the source is."""
        return ()

    @property
    def query_url(self) -> str:
        """The address that queries are put into; empty if it answers none."""
        return ""

    @property
    def answer_format(self) -> str:
        """The format in which answers are asked for; empty if none is named."""
        return ""

    @property
    def answer_reading(self) -> tuple[object, ...]:
        """What decides how answers are read.

        When it changes, what was learned of the form of the answers is void.
        """
        return (self.addresses,)

    @property
    def item_urls(self) -> tuple[str, ...]:
        """The addresses that are items by themselves: each has a copy of its own."""
        return ()

    @property
    def feeds(self) -> tuple[str, ...]:
        """The addresses that feed readers can subscribe to, as far as one can tell."""
        return ()

    @property
    def part_rules(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The parts of its pages that count, and those that do not; None: no pages."""
        return None

    @property
    def root(self) -> str:
        """The address from which all items are found; empty if there is none."""
        return ""

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies that the settings choose; empty if they do not."""
        given = (self.policy,) if isinstance(self.policy, str) else self.policy
        return tuple(name for name in given if name)

    @property
    def targets(self) -> tuple[Target, ...]:
        """What is to be kept."""
        given = (self.target,) if isinstance(self.target, str) else self.target
        return tuple(parse(one) for one in given)

    @property
    def soonest(self) -> float:
        """Days between two fetches, at least."""
        return days_of(self.min_interval) if self.min_interval else 0.0

    @property
    def latest(self) -> float:
        """Days between two fetches, at most."""
        return days_of(self.max_interval) if self.max_interval else inf

    @property
    def from_env(self) -> frozenset[str]:
        """The headers whose values stand elsewhere: the secret ones."""
        given = self.headers.items()
        return frozenset(n for n, value in given if not isinstance(value, str))

    @property
    def needs_home(self) -> bool:
        """Whether something is sent along that belongs to its own hosts alone."""
        return bool(self.headers or self.parameters or self.auth or self.cookies)

    def secrets(self) -> dict[str, Secret]:
        """Return the headers to send, secrets read from the environment and files."""
        found = {name: self._header(name) for name in self.headers}
        if self.auth and not isinstance(self.auth, ClientAuth):
            found["Authorization"] = Secret(self.auth.header(f"source {self.name}"))
        return found

    def secret_parameters(self) -> dict[str, Secret]:
        """Return the secret parameters, read from the environment and files."""
        given = self.parameters.items()
        return {
            name: value_of(value, f"source {self.name}: parameter {name}")
            for name, value in given
            if not isinstance(value, str)
        }

    def _header(self, name: str) -> Secret:
        what = f"source {self.name}: header {name}"
        return value_of(self.headers[name], what)
