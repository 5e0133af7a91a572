"""Why fetches of a source fail, since when, and under which of a few headings."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from halflife.engine.breakers import Breaker
from halflife.kinds.page_view import FailingItem
from halflife.stores import Store

# A note is in words of ours; the first pattern that it holds gives the heading.
_REASONS = (
    ("robots", r"robots\.txt"),
    ("dns", r"no such host|name .*(resolv|not known)|cannot be resolved"),
    ("tls", r"certificate|secure connection"),
    ("timeout", r"in time|timed out|timeout|takes? more than \S+ s\b"),
    ("status", r"\banswered [1-5]\d\d\b|^[1-5]\d\d\b(?!\.\d)"),
    ("parse", r"cannot be read|not all of this map|is not JSON|could not handle"),
    ("held", r"^not believed yet"),
    ("refused", r"not public|must not be fetched|redirects|too large|proxy|login"),
    ("connection", r"connection|hung up|truncated|proper HTTP"),
    ("backoff", r"left alone"),
)  # fmt: skip
_UNREAD = ", so its robots.txt could not be read"
HEADINGS = {
    "robots": "robots.txt forbids it or cannot be read",
    "dns": "its name cannot be found (DNS)",
    "tls": "no secure connection (TLS)",
    "timeout": "no answer in time",
    "status": "it answered with an error",
    "parse": "its answer cannot be read",
    "held": "its answer is not believed",
    "refused": "it must not be fetched",
    "backoff": "it is left alone for a while, after it was busy or failed",
    "connection": "no connection",
    "other": "the fetch failed",
}


class Failure(NamedTuple):
    """Why a source, or some of it, cannot be fetched; times in days.

    Attributes:
        reason: One of ``HEADINGS``.
        said: What went wrong, in words.
        since: When the first fetch failed after the last good one; nan if not known.
        tried: When it was last tried; nan if not known.
        items: Items that fail; 0 of a source that is fetched whole.

    """

    reason: str
    said: str
    since: float = math.nan
    tried: float = math.nan
    items: int = 0

    @property
    def heading(self) -> str:
        """The reason in a few words."""
        return HEADINGS[self.reason]


def reason_of(note: str) -> str:
    """Return the heading that the note of a failed fetch belongs under.

    A host that cannot be reached is asked for its robots.txt first, and that is what
    fails; the reason is why it cannot be reached.

    >>> reason_of("a.example: no such host"), reason_of("a.example: it answered 503")
    ('dns', 'status')
    """
    cause = note.removesuffix(_UNREAD)
    for reason, pattern in _REASONS:
        if re.search(pattern, cause):
            return reason
    return "other"


def of_items(store: Store, failed: Sequence[FailingItem], items: int) -> Failure | None:
    """Return why items fail: what most of them say. None if none does."""
    if not items:
        return None
    since = {one.number: one.last for one in failed}
    first = min(since.values(), default=math.inf)
    found = [
        one
        for one in store.reports.failures(list(since), max(first, 0.0))
        if one.at > since[one.item]
    ]
    if not found:
        return Failure("other", "", items=items)
    last = {one.item: one.note for one in found}  # they are in the order of time
    said = Counter(last.values()).most_common(1)[0][0]
    begun, tried = found[0].at, found[-1].at
    return Failure(reason_of(said), said, begun, tried, items)


def of_whole(breaker: Breaker) -> Failure | None:
    """Return why a source that is fetched whole fails; None if it does not."""
    if not breaker.failures:
        return None
    said = breaker.trouble
    return Failure(reason_of(said), said, breaker.well or math.nan)
