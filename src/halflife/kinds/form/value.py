"""What requests buy at a database behind a form.

The quality of its copy is the share of what there is that the copy has, and has as it
is: records that came since the last look are missing, and records that changed or went
are wrong.
"""

from dataclasses import replace
from math import inf

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.kinds.form import runner
from halflife.kinds.form.settings import FormConfig
from halflife.market.curves import Decay
from halflife.market.price import QUICKEST
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.known.content import measure
from halflife.queries.turn_result import PlannedQuery
from halflife.queries.unseen import UnseenRecords
from halflife.stores import Store

FARTHEST = 365.0  # days that anything is foreseen
HORIZONS = 40
PLANNED = 200  # requests that are thought of at a time


def held(store: Store, source: FormConfig) -> FormCopy | None:
    """Return the copy, if there is one."""
    copy = runner.held(store, source)
    return copy if copy.records else None


def decay(copy: FormCopy, wish: FormWish, confidence: float) -> Decay:
    """Return how the copy's quality falls after everything was looked at."""
    ahead, mean, low, _ = bounds(copy, wish, confidence)
    return Decay(ahead, mean, low)


def bounds(
    copy: FormCopy, wish: FormWish, confidence: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return days ahead, and then the copy's quality: its mean, low and high.

    Of N records each is still true after t days with the chance S(t), and r t are new:
    N S(t) / (N + r t). Low takes the highest credible rate and the lowest credible
    share, S less its binomial spread; high the lowest rate and the highest share. The
    rate's ends are those of its Gamma posterior, taken as normal. Each bound holds
    with the confidence, so both hold with 2 confidence - 1. Records that the form
    reports and that are not held are missing whatever the time (``found``).
    """
    rate, watched = copy.arrival
    n = len(copy.records)
    z = max(float(lazy_scipy.ndtri(confidence)), 0.0)
    ahead = np.geomspace(QUICKEST, FARTHEST, HORIZONS)
    true = np.ones(ahead.size) if wish.purpose == "new" else _true(copy, wish, ahead)
    spread = z * np.sqrt(true * (1.0 - true) / n)
    doubt = z * np.sqrt(rate / watched)
    comes = wish.purpose != "known"

    def share(still: Floats, pace: float) -> Floats:
        new = max(pace, 0.0) * ahead if comes else 0.0
        return np.minimum.accumulate(np.clip(still, 0.0, 1.0) * n / (n + new))

    low, mean = share(true - spread, rate + doubt), share(true, rate)
    there, least, best = found(copy, wish)
    high = share(true + spread, rate - doubt)
    return ahead, mean * there, low * least, high * best


def found(copy: FormCopy, wish: FormWish) -> tuple[float, float, float]:
    """Return the share of the records there are that is held: likely, least and most.

    N / (N + M) for N records held and M that are reported and missing, or that queries
    are likely to hide which may have more than they showed (``queries.unseen``). What a
    form reports and does not show, though it shows everything, may not be there at all,
    so the most that the share may be leaves it out; the least has all that may be
    hidden.
    """
    if wish.purpose == "known":
        return 1.0, 1.0, 1.0
    n, hidden = max(len(copy.records), 1), copy.unseen or UnseenRecords()
    fewest, most = copy.missing_span
    likely = copy.missing or hidden.likely
    return n / (n + likely), n / (n + max(most, hidden.most)), n / (n + fewest)


def _true(copy: FormCopy, wish: FormWish, ahead: Floats) -> Floats:
    """Return what share of the copy's records is still true after so many days."""
    # Whatever differs by how much: a share of the copy is true, or it is not.
    said = ",".join(wish.measure.columns)
    changed = replace(wish, measure=measure(f"changed:{said}" if said else "changed"))
    growth = copy.copy(changed, copy.last).growth()
    n = len(copy.records)
    lost = [float(np.mean(growth.mean(np.full(n, t)))) for t in ahead]
    return np.clip(1.0 - np.array(lost), 0.0, 1.0)


def whole(copy: FormCopy, source: FormConfig) -> float:
    """Return the requests that a look at everything takes, at least."""
    return max(len(copy.records) / source.per_page, 1.0)


def steps(
    store: Store, source: FormConfig, now: float, copy: FormCopy | None = None
) -> list[PlannedQuery]:
    """Return what could be asked next, best first, each with what it buys."""
    return runner.plan(store, source, now, PLANNED, copy)


def gains(
    copy: FormCopy, found: list[PlannedQuery], most: float = inf
) -> tuple[Floats, Floats]:
    """Return requests and quality-days of steps, each for ``most`` requests at most.

    A step buys records put right times days, so a share of the copy times days; the
    first requests of a dear one buy their part of it.
    """
    requests = np.array([min(s.requests, most) for s in found], dtype=np.float64)
    gain = np.array([step.gain for step in found], dtype=np.float64) * requests
    return requests, gain / max(len(copy.records), 1)


def measure_of(source: FormConfig) -> str:
    """Return what the quality of a form's copy is called."""
    return "content" if source.purpose == "known" else "recall"
