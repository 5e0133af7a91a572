"""Power cuts without a power switch.

``record`` runs a program under strace and notes every change it makes to the files
below a folder. ``disk_after`` then rebuilds the folder as a disk could hold it if
the power had failed after the first n of these events:

- what a file held when it was last synced is there; each later write is there,
  missing, or torn: any part of its 512-byte sectors is there;
- names come, go and move in order, and at least as far as the last sync of the
  folder demands; a synced file keeps its name.

The model is that of SQLite's crash tests (test6.c) and of ALICE (Pillai et al.,
"All file systems are not created equal", OSDI 2014). The program says what it
promises by writing lines to a file ``record`` is told of: all promises made
before the cut must hold on the disk after it.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from missing_programs import reason

SECTOR = 512
CALLS = (
    "openat,creat,write,pwrite64,ftruncate,fsync,fdatasync,"
    "rename,renameat,renameat2,unlink,unlinkat"
)
_CALL = re.compile(r"^(?:\d+\s+)?(\w+)\((.*)\)\s+=\s+(\d+)(?:<(.*)>)?$")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_FD = re.compile(r"^\d+<((?:\\x[0-9a-f]{2})*)>")
_IGNORED = ("-shm",)  # shared memory; SQLite makes it anew after a crash


@dataclass(frozen=True, slots=True)
class Event:
    """One change: ``what`` happened to file ``name``, or what was promised."""

    what: str
    name: str = ""
    at: int = 0
    data: bytes = b""
    to: str = ""


def can_record() -> bool:
    """Return whether programs can be traced here."""
    if shutil.which("strace") is None:
        return False
    trial = subprocess.run(["strace", "true"], capture_output=True, check=False)
    return trial.returncode == 0


def need_recorder() -> None:
    """Skip the test where programs cannot be traced."""
    if not can_record():
        pytest.skip(reason("strace", "or it may not trace programs here"))


def record(command: Sequence[str], folder: Path, promises: Path) -> list[Event]:
    """Run a program; return the changes it makes below a folder, and its promises."""
    trace = promises.with_suffix(".trace")
    options = ["-f", "-y", "-xx", "-s", "9999999", "-e", f"trace={CALLS}"]
    subprocess.run(["strace", *options, "-o", trace, *command], check=True)
    reader = _Reader(folder.resolve(), promises.resolve())
    with trace.open(encoding="ascii") as lines:
        return [event for line in lines for event in reader.events(line)]


def disk_after(events: Sequence[Event], rng: Random) -> dict[str, bytes]:
    """Return the files, by name, as they may be after a cut at the end of events."""
    disk = _Disk()
    for event in events:
        disk.apply(event)
    return disk.survivors(rng)


def write(files: dict[str, bytes], folder: Path) -> None:
    """Write files into an empty folder."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def cuts(
    events: Sequence[Event],
    folder: Path,
    numbers: Iterable[int],
    seed: int = 0,
    since: int = 0,
) -> Iterator[tuple[Path, str]]:
    """Cut the power at random moments; yield the files after, and what was promised.

    None is cut before so many events.
    """
    for number in numbers:
        rng = Random(seed * 1_000_003 + number)
        before = events[: rng.randint(since, len(events))]
        place = folder / f"cut{number}"
        write(disk_after(before, rng), place)
        promises = b"".join(e.data for e in before if e.what == "promise")
        yield place, promises.decode()
        shutil.rmtree(place)


