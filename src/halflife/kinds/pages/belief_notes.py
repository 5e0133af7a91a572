"""Learned parts of a belief, stored between runs."""

from halflife.belief.hints import HintedBelief
from halflife.belief.neighbours import NeighbourMemory, Neighbours
from halflife.belief.poisson import PoissonBelief, RatePrior
from halflife.core.store import NoteBook
from halflife.stores.notes.busy_times import BUSY_TIMES
from halflife.stores.notes.rate_prior import RATE_PRIOR


def recall(store: NoteBook) -> RatePrior | None:
    """Return the prior of rates that was learned last, if any."""
    return RATE_PRIOR.load(store)


def recall_busy(store: NoteBook) -> NeighbourMemory | None:
    """Return the memory of busy times that was learned last, if any."""
    return BUSY_TIMES.load(store)


def remember(store: NoteBook, belief: object) -> None:
    """Store what a belief has learned and cannot learn again from the evidence."""
    belief = belief.inner if isinstance(belief, HintedBelief) else belief
    if isinstance(belief, PoissonBelief) and belief.prior is not None:
        RATE_PRIOR.save(store, belief.prior)
    if isinstance(belief, Neighbours):
        memory = belief.memory()
        if memory is not None:
            BUSY_TIMES.save(store, memory)
