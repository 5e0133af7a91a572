"""Small real parts that tests of the web share."""

from dataclasses import dataclass, field

from halflife.core.errors import BudgetSpent
from halflife.core.host import HostState
from halflife.net.access import Access, GateSettings
from halflife.net.addresses import networks
from halflife.net.gate import Gate

LOOPBACK = networks(["127.0.0.0/8"])
HOME = Access(allow=LOOPBACK, robots=False)
OBEDIENT = Access(allow=LOOPBACK)
TODAY = 20_000.0  # 2024-10-04, in days


@dataclass
class Coins:
    """A purse of so many requests; ``paid`` counts what left it."""

    left: int = 10**6
    paid: int = 0

    def pay(self, requests: int = 1) -> None:
        if requests > self.left:
            raise BudgetSpent("the purse is empty")
        self.left -= requests
        self.paid += requests


@dataclass
class Book:
    """A host book in memory; it outlives a gate as a file would."""

    states: dict[str, HostState] = field(default_factory=dict)

    def host(self, name: str) -> HostState | None:
        return self.states.get(name)

    def save_host(self, state: HostState) -> None:
        self.states[state.name] = state


@dataclass
class Clock:
    """A clock that moves when told."""

    now: float = TODAY

    def __call__(self) -> float:
        return self.now


def make_gate(*, book=None, clock=None, resolver=None, **settings) -> Gate:
    """Return a gate in a hurry: no delay, short deadline."""
    settings = {"delay": 0.0, "deadline": 10.0, "names_for": 0, **settings}
    return Gate(
        GateSettings("https://example.org/about", **settings),
        hosts=book or Book(),
        clock=clock or Clock(),
        resolver=resolver,
    )
