"""How what is renewed whole stands to its target: a listing, a search or a form.

What came of its forecasts (``auditing``) is the measure by which the rule for targets
becomes more careful, or less.
"""

from dataclasses import replace
from math import ceil, inf

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.core.wording import number, span
from halflife.engine import costs, rhythms
from halflife.engine.appraisal import Appraiser
from halflife.engine.renewals import POINTS, spread
from halflife.kinds.form import runner as form_runner, value as form_value
from halflife.kinds.listing.schedule import FIRST, LATEST, SOONEST
from halflife.kinds.pages.target import ROUND, TURN, Memory, Stand
from halflife.kinds.search import selection as search_selection
from halflife.market import target_rule
from halflife.market.curves import Decay
from halflife.market.target_rule import Goal, Past, Whole
from halflife.models.rhythm import Learned, Rhythm
from halflife.stores import Store, summaries
from halflife.stores.forecasts import Issued

AHEAD = 2.0 * TURN  # days until the next round, at most


def stand(
    appraiser: Appraiser, source: SourceConfig, goal: Goal, memory: Memory
) -> tuple[Stand, Memory] | None:
    """Return how a source without pages stands, and what to remember."""
    store = appraiser.store
    kinds = {"search": _search, "listing": _listing}
    found = kinds.get(source.kind, _form)(appraiser, source, goal)
    if found is None:
        return None
    now, most = found
    memory = _told(store, source, goal, now, memory)
    latest = min(target_rule.longest(memory.past, goal, now.step), most)
    late = now.age + now.step > most or target_rule.due(memory.past, now, goal)
    due = late and (source.kind != "search" or now.age >= ROUND)
    asked = _requests(store, source) if due else 0.0
    chance = now.chance(memory.past, goal.level)
    said = (
        f"{max(chance, 0.0):.1%} likely to fall below {number(goal.level, 4)}, read"
        f" {span(now.age)} ago, to be read every {span(latest)} at least"
    )
    if asked and source.kind == "search":
        said = f"{said}; {_way(store, source)}"
    return Stand(source.name, asked, memory.needed, said, now.step / 2.0), memory


def _way(store: Store, source: SourceConfig) -> str:
    """Say how a summary is looked at next."""
    kept = summaries.current(store, source.name)
    if kept is not None and search_selection.life(store, kept).is_doubted:
        return "made anew, as it did not pass a check"
    checked = _requests(store, source) < (kept.requests if kept else 0)
    return "by a check" if checked else "made anew"


def _told(
    store: Store, source: SourceConfig, goal: Goal, now: Whole, memory: Memory
) -> Memory:
    """Return the memory with what came of forecasts since; of each look the latest.

    One that was made before the last look says nothing of the days since that look.
    """
    last: dict[float, Issued] = {}
    for one in store.forecasts.settled(source.name, memory.told):
        told = one.told or 0.0
        if told > memory.told and one.made >= last.get(told, one).made:
            last[told] = one
    past, before = memory.past, memory.told
    rhythm = rhythms.rhythm(store, source.name)
    for told, one in sorted(last.items()):
        if one.made >= before:
            since = one.ahead if one.ahead > 0 else min(told - before, ROUND)
            past = _learned(past, one, since, goal, now, rhythm)
        before = told
    return replace(memory, past=past, told=before)


def _learned(
    past: Past, one: Issued, since: float, goal: Goal, now: Whole, rhythm: Rhythm
) -> Past:
    """Return the past with what came of a forecast, so many days after the last."""
    things = now.things if one.looks is None else min(now.things, one.looks)
    look = replace(now, things=max(things, 1.0), age=since)
    found = 1.0 - (one.found or 0.0)
    missed = _missed(rhythm, one.told or 0.0, since, found, goal)
    return target_rule.looked(past, look, found, 1.0 - one.mean, goal, missed=missed)


def _missed(
    rhythm: Rhythm, told: float, days: float, found: float, goal: Goal
) -> float | None:
    """Return the share of days that missed the level, if the loss went by a rhythm.

    For a mean it is the mean loss. None of even days.
    """
    if rhythm.flat or not days > 0:
        return None
    loss = found * rhythm.passed(*np.array([told - days, told]))
    return float(np.mean(loss if goal.confidence is None else loss > goal.loss))


def _requests(store: Store, source: SourceConfig) -> float:
    """Return the requests of a whole look at what has no pages."""
    if source.kind == "form":
        copy = form_value.held(store, source)
        return 1.0 if copy is None else float(ceil(form_value.whole(copy, source)))
    kept = summaries.current(store, source.name) if source.kind == "search" else None
    if kept is not None:
        return float(search_selection.look_requests(store, source, kept))
    return float(costs.noted(store, source))


