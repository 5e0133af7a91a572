"""JMESPath expressions that settings give."""

from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from halflife.core.errors import ConfigError

LONGEST_REASON = 200  # characters of what a library says of an error


@lru_cache(maxsize=1024)  # a source has a few, and each record is searched by all
def compiled(expression: str) -> Any:  # noqa: ANN401  (jmespath has no types)
    """Return an expression that can search; raise ``ConfigError`` if it is none.

    >>> compiled("hits[].id").search({"hits": [{"id": 1}, {"id": 2}]})
    [1, 2]
    """
    try:
        return jmespath.compile(expression)
    except JMESPathError as error:
        said = one_line(error)
        raise ConfigError(f"{expression!r} is no JMESPath: {said}") from None


def one_line(error: Exception) -> str:
    """Return what an error says, in one line that is not too long."""
    return " ".join(str(error).split())[:LONGEST_REASON]
