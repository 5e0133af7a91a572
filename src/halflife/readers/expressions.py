"""JMESPath expressions of the settings."""

from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from halflife.core.errors import ConfigError
from halflife.core.wording import one_line


@lru_cache(maxsize=1024)  # a source has a few, and each record is searched by all
def compiled(expression: str) -> Any:  # noqa: ANN401  (jmespath has no types)
    """Return a compiled expression; raise ``ConfigError`` if it is invalid.

    >>> compiled("hits[].id").search({"hits": [{"id": 1}, {"id": 2}]})
    [1, 2]
    """
    try:
        return jmespath.compile(expression)
    except JMESPathError as error:
        why = one_line(error)
        raise ConfigError(f"{expression!r} is no JMESPath: {why}") from None
