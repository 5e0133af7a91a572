"""Ask for the page that is likely to bring most new records: the default.

There is no sample at the outset: every page is one, and is kept. What is expected of
a query comes from the copy (what came lately comes again, by attribute), is corrected
by what other queries have shown of its records, and by the count of hits once a page
of it was seen. One page is chosen at a time, so a query is left as soon as another
promises more.
"""

from math import inf

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.forms import Query, Term
from halflife.queries.fresh import Choice
from halflife.queries.fresh.form_traits import FormTraits, progress_of
from halflife.queries.fresh.outlook import (
    QueryOutlook,
    QueryStanding,
    RoundSetting,
    outlook,
    viewed,
)
from halflife.queries.fresh.prior import GrowthPrior
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords

LEAST = 0.1  # new records for a request below which nothing is worth one
WORTH = {"select": 1.0, "range": 1.0, "keyword": 0.6}  # of a page; see Expected
PARENTS = 3  # queries cut off that are looked into at a time
KEPT = 5.0  # pages of records not shown before after which pairs are weighed again
JOINED = 4.0  # how sure the share of new records is for two terms together


class Expected:
    """Choose the page with most new records to be expected.

    A record has one company but many words: what is found by a word will be found
    again by others, and a query of an attribute that splits the records wastes
    nothing of later ones. So a page of a word must promise more than one of a value
    to be chosen (``WORTH``).

    Where a form shows fewer results than there are, what is left of a query is
    sought by joining it with a second term.

    Args:
        least: New records for a request below which it ends.
        since: The copy's records that came after this day tell what comes; none do
            if that is not known.

    """

    samples = False

    def __init__(self, *, least: float = LEAST, since: float = inf) -> None:
        self.least = least
        self.since = since
        self._prior = GrowthPrior(since)
        self._learned = FormTraits()
        self._pairs: dict[Term, tuple[float, Choice | None]] = {}

    def next(
        self, local: LocalRecords, _ledger: Ledger, _rng: Generator
    ) -> Choice | None:
        """Return the page that promises most; None if none promises enough."""
        self._prior.grow(local)
        self._learned.catch_up(local)
        setting = self._learned.setting(local)
        standing = self._standing(local, setting)
        ahead = outlook(standing, setting)
        best = None
        if local.terms:
            top = int(np.argmax(ahead.gain * self._worth(local)))
            best = _choice(Query.of(local.terms[top]), standing, ahead, top)
        if setting.cap < inf and local.interface.together > 1:
            best = self._joined(local, (standing, ahead), setting, best)
        if best is None or best.expected < self.least:
            return None
        return best

    def ranked(self, local: LocalRecords, most: int) -> list[Choice]:
        """Return the first pages that promise most now, best first."""
        self._prior.grow(local)
        self._learned.catch_up(local)
        setting = self._learned.setting(local)
        standing = self._standing(local, setting)
        ahead = outlook(standing, setting)
        if not local.terms:
            return []
        order = np.argsort(-ahead.gain * self._worth(local), kind="stable")[:most]
        return [
            _choice(Query.of(local.terms[i]), standing, ahead, i)
            for i in order.tolist()
            if ahead.gain[i] >= self.least
        ]

    def _worth(self, local: LocalRecords) -> Floats:
        worth = [WORTH[attribute.kind] for attribute in local.interface.attributes]
        found: Floats = np.array(worth)[self._prior.group]
        return found

    def _standing(self, local: LocalRecords, setting: RoundSetting) -> QueryStanding:
        held, seen, fresh = (
            counter.values.astype(np.float64)
            for counter in (local.held, local.seen, local.fresh)
        )
        by_attribute = self._learned.shown(local, setting.stays)
        shown = np.array(list(by_attribute.values()))[self._prior.group]
        there = seen + setting.stays * np.maximum(held - seen, 0.0)
        mean = self._prior.mean(fresh, viewed(seen, there, shown))
        progress = self._learned.progress()
        shape, hidden = self._prior.shape, self._prior.hidden(local, by_attribute)
        return QueryStanding(held, seen, fresh, mean, shape, shown, hidden, progress)

    def _joined(
        self,
        local: LocalRecords,
        now: tuple[QueryStanding, QueryOutlook],
        setting: RoundSetting,
        best: Choice | None,
    ) -> Choice | None:
        """Return a query with a second term, if one promises more than ``best``."""
        standing, ahead = now
        cut = np.flatnonzero(standing.progress.done & (ahead.left > self.least))
        for number in cut[np.argsort(-ahead.left[cut])][:PARENTS].tolist():
            bar = self.least if best is None else max(best.expected, self.least)
            if ahead.left[number] <= bar:
                break
            density = ahead.left[number] / ahead.hits[number]
            found = self._again(local, local.terms[number], float(density), setting)
            if found is not None and found.expected > bar:
                best = found
        return best

    def _again(
        self, local: LocalRecords, term: Term, density: float, setting: RoundSetting
    ) -> Choice | None:
        """Return the best query with a second term, as of some pages ago."""
        now = len(local.shown)
        then, found = self._pairs.get(term, (-inf, None))
        room = KEPT * setting.page
        stale = found is not None and found.query in local.reads
        if stale or now - then > room:
            found = _split(local, term, density, setting)
            self._pairs[term] = now, found
        return found


def _split(
    local: LocalRecords, term: Term, density: float, setting: RoundSetting
) -> Choice | None:
    """Return the best query that joins a second term to one that was cut off."""
    columns = local.within(Query.of(term))
    pairs = [
        i
        for i in np.flatnonzero(columns[0] + columns[2]).tolist()
        if local.terms[i].attribute != term.attribute
    ]
    if not pairs:
        return None
    queries = [Query.of(term, local.terms[i]) for i in pairs]
    held, seen, fresh = (c[pairs].astype(np.float64) for c in columns)
    mean = fresh + density * (held + 1.0)
    progress, sure = progress_of(local, queries), np.full(len(pairs), JOINED)
    standing = QueryStanding(
        held, seen, fresh, mean, sure, 0.0 * sure, 0.0 * sure, progress
    )
    ahead = outlook(standing, setting)
    best = int(np.argmax(ahead.gain))
    return _choice(queries[best], standing, ahead, best)


def _choice(
    query: Query, standing: QueryStanding, ahead: QueryOutlook, best: int
) -> Choice:
    page, gain = int(standing.progress.pages[best]), float(ahead.gain[best])
    why = f"about {ahead.left[best]:.1f} of {ahead.hits[best]:.0f} new, page {page + 1}"
    return Choice(query, page, 1, gain, why)
