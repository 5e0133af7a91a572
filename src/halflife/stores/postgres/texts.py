"""Texts as PostgreSQL can keep them: without a zero byte.

What stands for one begins with a character that no text has by the rules of Unicode,
and a text that has it all the same comes back as it was.
"""

import re
from typing import Any

_MARK = "\ufdd0"
_MARKED = re.compile(f"{_MARK}([01])")


def clean(value: Any) -> Any:  # noqa: ANN401  (texts are changed, the rest is not)
    """Return a value as it is kept; of a list, each."""
    if type(value) is str:
        if "\0" in value or _MARK in value:
            return value.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")
    elif type(value) is list:
        return [clean(one) for one in value]
    return value


def restored(text: str) -> str:
    """Return a text as it was before ``clean``."""
    return _MARKED.sub(_unmarked, text) if _MARK in text else text


def _unmarked(found: re.Match[str]) -> str:
    return "\0" if found[1] == "0" else _MARK
