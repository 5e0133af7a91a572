"""The settings of halflife from those of a Scrapy project."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from halflife.config import Config, problem
from halflife.core.errors import ConfigError

if TYPE_CHECKING:
    from halflife.kinds.pages.settings import PagesConfig

STATE = "halflife.db"
_BUDGET = re.compile(r"(\d+)\s*(?:/|per)\s*(hour|day|week|month)")


def config_of(settings: Mapping[str, Any], spider: str) -> "tuple[Config, PagesConfig]":
    """Return the settings for a spider's pages, and their source.

    ``HALFLIFE_SOURCE`` has further keys of the source, as in ``halflife.toml``. Raise
    ``ConfigError`` if they cannot be used.
    """
    state = Path(settings.get("HALFLIFE_STATE") or STATE).absolute()
    source = {"kind": "pages", **(settings.get("HALFLIFE_SOURCE") or {})}
    if source["kind"] != "pages":
        raise ConfigError("HALFLIFE_SOURCE: a spider's pages are kept as pages only")
    table: dict[str, Any] = {
        "path": state.with_suffix(".toml"),
        "store": state.name,
        "budget": budget_of(settings.get("HALFLIFE_BUDGET")),
        "source": [{**source, "name": spider}],
    }
    chosen = {
        "name": settings.get("HALFLIFE_POLICY"),
        "objective": settings.get("HALFLIFE_OBJECTIVE"),
    }
    table["policy"] = {key: value for key, value in chosen.items() if value}
    try:
        config = Config.model_validate(table)
    except ValidationError as error:
        raise ConfigError(f"HALFLIFE settings: {problem(error, table)}") from None
    return config, cast("PagesConfig", config.source[0])


def budget_of(text: object) -> dict[str, Any]:
    """Return the table of a budget such as ``1000/day``.

    >>> budget_of("50 per hour")
    {'requests': 50, 'per': 'hour'}
    """
    found = _BUDGET.fullmatch(str(text or "").strip())
    if found is None:
        raise ConfigError(
            f"HALFLIFE_BUDGET must be like '1000/day' (or /hour, /week, /month), "
            f"got {text!r}"
        )
    return {"requests": int(found[1]), "per": found[2]}
