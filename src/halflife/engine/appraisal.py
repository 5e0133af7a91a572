"""What requests buy at each source, whatever its kind, from what the store knows.

The quality of a source is the weighted mean over what it holds, so that it lies
between 0 and 1, and a source counts by its own weight, however many pages it has.
Bounds are such that at a random moment the quality lies above ``low`` with the chance
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
    """Says what requests buy at the sources of a store.

    Args:
        config: The settings.
        store: What is known.
        now: The time, in days.
        memo: What was worked out before; it holds until the next look.
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
        """Return what is known of a source; it is read once.

        Its kind says which others are read with it, as they inform one another.
        """
        if source.name not in self._states:
            kind = kind_of(source)
            alike = [s for s in self.config.source if kind_of(s) is kind]
            if all(one.name != source.name for one in alike):
                alike = [source]  # only the state file knows it
            together = kind.read_with(source, alike)
            self._states |= kind.states(self.reading, together)
        return self._states[source.name]

    def trust(self, source: SourceConfig) -> Trust:
        """Return how far what is believed of a source is trusted."""
        if source.name not in self._told:
            return FULL
        if source.name not in self._trusts:
            found = audit_report.trust(self.store, source.name, self.now)
            self._trusts[source.name] = found
        return self._trusts[source.name]

    @cached_property
    def _told(self) -> set[str]:
        """The sources of which forecasts have got their outcomes."""
        return audit_report.told(self.store, self.now)

    def known(self, source: SourceConfig, confidence: float = 0.95) -> Known:
        """Return what requests buy at a source, with bounds as far as it is trusted."""
        known = kind_of(source).worth(self.state(source), confidence)
        if known.worth is None:
            return known
        return replace(known, worth=self.trust(source).worth(known.worth))

    def offers(self, sources: Sequence[SourceConfig]) -> Offers:
        """Return what could be done now, in weighted quality-days."""
        return join_offers([kind_of(s).offers(self.state(s)) for s in sources])

    def age(self, source: SourceConfig, *, some: bool = False) -> Floats:
        """Return the days since the last look, page by page where there are pages.

        ``inf`` where nobody has looked yet. With ``some``, of pages that stand for all.
        """
        return kind_of(source).ages(self.state(source), some=some)


def limits(config: Config, known: Sequence[Known]) -> Limits:
    """Return what sources get at least, and they and their hosts take at most, a day.

    A longest interval asks for so many whole looks, a least one allows no more. A
    schedule takes what it takes, and no more unless there is a target beside it. A host
    takes one request at a time, the delay apart.
    """
    days, delay = config.budget.days, config.fetch.delay
    most, least, host = {}, {}, {}
    for one in known:
        source = one.source
        own = inf if source.max_requests is None else source.max_requests / days
        often = one.whole / source.soonest if source.soonest > 0 else inf
        most[source.name] = 0.0 if source.paused else min(own, often)
        least[source.name] = one.whole / source.latest
        if one.pace is not None:
            least[source.name] = max(least[source.name], one.pace)
            if not source.targets:
                most[source.name] = min(most[source.name], least[source.name])
        host[source.name] = _host(source)
    room = 86400.0 / delay if delay > 0 else inf
    return Limits(least, most, host, dict.fromkeys(host.values(), room))


def _host(source: SourceConfig) -> str:
    addresses = source.addresses
    return urlsplit(addresses[0]).netloc if addresses else source.name
