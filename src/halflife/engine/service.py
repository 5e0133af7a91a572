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

from halflife.alerts.machine import raised_alarms
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
from halflife.engine.service_terms import DAY, ServiceEnvironment, ServiceRhythm
from halflife.engine.signals import GRACE, Stop
from halflife.engine.wallet import Wallet
from halflife.engine.workers import Crew, CrewTerms, WorkGrant, open_crew
from halflife.kinds.protocol import Group, Memo, Report
from halflife.kinds.registry import kind_of
from halflife.net.wire import NO_NETWORK
from halflife.stores import Store
from halflife.stores.notes.control import RUNNING

PROBE = 30.0  # seconds between two tests whether the network is back
WAIT = 2.0  # seconds that a turn waits for its work: a slow source delays no other
THRIFT = 10.0  # sleep at least this many times the planning time
_LAST_TRY = 0.2  # seconds at the end for messages; the rest waits in the outbox
PUNCTUAL = 0.2  # of the shortest pause, if a longest interval ends by then
_JUST_OVER = 0.01  # seconds past that end, so that rounding of the clock is no matter
_LEAST_NAP = 0.5  # seconds, after a turn that waited for its work in vain
JUMP = 60.0  # seconds by which two clocks may differ before it is logged

__all__ = [
    "DAY",
    "RunningWork",
    "Service",
    "ServiceEnvironment",
    "ServiceRhythm",
    "Timing",
]

Job: TypeAlias = "asyncio.Task[Report]"


@dataclass(slots=True)
class RunningWork:
    """A piece of work under way: its task, its advance payment, and its reason."""

    group: tuple[SourceConfig, ...]
    task: Job
    paid: float
    why: str = ""


@dataclass(slots=True)
class Timing:
    """The moments and durations that the service keeps; days, unless noted."""

    now: float
    tick: float  # seconds of the monotonic clock
    judged: float = float("-inf")
    nap: float = 0.0  # seconds
    decided: float = 0.0  # seconds that the last decision took
    again: float = float("inf")  # seconds after which there may be something to do
    due: float = float("inf")  # when the next longest interval is over, in days
    judging: float = 0.0  # seconds that the last judgement took


