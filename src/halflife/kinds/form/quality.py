"""The quality of the copy of a database behind a form, now and later."""

from dataclasses import replace

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.kinds.form import runner, value
from halflife.kinds.form.settings import FormConfig
from halflife.models.rhythm import FLAT, Rhythm
from halflife.models.turnover import LackingRecords, Turnover, bounds, counted_missing
from halflife.models.value_arrivals import missing
from halflife.queries.form_copy import FormCopy
from halflife.queries.turnover import turnover
from halflife.queries.value_reads import choice_reads


def form_quality(
    copy: FormCopy,
    source: FormConfig,
    now: float,
    sure: float,
    ahead: Floats,
    *,
    rhythm: Rhythm = FLAT,
) -> Forecast | None:
    """Return the forecast of the quality of a copy, each record by its own age.

    Records change, depart and arrive at the observed rates, as unevenly as observed
    (``models.turnover``); each bound holds with the confidence ``sure``. Days are
    effective days of the source's rhythm.

    None if the first crawl is not complete: what the copy lacks is unknown then.
    """
    if not copy.begun:
        return None
    wish, turns = runner.wish(source), turnover(copy)
    two_sided = max(2.0 * sure - 1.0, 0.01)
    since = now - form_ages(copy, source, now)
    age = rhythm.between(since[:, None], now + ahead)
    alive = np.ones(age.shape)
    if wish.purpose != "new":
        after, still, *_ = value.bounds(copy, replace(wish, purpose="known"), sure)
        alive = np.interp(age, np.append(0.0, after), np.append(1.0, still))
        alive *= np.exp(-turns.goes * age)
    lacks = _lacks(copy, turns, now + ahead, rhythm)
    if lacks is not None:  # what may have gone without replacement is known by value
        turns = replace(turns, hidden=0.0)
    mean, low, high = bounds(
        turns,
        len(copy.records),
        alive,
        age,
        confidence=two_sided,
        comes=wish.purpose != "known",
        lacks=lacks,
    )
    measure = value.measure_of(source)
    if copy.reads.counted is not None and not copy.unfound:
        copy = replace(copy, reported=None)  # what is lacking was counted above
    there, least, best = value.held_share(copy, wish)
    band = mean * there, low * least, high * best
    return Forecast(measure, now + ahead, *band, two_sided)


def _lacks(
    copy: FormCopy, turns: Turnover, then: Floats, rhythm: Rhythm
) -> LackingRecords | None:
    """Return how many records the copy lacks; None if too little was noted.

    By when each value was last read, or by the number of all records if the form counts
    them: whichever is more certain now. A record has a value of each attribute, and
    reading any of them shows it, so any attribute will do.
    """
    found = [
        missing(reads, rhythm.between(last[:, None], then), turns)
        for _, last, reads in choice_reads(copy)
    ]
    if copy.reads.counted is not None and not copy.unfound and len(copy.records):
        at, total = copy.reads.counted
        seen = np.array(list(copy.seen.values()))
        since = rhythm.between(np.full(1, at), then)
        unseen = rhythm.between(np.minimum(seen, at), np.full(seen.size, at))
        found.append(counted_missing(turns, total, unseen, since))
    return min(found, key=lambda lacks: float(lacks.variance[0]), default=None)


def form_ages(copy: FormCopy, source: FormConfig, now: float) -> Floats:
    """Return the days since each record was seen; for new ones, since any turn."""
    new = runner.wish(source).purpose == "new"
    seen = [copy.last] if new else list(copy.seen.values())
    return np.maximum(now - np.array(seen), 0.0)
