"""Run many requests at once, within the limits of each host."""

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
    """The terms on which jobs are run."""

    def host(self, job: Job_contra) -> str:
        """Return the host of a job's request."""
        ...

    def pause(self, job: Job_contra) -> float:
        """Return the seconds until a request may be sent to that host."""
        ...

    def alone(self, job: Job_contra) -> bool:
        """Say whether that host takes one request at a time."""
        ...

    async def run(self, job: Job_contra) -> list[Observation]:
        """Return the observations; raise ``BudgetSpent`` if it cannot be paid for."""
        ...


class _Queue(Generic[Job]):
    """The jobs of one host, each with its place in the plan."""

    __slots__ = ("jobs", "lined_up", "running")

    def __init__(self) -> None:
        self.jobs: deque[tuple[int, Job]] = deque()
        self.running = 0
        self.lined_up = False  # whether the host is ready or sleeping


class JobRound(Generic[Job]):
    """Runs jobs, best first, at most ``slots`` at a time.

    A slot is held from the start of a job until the caller has taken its observations
    and asks for more. A host that must be waited for holds no slot.
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
        """Yield observations as they come in."""
        for host in self._queues:
            self._line_up(host)
        try:
            while self._start():
                await self._progress()
                if self._error:
                    raise self._error
                done, self._done = self._done, []
                if done:
                    yield [o for observations in done for o in observations]
                    self._free += len(done)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _line_up(self, host: str) -> None:
        """Queue a host that has work for a slot."""
        queue = self._queues[host]
        if queue.jobs and not queue.lined_up:
            queue.lined_up = True
            heappush(self._ready, (queue.jobs[0][0], host))

    def _start(self) -> bool:
        """Fill the free slots; return whether any work is left."""
        now = asyncio.get_running_loop().time()
        while self._sleeping and self._sleeping[0][0] <= now:
            host = heappop(self._sleeping)[1]
            heappush(self._ready, (self._queues[host].jobs[0][0], host))
        while self._free and self._ready and not self._spent:
            self._try(heappop(self._ready)[1], now)
        waiting = not self._spent and bool(self._sleeping)
        return waiting or bool(self._tasks) or bool(self._done)

    def _try(self, host: str, now: float) -> None:
        """Start a host's next job, or let the host sleep until the job may run."""
        queue = self._queues[host]
        job = queue.jobs[0][1]
        queue.lined_up = False
        if queue.running and self._errand.alone(job):
            return  # it is queued again when the running job has ended
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
            observations = await self._errand.run(job)
            self._done.append(observations)  # ``batches`` may have replaced the list
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

    async def _progress(self) -> None:
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
