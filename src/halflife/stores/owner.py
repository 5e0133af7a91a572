"""The owner of a lease, and whether its process still exists."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, identified so that no later process can be taken for it.

    Attributes:
        pid: Its process number.
        started: When it started, in clock ticks since the machine did.
        boot: The boot of the machine, from its start to its shutdown.
        pids: The name space of process numbers; each container has its own.
        host: The machine's name, for people.
        shared: Whether its store is also used by other machines.

    """

    pid: int
    started: int
    boot: str
    pids: str
    host: str
    shared: bool = False

    @classmethod
    def here(cls, *, shared: bool = False) -> Self:
        """Return the current process."""
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
        """Return the owner as which a store takes leases.

        That is the current process, unless the store has an owner of its own.
        """
        owner = getattr(store, "owner", None)
        return owner if isinstance(owner, Owner) else cls.here()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the owner that a text describes, as ``str`` writes it."""
        return cls(**json.loads(text))

    def __str__(self) -> str:
        row = asdict(self)
        if not self.shared:  # as written by versions without this field
            del row["shared"]
        return json.dumps(row)

    def is_gone(self, here: "Owner") -> bool:
        """Return whether the process certainly no longer exists, as seen from ``here``.

        A state file is used on one machine only (its processes share memory), so an
        owner from an earlier boot is gone; of a store that several machines use, it
        may run on another one. A process in another container cannot be seen, and
        without ``/proc`` none can: then only the end of the lease shows it.
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
