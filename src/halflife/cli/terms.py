"""Why an item is, or is not, fetched now: the terms of its gain, in words."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from halflife.allocation import Objective, allocate, index
from halflife.cli.show import date, figure, span
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.plan import Plan
from halflife.core.view import Survival, View
from halflife.core.wording import count, number
from halflife.kinds.pages.state import sampled
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.models.quality import item_blocks
from halflife.policies.champion import PatientIndex
from halflife.policies.index import NEVER_SEEN_DAYS, Index
from halflife.policies.valuation import gain_policy
from halflife.policies.view_rows import take_rows

LATEST = 3650.0  # days; what would be due later than this is never due
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class PlanPlace:
    """The place of an item in the plan of a policy that does not rank by gain.

    Attributes:
        policy: Its name.
        requests: The number of requests that it planned.
        place: The item's place in that plan, from 1 on; None if it is not in it.
        why: The reason; empty if it is not in it.

    """

    policy: str
    requests: int
    place: int | None
    why: str = ""

    def line(self) -> str:
        """Return the place as a sentence."""
        requests = count(self.requests, "request")
        if self.place is None:
            return f"so {self.policy} does not fetch it with its next {requests}"
        return (
            f"so {self.policy} fetches it as number {self.place} with its next "
            f"{requests}: {self.why}"
        )


def find_place(policy: str, plan: Plan, key: str, requests: int) -> PlanPlace:
    """Return the place of an item in a plan of so many requests."""
    if key not in plan.keys:
        return PlanPlace(policy, requests, None)
    place = plan.keys.index(key)
    return PlanPlace(policy, requests, place + 1, plan[place].why)


@dataclass(frozen=True, slots=True)
class ItemTerms:
    """The terms that decide whether one item is fetched now; times in days.

    Attributes:
        key: The item.
        weight: How much it matters.
        cost: Requests of one fetch.
        looks: Successful fetches so far.
        changes: How many of them found a change.
        age: Days since the last successful fetch; ``inf`` if there was none.
        exposure: The age in days at the usual pace: more than the age where hints or
            neighbours indicate a busy time.
        rate: Estimated changes a day: mean, low, high.
        stale: The probability that it has changed since its last fetch.
        gain: The gain of a fetch now, per request.
        parts: The terms of the gain, by name.
        rank: The number of items with a larger gain.
        beside: The items right before and after it in that order, and their gains.
        of: The number of items.
        price: The gain of the budget's last request in the long run.
        due: Days until the gain reaches the price; ``inf`` if it never does.
        choice: Its place in the plan of its policy, if that does not rank by gain.

    """

    key: str
    weight: float
    cost: float
    looks: int
    changes: int
    age: float
    exposure: float
    rate: tuple[float, float, float]
    stale: float
    gain: float
    parts: Mapping[str, float]
    rank: int
    beside: tuple[tuple[str, float], ...]
    of: int
    price: float
    due: float
    choice: PlanPlace | None = None

    def row(self, now: float) -> dict[str, object]:
        """Return the terms as plain values, for JSON."""
        held = self.looks > 0
        return {
            "key": self.key,
            "weight": self.weight,
            "cost": self.cost,
            "looks": self.looks,
            "changes": self.changes,
            "last_seen": date(now - self.age) if held else None,
            "age_days": self.age,
            "exposure_days": self.exposure,
            "rate_per_day": figure(*self.rate),
            "stale": self.stale,
            "gain": self.gain,
            "parts": dict(self.parts),
            "rank": self.rank,
            "of": self.of,
            "alternatives": [{"item": k, "gain": gain} for k, gain in self.beside],
            "price": self.price,
            "due": date(now + self.due),
            "due_days": self.due,
            "rate_from": self.rate_from,
            "choice": None if self.choice is None else asdict(self.choice),
        }

    @property
    def rate_from(self) -> str:
        """The evidence for the rate, in words."""
        if self.looks < 2:
            return "the other pages alone: this one was not fetched twice yet"
        if self.changes == 0:
            return "no change seen so far, weighed against how the other pages behave"
        if self.changes >= self.looks - 1:
            return "a change at every fetch: it may well be faster than we can see"
        return "its own fetches, weighed against how the other pages behave"

    def lines(self) -> list[str]:
        """Return the terms as sentences."""
        mean, low, high = self.rate
        seen = f"last seen {span(self.age)} ago" if self.looks else "never seen"
        lines = [
            (
                f"{seen}; {count(self.looks, 'fetch', 'fetches')} so far, "
                f"{self.changes} found a change"
            ),
            (
                f"changes {count(mean, 'time')} a day, 95 % between "
                f"{number(low, 2)} and {number(high, 2)}"
            ),
            f"  (from {self.rate_from})",
            f"{self.stale:.0%} likely to have changed since",
            *self._busy(),
            f"weight {number(self.weight, 6)}, {count(self.cost, 'request')} a fetch",
            f"gain of a fetch now: {number(self.gain, 3)}{self._made_of()}",
        ]
        if self.choice is not None:
            return [*lines, self.choice.line()]
        return [
            *lines,
            (
                f"the price of a request is {number(self.price, 3)}: "
                "in the long run the budget pays for gains from there on"
            ),
            f"{self.rank} of {count(self.of, 'item')} gain more now; next to it are:",
            *(f"  {number(gain, 3)}  {key}" for key, gain in self.beside),
            self._verdict(),
        ]

    def _busy(self) -> list[str]:
        """Return a line on the age as hints and neighbours weigh it, if it differs."""
        if not self.looks or self.exposure < 1.01 * self.age:
            return []
        usual = span(self.exposure)
        why = "hints and neighbouring pages say that more changed than usual"
        return [f"{why}: that time counts as {usual}"]

    def _made_of(self) -> str:
        if len(self.parts) < 2:
            return ""
        sums = ", ".join(
            f"{number(value, 3)} {name}" for name, value in self.parts.items()
        )
        return f" ({sums})"

    def _verdict(self) -> str:
        if self.due == 0:
            return "so it is due now"
        if not np.isfinite(self.due):
            return "so at this budget it is never worth a request"
        return f"so it is due in {span(self.due)}"


def terms(
    view: View, row: int, rule: Index, pace: float, choice: PlanPlace | None = None
) -> ItemTerms:
    """Return the terms of the item in this row of the view.

    ``pace`` is the budget in requests a day; the price of a request is that of the
    best fixed schedule under the current rate estimates. ``choice`` is the item's
    place in the plan of a policy that does not use the rule.
    """
    weight, cost = float(view.weight[row]), float(view.cost[row])
    survival, exposure = _survival(view, row), float(view.exposure[row])
    gains, losses = _gains(rule, view), _losses(rule)
    price = _price(view, rule.objective, pace)

    def part(loss: Objective, share: float, at: float) -> float:
        bought = float(index(survival, np.array([at]), loss)[0])
        return weight * share * bought / cost

    def gain(at: float) -> float:
        return sum(part(loss, share, at) for loss, share in losses.values())

    age = exposure if np.isfinite(exposure) else NEVER_SEEN_DAYS
    return ItemTerms(
        key=view.keys[row],
        weight=weight,
        cost=cost,
        looks=int(view.looks[row]),
        changes=int(view.changes[row]),
        age=float(view.age[row]),
        exposure=exposure,
        rate=_rate(view, row),
        stale=1.0 - float(survival.alive(np.array([exposure]))[0]),
        gain=float(gains[row]),
        parts={name: part(*which, age) for name, which in losses.items()},
        rank=int(np.count_nonzero(gains > gains[row])),
        beside=_beside(view, gains, row),
        of=len(view),
        price=price,
        due=_wait(gain, exposure, price) if np.isfinite(exposure) else 0.0,
        choice=choice,
    )


def rule_of(policy: object, objective: Objective) -> Index:
    """Return the index that a policy uses; the plain one if it uses none."""
    rule = gain_policy(policy)
    return rule if isinstance(rule, Index) else Index(objective)


def _gains(rule: Index, view: View) -> Floats:
    """Return the gain of a fetch of each item, computed in parts if there are many."""
    gains = np.empty(len(view))
    for at, _ in item_blocks(view):
        rows = np.arange(at.start, at.stop)
        part = view if rows.size == len(view) else take_rows(view, rows)
        gains[at] = rule.gain(part)
    return gains


def _price(view: View, objective: Objective, pace: float) -> float:
    """Return the gain of the last request, from a sample if there are many items."""
    rows = sampled(np.arange(len(view)))
    rate, weight, cost = view.rate[rows], view.weight[rows], view.cost[rows]
    part = float(cost.sum()) / max(float(view.cost.sum()), 1e-12)
    plan = allocate(rate, pace * part, weight=weight, cost=cost, objective=objective)
    return plan.price


def _losses(rule: Index) -> dict[str, tuple[Objective, float]]:
    """Return the losses that a rule minimises, and their shares."""
    losses: dict[str, tuple[Objective, float]] = {"gain": (rule.objective, 1.0)}
    if isinstance(rule, PatientIndex) and rule.patience:
        losses = {
            f"for {rule.objective}": (rule.objective, 1.0),
            "so that no item waits for ever": ("harmonic", rule.patience),
        }
    return losses


def _beside(view: View, gains: Floats, row: int) -> tuple[tuple[str, float], ...]:
    """Return the items right before and after one in order of gain."""
    order = np.argsort(-gains, kind="stable")
    place = int(np.flatnonzero(order == row)[0])
    near = [order[i] for i in (place - 1, place + 1) if 0 <= i < order.size]
    return tuple((view.keys[i], float(gains[i])) for i in near)


def _survival(view: View, row: int) -> Survival:
    """Return the survival function of one item."""
    if isinstance(view.survival, GammaSurvival):
        shape, exposure = view.survival.shape, view.survival.exposure
        return GammaSurvival(shape[[row]], exposure[[row]])
    return Exponential(view.rate[[row]])


def _rate(view: View, row: int) -> tuple[float, float, float]:
    """Return the mean of the rate and its central 95 % interval."""
    mean = float(view.rate[row])
    if not isinstance(view.survival, GammaSurvival):
        return mean, mean, mean
    shape = float(view.survival.shape[row])
    tail = (1.0 - CONFIDENCE) / 2.0
    exposure = float(view.survival.exposure[row])
    low, high = (float(lazy_scipy.gammaincinv(shape, q)) for q in (tail, 1.0 - tail))
    return mean, low / exposure, high / exposure


def _wait(gain: Callable[[float], float], age: float, price: float) -> float:
    """Return the days until the gain, which never falls with age, reaches the price."""
    if gain(age) >= price:
        return 0.0
    low, high = 0.0, 1 / 24
    while gain(age + high) < price:
        low, high = high, 2 * high
        if high > LATEST:
            return np.inf
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if gain(age + middle) < price else (low, middle)
    return high
