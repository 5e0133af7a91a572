"""Circuit breakers: sources that fail are not fetched for a while, then tried once.

For pages the gate does this by host. A listing, a search or a form works or fails as a
whole: after a failure it waits, twice as long each time, up to a day; the one fetch
after that shows whether it works again.
"""

from dataclasses import astuple, dataclass, replace

from halflife.net.pacing import LONGEST_CLOSURE, back_off
from halflife.stores import NoteBook
from halflife.stores.notes.breaker import BREAKER, BreakerState

AGAIN = 1.0 / 24.0  # days until the first repetition of a fetch whose answer is held
DOUBLINGS = 5  # of that time; more would exceed the longest closure
OPEN = 3  # failures in a row after which a source counts as failing


@dataclass(frozen=True, slots=True)
class Breaker(BreakerState):
    """The circuit breaker of a source."""

    def closed_for(self, now: float) -> float:
        """Return the days for which the source is not fetched.

        A time beyond the longest closure was written by a wrong clock and ignored.
        """
        wait = self.not_before - now
        return 0.0 if wait > 2.0 * LONGEST_CLOSURE else max(wait, 0.0)

    @property
    def failing(self) -> bool:
        """Whether the source counts as failing."""
        return self.failures >= OPEN

    def fine(self, now: float) -> "Breaker":
        """Return the breaker after a good fetch."""
        return Breaker(well=now)

    def held(self, now: float, *, shown: bool = False) -> "Breaker":
        """Return the breaker after an answer that is held for a decision.

        Until then the source probably gives the same answer, so it is fetched after an
        hour, then after two, and so on up to a day. If what it shows was taken
        (``shown``), another fetch brings what is new, and it waits for an hour only.
        """
        before = 0 if shown else self.undecided
        wait = min(AGAIN * 2.0 ** min(before, DOUBLINGS), LONGEST_CLOSURE)
        return Breaker(0, now + wait, now, "", before + 1)

    def settled(self, now: float) -> "Breaker":
        """Return the breaker after a decision: the source may be fetched at once."""
        return replace(self, not_before=min(self.not_before, now), undecided=0)

    def failed(self, name: str, now: float, trouble: str) -> "Breaker":
        """Return the breaker after one more failure."""
        failures = self.failures + 1
        wait = back_off(name, failures)
        well = min(self.well or now, now)  # the outage begins with the first failure
        return Breaker(failures, now + wait, well, trouble)


def recall(store: NoteBook, source: str) -> Breaker:
    """Return the stored breaker of a source."""
    kept = BREAKER.load(store, source)
    return Breaker(*astuple(kept)) if kept else Breaker()


def refresh(store: NoteBook, breakers: dict[str, Breaker]) -> dict[str, Breaker]:
    """Return the breakers, read again where a decision may have been made."""
    for name, breaker in breakers.items():
        if breaker.undecided:
            breakers[name] = recall(store, name)
    return breakers


def note_decision(store: NoteBook, source: str, now: float) -> None:
    """Record that the answers of a source were decided on."""
    breaker = recall(store, source)
    if breaker.undecided:
        remember(store, source, breaker.settled(now))


def remember(store: NoteBook, source: str, breaker: Breaker) -> None:
    """Store the breaker of a source."""
    BREAKER.save(store, breaker, source)
