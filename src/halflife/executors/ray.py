"""Work on a Ray cluster, or by Ray on this machine.

Ray is imported when it is needed, and comes with ``halflife[cluster]``. The machines of
a cluster need the same versions of Python, Ray and halflife, and the same files.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from halflife.core.errors import ExecutorError, UsageError
from halflife.core.executor import Part, Result
from halflife.core.wording import one_line
from halflife.executors.local import InProcess

AHEAD = 4  # parts submitted for each worker before the first result is taken


class RayCluster(InProcess):
    """Runs parts on Ray's workers; the function is sent once.

    Args:
        address: ``ray://host:port``, or ``auto`` for the cluster that this machine
            belongs to; without it Ray is started here and ended in the end.
        workers: How many parts run at the same time, if Ray is started here.

    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray = _imported()
        self._ours = not self._ray.is_initialized()
        if self._ours:
            _connect(self._ray, address, workers)
        elif address not in {None, "auto"}:
            raise ExecutorError(
                f"cannot reach Ray {address}: this process uses another cluster already"
            )
        self._slots = max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def map(
        self, work: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """Yield the result of each part, in order."""
        ray = self._ray
        do = ray.remote(_do)
        shared = ray.put(work)
        pending: list[Any] = []
        try:
            for part in parts:
                pending.append(do.remote(shared, part))
                if len(pending) >= AHEAD * self._slots:
                    yield self._get(pending.pop(0))
            while pending:
                yield self._get(pending.pop(0))
        finally:
            for reference in pending:
                ray.cancel(reference)

    def _get(self, reference: Any) -> Any:  # noqa: ANN401  (Ray has no types)
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            if not isinstance(error.cause, errors.RayError):
                raise error.cause from None
            reason = one_line(error.cause)
        except errors.RayError as error:
            reason = one_line(error)
        raise ExecutorError(f"Ray lost a part of the work: {reason}")

    def close(self) -> None:
        """Disconnect, and end what was started here."""
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()


def _do(work: Callable[[Part], Result], part: Part) -> Result:
    return work(part)


def _imported() -> Any:  # noqa: ANN401  (Ray has no types)
    try:
        import ray  # noqa: PLC0415  (an extra)
    except ImportError:
        raise UsageError(
            "this executor needs Ray; install it with: pip install 'halflife[cluster]'"
        ) from None
    return ray


def _connect(ray: Any, address: str | None, workers: int | None) -> None:  # noqa: ANN401
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address is None:
            ray.init(num_cpus=workers, include_dashboard=False, **quiet)
        else:
            ray.init(address, **quiet)
    except (ConnectionError, RuntimeError, OSError, ValueError) as error:
        where = address or "on this machine"
        raise ExecutorError(f"cannot reach Ray {where}: {one_line(error)}") from None
