"""Conversion between settings and the fields of the forms that edit them."""

import math
from collections.abc import Mapping
from typing import Any

from halflife.web.settings_desk import ValuesError


def given_fields(form: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a form that was sent, as text."""
    return {str(name): str(value) for name, value in form.items()}


def typed(table: Mapping[str, Any]) -> dict[str, str]:
    r"""Return settings as the contents of form fields.

    >>> typed({"target": ["recall >= 0.9", "age p95 <= 6 h"], "weight": 2.0})["target"]
    'recall >= 0.9\nage p95 <= 6 h'
    >>> typed({"weight": 2.0})
    {'target': '', 'weight': '2', 'max_requests': '', 'paused': ''}
    """
    target = table.get("target", "")
    found = {"target": target if isinstance(target, str) else "\n".join(target)}
    for key in ("weight", "max_requests"):
        value = table.get(key)
        found[key] = "" if value is None else str(value).removesuffix(".0")
    return found | {"paused": "on" if table.get("paused") else ""}


def source_values(given: Mapping[str, str]) -> dict[str, Any]:
    """Return what was typed about a source; what is empty becomes None.

    Raise ``ValuesError`` if a number is none.
    """
    wrong: dict[str, str] = {}
    lines = [line.strip() for line in given.get("target", "").splitlines()]
    targets = tuple(line for line in lines if line)
    values: dict[str, Any] = {
        "target": targets[0] if len(targets) == 1 else targets or None,
        "weight": _number("weight", given, wrong),
        "max_requests": _whole("max_requests", given, wrong),
        "paused": True if given.get("paused") == "on" else None,
    }
    if wrong:
        raise ValuesError(wrong)
    return values


def budget_values(given: Mapping[str, str]) -> dict[str, Any]:
    """Parse the budget form; raise ``ValuesError``."""
    wrong: dict[str, str] = {}
    requests = _whole("requests", given, wrong)
    if requests is None:
        wrong.setdefault("requests", "give a whole number, 1 or more")
    if wrong:
        raise ValuesError(wrong)
    return {"requests": requests, "per": given.get("per", "day")}


def _number(name: str, given: Mapping[str, str], wrong: dict[str, str]) -> float | None:
    text = given.get(name, "").strip()
    if not text:
        return None
    try:
        found = float(text.replace(",", "."))
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        wrong[name] = "give a number, such as 2 or 0.5"
        return None
    return found


def _whole(name: str, given: Mapping[str, str], wrong: dict[str, str]) -> int | None:
    text = given.get(name, "").strip()
    if not text:
        return None
    digits = text.replace(" ", "").replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 12):
        wrong[name] = "give a whole number, 1 or more"
        return None
    return int(digits)
