"""What to do next with the requests at hand."""

from dataclasses import dataclass
from math import floor

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.value_curve import Offers
from halflife.market.limits import FREE, Limits

_TIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class TakenOffers:
    """What is done next.

    Attributes:
        rows: The offers taken, best first.
        requests: What they cost.
        gain: What they buy, in weighted quality-days.
        price: Gain per request of the last one taken for its gain; 0 if none was.
        waits: The offer that the rest is saved for; None if there is no such.

    """

    rows: Ints
    requests: float
    gain: float
    price: float
    waits: int | None = None


@dataclass(frozen=True, slots=True)
class OfferTurn:
    """Which offers may be taken now, whatever they gain.

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
    """Return the turn by the days since things were last done.

    Nothing is done again before ``soonest`` days, and nothing put off for longer
    than ``latest``, even if it gains nothing. What may wait for ever (``inf``) is not
    urgent, also where nobody knows when it was last done.
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
    """Return the offers that gain most per request, as far as the budget goes.

    A listing is read whole or not at all, so at the end of the budget something may
    not fit. If there will be no more, what fits of the rest is taken, or the dearest
    offer with what fits beside it, if that gains more: never less than half of the
    best, and all of it where each costs one request. If there will be (``patient``),
    the rest is saved for what does not fit: else a listing that costs more than a
    turn's budget would never be read. Offers below ``price``, the gain per request
    that is usual in the long run, are left for later, unless they are urgent.
    """
    dense = np.maximum(offers.cost, _TIGHT)
    np.divide(offers.gain, dense, out=dense)
    urgent = np.zeros(len(offers), np.bool_) if turn is None else turn.urgent
    wanted = urgent | ((offers.gain > 0) & (dense >= price * (1 - _TIGHT)))
    if turn is not None:
        wanted &= turn.ready
    book = _Book(offers, limits, budget)
    if patient:
        wanted = _foremost(dense, wanted, urgent, book.most())
    rows = np.flatnonzero(wanted)
    _, rank = np.unique(np.array(offers.sources, dtype=str), return_inverse=True)
    order = rows[np.lexsort((rank[offers.source[rows]], -dense[rows], ~urgent[rows]))]
    chosen, waits = book.walk(order, patient=patient)
    if not patient and chosen.size < order.size:
        chosen = _better(offers, limits, budget, order, chosen, urgent)
    paid = ~urgent[chosen]
    return TakenOffers(
        chosen,
        float(offers.cost[chosen].sum()),
        float(offers.gain[chosen].sum()),
        float(dense[chosen][paid].min(initial=np.inf)) if paid.any() else 0.0,
        waits,
    )


def _foremost(dense: Floats, wanted: Bools, urgent: Bools, most: float) -> Bools:
    """Return which offers that are wanted may be among the first so many.

    Those that gain as much as the last of them are among them.
    """
    if most >= np.count_nonzero(wanted):
        return wanted
    first = wanted & urgent
    left = int(most) - int(np.count_nonzero(first))
    if left <= 0:
        return first
    late = dense[wanted & ~urgent]
    late.partition(late.size - left)
    foremost: Bools = first | (wanted & (dense >= late[late.size - left]))
    return foremost


def _better(
    offers: Offers,
    limits: Limits,
    budget: float,
    order: Ints,
    chosen: Ints,
    urgent: Bools,
) -> Ints:
    """Return the choice, or one that begins with the best offer that was left out."""
    left = order[~np.isin(order, chosen) & ~urgent[order]]
    if left.size == 0:
        return chosen
    best = int(left[np.argmax(offers.gain[left])])
    forced = order[urgent[order]]
    first = np.concatenate([forced, [best], order[(order != best) & ~urgent[order]]])
    other, _ = _Book(offers, limits, budget).walk(first.astype(np.intp), patient=False)
    return other if offers.gain[other].sum() > offers.gain[chosen].sum() else chosen


class _Book:
    """Keeps count of what sources, hosts and the budget still allow."""

    def __init__(self, offers: Offers, limits: Limits, budget: float) -> None:
        group, room = limits.hosts(offers.sources)
        self.cost = offers.cost
        one = np.zeros(len(offers), dtype=np.intp)
        self.of = (one, offers.source, group[offers.source])
        self.left = [np.array([budget]), limits.caps(offers.sources), room]

    def most(self) -> float:
        """Return of how many offers the walk ends at the latest, if it is patient.

        Where nothing but the budget has a limit, it ends at the first that is too dear.
        """
        cheapest = float(self.cost.min(initial=np.inf))
        budget = float(self.left[0][0])
        if cheapest <= 0 or np.isinf(budget) or self._limited():
            return np.inf
        return max(floor((budget + _TIGHT) / cheapest) + 2.0, 1.0)

    def _limited(self) -> bool:
        """Say whether anything but the budget has a limit."""
        return any(bool(np.isfinite(left).any()) for left in self.left[1:])

    def walk(self, order: Ints, *, patient: bool) -> tuple[Ints, int | None]:
        """Return what fits, in this order, and the offer that is waited for.

        The longest run of offers that fits is taken at once; then the first that
        does not fit is left out, with all that can no longer fit either.
        """
        chosen: list[Ints] = []
        while order.size:
            some = self._run(order)
            self._pay(order[:some])
            chosen.append(order[:some])
            order = order[some:]
            if order.size and patient and self._only_budget(int(order[0])):
                return np.concatenate(chosen), int(order[0])
            order = order[self._fits(order)]
        return np.concatenate([*chosen, np.zeros(0, dtype=np.intp)]), None

    def _run(self, order: Ints) -> int:
        """Return how many offers fit one after the other."""
        for of, left in zip(self.of, self.left, strict=True):
            if np.isfinite(left).any():
                spent = _running(self.cost[order], of[order])
                over = spent > left[of[order]] + _TIGHT
                if over.any():  # what comes after does not matter
                    order = order[: np.argmax(over)]
        return order.size

    def _pay(self, rows: Ints) -> None:
        for i, of in enumerate(self.of):
            left = self.left[i]
            self.left[i] = left - np.bincount(of[rows], self.cost[rows], left.size)

    def _fits(self, rows: Ints) -> Bools:
        fits = np.ones(rows.size, dtype=np.bool_)
        for of, left in zip(self.of, self.left, strict=True):
            fits &= self.cost[rows] <= left[of[rows]] + _TIGHT
        return fits

    def _only_budget(self, row: int) -> bool:
        """Return whether nothing but the budget keeps an offer from being taken."""
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
