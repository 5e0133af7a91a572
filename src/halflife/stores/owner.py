"""Who holds a lease, and whether that process is still there."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, named so that no later process can be taken for it.

    Attributes:
        pid: Its number.
        started: When it started, in clock ticks since the machine did.
        boot: The machine's present run, from its start to its shutdown.
        pids: The name space of process numbers; each container has its own.
        host: The machine's name, for people.
        shared: Whether it works on a store that other machines use, too.

    """

    pid: int
    started: int
    boot: str
    pids: str
    host: str
    shared: bool = False

    @classmethod
    def here(cls, *, shared: bool = False) -> Self:
        """Return this very process."""
        pid = os.getpid()
        return cls(
            pid=pid,
            started=started(pid) or 0,
            boot=_text(_PROC / "sys/kernel/random/boot_id"),
            pids=_target(_PROC / "self/ns/pid"),
            host=os.uname().nodename,
            shared=shared,
        )

    @classmethod
    def of(cls, store: object) -> "Owner":
        """Return the owner as which a store takes leases; this process, if in memory.

        One that works on a store of several machines says so.
        """
        owner = getattr(store, "owner", None)
        return owner if isinstance(owner, Owner) else cls.here()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the owner that ``str`` wrote down."""
        return cls(**json.loads(text))

    def __str__(self) -> str:
        row = asdict(self)
        if not self.shared:  # as it always was written
            del row["shared"]
        return json.dumps(row)

    def is_gone(self, here: "Owner") -> bool:
        """Return whether the process is certainly no more, as seen from ``here``.

        A state file works on one machine only (its processes share memory), so
        an owner from another run of the machine is gone; of a store that several
        machines use, it may be at work on another one. A process in another
        container cannot be seen, and one cannot see without ``/proc``: then only
        the lease's end tells.
        """
        if not (self.boot and here.boot):
            return False
        if self.boot != here.boot:
            return not self.shared
        return self.pids == here.pids and started(self.pid) != self.started


def started(pid: int) -> int | None:
    """Return when a process started, in clock ticks; None if there is none."""
    # The second field is the program's name, which may hold spaces and brackets.
    fields = _text(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    return int(fields[19]) if len(fields) > 19 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
