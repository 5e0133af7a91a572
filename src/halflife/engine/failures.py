"""The reasons of failed fetches, under a few headings."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from halflife.engine.breakers import Breaker
from halflife.kinds.page_view import FailingItem
from halflife.stores import Store

# Notes are our own texts; the first pattern that matches gives the heading.
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
    "held": "its answer is held back",
    "refused": "it must not be fetched",
    "backoff": "it is not fetched for a while, after it was busy or failed",
    "connection": "no connection",
    "other": "the fetch failed",
}


class Failure(NamedTuple):
    """Why a source, or some of it, cannot be fetched; times in days.

    Attributes:
        reason: One of ``HEADINGS``.
        trouble: The error text.
        since: When the first fetch failed after the last good one; nan if not known.
        tried: When it was last tried; nan if not known.
        items: Items that fail; 0 for a source that is fetched whole.

    """

    reason: str
    trouble: str
    since: float = math.nan
    tried: float = math.nan
    items: int = 0

    @property
    def heading(self) -> str:
        """The reason in a few words."""
        return HEADINGS[self.reason]


def reason_of(note: str) -> str:
    """Return the heading for the note of a failed fetch.

    If a host cannot be reached, the fetch of its robots.txt fails first; the heading is
    the cause of that.

    >>> reason_of("a.example: no such host"), reason_of("a.example: it answered 503")
    ('dns', 'status')
    """
    cause = note.removesuffix(_UNREAD)
    for reason, pattern in _REASONS:
        if re.search(pattern, cause):
            return reason
    return "other"


def of_items(store: Store, failed: Sequence[FailingItem], items: int) -> Failure | None:
    """Return why items fail: the most frequent error. None if no item fails."""
    if not items:
        return None
    since = {item.number: item.last for item in failed}
    first = min(since.values(), default=math.inf)
    tries = [
        failure
        for failure in store.reports.failures(list(since), max(first, 0.0))
        if failure.at > since[failure.item]
    ]
    if not tries:
        return Failure("other", "", items=items)
    last = {failure.item: failure.note for failure in tries}  # in order of time
    trouble = Counter(last.values()).most_common(1)[0][0]
    return Failure(reason_of(trouble), trouble, tries[0].at, tries[-1].at, items)


def of_whole(breaker: Breaker) -> Failure | None:
    """Return why a source that is fetched whole fails; None if it does not."""
    if not breaker.failures:
        return None
    trouble = breaker.trouble
    return Failure(reason_of(trouble), trouble, breaker.well or math.nan)
