"""Delivery of changes to sinks: at least once, and in order for each key.

Each sink has a courier and a thread. The courier reads the log from the sink's cursor
on, hands a batch over, and moves the cursor when the batch is durable at the sink. A
failed batch is tried again with growing pauses; after a number of tries the sink is
halted until ``halflife sinks retry`` or ``skip``. A single change that the receiver
refuses becomes a dead letter, and later changes of its key wait with it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from halflife.config import Config
from halflife.config.sinks import SinkConfig
from halflife.core.change import Change
from halflife.core.errors import HalflifeError
from halflife.core.wording import count
from halflife.engine import bootstrap, logs
from halflife.engine.loop import Clock
from halflife.engine.sink_threads import LoopReader, SinkThread
from halflife.readers.containment import describe
from halflife.sinks.protocol import Batch, ChangeRefusedError, DeliveryError, Outlet
from halflife.stores import Store
from halflife.stores.outbox import pause
from halflife.stores.owner import Owner
from halflife.stores.sink_rows import DeadLetter, SinkState

DAY = 86400.0
POLL = 1.0  # seconds between two checks of the log; a check reads one number
PATIENCE = 30.0  # seconds for deliveries at the end of a sync; the rest comes later
GRACE = 5.0  # seconds beyond its own time limit after which a sink counts as hung
MOST_DEAD = (
    10_000  # dead letters at which a sink is halted: too many for one bad change
)
_LONGEST_PAUSE = 1.5  # days; a receiver may ask for one
_CLAIM = 60.0 / DAY  # days that a claim lasts beyond the time limit of a try
_BRIEFLY = 5.0  # seconds between two checks of a sink that hangs


@dataclass(frozen=True, slots=True)
class SinkReport:
    """The state of a sink.

    Attributes:
        settings: The settings of the sink.
        state: Its progress.
        behind: Changes in the log that were not delivered yet.
        dead: Changes that it refused, and later ones of the same keys.

    """

    settings: SinkConfig
    state: SinkState
    behind: int
    dead: int

    def trouble(self) -> str:
        """Return what is wrong, in a line; empty if nothing is."""
        state, problems = self.state, []
        if state.halted:
            problems.append(f"given up after {state.tries} tries: {state.trouble}")
        elif state.tries:
            tries = count(state.tries, "try", "tries")
            problems.append(f"{tries} failed: {state.trouble}")
        if self.dead:
            problems.append(count(self.dead, "dead letter"))
        if state.missed:
            missed = count(state.missed, "change")
            problems.append(f"{missed} left the log before they were delivered")
        return "; ".join(problems)

    @property
    def advice(self) -> str:
        """What to do about it."""
        name = self.settings.name
        if self.state.halted or self.dead:
            return (
                f"fix it, then `halflife sinks retry {name}`, or give these changes "
                f"up: `halflife sinks skip {name}`"
            )
        if self.state.missed:
            return (
                "keep changes longer ([keep] changes_days), make up for them with "
                f"`halflife export`, then `halflife sinks skip {name}`"
            )
        return "it is tried again automatically; fix it if it continues to fail"


def reports(config: Config, store: Store) -> list[SinkReport]:
    """Return the state of each sink in the settings."""
    newest = store.changes.last()
    return [_report(sink, store, newest) for sink in config.sink]


def _report(sink: SinkConfig, store: Store, newest: int) -> SinkReport:
    state = store.sinks.state(sink.name) or SinkState(sink.name)
    dead = store.sinks.dead_count(sink.name)
    return SinkReport(sink, state, max(newest - state.cursor, 0), dead)


@asynccontextmanager
async def delivering(
    config: Config,
    store: Store,
    *,
    clock: Clock = bootstrap.clock,
    poll: float = POLL,
) -> AsyncIterator[None]:
    """Deliver changes in the background while the block runs."""
    couriers = _couriers(config, store, clock)
    tasks = [asyncio.create_task(courier.work(poll)) for courier in couriers]
    try:
        yield
    finally:
        await _end(couriers, tasks)


async def deliver(
    config: Config,
    store: Store,
    *,
    clock: Clock = bootstrap.clock,
    patience: float = PATIENCE,
    stop: asyncio.Event | None = None,
) -> list[SinkReport]:
    """Deliver the changes in the log; return the states of the sinks.

    A sink that fails is not tried again; all end after ``patience`` seconds, or at once
    when ``stop`` is set.
    """
    couriers = _couriers(config, store, clock)
    tasks = [asyncio.create_task(courier.empty()) for courier in couriers]
    stopped = asyncio.create_task((stop or asyncio.Event()).wait())
    try:
        end = asyncio.get_running_loop().time() + patience
        left = set(tasks)
        while left and not stopped.done():
            wait = end - asyncio.get_running_loop().time()
            if wait <= 0:
                break
            done, _ = await asyncio.wait(
                {*left, stopped}, timeout=wait, return_when=asyncio.FIRST_COMPLETED
            )
            left -= done
    finally:
        stopped.cancel()
        await _end(couriers, tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
    return reports(config, store)


def _couriers(config: Config, store: Store, clock: Clock) -> "list[Courier]":
    folder = config.path.absolute().parent
    outlet = Outlet(folder, config.store_path, config.fetch.contact)
    return [Courier(sink, store, outlet, clock) for sink in config.sink]


async def _end(
    couriers: "Sequence[Courier]", tasks: "Sequence[asyncio.Task[None]]"
) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.gather(*(courier.close() for courier in couriers))


class Courier:
    """Delivers changes to one sink.

    Args:
        settings: The settings of the sink.
        store: The store with the log and the state of the sink.
        outlet: The folder, store path and contact that the sink receives.
        clock: The time in days.

    """

    def __init__(
        self, settings: SinkConfig, store: Store, outlet: Outlet, clock: Clock
    ) -> None:
        self.settings, self._store, self._clock = settings, store, clock
        self._book = store.sinks
        self._owner = str(Owner.of(store))
        self._thread = SinkThread(settings, outlet)
        self._parked: set[tuple[str, str]] | None = None
        self._caught_up = -1  # the newest change when there was nothing to deliver

    async def work(self, poll: float) -> None:
        """Deliver changes as they come, until cancelled."""
        while True:
            more = False
            try:
                more = await self.round(patient=True)
            except HalflifeError:
                pass  # a full disk, for example: the service itself reports that
            except Exception as error:  # noqa: BLE001  (contained to this sink)
                self._log("not delivered", trouble=describe(error))
            await asyncio.sleep(0.0 if more else poll)

    async def empty(self) -> None:
        """Deliver until nothing is left, or a try fails."""
        while await self.round():
            pass

    async def close(self) -> None:
        """Close and release the sink."""
        await self._thread.close()
        with suppress(HalflifeError):
            self._book.release(self.settings.name, self._owner)

    async def round(self, *, patient: bool = False) -> bool:
        """Deliver a batch, if it is due; return whether there may be another at once.

        With ``patient`` a batch that is not full waits for the interval ``every``.
        """
        newest, now = self._store.changes.last(), self._clock()
        if newest == self._caught_up:
            return False
        state = self._state(newest)
        # No pause is longer: a later time was written while the clock was ahead.
        if state.halted or now < state.due <= now + _LONGEST_PAUSE:
            return False
        if state.cursor >= newest:
            self._caught_up = newest
            return False
        if patient and newest - state.cursor < self.settings.batch:
            last = state.delivered_at
            if last is not None and 0 <= now - last < self.settings.every / DAY:
                return False
        return await self._deliver(state, newest)

    def _state(self, newest: int) -> SinkState:
        """Return the state of the sink; a new one begins where its settings say."""
        name = self.settings.name
        state = self._book.state(name)
        if state is None:
            first = self._store.changes.read(0, 1) if newest else []
            kept = first[0].seq - 1 if first else newest
            cursor = newest if self.settings.start == "now" else kept
            self._book.begin(SinkState(name, cursor))
            state = self._book.state(name) or SinkState(name, cursor)
        return state

    def _claim(self, before: SinkState, after: SinkState) -> bool:
        now = self._clock()
        until = now + (self.settings.timeout + GRACE) / DAY + _CLAIM
        return self._book.claim(before, after, self._owner, now=now, until=until)

    async def _deliver(self, before: SinkState, newest: int) -> bool:
        """Deliver the next batch, unless another process delivers it."""
        state, changes = self._read(before, newest)
        if not self._claim(before, state):
            return False
        # Numbers have no gaps: missing changes were removed from the log.
        gaps = state.upto - state.cursor - len(changes)
        done = replace(state, missed=state.missed + gaps)
        ready, dead = self._divide(self._wanted(changes))
        if not ready:
            return self._move(done, 0, dead)
        first, reader = before.cursor + 1, self._reader()
        batch = Batch(self.settings.name, first, state.upto, ready, newest, reader)
        try:
            await self._hand_over(state, batch)
        except ChangeRefusedError as error:
            return self._bury_refused(done, ready, error, dead)
        except DeliveryError as error:
            self._fail(state, error)
            return False
        return self._move(done, len(ready), dead)

    def _reader(self) -> LoopReader:
        return LoopReader(self._store, asyncio.get_running_loop())

    def _bury_refused(
        self,
        state: SinkState,
        changes: Sequence[Change],
        error: ChangeRefusedError,
        dead: Sequence[DeadLetter],
    ) -> bool:
        """Make a refused change a dead letter; of several, retry them one by one."""
        if len(changes) > 1:
            before = self._book.state(state.name) or state  # nothing is missed yet
            after = replace(before, alone=state.upto, upto=0)
            return self._book.save(state, after, self._owner)
        (change,) = changes
        if self._parked is not None:
            self._parked.add((change.source, change.key))
        letter = DeadLetter(change, self._clock(), str(error))
        return self._move(state, 0, [*dead, letter])

    def _read(self, state: SinkState, newest: int) -> tuple[SinkState, list[Change]]:
        """Return the changes of the next batch, and the state that names its end."""
        alone = state.cursor < state.alone
        most = 1 if alone else self.settings.batch
        if state.upto > state.cursor:  # a batch that was tried before
            found = list(self._up_to(state.cursor, state.upto))
            return state, found
        found = self._store.changes.read(state.cursor, most)
        # If there are none, they left the log, as far as ``newest``.
        return replace(state, upto=found[-1].seq if found else newest), found

    def _up_to(self, cursor: int, last: int) -> Iterator[Change]:
        while cursor < last:
            found = self._store.changes.read(cursor, self.settings.batch)
            yield from (change for change in found if change.seq <= last)
            if not found:
                return
            cursor = found[-1].seq

    def _wanted(self, changes: list[Change]) -> list[Change]:
        sources, kinds = self.settings.sources, self.settings.kinds
        if sources:
            changes = [change for change in changes if change.source in sources]
        if kinds:
            changes = [change for change in changes if change.kind in kinds]
        return changes

    def _divide(self, changes: list[Change]) -> tuple[list[Change], list[DeadLetter]]:
        """Return the changes to deliver, and those that wait for an earlier one."""
        parked = self._parked_keys()
        if not parked:
            return changes, []
        ready = [c for c in changes if (c.source, c.key) not in parked]
        dead = [
            DeadLetter(c, self._clock(), "an earlier change of this key waits")
            for c in changes
            if (c.source, c.key) in parked
        ]
        return ready, dead

    def _parked_keys(self) -> set[tuple[str, str]]:
        if self._parked is None or self._parked:  # they may have been skipped
            self._parked = self._book.parked(self.settings.name)
        return self._parked

    async def _hand_over(self, state: SinkState, batch: Batch) -> None:
        """Wait until a batch is durable; a timeout counts as a failure.

        A sink that hangs is still waited for: two batches at a time would lose their
        order.
        """
        limit = self.settings.timeout + GRACE
        under_way = self._thread.deliver(batch)
        try:
            done, _ = await asyncio.wait({under_way}, timeout=limit)
            if not done:
                late = DeliveryError(f"it did not return within {limit:.0f} s")
                hung = self._fail(state, late)
                while not done:
                    self._claim(hung, hung)
                    done, _ = await asyncio.wait({under_way}, timeout=_BRIEFLY)
            under_way.result()
        finally:
            under_way.cancel()  # its result is not used any more

    def _move(
        self, state: SinkState, delivered: int, dead: Sequence[DeadLetter]
    ) -> bool:
        """Move the cursor beyond the batch; return whether to go on."""
        now = self._clock()
        halted = bool(dead) and self._book.dead_count(state.name) >= MOST_DEAD
        last = {"delivered_at": now} if delivered else {}
        after = replace(
            state.reset_tries(now),
            cursor=state.upto,
            upto=0,
            trouble=dead[-1].trouble if halted else "",
            halted=halted,
            delivered=state.delivered + delivered,
            **last,  # type: ignore[arg-type]
        )
        if dead:
            self._log("changes refused", dead=len(dead), trouble=dead[-1].trouble)
        self._book.save(state, after, self._owner, dead)
        return not halted

    async def deliver_dead(self) -> None:
        """Deliver the dead letters in their order, one by one.

        A change that is refused again stays, with later changes of the same key.
        """
        name, newest = self.settings.name, self._store.changes.last()
        state, stays = self._book.state(name), set[tuple[str, str]]()
        if state is None or not self._claim(state, state):
            return
        for letter in self._book.dead(name, MOST_DEAD):
            change = letter.change
            if (change.source, change.key) in stays:
                continue
            self._claim(state, state)  # extends the claim for this delivery
            seq, reader = change.seq, self._reader()
            batch = Batch(name, seq, seq, [change], newest, reader)
            try:
                await self._hand_over(state, batch)
            except ChangeRefusedError:
                stays.add((change.source, change.key))
            except DeliveryError as error:
                self._fail(state, error)
                return
            else:
                self._book.unbury(name, [seq])

    def _fail(self, state: SinkState, error: DeliveryError) -> SinkState:
        """Record a failed try and the time of the next; return the new state."""
        now, tries = self._clock(), state.tries + 1
        wait = max(pause(tries, state.cursor), min(error.wait / DAY, 1.0))
        after = replace(
            state,
            tries=tries,
            due=now + wait,
            since=now if state.since is None else state.since,
            trouble=str(error)[:500],
            halted=tries >= self.settings.tries,
        )
        self._book.save(state, after, self._owner)
        self._log("not delivered", tries=tries, trouble=str(error))
        return after

    def _log(self, event: str, **fields: object) -> None:
        about = {"sink": self.settings.name, **fields}
        logs.event(event, level=logging.WARNING, fields=about)


async def retry(
    config: Config, store: Store, name: str, *, clock: Clock = bootstrap.clock
) -> SinkReport:
    """Retry a sink at once, its dead letters first; return its state after that."""
    (settings,) = (sink for sink in config.sink if sink.name == name)
    store.sinks.retry(name, clock())
    alone = config.model_copy(update={"sink": (settings,)})
    (courier,) = _couriers(alone, store, clock)
    try:
        await courier.deliver_dead()
    finally:
        await courier.close()
    (report,) = await deliver(alone, store, clock=clock)
    return report
