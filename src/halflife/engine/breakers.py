"""Sources that fail are left alone for a while, and tried again by one look.

Pages have this by host, in the gate. A listing, a search or a form is one thing that
works or does not: after a failure it waits, twice as long each time, up to a day; the
look after that is the only one, and decides whether it is well again.
"""

from dataclasses import astuple, dataclass, replace

from halflife.net.pacing import LONGEST_CLOSURE, back_off
from halflife.stores import NoteBook
from halflife.stores.notes.breaker import BREAKER, BreakerState

AGAIN = 1.0 / 24.0  # days until an answer that was held is asked for again, at first
DOUBLINGS = 5  # of that time: it is longer than the longest closure then
OPEN = 3  # failures in a row from which on a source counts as failing


@dataclass(frozen=True, slots=True)
class Breaker(BreakerState):
    """How it goes with a source, and what follows from that."""

    def closed_for(self, now: float) -> float:
        """Return the days for which it is left alone.

        A time beyond the longest closure was written by a clock that was wrong.
        """
        wait = self.not_before - now
        return 0.0 if wait > 2.0 * LONGEST_CLOSURE else max(wait, 0.0)

    @property
    def failing(self) -> bool:
        """Whether it counts as failing, not as having hiccups."""
        return self.failures >= OPEN

    def fine(self, now: float) -> "Breaker":
        """Return how it goes after a good look."""
        return Breaker(well=now)

    def held(self, now: float) -> "Breaker":
        """Return how it goes after an answer that somebody has to decide on.

        Until that is done it is likely to say the same again, so it is asked after an
        hour, then after two, and so on up to a day.
        """
        wait = min(AGAIN * 2.0 ** min(self.undecided, DOUBLINGS), LONGEST_CLOSURE)
        return Breaker(0, now + wait, now, "", self.undecided + 1)

    def settled(self, now: float) -> "Breaker":
        """Return how it goes after somebody has decided: it may be asked at once."""
        return replace(self, not_before=min(self.not_before, now), undecided=0)

    def failed(self, name: str, now: float, trouble: str) -> "Breaker":
        """Return how it goes after one more failure."""
        failures = self.failures + 1
        wait = back_off(name, failures)
        well = min(self.well or now, now)  # silence begins with the first failure
        return Breaker(failures, now + wait, well, trouble)


def recall(store: NoteBook, source: str) -> Breaker:
    """Return how it goes with a source, as far as it was written down."""
    kept = BREAKER.load(store, source)
    return Breaker(*astuple(kept)) if kept else Breaker()


def renewed(store: NoteBook, known: dict[str, Breaker]) -> dict[str, Breaker]:
    """Return the same, read anew where somebody may have decided meanwhile."""
    for name, one in known.items():
        if one.undecided:
            known[name] = recall(store, name)
    return known


def decided(store: NoteBook, source: str, now: float) -> None:
    """Take in that somebody has decided on the answers of a source."""
    known = recall(store, source)
    if known.undecided:
        remember(store, source, known.settled(now))


def remember(store: NoteBook, source: str, breaker: Breaker) -> None:
    """Write down how it goes with a source."""
    BREAKER.save(store, breaker, source)
