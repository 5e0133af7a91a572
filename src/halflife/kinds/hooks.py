"""Optional methods of a kind of source, each with a default.

The defaults suit a source that is read whole and keeps records. A kind overrides what
differs; the protocol (``kinds.protocol``) has the methods that every kind needs.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from halflife.config import SourceConfig
from halflife.kinds.terms import WHOLE, GrantTerms
from halflife.stores.notes.fault import FAULT

if TYPE_CHECKING:
    from halflife.core.arrays import Floats
    from halflife.core.lifetimes import Collection
    from halflife.engine.breakers import Breaker
    from halflife.kinds.page_view import PageRequest, PageTable, PageView, Panorama
    from halflife.kinds.protocol import Reading, Report, Step
    from halflife.recognition.guess import SourceGuess, TrialAnswer
    from halflife.stores import Store
    from halflife.stores.forecasts import IssuedForecast

Source = TypeVar("Source", bound=SourceConfig)


class Hooks(Generic[Source]):
    """The optional methods of a kind.

    Attributes:
        terms: On what terms requests are granted.
        not_synced: Why ``sync`` does not fetch it, in words; empty if it does.
        known_as: The name of the kind in answers of ``audit``; empty: its own name.
        answer_keys: The settings that decide how its answers are read.

    """

    terms: ClassVar[GrantTerms] = WHOLE
    not_synced: ClassVar[str] = ""
    known_as: ClassVar[str] = ""
    answer_keys: ClassVar[str] = "records, key and fields"

    # Sources that belong together.

    def together(self, source: Source, usual: str) -> str | None:
        """Return the key that sources which are fetched together share.

        None if it is fetched alone. ``usual`` is the policy that the settings name
        for all.
        """
        del source, usual
        return None

    def read_with(self, source: Source, alike: Sequence[Source]) -> Sequence[Source]:
        """Return the sources of this kind whose states are read with that of one."""
        del alike
        return (source,)

    # How an address that a user wants to add could be kept.

    def recognise(self, answer: "TrialAnswer") -> "Sequence[SourceGuess]":
        """Return how an answer to a first request could be kept, most likely first.

        It uses nothing but the answer, which is untrusted.
        """
        del answer
        return ()

    def confirm(
        self, guess: "SourceGuess", first: "TrialAnswer", second: "TrialAnswer"
    ) -> "SourceGuess":
        """Return one of its guesses, updated with the second page of the list."""
        del first, second
        return guess

    # What the store has on a source besides its state.

    def settled(
        self, store: "Store", source: Source, since: float
    ) -> "Sequence[IssuedForecast]":
        """Return the forecasts from which its target control learns."""
        return store.forecasts.settled(source.name, since)

    def count(self, store: "Store", source: Source) -> int | None:
        """Return how many items have an address each; None if items have none."""
        del store, source
        return None

    def gone(self, store: "Store", source: Source) -> Mapping[str, float]:
        """Return the addresses of items that no longer exist, and since when."""
        del store, source
        return {}

    def covers(self, source: Source, address: str) -> bool | None:
        """Say whether an address belongs to a source; None if settings do not say."""
        del source, address
        return None

    # Failures.

    def breaker(
        self, source: Source, old: "Breaker", report: "Report", now: float
    ) -> "Breaker":
        """Return the updated breaker: how long a failing source is left alone."""
        if report.held:
            return old.held(now, shown=report.scheduled)
        if report.trouble and not report.partly:
            return old.failed(source.name, now, report.trouble)
        return old.fine(now)

    def faults(self, store: "Store", source: Source) -> Sequence[str]:
        """Return why answers could not be handled in the last fetch, one an item."""
        fault = FAULT.load(store, source.name)
        return (fault,) if fault else ()

    def advice(self, store: "Store", source: Source) -> "Sequence[tuple[str, str]]":
        """Return how its settings could be improved: the observation, the advice."""
        del store, source
        return ()

    def keep_faults(
        self, store: "Store", group: Sequence[Source], faults: Mapping[str, str]
    ) -> None:
        """Save which answers of a group could not be handled, by source."""
        for name in (source.name for source in group if source.name in faults):
            if FAULT.load(store, name) != faults[name]:
                FAULT.save(store, faults[name], name)

    # What commands and the page show.

    def sync_cost(self, steps: "Sequence[Step]") -> float:
        """Return the requests of a sync that begins with these steps.

        ``inf`` if it goes on as far as the budget does, 0 if ``sync`` does not fetch
        such sources.
        """
        return 0.0 if self.not_synced else float(sum(step.requests for step in steps))

    def queries(self, reading: "Reading", source: Source, most: int) -> "list[Step]":
        """Return the next queries; none if the source is read whole."""
        del reading, source, most
        return []

    def own_table(
        self, reading: "Reading", sources: Sequence[Source]
    ) -> "PageTable | None":
        """Return its own table in ``status``; None: it uses that of all kinds."""
        del reading, sources
        return None

    def lifetimes(self, store: "Store", source: Source) -> "Collection | None":
        """Return the lifetimes of its objects if its forecasts follow from them."""
        del store, source
        return None

    def read_until(self, store: "Store", source: Source) -> float:
        """Return when newer items were last read; ``-inf`` if it is read whole."""
        del store, source
        return -math.inf

    def panorama(
        self, reading: "Reading", sources: Sequence[Source], ahead: "Floats"
    ) -> "Panorama | None":
        """Return all its sources at once, with the quality ``ahead`` days from now.

        For kinds whose sources are faster to describe together; None: one by one.
        """
        del reading, sources, ahead
        return None

    def page(self, request: "PageRequest[Source]") -> "PageView":
        """Return what the page of a source shows besides its quality and its runs."""
        from halflife.kinds.page_view import PageView  # noqa: PLC0415

        del request
        return PageView()