class Service:
    """Keeps sources of every kind fresh until a stop is requested.

    Args:
        settings: The settings, which may change.
        store: The store.
        stop: Whether a stop is requested.
        environment: The clock, and the callbacks for results.

    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        stop: Stop,
        environment: ServiceEnvironment | None = None,
    ) -> None:
        self.settings, self.store, self.stop = settings, store, stop
        self._environment = environment or ServiceEnvironment()
        self.clock = self._environment.clock
        now = self.clock()
        self.status = ServiceStatus(began=now, measure=self._measure)
        self.breakers: dict[str, Breaker] = {}
        self._under: dict[Group, RunningWork] = {}
        self._time = Timing(now, 0.0)
        self._tidier = housekeeping.Tidier(store)
        self._memo = Memo()
        self._hurry = False
        self._cut = False  # whether something never fetched waits for requests
        self._settings_trouble = ""  # the last one logged
        self._beyond = False  # whether it was logged that targets need too much
        self._resumed = False  # whether work goes on after a pause
        self._kind_faults: dict[str, str] = {}

    async def run(self) -> None:
        """Turn until a stop is requested; apply changed settings in between."""
        self._time.tick = asyncio.get_running_loop().time()
        store, clock, environment = self.store, self.clock, self._environment
        while not self.stop.asked.is_set():
            config, chosen = self.settings.config, self.settings.chosen
            bootstrap.add_items(config, store)
            self._resumed = False
            self.breakers = {s.name: breakers.recall(store, s.name) for s in chosen}
            async with AsyncExitStack() as stack:
                terms = CrewTerms(
                    environment.audits, environment.transport, environment.fleet
                )
                opened = open_crew(config, store, chosen, clock, terms)
                crew, leases = await stack.enter_async_context(opened)
                poll = environment.rhythm.messages
                messages = notifications.delivering(
                    config, store, clock=clock, poll=poll, grace=_LAST_TRY
                )
                await stack.enter_async_context(messages)
                if environment.transport is None:  # a replay delivers nothing
                    changes = deliveries.delivering(config, store, clock=clock)
                    await stack.enter_async_context(changes)
                logs.event("working", fields={"sources": len(chosen)})
                self._adopt(crew)
                try:
                    await self._turns(crew, leases)
                finally:
                    await self._finish(crew)
        await self._tidier.end()
        logs.event("stopped", fields={"turns": self.status.turns})

    def _adopt(self, crew: Crew) -> None:
        """Follow work that other processes began before this crew was opened."""
        for group, paid in crew.under_way():
            task = asyncio.create_task(crew.begin(group, WorkGrant(0, paid)))
            self._under[scheduler.names(group)] = RunningWork(group, task, paid)

    async def _turns(self, crew: Crew, leases: "list[asyncio.Task[None]]") -> None:
        """Turn until a stop is requested, or until there are new settings."""
        while not self.stop.asked.is_set():
            for lease in leases:
                if lease.done():
                    lease.result()  # it was lost: raise
            await self.turn(crew)
            if self._resumed or await self._nap():
                return

    async def turn(self, crew: Crew) -> None:
        """Decide, work, and handle the results."""
        loop = asyncio.get_running_loop()
        began, now = loop.time(), self._watch_clock()
        if self._is_held_up(crew):
            await self._settle(WAIT)
            self._collect(crew)
            self._time.nap = (
                _LEAST_NAP if self._under else self._environment.rhythm.slice
            )
        elif self.status.offline and not await self._back(crew):
            self._time.nap = PROBE
        else:
            self._decide(crew, now)
            self._time.decided = loop.time() - began
            self._environment.busy(bool(self._under))
            await self._settle(WAIT)
            self._collect(crew)
            waited = WAIT if self._under else 0.0  # it counts as sleep
            wait = min(self._until_next() - waited, self._until_due())
            self._time.nap = max(wait, _LEAST_NAP)
        if not self._hurry:
            self._environment.busy(bool(self._under))
        self._judge(crew)
        self._tidier.tidy(self.settings.config, self.clock())
        self._note(crew, loop.time() - began)

    def _is_held_up(self, crew: Crew) -> bool:
        """Say whether work is paused or drained; see ``control``."""
        command = control.read(self.store)
        if command.state != self.status.control:
            logs.event(command.state, fields={})
            # An eased worker begins nothing more, so all workers are opened again.
            self._resumed = command.state == RUNNING
            self.status.control = command.state
        if command.is_draining and not self._under:
            self.stop.asked.set()
        if self._resumed or command.is_paused or command.is_draining:
            if self._under:
                crew.ease()
            return True
        return False

    def _watch_clock(self) -> float:
        """Return the time; log it if the clock jumped or the machine slept."""
        now, tick = self.clock(), asyncio.get_running_loop().time()
        jump = (now - self._time.now) * DAY - (tick - self._time.tick)
        if abs(jump) > JUMP and self.status.turns:
            logs.event("clock jumped", fields={"seconds": jump})
        self._time.now, self._time.tick = now, tick
        return now

    def _decide(self, crew: Crew, now: float) -> None:
        """Decide what to do, pay for it, and begin."""
        config = crew.config
        busy = {*self._under, *self._closed(now)}
        nap = self._time.nap / DAY  # as planned: the machine may have been suspended
        at = scheduler.Situation(
            config, self.store, now, crew.groups, busy, self._memo, nap
        )
        decision = scheduler.decide(at)
        self._cut = decision.cut
        self._note_kind_faults(crew, now)
        self._time.again = decision.again * DAY
        self._time.due = now + decision.due_in
        at.wallet.use(sum(decision.paid.values()), now)
        for group in crew.groups:
            names = scheduler.names(group)
            if requests := decision.grants.get(names, 0):
                paid, why = decision.paid.get(names, 0.0), decision.why.get(names, "")
                grant = WorkGrant(requests, paid, decision.values.get(names[0]))
                task = asyncio.create_task(crew.begin(group, grant))
                self._under[names] = RunningWork(group, task, paid, why)
        if not decision.idle:
            self.status.due = decision.due
        targets.remember(self.store, decision.aim.memories)
        self._say_beyond(crew, decision)

    def _say_beyond(self, crew: Crew, decision: Decision) -> None:
        """Log once that the targets need more than the budget has."""
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

    def _note_kind_faults(self, crew: Crew, now: float) -> None:
        """Record the sources whose kind fails at deciding, for as long as it does."""
        for source in (source for group in crew.groups for source in group):
            name, fault = source.name, kind_of(source).fault(source.name)
            if fault:
                self.status.mishandle(name, fault, now)
            if fault != self._kind_faults.get(name):
                faults.note_kind_fault(self.store, name, fault)
                self._kind_faults[name] = fault

    def _closed(self, now: float) -> set[Group]:
        """Return the groups whose circuit breaker is open."""
        found = breakers.refresh(self.store, self.breakers).items()
        return {(name,) for name, one in found if one.closed_for(now) > 0}

    async def _settle(self, seconds: float) -> None:
        """Wait for all work, at most so many seconds and until a stop is requested."""
        tasks = {under.task for under in self._under.values()}
        stopped = asyncio.create_task(self.stop.asked.wait())
        end = asyncio.get_running_loop().time() + seconds
        while tasks and not stopped.done():
            left = end - asyncio.get_running_loop().time()
            if left <= 0:
                break
            done, _ = await asyncio.wait(
                {*tasks, stopped}, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            tasks -= done
        stopped.cancel()

    def _collect(self, crew: Crew) -> None:
        """Handle the work that is done."""
        lost = answered = found = room = False
        for names, under in list(self._under.items()):
            if not under.task.done() or under.task.cancelled():
                continue
            del self._under[names]
            done = self._result(names, under)
            self._account(crew, under, done)
            lost, answered = lost or done.lost, answered or done.heard
            found |= done.found > 0
            room |= self._cut  # it may not have taken all that it was granted
        self._hurry = found or room
        if answered or lost:
            self._connected(offline=lost and not answered)

    def _result(self, names: Group, under: RunningWork) -> Report:
        """Return the report of work; an exception becomes the trouble of its source."""
        error = under.task.exception()
        if error is None:
            return under.task.result()
        terms = kind_of(under.group[0]).terms
        if isinstance(error, LeaseLost) and terms.holds_lease:
            raise error
        return broken_work.report(names, error, under.group[0].where)

    def _account(self, crew: Crew, under: RunningWork, done: Report) -> None:
        """Settle the payment, record the result, and report it."""
        now, source = self.clock(), under.group[0]
        redirects.note(self.store, crew.gate, under.group)
        kind = kind_of(source)
        back = kind.terms.refund(under.paid, done.requests, offline=done.lost)
        if back:
            Wallet(self.store, crew.config.budget).use(-back, now)
        many = f"{len(done.group)} sources"
        label = "+".join(done.group) if len(done.group) < 4 else many
        sent = self.status.requests
        sent[label] = sent.get(label, 0) + done.requests
        if done.result is not None or done.trouble:
            self._learn(source, done, now)
        kind.keep_faults(self.store, under.group, done.mishandled)
        for name, note in done.mishandled.items():
            self.status.mishandle(name, note, now)
        for name, failed in done.failures.items():
            self.status.failures[name] = self.status.failures.get(name, 0) + failed
        if done.trouble or done.held:
            fields = {"sources": label, "held": done.held, "trouble": done.trouble}
            logs.event("trouble", level=logging.WARNING, fields=fields)
        if done.requests or done.result is not None:
            spent: dict[str, object] = {"sources": label, "requests": done.requests}
            logs.event(
                "worked", fields=spent | ({"why": under.why} if under.why else {})
            )
        if done.result is not None:
            self._environment.on_report(done)

    def _learn(self, source: SourceConfig, done: Report, now: float) -> None:
        """Update the breaker of a source; a failure of our network does not count."""
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
        return await self._environment.reach(addresses)

    def _until_next(self) -> float:
        """Return the seconds until a turn can spend requests."""
        config, now = self.settings.config, self.clock()
        wallet = Wallet(self.store, config.budget)
        plenty = wallet.income(now) >= config.budget.hourly
        rhythm = self._environment.rhythm
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
        """Return the seconds until something is due, within limits."""
        seconds = (self._time.due - self.clock()) * DAY + _JUST_OVER
        least = PUNCTUAL * self._environment.rhythm.shortest
        return max(seconds, least, THRIFT * self._time.decided)

    async def _nap(self) -> bool:
        """Sleep until the next turn; say whether there are new settings."""
        left, piece = self._time.nap, self._environment.rhythm.slice
        if self._environment.fleet is not None:
            piece = _LEAST_NAP  # workers wait for new work
        while left > 0 and not self.stop.asked.is_set():
            await self.stop.sleep(min(left, piece))
            left -= piece
            if self._must_turn_early():
                return False
            if self.settings.changed() and self._renewed():
                return True
        return False

    def _must_turn_early(self) -> bool:
        """Say whether there is a reason to turn early."""
        if control.read(self.store).state != self.status.control:
            return True
        done = any(under.task.done() for under in self._under.values())
        return done and self._environment.fleet is not None

    def _renewed(self) -> bool:
        """Read the settings on disk; say whether anything is new."""
        fresh = self.settings.reload()
        trouble = self.settings.trouble
        if trouble and trouble != self._settings_trouble:
            fields = {"trouble": trouble}
            logs.event("settings not used", level=logging.ERROR, fields=fields)
        elif fresh:
            logs.event("settings read again", fields={})
            self._beyond = False
        self._settings_trouble = self.status.settings = trouble
        return fresh

    def _judge(self, crew: Crew) -> None:
        """Judge the health of sources from time to time, and raise alarms."""
        now, began = self.clock(), asyncio.get_running_loop().time()
        judged = self._environment.rhythm.judged
        pause = max(judged, 2.0 * THRIFT * self._time.judging) / DAY
        if 0 <= now - self._time.judged < pause:
            return
        self._time.judged = now
        config, store = crew.config, self.store
        sources = [source for group in crew.groups for source in group]
        judge = source_health.HealthJudge(config, store, now, self.breakers, self._memo)
        healths = [judge.health(source) for source in sources]
        if self.status.offline:  # without a network no source counts as dead
            healths = [replace(h, failures=0, blocked=NO_NETWORK) for h in healths]
        whole = source_health.whole(
            config,
            store,
            now,
            offline=self.status.offline,
            settings=self.settings.trouble,
        )
        notifications.update_alarms(config, store, [*healths, whole], now)
        self.status.sources = tuple(healths)
        alarms = raised_alarms(store.outbox.alarms())
        self.status.alarms = tuple((alarm.source, alarm.kind) for alarm in alarms)
        self._time.judging = asyncio.get_running_loop().time() - began

    def _measure(self, now: float) -> dict[str, Forecast]:
        """Return how good the copy of each source is at this moment."""
        config, store, memo = self.settings.config, self.store, self._memo
        judge = source_health.HealthJudge(config, store, now, self.breakers, memo)
        return judge.qualities(self.settings.chosen)

    def _note(self, crew: Crew, seconds: float) -> None:
        """Update the status of the service."""
        status, now = self.status, self.clock()
        budget = crew.config.budget
        status.turned, status.turns = now, status.turns + 1
        status.seconds, status.in_flight = seconds, len(self._under)
        status.budget = budget.requests
        status.left = Wallet(self.store, budget).room(now)
        status.failing = tuple(sorted(n for n, b in self.breakers.items() if b.failing))
        status.store_bytes = self.store.size()

    async def _finish(self, crew: Crew) -> None:
        """Begin nothing more; give work under way a few seconds to end."""
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
