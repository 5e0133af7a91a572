"""The value of requests at each source, whatever its kind, by what the store holds.

The quality of a source is the weighted mean over what it holds, so that it lies
between 0 and 1, and a source counts by its own weight, however many pages it has.
Bounds are such that at a random moment the quality lies above ``low`` with probability
``confidence``, and below ``high`` with the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any
from urllib.parse import urlsplit

from halflife.config import Config, SourceConfig
from halflife.core.arrays import Floats
from halflife.core.value_curve import Offers, join_offers
from halflife.engine import audit_report
from halflife.engine.bound_widening import FULL, Trust
from halflife.kinds.protocol import Known, Memo, Reading
from halflife.kinds.registry import kind_of
from halflife.market.limits import Limits
from halflife.stores import Store


class Appraiser:
    """Computes the value of requests at the sources of a store.

    Args:
        config: The settings.
        store: The store.
        now: The time, in days.
        memo: Results computed before; they hold until the next fetch.
        groups: Sources that are kept together.

    """

    def __init__(
        self,
        config: Config,
        store: Store,
        now: float,
        memo: Memo | None = None,
        groups: Sequence[Sequence[SourceConfig]] = (),
    ) -> None:
        self.config, self.store, self.now = config, store, now
        memo = Memo() if memo is None else memo
        self.reading = Reading(config, store, now, memo, groups)
        self._trusts: dict[str, Trust] = {}
        self._states: dict[str, Any] = {}

    def state(self, source: SourceConfig) -> Any:  # noqa: ANN401  (of its kind)
        """Return the state of a source; it is read once.

        Its kind says which other sources are read with it, as they inform one another.
        """
        if source.name not in self._states:
            kind = kind_of(source)
            alike = [s for s in self.config.source if kind_of(s) is kind]
            if all(other.name != source.name for other in alike):
                alike = [source]  # only the store knows it
            together = kind.read_with(source, alike)
            self._states |= kind.states(self.reading, together)
        return self._states[source.name]

    def trust(self, source: SourceConfig) -> Trust:
        """Return how far the forecasts of a source are trusted."""
        if source.name not in self._with_outcomes:
            return FULL
        if source.name not in self._trusts:
            found = audit_report.trust(self.store, source.name, self.now)
            self._trusts[source.name] = found
        return self._trusts[source.name]

    @cached_property
    def _with_outcomes(self) -> set[str]:
        """The sources with forecasts whose outcome is known."""
        return audit_report.sources_with_outcomes(self.store, self.now)

    def known(self, source: SourceConfig, confidence: float = 0.95) -> Known:
        """Return the value of requests at a source, with bounds as wide as trusted."""
        known = kind_of(source).worth(self.state(source), confidence)
        if known.worth is None:
            return known
        return replace(known, worth=self.trust(source).worth(known.worth))

    def offers(self, sources: Sequence[SourceConfig]) -> Offers:
        """Return the offers of sources now, in weighted quality-days."""
        return join_offers([kind_of(s).offers(self.state(s)) for s in sources])

    def age(self, source: SourceConfig) -> Floats:
        """Return the days since the last fetch, page by page where there are pages.

        ``inf`` where there was none yet.
        """
        return kind_of(source).ages(self.state(source))


def limits(config: Config, known: Sequence[Known]) -> Limits:
    """Return the least and the most requests a day of sources and their hosts.

    A longest interval requires a number of full fetches, a least interval allows no
    more. A schedule has its own rate, and no more unless there is a target beside it. A
    host takes one request at a time, the delay apart.
    """
    days, delay = config.budget.days, config.fetch.delay
    most, least, host = {}, {}, {}
    for value in known:
        source = value.source
        own = inf if source.max_requests is None else source.max_requests / days
        often = value.whole / source.soonest if source.soonest > 0 else inf
        most[source.name] = 0.0 if source.paused else min(own, often)
        least[source.name] = value.whole / source.latest
        if value.pace is not None:
            least[source.name] = max(least[source.name], value.pace)
            if not source.targets:
                most[source.name] = min(most[source.name], least[source.name])
        host[source.name] = _host(source)
    room = 86400.0 / delay if delay > 0 else inf
    return Limits(least, most, host, dict.fromkeys(host.values(), room))


def _host(source: SourceConfig) -> str:
    addresses = source.addresses
    return urlsplit(addresses[0]).netloc if addresses else source.name
