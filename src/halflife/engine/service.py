"""The service: one loop that spends one budget over sources of every kind.

A turn decides (``scheduler``), hands work to the crew (``workers``), and handles the
results: sources that fail are paused, alerts are raised, and expired data is removed.
Work that takes long continues over several turns.
"""

import asyncio
import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TypeAlias

from halflife.alerts.machine import raised
from halflife.config import SourceConfig
from halflife.core.errors import LeaseLost
from halflife.core.forecast import Forecast
from halflife.engine import (
    bootstrap,
    breakers,
    broken_work,
    control,
    deliveries,
    faults,
    housekeeping,
    logs,
    notifications,
    redirects,
    scheduler,
    source_health,
    targets,
)
from halflife.engine.breakers import Breaker
from halflife.engine.decision import Decision
from halflife.engine.health import ServiceStatus
from halflife.engine.reload import Settings
from halflife.engine.service_terms import DAY, Outside, ServiceRhythm
from halflife.engine.signals import GRACE, Stop
from halflife.engine.wallet import Wallet
from halflife.engine.workers import Crew, CrewTerms, WorkGrant, gathered
from halflife.kinds.protocol import Group, Memo, Report
from halflife.kinds.registry import kind_of
from halflife.net.wire import NO_NETWORK
from halflife.stores import Store
from halflife.stores.notes.control import RUNNING

PROBE = 30.0  # seconds between two tests whether the network is back
WAIT = 2.0  # seconds that a turn waits for its work: a slow source delays no other
THRIFT = 10.0  # sleep at least this many times the planning time
_LAST_TRY = 0.2  # seconds at the end for messages; the rest waits in the outbox
PUNCTUAL = 0.2  # of the shortest pause, if a longest interval is over by then
_JUST_OVER = 0.01  # seconds after which that is sure, whatever the clock rounds
_LEAST_NAP = 0.5  # seconds, after a turn that waited for its work in vain
JUMP = 60.0  # seconds by which two clocks may differ before it is worth a word

__all__ = ["DAY", "Outside", "Service", "ServiceRhythm", "Timing", "Under"]

Job: TypeAlias = "asyncio.Task[Report]"


@dataclass(slots=True)
class Under:
    """A piece of work under way: the task, what was paid in advance, and why it is."""

    group: tuple[SourceConfig, ...]
    task: Job
    paid: float
    why: str = ""


@dataclass(slots=True)
class Timing:
    """What the service remembers of time; days, and seconds where it says so."""

    now: float
    tick: float  # seconds of the clock that nobody can set
    judged: float = float("-inf")
    nap: float = 0.0  # seconds
    decided: float = 0.0  # seconds that the last decision took
    again: float = float("inf")  # seconds after which there may be something to do
    due: float = float("inf")  # when the next longest interval is over, in days
    judging: float = 0.0  # seconds that the last judgement took