def _search(
    appraiser: Appraiser, source: SourceConfig, goal: Goal
) -> tuple[Whole, float] | None:
    """Return how a summary stands: it is taken to hold while the chance is the level.

    That is what `halflife budget` counts on; how often it failed tells the longest
    interval. Its rounds are days. One that did not pass a check is made anew at once.
    """
    store, now = appraiser.store, appraiser.now
    kept = summaries.current(store, source.name)
    if kept is None:
        return None
    standing = search_selection.holding(kept, source, store)
    if standing.doubted:
        return Whole(1.0, ROUND, 1.0, 0.0, ROUND), 0.0
    age = max(now - search_selection.looked(store, kept), 0.0)
    old = max(now - kept.at, 0.0)
    alive = standing.alive(np.array([old + AHEAD]))[0]
    return Whole(1.0, age, float(alive < goal.level), 0.0, ROUND), inf


def _form(
    appraiser: Appraiser, source: SourceConfig, goal: Goal
) -> tuple[Whole, float] | None:
    """Return the mean over records, each as long after it was last seen as it is.

    By the source's own time, in which records that change together are one thing.
    """
    copy = form_value.held(appraiser.store, source)
    if copy is None:
        return None
    things = float(len(copy.records))
    if not copy.begun:  # it was not read to its end yet
        return Whole(things, 0.0, 1.0, 0.0, AHEAD), 0.0
    decay, _ = appraiser.decay(source)
    assert decay is not None
    new = form_runner.wish(source).purpose == "new"
    seen = np.array([copy.last] if new else list(copy.seen.values()))
    known = rhythms.learned(appraiser.store, source.name)
    whole = form_value.whole(copy, source)
    step = step_of(decay, goal, appraiser.shortest(source, whole))
    lost = _losses(decay, known, seen, (appraiser.now, step))
    return Whole(max(things / _together(known), 1.0), *lost, step), inf


def _listing(
    appraiser: Appraiser, source: SourceConfig, goal: Goal
) -> tuple[Whole, float] | None:
    """Return how a listing stands; it is foreseen for as long as it was watched."""
    store = appraiser.store
    if source.name not in store.collections():
        return None
    known = store.collection(source.name)
    if not known.looks.size:
        return None
    first, last = float(known.looks[0]), float(known.looks[-1])
    age = max(appraiser.now - last, 0.0)
    most = max(min(max(last - first, FIRST), LATEST), SOONEST)
    things = max(float(np.count_nonzero(known.lives.present(last))), 1.0)
    decay, whole = appraiser.decay(source)
    if decay is None:  # one look tells nothing of how fast it changes
        return Whole(things, age, 0.0, 0.0, SOONEST), SOONEST
    habit = rhythms.learned(store, source.name)
    step = step_of(decay, goal, appraiser.shortest(source, whole))
    lost = _losses(decay, habit, np.array([last]), (appraiser.now, step))
    return Whole(max(things / _together(habit), 1.0), *lost, step), most


def step_of(decay: Decay, goal: Goal, least: float) -> float:
    """Return the days until the next round: soon enough to keep the level.

    Half of the time in which a fresh copy loses what is allowed, but no less than
    the settings and politeness allow, and no more than ``AHEAD``.
    """
    least = min(least, AHEAD)
    moments = spread(least, 2.0 * AHEAD, 2 * POINTS)
    mean, low = decay.at(moments)
    kept = mean if goal.confidence is None else low
    lost = np.flatnonzero(1.0 - kept > goal.loss)
    holds = float(moments[max(lost[0] - 1, 0)]) if lost.size else inf
    return min(max(holds / 2.0, least), AHEAD)


def _losses(
    decay: Decay, known: Learned, seen: Floats, when: tuple[float, float]
) -> tuple[float, float, float]:
    """Return the age, the loss at the next round, and that of a copy made now.

    ``when`` is now, and how many days the next round is away. By effective days: none
    of a nightly job has passed until its hour has.
    """
    rhythm, (now, step) = known.rhythm, when
    moments = np.array([now, now + step])
    begun = np.minimum(seen, now)
    age, then = rhythm.between(begun[:, None], moments).T
    later = 1.0 - float(np.mean(decay.at(then)[0]))
    fresh = 1.0 - float(decay.at(rhythm.between(moments[:1], moments[1:]))[0][0])
    return float(np.median(age)), later, fresh


def _together(known: Learned) -> float:
    """Return how many records change together, where there is a rhythm."""
    return 1.0 if known.rhythm.flat else known.size
