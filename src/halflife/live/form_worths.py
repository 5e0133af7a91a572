"""What requests buy at a database behind a form.

The quality of its copy is the share of what there is that the copy has, and has as it
is: records that came since the last look are missing, and records that changed or went
are wrong.
"""

from dataclasses import replace

import numpy as np

from halflife import special
from halflife.arrays import Floats
from halflife.config import SourceConfig
from halflife.live import upkeeping
from halflife.market.curves import Decay
from halflife.queries.known.content import measure
from halflife.queries.upkeep import Asked, Held, Wish
from halflife.stores import Store

FARTHEST = 365.0  # days that anything is foreseen
HORIZONS = 24
PLANNED = 200  # requests that are thought of at a time


def held(store: Store, source: SourceConfig) -> Held | None:
    """Return the copy, if there is one."""
    copy = upkeeping.held(store, source)
    return copy if copy.records else None


def decay(copy: Held, wish: Wish, confidence: float) -> Decay:
    """Return how the copy's quality falls after everything was looked at.

    Of N records each is still true after t days with the chance S(t), and r t are new:
    N S(t) / (N + r t). Records that came in a row share their luck, so the lower bound
    is that of the rate's Gamma posterior, and of S less its binomial spread.
    """
    rate, watched = copy.arrival
    n = len(copy.records)
    z = max(float(special.ndtri(confidence)), 0.0)
    ahead = np.geomspace(1.0 / 24.0, FARTHEST, HORIZONS)
    true = np.ones(ahead.size)
    if wish.purpose != "new":
        # Whatever differs by how much: a share of the copy is true, or it is not.
        said = ",".join(wish.measure.columns)
        share = replace(wish, measure=measure(f"changed:{said}" if said else "changed"))
        growth = copy.copy(share, copy.last).growth()
        each = [1.0 - float(np.mean(growth.mean(np.full(n, t)))) for t in ahead]
        true = np.clip(each, 0.0, 1.0)
    missing = rate * ahead if wish.purpose != "known" else np.zeros(ahead.size)
    high = (rate + z * np.sqrt(rate / watched)) * ahead if missing.any() else missing
    spread = z * np.sqrt(true * (1.0 - true) / n)
    low = np.maximum(true - spread, 0.0) * n / (n + high)
    return Decay(ahead, np.minimum.accumulate(true * n / (n + missing)), low)


def whole(copy: Held, source: SourceConfig) -> float:
    """Return the requests that a look at everything takes, at least."""
    return max(len(copy.records) / source.per_page, 1.0)


def steps(store: Store, source: SourceConfig, now: float) -> list[Asked]:
    """Return what could be asked next, best first, each with what it buys."""
    return upkeeping.plan(store, source, now, PLANNED)


def gains(copy: Held, found: list[Asked]) -> tuple[Floats, Floats]:
    """Return requests and quality-days of steps.

    A step buys records put right times days, so a share of the copy times days.
    """
    requests = np.array([step.requests for step in found], dtype=np.float64)
    gain = np.array([step.gain for step in found], dtype=np.float64) * requests
    return requests, gain / max(len(copy.records), 1)


def measure_of(source: SourceConfig) -> str:
    """Return what the quality of a form's copy is called."""
    return "content" if source.purpose == "known" else "recall"
