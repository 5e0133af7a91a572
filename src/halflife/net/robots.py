"""What a host's robots.txt allows: RFC 9309."""

from dataclasses import dataclass, field, replace

from yarl import URL

from halflife.core.errors import Refused, SourceError, Unreachable
from halflife.core.host import HostState
from halflife.net.pacing import LONGEST_CRAWL_DELAY
from halflife.net.robots_rules import AgentRules, read_group

AGENT = "halflife"
LARGEST = 500 * 1024  # bytes that are parsed (section 2.5)
FRESH = 1.0  # days that a copy is used without asking again (section 2.4)
STALE = 30.0  # days that it is used while the host gives no new one (2.3.1.4)
RETRY = 5.0 / 1440  # days until a failed fetch of robots.txt is tried again


@dataclass(frozen=True, slots=True)
class HostRules:
    """What we may ask of one host, and how often.

    Attributes:
        since: When robots.txt was asked for, in days.
        lasts: Days for which the answer holds.
        delay: Seconds between requests that the host asks for.
        closed: Why no page may be asked for; nothing if pages may.
        group: The rules that are meant for us.

    """

    since: float
    lasts: float
    delay: float = 0.0
    closed: SourceError | None = None
    group: AgentRules = field(default_factory=AgentRules)

    def hold(self, now: float) -> bool:
        """Say whether the rules need not be asked for again."""
        return 0 <= now - self.since < self.lasts

    def check(self, url: URL) -> None:
        """Raise ``Refused`` or ``Unreachable`` if the URL must not be fetched."""
        if self.closed:
            raise type(self.closed)(*self.closed.args)
        if not self.group.allows(url.raw_path_qs):
            raise Refused(f"{url.raw_host}: its robots.txt forbids this page")


def rules(state: HostState) -> HostRules:
    """Return the rules that follow from how robots.txt was last answered.

    2xx: as written. 4xx: everything is allowed. No answer, 5xx, or 429 (a host
    that is too busy has not said yes): nothing is (section 2.3.1).
    """
    if not _answered(state.robots_status):
        why = Unreachable(f"{state.name}: its robots.txt could not be read")
        return HostRules(state.robots_at, RETRY, closed=why)
    if state.robots_status >= 300 or not state.robots.strip():
        return HostRules(state.robots_at, FRESH)
    group = read_group(state.robots, AGENT)
    delay = min(group.delay, LONGEST_CRAWL_DELAY)
    return HostRules(state.robots_at, FRESH, delay, group=group)


def _answered(status: int) -> bool:
    return 200 <= status < 500 and status != 429


def after_robots(state: HostState, status: int, body: bytes, now: float) -> HostState:
    """Return what we know of a host after it was asked for robots.txt.

    ``status`` 0 means that there was no answer. A copy from the last 30 days
    outlives a failure.
    """
    if not _answered(status):
        if _answered(state.robots_status) and 0 <= now - state.robots_at < STALE:
            return state
        body = b""
    text = body[:LARGEST].decode("utf-8-sig", "replace")
    return replace(state, robots=text, robots_status=status, robots_at=now)
