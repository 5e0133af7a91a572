"""Choose the offers on which to spend the available requests."""

from dataclasses import dataclass
from math import floor

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.value_curve import Offers
from halflife.market.limits import FREE, Limits

_TIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class TakenOffers:
    """The chosen offers.

    Attributes:
        rows: The offers taken, best first.
        requests: Their cost.
        gain: Their gain, in weighted quality-days.
        price: Gain per request of the last one taken for its gain; 0 if none was.
        waits: The offer for which the rest is saved; None if there is none.

    """

    rows: Ints
    requests: float
    gain: float
    price: float
    waits: int | None = None


@dataclass(frozen=True, slots=True)
class OfferTurn:
    """Which offers may, or must, be taken now.

    Attributes:
        ready: Whether an offer may be taken: its least interval has passed and its
            window is open.
        urgent: Whether it must not wait: its longest interval has passed. Urgent
            offers come first.

    """

    ready: Bools
    urgent: Bools


def intervals(
    age: Floats, soonest: Floats | float, latest: Floats | float
) -> OfferTurn:
    """Return which offers are ready or urgent, by the days since they were last taken.

    No offer is taken again before ``soonest`` days, and none waits longer than
    ``latest``, even if it gains nothing. An offer that may wait for ever (``inf``) is
    never urgent, even if it was never taken.
    """
    ready = age >= soonest - _TIGHT
    return OfferTurn(ready, ready & np.isfinite(latest) & (age >= latest - _TIGHT))


def take(
    offers: Offers,
    budget: float,
    limits: Limits = FREE,
    *,
    turn: OfferTurn | None = None,
    price: float = 0.0,
    patient: bool = False,
) -> TakenOffers:
    """Return the offers that gain most per request, within the budget.

    A listing is read whole or not at all, so the next offer may not fit into the rest
    of the budget. Without further income, smaller offers fill the rest, or the best
    offer left out replaces some, if that gains more: the gain is at least half of the
    optimum, and all of it where each offer costs one request. With further income
    (``patient``) the rest is saved for the offer that does not fit: a listing that
    costs more than a turn's budget would otherwise never be read. Offers below
    ``price``, the usual gain per request in the long run, wait unless they are urgent.
    """
    per_request = np.maximum(offers.cost, _TIGHT)
    np.divide(offers.gain, per_request, out=per_request)
    urgent = np.zeros(len(offers), np.bool_) if turn is None else turn.urgent
    wanted = urgent | ((offers.gain > 0) & (per_request >= price * (1 - _TIGHT)))
    if turn is not None:
        wanted &= turn.ready
    counts = _Book(offers, limits, budget)
    if patient:
        wanted = _foremost(per_request, wanted, urgent, counts.most())
    rows = np.flatnonzero(wanted)
    _, rank = np.unique(np.array(offers.sources, dtype=str), return_inverse=True)
    order = rows[
        np.lexsort((rank[offers.source[rows]], -per_request[rows], ~urgent[rows]))
    ]
    chosen, waits = counts.walk(order, patient=patient)
    if not patient and chosen.size < order.size:
        chosen = _better(offers, limits, budget, order, chosen, urgent)
    paid = ~urgent[chosen]
    return TakenOffers(
        chosen,
        float(offers.cost[chosen].sum()),
        float(offers.gain[chosen].sum()),
        float(per_request[chosen][paid].min(initial=np.inf)) if paid.any() else 0.0,
        waits,
    )


def _foremost(per_request: Floats, wanted: Bools, urgent: Bools, most: float) -> Bools:
    """Return which wanted offers may be among the first ``most``.

    Ties with the last of them are included.
    """
    if most >= np.count_nonzero(wanted):
        return wanted
    first = wanted & urgent
    left = int(most) - int(np.count_nonzero(first))
    if left <= 0:
        return first
    rest = per_request[wanted & ~urgent]
    rest.partition(rest.size - left)
    foremost: Bools = first | (wanted & (per_request >= rest[rest.size - left]))
    return foremost


