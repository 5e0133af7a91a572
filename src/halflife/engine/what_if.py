"""Compare the present budget with another; nothing is sent."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core.value_curve import Worth
from halflife.engine import appraisal
from halflife.kinds.protocol import Known
from halflife.market import Shares, share
from halflife.stores import Store

EVEN = 0.0005  # quality by which a source must change to gain or lose


@dataclass(frozen=True, slots=True)
class SourceChange:
    """The change at one source under another budget.

    Attributes:
        source: Its name.
        measure: The measure of its quality.
        weight: Its weight.
        requests: Requests a day now, and under the other budget.
        quality: Its quality in the long run now, and under the other budget.
        low: The lower bound of its quality under the other budget.
        high: The upper bound.

    """

    source: str
    measure: str
    weight: float
    requests: tuple[float, float]
    quality: tuple[float, float]
    low: float
    high: float

    @property
    def change(self) -> float:
        """The gain of quality."""
        return self.quality[1] - self.quality[0]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The present budget and another, compared.

    Attributes:
        pace: Requests a day of the present budget, and of the other.
        now: The share of each source now.
        then: The share of each source under the other budget.
        sources: The change at each source whose change rate is known.
        unknown: Sources of which too little is known, and why.

    """

    pace: tuple[float, float]
    now: Shares
    then: Shares
    sources: tuple[SourceChange, ...]
    unknown: tuple[tuple[str, str], ...]

    @property
    def winners(self) -> list[str]:
        """The sources that get better, most first."""
        return self._changed(1.0)

    @property
    def losers(self) -> list[str]:
        """The sources that get worse, most first."""
        return self._changed(-1.0)

    def _changed(self, sign: float) -> list[str]:
        found = [s for s in self.sources if sign * s.change > EVEN]
        order = sorted(found, key=lambda s: (-abs(s.change), s.source))
        return [one.source for one in order]


def compare_budgets(
    config: Config,
    store: Store,
    chosen: Sequence[SourceConfig],
    pace: float,
    now: float,
) -> WhatIf:
    """Return the comparison of ``pace`` requests a day with the present budget.

    Sources that a policy fetches at its own pace get that, and no more; the policy
    decides this pace under the other budget too.
    """
    known = _known(config, store, chosen, now)
    curves = [k.worth for k in known if k.worth is not None]
    present = share(curves, config.budget.pace, appraisal.limits(config, known))
    paced = [k.source for k in known if k.pace is not None]
    then = {k.source.name: k for k in _known(_with(config, pace), store, paced, now)}
    after = [then.get(k.source.name, k) for k in known]
    other = share(curves, pace, appraisal.limits(config, after))
    changes = [_change(curve, i, present, other) for i, curve in enumerate(curves)]
    return WhatIf(
        (config.budget.pace, pace),
        present,
        other,
        tuple(changes),
        tuple(_unknown(known)),
    )


def _known(
    config: Config, store: Store, chosen: Sequence[SourceConfig], now: float
) -> list[Known]:
    appraiser = appraisal.Appraiser(config, store, now)
    return [appraiser.known(source) for source in chosen]


def _with(config: Config, pace: float) -> Config:
    """Return the settings with a budget of so many requests a day, or about that."""
    requests = max(round(pace * config.budget.days), 1)
    budget = config.budget.model_copy(update={"requests": requests})
    return config.model_copy(update={"budget": budget})


def _unknown(known: Sequence[Known]) -> list[tuple[str, str]]:
    return [(k.source.name, k.why) for k in known if k.worth is None]


def _change(curve: Worth, i: int, now: Shares, then: Shares) -> SourceChange:
    requests = float(now.requests[i]), float(then.requests[i])
    low, high = (
        float(np.interp(requests[1], curve.requests, side))
        for side in (curve.low, curve.high)
    )
    quality = float(now.quality[i]), float(then.quality[i])
    return SourceChange(
        curve.source, curve.measure, curve.weight, requests, quality, low, high
    )
