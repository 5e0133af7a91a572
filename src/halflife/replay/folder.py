"""The recorded histories in a folder, as sources that can be replayed.

Every kind of source lists the histories it can play (``Kind.recordings``). A history
that several kinds can play is played as the first of them, in the order of
``config.kinds``: an object history as a listing, a site as pages. Nested folders are
searched, too.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from halflife.config.kinds import kinds
from halflife.core.errors import ConfigError, NothingRecorded, UsageError
from halflife.kinds.registry import kind_named
from halflife.replay.recorded_source import (
    RecordedHistory,
    RecordedSource,
    source_name,
)

DEPTH = 3  # levels of nested folders that are searched
NAMED = 12  # names that an error lists
WEEK = 7.0  # days


class OfferedHistory(NamedTuple):
    """A history, and a kind of source that can play it."""

    history: RecordedHistory
    kind: str


class SourceChoice(NamedTuple):
    """A source that the user chose; an empty kind stands for any."""

    name: str
    kind: str = ""

    def matches(self, offered: OfferedHistory) -> bool:
        """Return whether a history is the one that was chosen."""
        name = source_name(self.name)
        return name == offered.history.name and self.kind in ("", offered.kind)


def recorded_in(
    folder: Path, names: Sequence[str] = (), kind: str = "", days: float = 60.0
) -> list[RecordedSource]:
    """Return the sources recorded in a folder, moved to end within the same week.

    ``names`` picks some; each may name the kind it is played as, as in ``cars:form``.
    The others are played as ``kind``, if one is given. Of some histories only the last
    ``days`` are read.
    """
    offered = list(_offered(folder, kind))
    choices = [_parse_choice(name) for name in names]
    picked = _pick(offered, choices, kind) if offered else []
    if not picked:
        what = f"that can be played as kind {kind!r}" if kind else "that I know"
        raise UsageError(
            f"{folder}: holds no recorded history {what}; docs/replay.md says what a "
            "folder contains"
        )
    return aligned(_loaded(picked, days, every=bool(names)))


def _loaded(
    picked: Sequence[OfferedHistory], days: float, *, every: bool
) -> list[RecordedSource]:
    """Return the sources with anything to play; with ``every``, all must have."""
    found = list[RecordedSource]()
    for chosen in picked:
        try:
            found.append(chosen.history.load(days))
        except NothingRecorded:
            if every or (chosen is picked[-1] and not found):
                raise
    return found


def _offered(folder: Path, kind: str) -> Iterator[OfferedHistory]:
    """Yield every history with every kind that can play it."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of recorded histories")
    known = kinds()
    if kind and kind not in known:
        raise UsageError(f"--kind: no kind is named {kind!r}; {', '.join(known)} are")
    seen: dict[int, str] = {}
    for name in known:  # two names may stand for the same kind
        try:
            seen.setdefault(id(kind_named(name)), name)
        except ConfigError:  # a broken plug-in; `halflife doctor` reports it
            if name == kind:
                raise
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
    for path in inside:
        if depth and path.is_dir() and not path.name.startswith("."):
            yield from _folders(path, depth - 1)


def _parse_choice(text: str) -> SourceChoice:
    name, colon, kind = text.rpartition(":")
    if colon and kind in kinds():
        return SourceChoice(name, kind)
    return SourceChoice(text)


def _pick(
    offered: Sequence[OfferedHistory], choices: Sequence[SourceChoice], kind: str
) -> list[OfferedHistory]:
    """Return the histories to play: every one once, or the chosen ones."""
    first: dict[str, OfferedHistory] = {}
    for candidate in offered:
        if kind in ("", candidate.kind):
            first.setdefault(candidate.history.name, candidate)
    if not choices:
        return list(first.values())
    found = [_find(offered, first, choice, kind) for choice in choices]
    names = [chosen.history.name for chosen in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UsageError(f"--sources names {min(twice)} twice; once is enough")
    return found


def _find(
    offered: Sequence[OfferedHistory],
    first: dict[str, OfferedHistory],
    choice: SourceChoice,
    kind: str,
) -> OfferedHistory:
    if kind and not choice.kind:
        choice = SourceChoice(choice.name, kind)
    for candidate in (*first.values(), *offered):
        if choice.matches(candidate):
            return candidate
    there = list(dict.fromkeys(candidate.history.name for candidate in offered))
    name = source_name(choice.name)
    if name in there:
        played = sorted(o.kind for o in offered if o.history.name == name)
        raise UsageError(
            f"--sources: {choice.name} cannot be played as kind {choice.kind!r}; as "
            f"{' or '.join(played)} it can"
        )
    more = f" and {len(there) - NAMED} more" if len(there) > NAMED else ""
    raise UsageError(
        f"--sources: nothing named {choice.name!r} was recorded; there is "
        f"{', '.join(there[:NAMED])}{more}"
    )


def aligned(sources: Sequence[RecordedSource]) -> list[RecordedSource]:
    """Return sources with different times, moved as if recorded at the same time.

    Each is moved by whole weeks, which keeps the days of the week, so that all end
    within the week in which the last one ends.
    """
    last = max((source.span[1] for source in sources), default=0.0)
    moved = [WEEK * ((last - source.span[1]) // WEEK) for source in sources]
    return [
        source.moved(days) if days else source
        for source, days in zip(sources, moved, strict=True)
    ]
