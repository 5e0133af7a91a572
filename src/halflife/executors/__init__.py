"""Executors of fits and plans: this process, a pool of processes, or a Ray cluster.

The setting ``executor`` in halflife.toml names one:

in-process          this process alone
local, local:4      a pool of processes on this machine, one a core or so many
ray, ray:4          Ray on this machine, started for the occasion
ray://host:10001    a Ray cluster, through its client port
auto                the Ray cluster that this machine belongs to
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from halflife.core.errors import UsageError
from halflife.core.executor import Executor

DEFAULT = "local"
_NAME = re.compile(r"in-process|auto|(?:local|ray)(?::[1-9]\d{0,3})?|ray://[^\s/]+")


def check_name(name: str) -> str:
    """Return the name of an executor; raise ``ValueError`` if there is none such.

    >>> check_name("local:4")
    'local:4'
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            "must be 'in-process', 'local', 'local:4', 'ray', 'ray:4', "
            "'ray://host:port' or 'auto'"
        )
    return name


@contextmanager
def executor_named(name: str = DEFAULT) -> Iterator[Executor]:
    """Open the executor of this name, and close it in the end.

    Raise ``UsageError`` if the name is unknown or Ray is not installed, and
    ``ExecutorError`` if its cluster does not answer.

    >>> with executor_named("in-process") as executor:
    ...     executor.reduce(abs, [-1, 2], int.__add__)
    3
    """
    executor = _opened(name)
    try:
        yield executor
    finally:
        executor.close()


def _opened(name: str) -> Executor:
    try:
        check_name(name)
    except ValueError as error:
        raise UsageError(f"executor {error}; got {name!r}") from None
    from halflife.executors.local import (  # noqa: PLC0415  (only if needed)
        InProcess,
        ProcessPool,
    )

    if name == "in-process":
        return InProcess()
    kind, _, rest = name.partition(":")
    if kind == "local":
        return ProcessPool(int(rest) if rest else None)
    from halflife.executors.ray import RayCluster  # noqa: PLC0415  (an extra)

    if kind == "ray" and not rest.startswith("//"):
        return RayCluster(workers=int(rest) if rest else None)
    return RayCluster(name)
