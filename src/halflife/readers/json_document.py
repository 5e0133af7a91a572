"""Parse untrusted JSON, within limits."""

import json
from typing import Any

MOST_PARTS = 1_000_000  # objects and lists of one document; each uses up to 230 bytes


def load_json(text: str) -> Any:  # noqa: ANN401  (JSON is anything)
    """Parse JSON; NaN and infinities become None, of duplicate names the last counts.

    Raise ``ValueError`` if it is invalid, or has more parts than a listing could need;
    ``RecursionError`` if it is nested too deeply.
    """
    if text.count("{") + text.count("[") > MOST_PARTS:
        raise ValueError(f"it has more than {MOST_PARTS} objects and lists")
    return json.loads(text, parse_constant=lambda _: None)
