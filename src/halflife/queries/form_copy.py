"""The copy of a database behind a form, and what it is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from halflife.core.forms import Interface
from halflife.core.object_store import NEVER, Attributes, Register, Spell
from halflife.queries.fresh.progress import NewRound
from halflife.queries.frontier import CrawlState
from halflife.queries.known.content import Measure, Weigh, measure, weigher
from halflife.queries.known.copies import Copy
from halflife.queries.known.progress import KnownRound
from halflife.queries.known.query_loop import ALPHA
from halflife.queries.known.word_counts import WordCounts
from halflife.queries.local import LocalRecords
from halflife.queries.policies import EXPECTED, INDEX, KnownPolicy, NewPolicy
from halflife.queries.random_check import CHECKED
from halflife.queries.reported_total import ReportedTotal
from halflife.queries.unseen import UnseenRecords
from halflife.queries.value_reads import FormReads

LEAST = 1.0  # days of observation that a rate needs, at least
Purpose: TypeAlias = Literal["new", "known", "both"]


@dataclass(frozen=True, slots=True)
class FormWish:
    """What a copy is for.

    Attributes:
        purpose: ``new``, to find new records; ``known``, to refresh those held;
            ``both``.
        measure: How versions of a record differ.
        weight: How much a record matters.
        date: The attribute that newest-first order sorts by; empty if unknown.
        new: The policy that finds new records.
        known: The policy that refreshes known records.
        max_staleness: The relative staleness that ``order-interval`` allows.
        corpus: What ``corpus`` policies scale; the copy if None.

    """

    purpose: Purpose = "both"
    measure: Measure = field(default_factory=lambda: measure("changed"))
    weight: Weigh = field(default_factory=lambda: weigher(None))
    date: str = ""
    new: NewPolicy = EXPECTED
    known: KnownPolicy = INDEX
    max_staleness: float = ALPHA
    corpus: WordCounts | None = None


@dataclass(frozen=True, slots=True)
class FormCopy:
    """The copy that a register holds.

    Attributes:
        records: The records held, by key, as last seen.
        came: When each was first seen, in days.
        seen: When each was last seen.
        gaps: The record, the days and both versions of each time between versions.
        last: When the source was last observed; ``-inf`` if never.
        since: When the first crawl ended; ``inf`` if it has not.
        crawl: The first crawl, if it was interrupted.
        gone: When each deleted record was first seen, last seen, and found gone.
        reported: How many records the form reports, if it does.
        unseen: How many records it may have that it never showed, if that is known.
        search: A search for missing records, if it was interrupted.
        new_round: A round for new records, if it was interrupted.
        known_round: A round for known records, if it was interrupted.
        lost: The attributes of each deleted record, in the order of ``gone``.
        reads: When its values were last read, as far as that was noted.

    """

    records: Mapping[str, Attributes]
    came: Mapping[str, float]
    seen: Mapping[str, float]
    gaps: Sequence[tuple[str, float, Attributes, Attributes]]
    last: float
    since: float = NEVER
    crawl: CrawlState | None = None
    gone: Sequence[tuple[float, float, float]] = ()
    reported: ReportedTotal | None = None
    unseen: UnseenRecords | None = None
    search: CrawlState | None = None
    new_round: NewRound | None = None
    known_round: KnownRound | None = None
    lost: Sequence[Attributes] = ()
    reads: FormReads = field(default_factory=FormReads)

    @classmethod
    def of(cls, register: Register) -> "FormCopy":
        """Return the copy of a register, without records missing from a snapshot."""
        running = {
            (spell.key, spell.spell): spell
            for spell in register.spells
            if spell.gone_by == NEVER and spell.missing_since == NEVER
        }
        latest = {place: (s.first_seen, s.attributes) for place, s in running.items()}
        gaps = []
        for version in register.versions:
            place = version.key, version.spell
            if place not in running or version.attributes is None:
                continue
            since, before = latest[place]
            between = version.seen_from - since
            gaps.append((version.key, between, before, version.attributes))
            latest[place] = version.seen_from, version.attributes
        for (key, number), (since, record) in latest.items():
            gaps.append((key, running[key, number].last_seen - since, record, record))
        gone = [spell for spell in register.spells if min(_ends(spell)) < NEVER]
        # Records drawn to check the copy do not show which are new.
        looks = [s for s in register.snapshots if s.valid and s.note != CHECKED]
        return cls(
            {key: record for (key, _), (_, record) in latest.items()},
            {spell.key: spell.first_seen for spell in running.values()},
            {spell.key: spell.last_seen for spell in running.values()},
            gaps,
            looks[-1].at if looks else -NEVER,
            # Snapshots that are neither complete nor annotated are parts of a crawl.
            next((look.at for look in looks if look.complete or look.note), NEVER),
            gone=[
                (spell.first_seen, spell.last_seen, min(_ends(spell))) for spell in gone
            ],
            lost=[spell.attributes for spell in gone],
        )

    @property
    def begun(self) -> bool:
        """Whether the first crawl has ended, and upkeep has begun."""
        return self.since < NEVER

    @property
    def missing(self) -> int:
        """Records that the form reports and that are not held."""
        return self.reported.missing(len(self.records)) if self.reported else 0

    @property
    def unfound(self) -> int:
        """Those of them that the form did not show when everything was read."""
        return min(self.reported.unfound, self.missing) if self.reported else 0

    @property
    def missing_span(self) -> tuple[float, float]:
        """Records that are reported and not held, at least and at most.

        Records that no truncated query counts may not exist.
        """
        return self.reported.span(len(self.records)) if self.reported else (0.0, 0.0)

    @property
    def arrival(self) -> tuple[float, float]:
        """The new records a day, and the days over which they were counted.

        Records that came after the first crawl, plus half a record (Jeffreys' prior of
        a Poisson rate), over the time since.
        """
        watched = max(self.last - self.since, LEAST)
        came = sum(moment > self.since for moment in self.came.values())
        return (came + 0.5) / watched, watched

    def local(self, interface: Interface) -> LocalRecords:
        """Return the copy as policies for new records see it."""
        return LocalRecords(interface, self.records, self.came)

    def copy(self, wish: FormWish, now: float) -> Copy:
        """Return the copy as policies for known records see it."""
        copy = Copy(self.records, measure=wish.measure, weight=wish.weight, now=now)
        copy.seen[:] = [self.seen[key] for key in copy.keys]
        if self.gaps:
            item = np.array([copy.row[key] for key, *_ in self.gaps])
            days = np.array([days for _, days, *_ in self.gaps])
            moved = [wish.measure.differ(a, b) for *_, a, b in self.gaps]
            copy.pace.add(item, days, np.array(moved))
        return copy


def _ends(spell: Spell) -> tuple[float, float]:
    return spell.gone_by, spell.missing_since
