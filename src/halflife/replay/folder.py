"""What a folder of recorded histories holds, as sources that can be replayed.

Every kind of source says which histories it can play (``Kind.recordings``). A history
that several kinds can play is played as the first of them, in the order of
``config.kinds``: an object history as a listing, a site as pages. Folders inside the
folder are searched, too.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from halflife.config.kinds import kinds
from halflife.core.errors import UsageError
from halflife.kinds.registry import kind_named
from halflife.replay.recorded_source import (
    RecordedHistory,
    RecordedSource,
    source_name,
)

DEPTH = 3  # folders inside folders that are searched
NAMED = 12  # names that a complaint lists
WEEK = 7.0  # days


class OfferedHistory(NamedTuple):
    """A history, and the kind of source that it can be played as."""

    history: RecordedHistory
    kind: str


class Wish(NamedTuple):
    """A source that somebody asks for; an empty kind leaves that open."""

    name: str
    kind: str = ""

    def meets(self, one: OfferedHistory) -> bool:
        """Say whether this is what is asked for."""
        name = source_name(self.name)
        return name == one.history.name and self.kind in ("", one.kind)


def recorded_in(
    folder: Path, names: Sequence[str] = (), kind: str = "", days: float = 60.0
) -> list[RecordedSource]:
    """Return the sources recorded in a folder, moved to end within the same week.

    ``names`` picks some; one may say what it is played as, as in ``cars:form``. The
    others are played as ``kind``, if one is given. Of some histories only the last
    ``days`` are read.
    """
    offered = list(_offered(folder, kind))
    wishes = [_wish(name) for name in names]
    picked = _picked(offered, wishes, kind) if offered else []
    if not picked:
        what = f"that can be played as kind {kind!r}" if kind else "that I know"
        raise UsageError(
            f"{folder}: holds no recorded history {what}; docs/replay.md says what "
            "a folder looks like"
        )
    return aligned([one.history.load(days) for one in picked])


def _offered(folder: Path, kind: str) -> Iterator[OfferedHistory]:
    """Yield every history with every kind that it can be played as."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of recorded histories")
    known = kinds()
    if kind and kind not in known:
        raise UsageError(f"--kind: no kind is named {kind!r}; {', '.join(known)} are")
    seen: dict[int, str] = {}
    for name in known:  # two names may stand for one kind
        seen.setdefault(id(kind_named(name)), name)
    for place in _folders(folder, DEPTH):
        for name in seen.values():
            for history in kind_named(name).recordings(place):
                yield OfferedHistory(history, name)


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    yield folder
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder}: cannot be read: {error.strerror}") from None
    for one in inside:
        if depth and one.is_dir() and not one.name.startswith("."):
            yield from _folders(one, depth - 1)


def _wish(text: str) -> Wish:
    name, colon, kind = text.rpartition(":")
    return Wish(name, kind) if colon and kind in kinds() else Wish(text)


def _picked(
    offered: Sequence[OfferedHistory], wishes: Sequence[Wish], kind: str
) -> list[OfferedHistory]:
    """Return what is played: every history once, or those that are asked for."""
    first: dict[str, OfferedHistory] = {}
    for one in offered:
        if kind in ("", one.kind):
            first.setdefault(one.history.name, one)
    if not wishes:
        return list(first.values())
    found = [_granted(offered, first, wish, kind) for wish in wishes]
    names = [one.history.name for one in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"--sources names {min(twice)} twice; once is enough")
    return found


def _granted(
    offered: Sequence[OfferedHistory],
    first: dict[str, OfferedHistory],
    wish: Wish,
    kind: str,
) -> OfferedHistory:
    wish = wish if wish.kind or not kind else Wish(wish.name, kind)
    for one in (*first.values(), *offered):
        if wish.meets(one):
            return one
    there = list(dict.fromkeys(one.history.name for one in offered))
    name = source_name(wish.name)
    if name in there:
        played = sorted(o.kind for o in offered if o.history.name == name)
        raise UsageError(
            f"--sources: {wish.name} cannot be played as kind {wish.kind!r}; as "
            f"{' or '.join(played)} it can"
        )
    more = f" and {len(there) - NAMED} more" if len(there) > NAMED else ""
    raise UsageError(
        f"--sources: nothing named {wish.name!r} was recorded; there is "
        f"{', '.join(there[:NAMED])}{more}"
    )


def aligned(sources: Sequence[RecordedSource]) -> list[RecordedSource]:
    """Return sources that were recorded at different times as if it were at once.

    Each is moved by whole weeks, which keeps the days of the week, so that all end
    within the week in which the last one ends.
    """
    last = max((source.span[1] for source in sources), default=0.0)
    moved = [WEEK * ((last - source.span[1]) // WEEK) for source in sources]
    return [
        source.moved(days) if days else source
        for source, days in zip(sources, moved, strict=True)
    ]