def _better(
    offers: Offers,
    limits: Limits,
    budget: float,
    order: Ints,
    chosen: Ints,
    urgent: Bools,
) -> Ints:
    """Return the choice, or a better one that starts with the best offer left out."""
    left = order[~np.isin(order, chosen) & ~urgent[order]]
    if left.size == 0:
        return chosen
    best = int(left[np.argmax(offers.gain[left])])
    forced = order[urgent[order]]
    first = np.concatenate([forced, [best], order[(order != best) & ~urgent[order]]])
    other, _ = _Book(offers, limits, budget).walk(first.astype(np.intp), patient=False)
    return other if offers.gain[other].sum() > offers.gain[chosen].sum() else chosen


class _Book:
    """Counts what sources, hosts and the budget still allow."""

    def __init__(self, offers: Offers, limits: Limits, budget: float) -> None:
        group, room = limits.hosts(offers.sources)
        self.cost = offers.cost
        one = np.zeros(len(offers), dtype=np.intp)
        self.of = (one, offers.source, group[offers.source])
        self.left = [np.array([budget]), limits.caps(offers.sources), room]

    def most(self) -> float:
        """Return the most offers that a patient walk can visit.

        With no limit but the budget, it ends at the first offer that is too expensive.
        """
        cheapest = float(self.cost.min(initial=np.inf))
        budget = float(self.left[0][0])
        if cheapest <= 0 or np.isinf(budget) or self._limited():
            return np.inf
        return max(floor((budget + _TIGHT) / cheapest) + 2.0, 1.0)

    def _limited(self) -> bool:
        """Return whether there is a limit besides the budget."""
        return any(bool(np.isfinite(left).any()) for left in self.left[1:])

    def walk(self, order: Ints, *, patient: bool) -> tuple[Ints, int | None]:
        """Return the offers that fit, in this order, and the offer to save for.

        The longest run of offers that fits is taken at once; then the first offer
        that does not fit is left out, and all others that do not fit any more.
        """
        chosen: list[Ints] = []
        while order.size:
            count = self._run(order)
            self._pay(order[:count])
            chosen.append(order[:count])
            order = order[count:]
            if order.size and patient and self._only_budget(int(order[0])):
                return np.concatenate(chosen), int(order[0])
            # One that only needs more budget is what a patient walk waits for.
            order = order[self._fits(order, 1 if patient else 0)]
        return np.concatenate([*chosen, np.zeros(0, dtype=np.intp)]), None

    def _run(self, order: Ints) -> int:
        """Return how many offers fit from the start of the order."""
        for of, left in zip(self.of, self.left, strict=True):
            if np.isfinite(left).any():
                spent = _running(self.cost[order], of[order])
                over = spent > left[of[order]] + _TIGHT
                if over.any():  # later offers do not matter
                    order = order[: np.argmax(over)]
        return order.size

    def _pay(self, rows: Ints) -> None:
        for i, of in enumerate(self.of):
            left = self.left[i]
            self.left[i] = left - np.bincount(of[rows], self.cost[rows], left.size)

    def _fits(self, rows: Ints, since: int = 0) -> Bools:
        fits = np.ones(rows.size, dtype=np.bool_)
        for of, left in zip(self.of[since:], self.left[since:], strict=True):
            fits &= self.cost[rows] <= left[of[rows]] + _TIGHT
        return fits

    def _only_budget(self, row: int) -> bool:
        """Return whether only the budget prevents an offer."""
        pairs = zip(self.of[1:], self.left[1:], strict=True)
        return all(self.cost[row] <= left[of[row]] + _TIGHT for of, left in pairs)


def _running(cost: Floats, group: Ints) -> Floats:
    """Return the running sum of costs within each group."""
    if not group.size or (group == group[0]).all():
        return np.cumsum(cost)
    order = np.argsort(group, kind="stable")
    total = np.cumsum(cost[order])
    first = np.r_[True, np.diff(group[order]) != 0][: order.size]
    before = np.where(first, total - cost[order], -np.inf)
    out = np.empty(cost.size)
    out[order] = total - np.maximum.accumulate(before)
    return out