class Service:
    """Keeps sources of every kind until it is told to stop.

    Args:
        settings: The settings, which may change.
        store: What is known.
        stop: Whether we were asked to stop.
        outside: The clock, and who hears of results.

    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        stop: Stop,
        outside: Outside | None = None,
    ) -> None:
        self.settings, self.store, self.stop = settings, store, stop
        self._outside = outside or Outside()
        self.clock = self._outside.clock
        now = self.clock()
        self.status = ServiceStatus(began=now, measure=self._measure)
        self.breakers: dict[str, Breaker] = {}
        self._under: dict[Group, Under] = {}
        self._time = Timing(now, 0.0)
        self._tidier = housekeeping.Tidier(store)
        self._memo = Memo()
        self._hurry = False
        self._cut = False  # whether something never looked at waits for requests
        self._said = ""
        self._beyond = False
        self._resumed = False  # whether work goes on after a pause
        self._blamed: dict[str, str] = {}

    async def run(self) -> None:
        """Turn until asked to stop; settings that change are taken up in between."""
        self._time.tick = asyncio.get_running_loop().time()
        store, clock, outside = self.store, self.clock, self._outside
        while not self.stop.asked.is_set():
            config, chosen = self.settings.config, self.settings.chosen
            bootstrap.know(config, store)
            self._resumed = False
            self.breakers = {s.name: breakers.recall(store, s.name) for s in chosen}
            async with AsyncExitStack() as stack:
                terms = CrewTerms(outside.audits, outside.transport, outside.fleet)
                many = gathered(config, store, chosen, clock, terms)
                crew, leases = await stack.enter_async_context(many)
                poll = outside.rhythm.messages
                told = notifications.delivering(
                    config, store, clock=clock, poll=poll, grace=_LAST_TRY
                )
                await stack.enter_async_context(told)
                if outside.transport is None:  # a replay delivers nothing
                    sent = deliveries.delivering(config, store, clock=clock)
                    await stack.enter_async_context(sent)
                logs.event("working", fields={"sources": len(chosen)})
                self._adopt(crew)
                try:
                    await self._turns(crew, leases)
                finally:
                    await self._finish(crew)
        await self._tidier.end()
        logs.event("stopped", fields={"turns": self.status.turns})

    def _adopt(self, crew: Crew) -> None:
        """Look after what others are at, as decided before this crew came together."""
        for group, paid in crew.under_way():
            task = asyncio.create_task(crew.begin(group, WorkGrant(0, paid)))
            self._under[scheduler.names(group)] = Under(group, task, paid)

    async def _turns(self, crew: Crew, leases: "list[asyncio.Task[None]]") -> None:
        """Turn until asked to stop, or until there are new settings."""
        while not self.stop.asked.is_set():
            for lease in leases:
                if lease.done():
                    lease.result()  # it was lost: say so
            await self.turn(crew)
            if self._resumed or await self._nap():
                return

    async def turn(self, crew: Crew) -> None:
        """Decide, work, and look after what came of it."""
        loop = asyncio.get_running_loop()
        began, now = loop.time(), self._watch_clock()
        if self._is_held_up(crew):
            await self._settle(WAIT)
            self._collect(crew)
            self._time.nap = _LEAST_NAP if self._under else self._outside.rhythm.slice
        elif self.status.offline and not await self._back(crew):
            self._time.nap = PROBE
        else:
            self._decide(crew, now)
            self._time.decided = loop.time() - began
            self._outside.busy(bool(self._under))
            await self._settle(WAIT)
            self._collect(crew)
            waited = WAIT if self._under else 0.0  # that was time to sleep, too
            wait = min(self._until_next() - waited, self._until_due())
            self._time.nap = max(wait, _LEAST_NAP)
        if not self._hurry:
            self._outside.busy(bool(self._under))
        self._judge(crew)
        self._tidier.tidy(self.settings.config, self.clock())
        self._note(crew, loop.time() - began)

    def _is_held_up(self, crew: Crew) -> bool:
        """Say whether somebody paused all work, or lets it end; see ``control``."""
        said = control.read(self.store)
        if said.state != self.status.control:
            logs.event(said.state, fields={})
            # Whoever was eased begins nothing more, so all workers are opened anew.
            self._resumed = said.state == RUNNING
            self.status.control = said.state
        if said.is_draining and not self._under:
            self.stop.asked.set()
        if self._resumed or said.is_paused or said.is_draining:
            if self._under:
                crew.ease()
            return True
        return False

    def _watch_clock(self) -> float:
        """Return the time; say so if it was set, or if we slept."""
        now, tick = self.clock(), asyncio.get_running_loop().time()
        jump = (now - self._time.now) * DAY - (tick - self._time.tick)
        if abs(jump) > JUMP and self.status.turns:
            logs.event("clock jumped", fields={"seconds": jump})
        self._time.now, self._time.tick = now, tick
        return now

    def _decide(self, crew: Crew, now: float) -> None:
        """Decide what to do, pay for it, and begin."""
        config = crew.config
        busy = {*self._under, *self._left_alone(now)}
        nap = self._time.nap / DAY  # as it was meant to be: a machine may be suspended
        at = scheduler.Situation(
            config, self.store, now, crew.groups, busy, self._memo, nap
        )
        decision = scheduler.decide(at)
        self._cut = decision.cut
        self._blame(crew, now)
        self._time.again = decision.again * DAY
        self._time.due = now + decision.due_in
        at.wallet.use(sum(decision.paid.values()), now)
        for group in crew.groups:
            names = scheduler.names(group)
            if requests := decision.grants.get(names, 0):
                paid, why = decision.paid.get(names, 0.0), decision.why.get(names, "")
                grant = WorkGrant(requests, paid, decision.values.get(names[0]))
                task = asyncio.create_task(crew.begin(group, grant))
                self._under[names] = Under(group, task, paid, why)
        if not decision.idle:
            self.status.due = decision.due
        targets.remember(self.store, decision.memories)
        self._say_beyond(crew, decision)

    def _say_beyond(self, crew: Crew, decision: Decision) -> None:
        """Say once that the targets need more than the budget has."""
        if self._beyond or not decision.beyond(crew.config):
            return
        self._beyond = True
        fields = {
            "needed": decision.aim.needed(),
            "budget": crew.config.budget.pace,
            "below": ", ".join(sorted(decision.aim.asks)),
            "next": "halflife budget names the cheapest target to lower",
        }
        logs.event("targets beyond the budget", level=logging.WARNING, fields=fields)

    def _blame(self, crew: Crew, now: float) -> None:
        """Name the sources whose kind fails at deciding, for as long as it does."""
        for source in (one for group in crew.groups for one in group):
            name, said = source.name, kind_of(source).fault(source.name)
            if said:
                self.status.mishandle(name, said, now)
            if said != self._blamed.get(name):
                faults.blame(self.store, name, said)
                self._blamed[name] = said

    def _left_alone(self, now: float) -> set[Group]:
        found = breakers.renewed(self.store, self.breakers).items()
        return {(name,) for name, one in found if one.closed_for(now) > 0}

    async def _settle(self, seconds: float) -> None:
        """Wait until all work is done, but no longer than so, nor when told to stop."""
        tasks = {under.task for under in self._under.values()}
        asked = asyncio.create_task(self.stop.asked.wait())
        end = asyncio.get_running_loop().time() + seconds
        while tasks and not asked.done():
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                break
            done, _ = await asyncio.wait(
                {*tasks, asked}, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            tasks -= done
        asked.cancel()

    def _collect(self, crew: Crew) -> None:
        """Look after the work that is done."""
        lost = heard = found = room = False
        for names, under in list(self._under.items()):
            if not under.task.done() or under.task.cancelled():
                continue
            del self._under[names]
            done = self._result(names, under)
            self._account(crew, under, done)
            lost, heard = lost or done.lost, heard or done.heard
            found |= done.found > 0
            room |= self._cut  # it may not have taken all that it was granted
        self._hurry = found or room
        if heard or lost:
            self._connected(offline=lost and not heard)

    def _result(self, names: Group, under: Under) -> Report:
        """Return what came of work; whatever broke it is the trouble of its source."""
        error = under.task.exception()
        if error is None:
            return under.task.result()
        terms = kind_of(under.group[0]).terms
        if isinstance(error, LeaseLost) and terms.holds_lease:
            raise error
        return broken_work.report(names, error, under.group[0].where)

    def _account(self, crew: Crew, under: Under, done: Report) -> None:
        """Settle what was paid, keep how it went, and tell."""
        now, source = self.clock(), under.group[0]
        redirects.note(self.store, crew.gate, under.group)
        kind = kind_of(source)
        back = kind.terms.refund(under.paid, done.requests, offline=done.lost)
        if back:
            Wallet(self.store, crew.config.budget).use(-back, now)
        many = f"{len(done.group)} sources"
        said = "+".join(done.group) if len(done.group) < 4 else many
        sent = self.status.requests
        sent[said] = sent.get(said, 0) + done.requests
        if done.result is not None or done.trouble:
            self._learn(source, done, now)
        kind.keep_faults(self.store, under.group, done.mishandled)
        for name, note in done.mishandled.items():
            self.status.mishandle(name, note, now)
        for name, failed in done.failures.items():
            self.status.failures[name] = self.status.failures.get(name, 0) + failed
        if done.trouble or done.held:
            fields = {"sources": said, "held": done.held, "trouble": done.trouble}
            logs.event("trouble", level=logging.WARNING, fields=fields)
        if done.requests or done.result is not None:
            spent: dict[str, object] = {"sources": said, "requests": done.requests}
            logs.event(
                "worked", fields=spent | ({"why": under.why} if under.why else {})
            )
        if done.result is not None:
            self._outside.told(done)

    def _learn(self, source: SourceConfig, done: Report, now: float) -> None:
        """Keep how it goes with a source; what our network did is not its fault."""
        if done.lost:
            return
        name = source.name
        old = self.breakers.get(name, Breaker())
        new = kind_of(source).breaker(source, old, done, now)
        if new is not old:
            self.breakers[name] = new
            breakers.remember(self.store, name, new)

    def _connected(self, *, offline: bool) -> None:
        if offline != self.status.offline:
            logs.event("offline" if offline else "online again", fields={})
        self.status.offline = offline

    async def _back(self, crew: Crew) -> bool:
        """Say whether there is a way to the sources again; nothing is sent."""
        addresses = [g[0].addresses[0] for g in crew.groups if g[0].addresses]
        return await self._outside.reach(addresses)

    def _until_next(self) -> float:
        """Return the seconds until a turn has something to spend."""
        config, now = self.settings.config, self.clock()
        wallet = Wallet(self.store, config.budget)
        plenty = wallet.income(now) >= config.budget.hourly
        rhythm = self._outside.rhythm
        left_over = min(rhythm.catch_up, self._time.again)
        wait = left_over if plenty else wallet.next_income(now) * DAY
        if self.status.offline:
            wait = PROBE
        closed = [one.closed_for(now) * DAY for one in self.breakers.values()]
        wait = min([wait, *(seconds for seconds in closed if seconds > 0)])
        least = rhythm.shortest
        wait = least if self._hurry else max(wait, THRIFT * self._time.decided)
        return min(max(wait, least), rhythm.catch_up if plenty else rhythm.longest)

    def _until_due(self) -> float:
        """Return the seconds until something must not wait, but not too few."""
        seconds = (self._time.due - self.clock()) * DAY + _JUST_OVER
        least = PUNCTUAL * self._outside.rhythm.shortest
        return max(seconds, least, THRIFT * self._time.decided)

    async def _nap(self) -> bool:
        """Sleep until the next turn; say whether there are new settings."""
        left, piece = self._time.nap, self._outside.rhythm.slice
        if self._outside.fleet is not None:
            piece = _LEAST_NAP  # workers wait for what comes next
        while left > 0 and not self.stop.asked.is_set():
            await self.stop.sleep(min(left, piece))
            left -= piece
            if self._is_called():
                return False
            if self.settings.changed() and self._renewed():
                return True
        return False

    def _is_called(self) -> bool:
        """Say whether there is a reason to turn early."""
        if control.read(self.store).state != self.status.control:
            return True
        done = any(under.task.done() for under in self._under.values())
        return done and self._outside.fleet is not None

    def _renewed(self) -> bool:
        """Take up what is on disk; say whether anything is new."""
        fresh = self.settings.reload()
        trouble = self.settings.trouble
        if trouble and trouble != self._said:
            said = {"trouble": trouble}
            logs.event("settings not used", level=logging.ERROR, fields=said)
        elif fresh:
            logs.event("settings read again", fields={})
            self._beyond = False
        self._said = self.status.settings = trouble
        return fresh

    def _judge(self, crew: Crew) -> None:
        """Judge how sources are, now and then, and have people told."""
        now, began = self.clock(), asyncio.get_running_loop().time()
        judged = self._outside.rhythm.judged
        pause = max(judged, 2.0 * THRIFT * self._time.judging) / DAY
        if 0 <= now - self._time.judged < pause:
            return
        self._time.judged = now
        config, store = crew.config, self.store
        sources = [source for group in crew.groups for source in group]
        judge = source_health.HealthJudge(config, store, now, self.breakers, self._memo)
        found = [judge.health(source) for source in sources]
        if self.status.offline:  # nobody is dead for want of our own network
            found = [replace(one, failures=0, blocked=NO_NETWORK) for one in found]
        whole = source_health.whole(
            config,
            store,
            now,
            offline=self.status.offline,
            settings=self.settings.trouble,
        )
        notifications.tell(config, store, [*found, whole], now)
        self.status.sources = tuple(found)
        standing = raised(store.outbox.alarms())
        self.status.alarms = tuple((one.source, one.kind) for one in standing)
        self._time.judging = asyncio.get_running_loop().time() - began

    def _measure(self, now: float) -> dict[str, Forecast]:
        """Return how good the copy of each source is at this moment."""
        config, store, memo = self.settings.config, self.store, self._memo
        judge = source_health.HealthJudge(config, store, now, self.breakers, memo)
        return judge.qualities(self.settings.chosen)

    def _note(self, crew: Crew, seconds: float) -> None:
        """Write down how the service is, for those who watch."""
        status, now = self.status, self.clock()
        budget = crew.config.budget
        status.turned, status.turns = now, status.turns + 1
        status.seconds, status.in_flight = seconds, len(self._under)
        status.budget = budget.requests
        status.left = Wallet(self.store, budget).room(now)
        status.failing = tuple(sorted(n for n, b in self.breakers.items() if b.failing))
        status.store_bytes = self.store.size()

    async def _finish(self, crew: Crew) -> None:
        """Begin nothing more; what is under way has a few seconds to end."""
        if self._under:
            crew.ease()
            insisted = asyncio.create_task(self.stop.insisted.wait())
            tasks = asyncio.create_task(
                asyncio.wait({under.task for under in self._under.values()})
            )
            await asyncio.wait(
                {tasks, insisted}, timeout=GRACE, return_when=asyncio.FIRST_COMPLETED
            )
            for under in self._under.values():
                under.task.cancel()
            await tasks
            insisted.cancel()
            self._collect(crew)
        self._under.clear()
