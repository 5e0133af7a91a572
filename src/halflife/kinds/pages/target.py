"""The status of pages with a target, by the rule for targets.

Pages are kept in rounds: the belief about each page at the start of a round is stored,
so that it can be compared with the fetches of the round.
"""

from dataclasses import replace
from math import ceil, floor

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.ranking import best_rows
from halflife.core.wording import number
from halflife.kinds.pages.state import PagesState
from halflife.market import target_rule
from halflife.market.missed_time import days_below
from halflife.market.target_rule import Goal, TargetRound
from halflife.market.target_status import FIRST, ROUND, TargetMemory, TargetStatus
from halflife.models.quality import item_blocks

QUARTER = 0.25  # share of the allowed loss that a round lasts for
STRIDE = 2  # lots that a turn fetches, or as many pages as the round has so far
LIKELY = 0.2  # chance of a miss from which a turn has no limit
WATCH = 0.5  # days in which a lot is always fetched, for targets with a confidence


class PageSnapshot:
    """The pages of a source at one moment.

    Args:
        state: The state of the source.
        goal: The target.

    """

    def __init__(self, state: PagesState, goal: Goal) -> None:
        self.view, self.rows = state.pages
        self.now, self.source, self.goal = state.now, state.source, goal
        has_all = self.rows.size == len(self.view)  # then columns need not be copied
        self._at: Ints | slice = slice(None) if has_all else self.rows
        weight = np.where(self.view.held, self.view.weight, 0.0)[self._at]
        self.share = weight / max(float(weight.sum()), 1e-12)
        cost = float(self.view.cost[self._at].sum())
        self.least = state.reading.shortest(state.source, cost)
        self._now: Floats | None = None
        self._losses: dict[float, float] = {}

    @property
    def known(self) -> bool:
        """Whether any page was fetched."""
        return bool(self.share.any())

    def chances(self, ahead: float = 0.0) -> Floats:
        """Return the chance that each page is out of date in so many days."""
        if ahead == 0.0 and self._now is not None:
            return self._now
        view, stale = self.view, np.empty(len(self.view))
        for at, some in item_blocks(view):
            age = np.where(view.held[at], view.exposure[at] + ahead, 0.0)
            stale[at] = 1.0 - np.clip(some.alive(age), 0.0, 1.0)
        chances = stale[self._at]
        if ahead == 0.0:  # used several times
            self._now = chances
        return chances

    def _loss(self, ahead: float) -> float:
        """Return the share that is expected to be out of date in so many days."""
        if ahead not in self._losses:
            self._losses[ahead] = float(self.share @ self.chances(ahead))
        return self._losses[ahead]

    def stand(self, memory: TargetMemory) -> tuple[TargetStatus, TargetMemory]:
        """Return the status of the target, and the memory for later turns."""
        memory = self._current_round(memory)
        unseen = self._unseen(memory)
        now = self._round(memory, unseen)
        seen = int(np.count_nonzero(~unseen & (self.share > 0)))
        lot = ceil(target_rule.LOT * self.rows.size)
        risk = target_rule.risk(memory.past, now, self.goal.level)
        count = self._enough(memory, unseen, lot)
        if self._is_over(memory):
            count = int(np.count_nonzero(unseen))
        elif risk.miss - risk.least < LIKELY:  # there is time to fetch in steps
            count = min(count, max(STRIDE * lot, seen))
        reason = (
            f"{risk.miss:.1%} likely to fall below {number(self.goal.level, 4)},"
            f" {risk.least:.1%} at best, {seen} of {self.rows.size} pages fetched"
        )
        requests = float(ceil(count * float(self.view.cost[self._at].mean())))
        again = memory.length / 2.0
        return TargetStatus(
            self.source.name, requests, memory.needed, reason, again
        ), memory

    def _enough(self, memory: TargetMemory, unseen: Bools, lot: int) -> int:
        """Return how many pages to fetch, if the belief is right.

        At least one lot is fetched a day, two for a target with a confidence, more at
        first, and more as long as the rule wants it. Its pages are fetched one after
        the other, so that an event on all pages is noticed early.
        """
        remaining = int(np.count_nonzero(unseen))
        period = ROUND if self.goal.confidence is None else WATCH
        watched = memory.past.days + memory.past.watched
        span = min(max(watched, FIRST), period)
        quiet = min(float(self.view.age[self._at].min()), span)
        count = min(floor(quiet * lot / span + 1e-9), remaining)
        while count < remaining:
            left, done = unseen.copy(), self._stalest(unseen, count)
            left[done] = False
            then = self._round(memory, left)
            found = then.found + float(self.share[done] @ memory.chances[done])
            if not target_rule.wants_more(
                memory.past, replace(then, found=found), self.goal
            ):
                return count
            count = min(max(2 * count, lot), remaining)
        return count

    def _stalest(self, unseen: Bools, count: int) -> Ints:
        """Return the unfetched pages that are most likely stale."""
        if count == 0:
            return np.zeros(0, dtype=np.intp)
        return best_rows(np.where(unseen, self.chances(), -1.0), count)

    def _current_round(self, memory: TargetMemory) -> TargetMemory:
        """Return the memory of the round at this moment; start a new one if it is over.

        A round that finds much loss ends early: its pages are soon out of date again.
        But one that has found a burst is finished first (see ``_is_over``).
        """
        same = memory.chances.size == self.rows.size
        passed = self.now - memory.began
        goes_on = same and 0 <= passed < ROUND
        if goes_on and (not self._is_over(memory) or self._is_unfinished(memory)):
            return memory
        past = memory.past
        if same and passed >= 0:
            ended = self._round(memory, self._unseen(memory))
            days, below = min(passed, ROUND), self._below(memory)
            past = target_rule.after_round(past, ended, self.goal, days, below=below)
        watched = max(past.days + past.watched, FIRST)
        begun = replace(
            memory,
            past=past,
            began=self.now,
            length=min(self._length(), watched, ROUND),
            unwatched=float(self.share @ np.minimum(self.view.age[self._at], ROUND)),
            chances=self.chances(),
            ages=self.view.age[self._at],
        )
        shortest = max(FIRST, self.least)
        now = self._round(begun, self._unseen(begun))
        length = target_rule.round_length(past, now, self.goal, shortest)
        return replace(begun, length=length)

    def _below(self, memory: TargetMemory) -> float | None:
        """Return the days below the level that the round ended; None if unknown.

        They are known if it found more than the level allows.
        """
        found = self.view.changed[self._at] & ~self._unseen(memory)
        share = self.share[found]
        if memory.ages.size != found.size or share.sum() <= self.goal.loss + 1e-9:
            return None
        last = memory.ages[found] + (self.now - memory.began)
        return days_below(self.goal.loss, share, last, self.view.age[self._at][found])

    def _is_over(self, memory: TargetMemory) -> bool:
        """Return whether a round has lasted its time.

        If it is unfinished it then fetches all the rest: a new round would not know
        that what was found makes a loss in the other pages likely.
        """
        return self.now - memory.began >= min(memory.length, self._length(memory))

    def _is_unfinished(self, memory: TargetMemory) -> bool:
        """Return whether a round found a burst, and more of it is wanted.

        For a mean no moment is worse than another, so its rounds end in time.
        """
        if self.goal.confidence is None:
            return False
        now = self._round(memory, self._unseen(memory))
        is_burst = now.found > target_rule.CALM * max(now.began - now.left, 0.0)
        return is_burst and target_rule.wants_more(memory.past, now, self.goal)

    def _length(self, memory: TargetMemory | None = None) -> float:
        """Return the days in which a part of the allowed loss is expected.

        At the believed rate; within a round at least at the rate it has found. One hour
        at least, unless all of the allowed loss comes sooner; and not less than the
        time in which settings and politeness allow a fetch of all pages.
        """
        pace = float(self.share @ self.view.rate[self._at])
        if memory is not None and self.now > memory.began:
            passed = max(self.now - memory.began, memory.unwatched)
            changed = self.view.changed[self._at] & ~self._unseen(memory)
            pace = max(pace, float(self.share[changed].sum()) / passed)
        lasts = self.goal.loss / max(pace, 1e-9)
        return max(QUARTER * lasts, min(FIRST, lasts), self.least)

    def _unseen(self, memory: TargetMemory) -> Bools:
        unseen: Bools = self.view.age[self._at] > self.now - memory.began
        return unseen

    def _round(self, memory: TargetMemory, unseen: Bools) -> TargetRound:
        share, before = self.share, memory.chances
        left = np.where(unseen, share, 0.0)
        stale = float(left @ self.chances())
        changed = self.view.changed[self._at] & ~self._unseen(memory)
        return TargetRound(
            things=1.0 / max(float(share @ share), 1e-12),
            began=float(share @ before),
            left=float(left @ before),
            found=float(share[changed].sum()),
            now=stale,
            coming=max(self._loss(memory.length) - stale, 0.0),
            unseen=float(left.sum()),
            days=memory.unwatched,
            ahead=memory.length,
        )