class _Reader:
    """Turns lines of a trace into events."""

    def __init__(self, folder: Path, promises: Path) -> None:
        self.folder, self.promises = folder, promises

    def events(self, line: str) -> list[Event]:
        call = _CALL.match(line.strip())
        if call is None:
            return []
        name, arguments, result, _ = call.groups()
        texts = [_bytes(text) for text in _TEXT.findall(arguments)]
        handler = getattr(self, f"_{name}", None)
        fd = _FD.match(arguments)
        path = Path(os.fsdecode(_bytes(fd[1]))) if fd else Path(os.devnull)
        found = handler(path, arguments, texts, int(result)) if handler else []
        return [
            e for e in found if e.name is not None and not e.name.endswith(_IGNORED)
        ]

    def _name(self, path: Path | bytes) -> str | None:
        """Return a file's name in the folder; the folder itself is ``.``."""
        full = Path(os.fsdecode(path)) if isinstance(path, bytes) else path
        if full == self.folder:
            return "."
        return full.name if full.parent == self.folder else None

    def _openat(self, _path, arguments, texts, _result):
        name = self._name(texts[0])
        made = [Event("create", name)] if "O_CREAT" in arguments else []
        return made + ([Event("cut", name)] if "O_TRUNC" in arguments else [])

    def _write(self, path, _arguments, texts, result):
        if path == self.promises:
            return [Event("promise", data=texts[0][:result])]
        return [Event("append", self._name(path), data=texts[0][:result])]

    def _pwrite64(self, path, arguments, texts, result):
        at = int(arguments.rsplit(",", 1)[1])
        return [Event("write", self._name(path), at, texts[0][:result])]

    def _ftruncate(self, path, arguments, _texts, _result):
        return [Event("cut", self._name(path), int(arguments.rsplit(",", 1)[1]))]

    def _fsync(self, path, _arguments, _texts, _result):
        return [Event("sync", self._name(path))]

    def _rename(self, _path, _arguments, texts, _result):
        return [Event("rename", self._name(texts[0]), to=self._name(texts[1]) or "")]

    def _unlink(self, _path, _arguments, texts, _result):
        return [Event("unlink", self._name(texts[0]))]

    _fdatasync = _fsync
    _renameat = _renameat2 = _rename
    _unlinkat = _unlink


@dataclass(slots=True)
class _File:
    """What is surely on the disk, and what was written since."""

    synced: bytearray = field(default_factory=bytearray)
    loose: list[Event] = field(default_factory=list)
    born: int = 0  # how many changes of names it takes to have its name


class _Disk:
    def __init__(self) -> None:
        self.files: dict[str, _File] = {}
        self.names: list[Event] = []
        self.made: list[_File] = []
        self.sure = 0

    def apply(self, event: Event) -> None:
        if event.what in ("create", "rename", "unlink"):
            self._name(event)
        elif event.what == "sync" and event.name == ".":
            self.sure = len(self.names)
        elif event.what == "sync":
            file = self.files[event.name]
            for loose in file.loose:
                _apply(file.synced, loose)
            file.loose.clear()
            self.sure = max(self.sure, file.born)
        elif event.what != "promise":
            self.files[event.name].loose.append(event)

    def _name(self, event: Event) -> None:
        if event.what == "create":
            if event.name in self.files:
                return
            self.made.append(_File(born=len(self.names) + 1))
            self.files[event.name] = self.made[-1]
            event = Event("create", event.name, at=len(self.made) - 1)
        elif event.what == "rename":
            self.files[event.to] = self.files.pop(event.name)
        else:
            self.files.pop(event.name, None)
        self.names.append(event)

    def survivors(self, rng: Random) -> dict[str, bytes]:
        kept: dict[str, _File] = {}
        for event in self.names[: rng.randint(self.sure, len(self.names))]:
            if event.what == "create":
                kept[event.name] = self.made[event.at]
            elif event.what == "rename":
                kept[event.to] = kept.pop(event.name)
            else:
                kept.pop(event.name, None)
        return {name: _survivor(file, rng) for name, file in kept.items()}


def _survivor(file: _File, rng: Random) -> bytes:
    data = bytearray(file.synced)
    for event in file.loose:
        fate = rng.random()
        if fate < 0.4:
            _apply(data, event)
        elif fate > 0.8:
            _tear(data, event, rng)
    return bytes(data)


def _apply(data: bytearray, event: Event) -> None:
    at = len(data) if event.what == "append" else event.at
    data.extend(bytes(max(0, at - len(data))))
    if event.what == "cut":
        del data[at:]
    else:
        data[at : at + len(event.data)] = event.data


def _tear(data: bytearray, event: Event, rng: Random) -> None:
    start = len(data) if event.what == "append" else event.at
    for offset in range(0, len(event.data), SECTOR):
        if rng.random() < 0.5:
            sector = event.data[offset : offset + SECTOR]
            _apply(data, Event("write", event.name, start + offset, sector))


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))
