"""Many requests at once, without crowding any host."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from heapq import heappop, heappush
from typing import Generic, Protocol, TypeVar

from halflife.core.errors import BudgetSpent
from halflife.core.observation import Observation

Job = TypeVar("Job")
Job_contra = TypeVar("Job_contra", contravariant=True)


class RoundTerms(Protocol[Job_contra]):
    """How jobs are carried out."""

    def host(self, job: Job_contra) -> str:
        """Return the host that a job asks."""
        ...

    def pause(self, job: Job_contra) -> float:
        """Return the seconds until that host may be asked."""
        ...

    def alone(self, job: Job_contra) -> bool:
        """Say whether that host takes one request at a time."""
        ...

    async def run(self, job: Job_contra) -> list[Observation]:
        """Return what was seen; raise ``BudgetSpent`` if it cannot be paid for."""
        ...


class _Queue(Generic[Job]):
    """The jobs of one host, each with its place in the plan."""

    __slots__ = ("jobs", "lined_up", "running")

    def __init__(self) -> None:
        self.jobs: deque[tuple[int, Job]] = deque()
        self.running = 0
        self.lined_up = False  # it stands among the ready or the sleeping


class JobRound(Generic[Job]):
    """Carries out jobs, best first, at most ``slots`` at a time.

    A slot is held from the start of a job until the caller has taken what it
    found and asks for more. A host that must be waited for holds no slot.
    """

    def __init__(
        self, jobs: Iterable[Job], errand: RoundTerms[Job], slots: int
    ) -> None:
        self._errand = errand
        self._free = slots
        self._queues: dict[str, _Queue[Job]] = {}
        self._ready: list[tuple[int, str]] = []  # a heap, by place in the plan
        self._sleeping: list[tuple[float, str]] = []  # a heap, by time of waking
        self._tasks: set[asyncio.Task[None]] = set()
        self._done: list[list[Observation]] = []
        self._error: BaseException | None = None
        self._spent = False
        self._stir = asyncio.Event()
        for place, job in enumerate(jobs):
            queue = self._queues.setdefault(errand.host(job), _Queue())
            queue.jobs.append((place, job))

    async def batches(self) -> AsyncGenerator[list[Observation]]:
        """Yield what was found, as it comes in."""
        for host in self._queues:
            self._line_up(host)
        try:
            while self._start():
                await self._something()
                if self._error:
                    raise self._error
                done, self._done = self._done, []
                if done:
                    yield [look for looks in done for look in looks]
                    self._free += len(done)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _line_up(self, host: str) -> None:
        """Let a host that has work stand in line for a slot."""
        queue = self._queues[host]
        if queue.jobs and not queue.lined_up:
            queue.lined_up = True
            heappush(self._ready, (queue.jobs[0][0], host))

    def _start(self) -> bool:
        """Fill the free slots; return whether there is anything to wait for."""
        now = asyncio.get_running_loop().time()
        while self._sleeping and self._sleeping[0][0] <= now:
            host = heappop(self._sleeping)[1]
            heappush(self._ready, (self._queues[host].jobs[0][0], host))
        while self._free and self._ready and not self._spent:
            self._try(heappop(self._ready)[1], now)
        waiting = not self._spent and bool(self._sleeping)
        return waiting or bool(self._tasks) or bool(self._done)

    def _try(self, host: str, now: float) -> None:
        """Begin a host's next job, or put it to sleep until it may be asked."""
        queue = self._queues[host]
        job = queue.jobs[0][1]
        queue.lined_up = False
        if queue.running and self._errand.alone(job):
            return  # it lines up again when the job that runs has ended
        wait = self._errand.pause(job)
        if wait > 0:
            queue.lined_up = True
            heappush(self._sleeping, (now + wait, host))
            return
        queue.jobs.popleft()
        queue.running += 1
        self._free -= 1
        task = asyncio.get_running_loop().create_task(self._run(host, job))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        self._line_up(host)

    async def _run(self, host: str, job: Job) -> None:
        try:
            looks = await self._errand.run(job)
            self._done.append(looks)  # the list may be another by now
        except BudgetSpent:
            self._spent = True
        finally:
            self._queues[host].running -= 1
        self._line_up(host)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            self._error = self._error or task.exception()
        self._stir.set()

    async def _something(self) -> None:
        """Wait until a job has ended or a host has woken up."""
        if self._done:
            return
        self._stir.clear()
        alarm = None
        if self._sleeping and self._free and not self._spent:
            loop = asyncio.get_running_loop()
            alarm = loop.call_at(self._sleeping[0][0], self._stir.set)
        await self._stir.wait()
        if alarm:
            alarm.cancel()
