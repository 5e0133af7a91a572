"""The robots.txt of hosts: RFC 9309."""

from dataclasses import dataclass, field, replace

from yarl import URL

from halflife.core.errors import Refused, SourceError, Unreachable
from halflife.core.host import HostState
from halflife.net.pacing import LONGEST_CRAWL_DELAY
from halflife.net.robots_rules import AgentRules, read_group

AGENT = "halflife"
LARGEST = 500 * 1024  # bytes that are parsed (section 2.5)
FRESH = 1.0  # days that a copy is used without another fetch (section 2.4)
STALE = 30.0  # days that it is used while the host gives no new one (2.3.1.4)
RETRY = 5.0 / 1440  # days until a failed fetch of robots.txt is tried again


@dataclass(frozen=True, slots=True)
class HostRules:
    """The robots.txt rules of one host.

    Attributes:
        since: When robots.txt was fetched, in days.
        lasts: Days for which the answer is valid.
        delay: Seconds between requests that the host requires.
        closed: Why no page may be fetched; None if pages may.
        group: The rules for our agent.

    """

    since: float
    lasts: float
    delay: float = 0.0
    closed: SourceError | None = None
    group: AgentRules = field(default_factory=AgentRules)

    def hold(self, now: float) -> bool:
        """Say whether the rules are still valid."""
        return 0 <= now - self.since < self.lasts

    def check(self, url: URL) -> None:
        """Raise ``Refused`` or ``Unreachable`` if the URL must not be fetched."""
        if self.closed:
            raise type(self.closed)(*self.closed.args)
        if not self.group.allows(url.raw_path_qs):
            raise Refused(f"{url.raw_host}: its robots.txt forbids this page")


def rules(state: HostState) -> HostRules:
    """Return the rules that follow from the last answer for robots.txt.

    2xx: as written. 4xx: everything is allowed. No answer, 5xx, or 429 (a host that is
    too busy has not given permission): nothing is (section 2.3.1).
    """
    if not _is_final(state.robots_status):
        why = Unreachable(f"{state.name}: its robots.txt could not be read")
        return HostRules(state.robots_at, RETRY, closed=why)
    if state.robots_status >= 300 or not state.robots.strip():
        return HostRules(state.robots_at, FRESH)
    group = read_group(state.robots, AGENT)
    delay = min(group.delay, LONGEST_CRAWL_DELAY)
    return HostRules(state.robots_at, FRESH, delay, group=group)


def _is_final(status: int) -> bool:
    return 200 <= status < 500 and status != 429


def after_robots(state: HostState, status: int, body: bytes, now: float) -> HostState:
    """Return the state of a host after its robots.txt was fetched.

    ``status`` 0 means that there was no answer. A copy from the last 30 days is kept
    after a failure.
    """
    if not _is_final(status):
        if _is_final(state.robots_status) and 0 <= now - state.robots_at < STALE:
            return state
        body = b""
    text = body[:LARGEST].decode("utf-8-sig", "replace")
    return replace(state, robots=text, robots_status=status, robots_at=now)
