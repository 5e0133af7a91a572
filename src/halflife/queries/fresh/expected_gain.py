"""Read the page with the most expected new records: the default policy.

It needs no sample: every page is one, and its records are kept. The expectation of a
query comes from the copy (terms of recent records come again, by attribute), is
corrected by the records that other queries have shown, and by the hit count once a page
of it was read. One page is chosen at a time, so the policy leaves a query as soon as
another one is better.
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
    QueryState,
    RoundSetting,
    outlook,
    viewed_share,
)
from halflife.queries.fresh.prior import GrowthPrior
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords

LEAST = 0.1  # new records for a request, below which a round ends
WORTH = {"select": 1.0, "range": 1.0, "keyword": 0.6}  # of a page; see Expected
PARENTS = 3  # capped queries that are joined with a second term at a time
KEPT = 5.0  # pages of newly shown records after which pairs are ranked again
JOINED = 4.0  # the shape of the share of new records for two terms together


class ExpectedGainRule:
    """Choose the page with the most expected new records.

    A record has one company but many words: other words will find the records of a
    word again, while the values of a selection share no records. So a page of a
    keyword must have a larger expectation than one of a value to be chosen
    (``WORTH``).

    If a form caps the results of a query, the rest is searched by joining it with a
    second term.

    Args:
        least: New records for a request, below which it ends.
        since: Records of the copy that came after this day predict new ones; none do
            if that is unknown.

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
        """Return the page with the most new records; None if all have too few."""
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
        """Return the first pages with the most new records now, best first."""
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
        by_attribute = [WORTH[a.kind] for a in local.interface.attributes]
        worth: Floats = np.array(by_attribute)[self._prior.group]
        return worth

    def _standing(self, local: LocalRecords, setting: RoundSetting) -> QueryState:
        held, seen, fresh = (
            counter.values.astype(np.float64)
            for counter in (local.held, local.seen, local.fresh)
        )
        by_attribute = self._learned.shown(local, setting.stays)
        shown = np.array(list(by_attribute.values()))[self._prior.group]
        there = seen + setting.stays * np.maximum(held - seen, 0.0)
        mean = self._prior.mean(fresh, viewed_share(seen, there, shown))
        progress = self._learned.progress()
        shape, hidden = self._prior.shape, self._prior.hidden(local, by_attribute)
        return QueryState(held, seen, fresh, mean, shape, shown, hidden, progress)

    def _joined(
        self,
        local: LocalRecords,
        now: tuple[QueryState, QueryOutlook],
        setting: RoundSetting,
        best: Choice | None,
    ) -> Choice | None:
        """Return a query with a second term, if one is better than ``best``."""
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
        """Return the best query with a second term; it is cached for ``KEPT`` pages."""
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
    """Return the best query that joins a second term to a capped one."""
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
    standing = QueryState(
        held, seen, fresh, mean, sure, 0.0 * sure, 0.0 * sure, progress
    )
    ahead = outlook(standing, setting)
    best = int(np.argmax(ahead.gain))
    return _choice(queries[best], standing, ahead, best)


def _choice(
    query: Query, standing: QueryState, ahead: QueryOutlook, best: int
) -> Choice:
    page, gain = int(standing.progress.pages[best]), float(ahead.gain[best])
    why = f"about {ahead.left[best]:.1f} of {ahead.hits[best]:.0f} new, page {page + 1}"
    return Choice(query, page, 1, gain, why)
