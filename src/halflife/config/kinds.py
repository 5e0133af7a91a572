"""The settings of each kind of source: built-in ones, and those of plug-ins.

A plug-in names its kind in the entry point group ``halflife.kinds``; the object found
there has an attribute ``Settings``, a subclass of ``SourceConfig``. It is imported only
if a source is of its kind.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import PlainValidator, SerializeAsAny, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from halflife.config.registrations import only_entry_point, package_of, registered
from halflife.config.source import SourceConfig
from halflife.core.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KINDS = "halflife.kinds"
BUILT_IN = ("pages", "site", "listing", "search", "form")
USUAL = "pages"  # the kind of a source whose settings name none


def kinds() -> tuple[str, ...]:
    """Return the names of all kinds: built-in ones first, then those of plug-ins."""
    plugged_in = sorted(registered(KINDS))
    return (*BUILT_IN, *(name for name in plugged_in if name not in BUILT_IN))


def settings_of(kind: str) -> type[SourceConfig]:
    """Return the settings class of a kind; raise ``ConfigError`` if it is unknown."""
    return _built_in(kind) or _plugged_in(kind)


def _built_in(kind: str) -> type[SourceConfig] | None:
    # The settings of a kind import this package, so they are imported here late.
    match kind:
        case "pages" | "site":
            from halflife.kinds.pages.settings import PagesConfig  # noqa: PLC0415

            return PagesConfig
        case "listing":
            from halflife.kinds.listing.settings import ListingConfig  # noqa: PLC0415

            return ListingConfig
        case "search":
            from halflife.kinds.search.settings import SearchConfig  # noqa: PLC0415

            return SearchConfig
        case "form":
            from halflife.kinds.form.settings import FormConfig  # noqa: PLC0415

            return FormConfig
    return None


def _plugged_in(kind: str) -> type[SourceConfig]:
    point, plugin = load_plugin(kind)
    settings = getattr(plugin, "Settings", None)
    if not (isinstance(settings, type) and issubclass(settings, SourceConfig)):
        raise ConfigError(
            f"{_origin(point)}, and {point.value} has no Settings, a subclass of "
            "halflife.config.SourceConfig"
        )
    return settings


def load_plugin(kind: str) -> "tuple[EntryPoint, object]":
    """Return the plug-in of a kind and its entry point; raise ``ConfigError`` if none.

    The message of an error in the plug-in names the plug-in.
    """
    points = registered(KINDS).get(kind)
    if points is None:
        raise ConfigError(f"unknown kind {kind!r}; kinds are {', '.join(kinds())}")
    point = only_entry_point(points)
    try:
        return point, point.load()
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{_origin(point)}, and {point.value} cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error


def _origin(point: "EntryPoint") -> str:
    return f"kind {point.name!r} comes from {package_of(point)}"


def read_source(given: object) -> SourceConfig:
    """Check the table of a source against the settings of its kind.

    Raise ``ValueError``, or ``ValidationError`` with the key that is wrong.
    """
    if isinstance(given, SourceConfig):
        return given
    if not isinstance(given, Mapping):
        raise ValueError("must be a table")  # noqa: TRY004  (pydantic wants this one)
    kind = given.get("kind", USUAL)
    if not isinstance(kind, str):
        raise _wrong_kind("input should be a valid string", kind)
    try:
        settings = settings_of(kind)
    except ConfigError as error:
        raise _wrong_kind(str(error), given) from error
    return settings.model_validate(given)


def written_kind(source: SourceConfig) -> dict[str, str]:
    """Return the key ``kind`` of a table; none for the usual kind."""
    return {} if source.kind == USUAL else {"kind": source.kind}


def _wrong_kind(why: str, given: object) -> ValidationError:
    """Return an error about the key ``kind`` of a table."""
    message = PydanticCustomError("kind", "{why}", {"why": why})
    details = InitErrorDetails(type=message, loc=("kind",), input=given)
    return ValidationError.from_exception_data("source", [details])


Source = Annotated[SerializeAsAny[SourceConfig], PlainValidator(read_source)]
