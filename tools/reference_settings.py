"""The tables of settings in docs/config.md, from the models that read the file."""

import re
from collections.abc import Sequence
from typing import get_args

from pydantic import BaseModel

from halflife.config import (
    AuditConfig,
    BudgetConfig,
    Config,
    FetchConfig,
    PolicyConfig,
    SourceConfig,
)
from halflife.config.alerts import AlertConfig, KeepConfig
from halflife.config.answers import RecordsConfig, ResultsConfig
from halflife.config.credentials import BasicAuth, BearerAuth, ClientAuth, ProxyConfig
from halflife.config.serve import ServeConfig, TokenConfig
from halflife.config.sinks import SinkConfig, sink_kinds, sink_settings
from halflife.kinds.form.settings import AttributeConfig, FormConfig
from halflife.kinds.listing.request_settings import (
    CursorPaging,
    GraphqlConfig,
    HeaderPaging,
    LinkPaging,
    OffsetPaging,
    PagePaging,
)
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.search.settings import SearchConfig
from tools.reference_words import Undocumented, entries, lowered, table

MODELS: dict[str, type[BaseModel]] = {
    model.__name__: model
    for model in (
        AlertConfig, AttributeConfig, AuditConfig, BasicAuth, BearerAuth, BudgetConfig,
        ClientAuth, Config, CursorPaging, FetchConfig, FormConfig, GraphqlConfig,
        HeaderPaging, KeepConfig, LinkPaging, ListingConfig, OffsetPaging, PagePaging,
        PagesConfig, PolicyConfig, ProxyConfig, RecordsConfig, ResultsConfig,
        SearchConfig, ServeConfig, SinkConfig, SourceConfig, TokenConfig,
    )
}  # fmt: skip
SHARED = set(SourceConfig.model_fields)
MARK = re.compile(r"^<!-- settings: ([^>]+) -->\n(?:\|.*\n)*", re.MULTILINE)


def meanings(model: type) -> dict[str, str]:
    """Return what each setting of a table means, those of its base classes too."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        found |= entries(one.__dict__.get("__doc__") or "", "Attributes")
    return found


def toml(value: object) -> str:
    """Return a default as it would stand in the settings.

    >>> toml("day"), toml(1.0), toml(False), toml(()), toml(8388608)
    ('`"day"`', '1.0', '`false`', 'none', '8388608')
    """
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str) and value:
        return f'`"{value}"`'
    if isinstance(value, int | float):
        return f"{value:.1f}" if value == int(value) < 10 else f"{value:.10g}"
    return "none"


def default_of(model: type[BaseModel], key: str, said: str) -> tuple[str, str]:
    """Return the default of a setting, and its meaning without that."""
    about, _, words = said.partition(" Default: ")
    field = model.model_fields[key]
    if words:
        return words.removesuffix("."), about
    if field.is_required():
        return "required", about
    if isinstance(field.default, int) and not isinstance(field.default, bool):
        return str(field.default), about
    return toml(field.get_default(call_default_factory=True)), about


def setting(model: type[BaseModel], key: str) -> list[str]:
    """Return the row of a setting."""
    said = meanings(model).get(key)
    if not said:
        raise Undocumented(f"{model.__name__}.{key}: say in its docstring what it is")
    default, about = default_of(model, key, said)
    return [f"`{key}`", default, lowered(about)]


def tagged(names: Sequence[str]) -> str:
    """Return one table of several models that their ``kind`` tells apart."""
    rows = []
    for model in (MODELS[name] for name in names):
        (kind,) = get_args(model.model_fields["kind"].annotation)
        keys = [key for key in model.model_fields if key != "kind"]
        first = [f'`"{kind}"`', *("" for _ in keys[1:])]
        rows += [[a, *setting(model, k)] for a, k in zip(first, keys, strict=True)]
    return table(("`kind`", "key", "default", "meaning"), rows)


def of_sinks() -> str:
    """Return the table of what every sink has, and then each kind's own keys."""
    kinds = {kind: sink_settings(kind) for kind in sink_kinds()}
    rows = []
    for key in SinkConfig.model_fields:
        row = setting(SinkConfig, key)
        for kind, model in kinds.items():
            own = setting(model, key)[1] if key != "kind" else row[1]
            row[1] += "" if own == setting(SinkConfig, key)[1] else f"; {kind} {own}"
        rows.append(["all", *row])
    for kind, model in kinds.items():
        own = [key for key in model.model_fields if key not in SinkConfig.model_fields]
        rows += [[f"`{kind}`", *setting(model, key)] for key in own]
    return table(("`kind`", "key", "default", "meaning"), rows)


def settings_table(asked: str) -> str:
    """Return the table that a mark in docs/config.md asks for.

    A mark names a model, alone or with keys to show or, after ``-``, to leave out; or
    several models; or ``sinks``. Keys that every source has are left out.
    """
    first, *others = asked.split()
    if first == "sinks":
        return of_sinks()
    if others and others[0] in MODELS:
        return tagged([first, *others])
    model, left = MODELS[first], {key[1:] for key in others if key[0] == "-"}
    shared = SHARED if issubclass(model, SourceConfig) else set()
    own = sorted(
        (key for key in model.model_fields if key not in shared),
        key=lambda key: key not in model.__annotations__,
    )
    keys = [key for key in others if key[0] != "-"] or own
    keys = [key for key in keys if key not in left]
    rows = [setting(model, key) for key in keys]
    return table(("key", "default", "meaning"), rows)


def settings(text: str) -> str:
    """Return docs/config.md with the tables that its marks ask for."""
    return MARK.sub(
        lambda mark: f"<!-- settings: {mark[1]} -->\n{settings_table(mark[1])}", text
    )
