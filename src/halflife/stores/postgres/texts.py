"""Texts as PostgreSQL can store them: without zero bytes.

A zero byte is replaced by a character that no text has by the rules of Unicode; a text
that has it nevertheless is restored unchanged.
"""

import re
from typing import Any

_MARK = "\ufdd0"
_MARKED = re.compile(f"{_MARK}([01])")


def clean(value: Any) -> Any:  # noqa: ANN401  (texts are changed, the rest is not)
    """Return a value as it is stored; of a list, each element."""
    if type(value) is str:
        if "\0" in value or _MARK in value:
            return value.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")
    elif type(value) is list:
        return [clean(element) for element in value]
    return value


def restored(text: str) -> str:
    """Return a text as it was before ``clean``."""
    return _MARKED.sub(_unmarked, text) if _MARK in text else text


def _unmarked(found: re.Match[str]) -> str:
    return "\0" if found[1] == "0" else _MARK
