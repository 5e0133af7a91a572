"""The value of requests at a database behind a form.

The quality of its copy is the share of the existing records that the copy has, and has
right: records that arrived since the last turn are missing, and records that changed or
departed are wrong.
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

FARTHEST = 365.0  # days ahead of the longest forecast
HORIZONS = 40
PLANNED = 200  # requests that are planned at a time


def load_copy(store: Store, source: FormConfig) -> FormCopy | None:
    """Return the copy, if there is one."""
    copy = runner.load_copy(store, source)
    return copy if copy.records else None


def decay(copy: FormCopy, wish: FormWish, confidence: float) -> Decay:
    """Return how the copy's quality decays after a full fetch."""
    ahead, mean, low, _ = bounds(copy, wish, confidence)
    return Decay(ahead, mean, low)


def bounds(
    copy: FormCopy, wish: FormWish, confidence: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return days ahead, and then the copy's quality: its mean, low and high.

    Of N records each is still true after t days with the chance S(t), and r t are new:
    N S(t) / (N + r t). Low uses the highest credible rate and the lowest credible
    share, S less its binomial spread; high the lowest rate and the highest share. The
    rate's ends are those of its Gamma posterior, approximated as normal. Each bound
    holds with the confidence, so both hold with 2 confidence - 1. Records that the form
    reports and the copy lacks are missing at any time (``held_share``).
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
    there, least, best = held_share(copy, wish)
    high = share(true + spread, rate - doubt)
    return ahead, mean * there, low * least, high * best


def held_share(copy: FormCopy, wish: FormWish) -> tuple[float, float, float]:
    """Return the share of the existing records in the copy: likely, least and most.

    N / (N + M) for N records in the copy and M that are reported and missing, or that
    are likely hidden by queries with more hits than they showed (``queries.unseen``).
    Records that a form reports but does not show, though it shows everything, may not
    exist, so the highest share leaves them out; the lowest has all possible ones.
    """
    if wish.purpose == "known":
        return 1.0, 1.0, 1.0
    n, hidden = max(len(copy.records), 1), copy.unseen or UnseenRecords()
    fewest, most = copy.missing_span
    likely = copy.missing or hidden.likely
    return n / (n + likely), n / (n + max(most, hidden.most)), n / (n + fewest)


def _true(copy: FormCopy, wish: FormWish, ahead: Floats) -> Floats:
    """Return the share of the copy's records that is still true at each age."""
    # By whatever measure records differ, here a record is true or it is not.
    columns = ",".join(wish.measure.columns)
    changed = replace(
        wish, measure=measure(f"changed:{columns}" if columns else "changed")
    )
    growth = copy.copy(changed, copy.last).growth()
    n = len(copy.records)
    lost = [float(np.mean(growth.mean(np.full(n, t)))) for t in ahead]
    return np.clip(1.0 - np.array(lost), 0.0, 1.0)


def whole(copy: FormCopy, source: FormConfig) -> float:
    """Return the least requests of a full fetch."""
    return max(len(copy.records) / source.per_page, 1.0)


def gains(
    copy: FormCopy, queries: list[PlannedQuery], most: float = inf
) -> tuple[Floats, Floats]:
    """Return requests and quality-days of queries, each for at most ``most`` requests.

    A query gains corrected records times days, so a share of the copy times days; the
    first requests of a long query gain their proportion of it.
    """
    requests = np.array([min(s.requests, most) for s in queries], dtype=np.float64)
    gain = np.array([step.gain for step in queries], dtype=np.float64) * requests
    return requests, gain / max(len(copy.records), 1)


def measure_of(source: FormConfig) -> str:
    """Return the name of the quality measure of a form's copy."""
    return "content" if source.purpose == "known" else "recall"
