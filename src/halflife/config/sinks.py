"""Settings of the receivers of changes: ``[[sink]]``.

Each kind of sink has its own settings, found through the entry point group
``halflife.sinks``: what is registered there has an attribute ``Settings``, a subclass
of ``SinkConfig``. It is imported only if a sink is of its kind.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    SerializeAsAny,
    ValidationError,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from halflife.config.registrations import only_entry_point, package_of, registered
from halflife.config.values import SettingsTable
from halflife.core.change import CHANGE_KINDS
from halflife.core.errors import ConfigError

SINKS = "halflife.sinks"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_EVENTS = ", ".join(CHANGE_KINDS)


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("must be letters, digits, dots, dashes and underscores")
    return text


def _event(text: str) -> str:
    if text not in CHANGE_KINDS:
        raise ValueError(f"is not a kind of change; there are {_EVENTS}")
    return text


class SinkConfig(SettingsTable):
    """Settings of every sink: its name, which changes it gets, and its retry limits.

    Attributes:
        name: The name under which it is shown and its cursor is kept: letters, digits,
            `.`, `-`, `_`.
        kind: `jsonl`, `command`, `webhook`, `sql`, `parquet`, `warc`, `atom`, or a kind
            that a plug-in brings.
        sources: The sources whose changes it gets. Default: all.
        kinds: The kinds of change that it gets: `new`, `changed`, `gone`, `returned`,
            `moved`, `held`, `accepted`. Default: all.
        start: Where a new sink begins: at the `"first"` change that is kept, or
            `"now"`.
        batch: The most changes that are delivered together.
        every: Seconds that `run` waits for a batch to fill.
        timeout: Seconds for one attempt.
        tries: Attempts before it waits for `halflife sinks retry`; with the growing
            pauses between them, 15 attempts take a day and a half.

    """

    requires: ClassVar[tuple[str, str]] = ("", "")  # a module, and the extra with it

    name: Annotated[str, AfterValidator(_name)]
    kind: str
    sources: tuple[str, ...] = Field(default=(), strict=False)
    kinds: tuple[Annotated[str, AfterValidator(_event)], ...] = Field(
        default=(), strict=False
    )
    start: Literal["first", "now"] = "first"
    batch: int = Field(default=500, ge=1, le=100_000)
    every: float = Field(default=0.0, ge=0, le=86400, allow_inf_nan=False)
    timeout: float = Field(default=60.0, gt=0, le=3600, allow_inf_nan=False)
    tries: int = Field(default=15, ge=1, le=1000)

    def check_secrets(self) -> None:
        """Raise ``ConfigError`` if a secret that it needs is not set."""


def sink_kinds() -> tuple[str, ...]:
    """Return the names of all kinds of sink, built-in and of plug-ins."""
    return tuple(sorted(registered(SINKS)))


def load_sink(kind: str) -> object:
    """Return the object registered as a kind of sink; raise ``ConfigError``."""
    points = registered(SINKS).get(kind)
    if points is None:
        known = ", ".join(sink_kinds()) or "none; is halflife installed?"
        raise ConfigError(f"unknown kind of sink {kind!r}; kinds are {known}")
    point = only_entry_point(points)
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"the kind of sink {kind!r} comes from {package_of(point)}, and "
            f"{point.value} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def sink_settings(kind: str) -> type[SinkConfig]:
    """Return the settings of a kind of sink; raise ``ConfigError``."""
    settings = getattr(load_sink(kind), "Settings", None)
    if not (isinstance(settings, type) and issubclass(settings, SinkConfig)):
        raise ConfigError(
            f"the kind of sink {kind!r} has no Settings, a subclass of "
            "halflife.config.sinks.SinkConfig"
        )
    return settings


def extra_of(sink: SinkConfig) -> str:
    """Return the package with the extra that a sink needs, as pip takes it."""
    points = registered(SINKS).get(sink.kind, ())
    dist = points[0].dist if points else None
    return f"{dist.name if dist else 'halflife'}[{sink.requires[1]}]"


def read_sink(given: object) -> SinkConfig:
    """Check the table of a sink against the settings of its kind.

    Raise ``ValueError``, or ``ValidationError`` with the key that is wrong.
    """
    if isinstance(given, SinkConfig):
        return given
    if not isinstance(given, Mapping):
        raise ValueError("must be a table")  # noqa: TRY004  (pydantic wants this one)
    kind = given.get("kind")
    if not isinstance(kind, str):
        raise _wrong_kind(f"is needed; kinds are {', '.join(sink_kinds())}", kind)
    try:
        settings = sink_settings(kind)
    except ConfigError as error:
        raise _wrong_kind(str(error), given) from error
    return settings.model_validate(given)


def check_sinks(sinks: Iterable[SinkConfig], sources: Iterable[str]) -> None:
    """Raise ``ValueError`` if two sinks share a name or one names no known source."""
    many, known = list(sinks), list(sources)
    for name, count in Counter(sink.name for sink in many).items():
        if count > 1:
            raise ValueError(f"two sinks are named {name!r}; rename one of them")
    for sink in many:
        for name in sink.sources:
            if name not in known:
                names = ", ".join(known) or "none"
                raise ValueError(
                    f"sink {sink.name}: no source is named {name!r}; sources: {names}"
                )


def _wrong_kind(why: str, given: object) -> ValidationError:
    """Return an error about the key ``kind`` of a table."""
    message = PydanticCustomError("kind", "{why}", {"why": why})
    details = InitErrorDetails(type=message, loc=("kind",), input=given)
    return ValidationError.from_exception_data("sink", [details])


Sink = Annotated[SerializeAsAny[SinkConfig], PlainValidator(read_sink)]
