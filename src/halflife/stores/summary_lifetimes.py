"""What looks at a database have shown of its summaries, a row a version.

They are kept in one note a database, which outlives the versions themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite

from halflife.core.store import NoteBook
from halflife.stores.notes import NoteKind

MOST = 200  # versions of a database that are remembered


@dataclass(frozen=True, slots=True)
class Life:
    """How long a summary held, as far as anybody looked; ages are in days.

    Attributes:
        version: Its number.
        made: When it was made, in days.
        looked: When the database was last looked at, in days.
        held: Its age when it was last found to hold; 0 if it never was.
        failed: Its age when it was found not to hold; infinity if it was not.
        doubted: Its age when a check was not passed; infinity if none is open.

    """

    version: int
    made: float
    looked: float
    held: float = 0.0
    failed: float = inf
    doubted: float = inf

    @property
    def is_doubted(self) -> bool:
        """Whether it did not pass its last check, and is not made anew yet."""
        return isfinite(self.doubted)

    def seen(self, at: float, *, holds: bool) -> "Life":
        """Return the same with a look that told whether it holds."""
        age = max(at - self.made, 0.0)
        if not holds:
            return replace(self, looked=at, failed=age, doubted=inf)
        return replace(self, looked=at, held=max(age, self.held), doubted=inf)

    def suspected(self, at: float) -> "Life":
        """Return the same with a check that it did not pass."""
        return replace(self, looked=at, doubted=max(at - self.made, 0.0))


def lives(store: NoteBook, source: str) -> list[Life]:
    """Return what is known of a database's summaries, oldest first."""
    return LIFETIMES.load(store, source) or []


def life(store: NoteBook, source: str, version: int, made: float) -> Life:
    """Return what is known of one version; nothing but when it was made if new."""
    found = [one for one in lives(store, source) if one.version == version]
    return found[-1] if found else Life(version, made, made)


def note(store: NoteBook, source: str, life: Life) -> None:
    """Keep what is known of a version in place of what was known before."""
    others = [one for one in lives(store, source) if one.version != life.version]
    rows = sorted([*others, life], key=lambda one: one.version)[-MOST:]
    LIFETIMES.save(store, rows, source)


def _row(one: Life) -> dict[str, float | int | None]:
    return {k: v if isfinite(v) else None for k, v in asdict(one).items()}


def _read(row: dict[str, float | int | None]) -> Life:
    given = {k: inf if v is None else v for k, v in row.items()}
    version = int(given.pop("version"))
    return Life(version, **{k: float(v) for k, v in given.items()})


def _write(rows: Sequence[Life]) -> list[Mapping[str, float | int | None]]:
    return [_row(one) for one in rows]


def _read_all(rows: Sequence[dict[str, float | int | None]]) -> list[Life]:
    return [_read(row) for row in rows]


LIFETIMES = NoteKind("summary_lifetimes", 1, _write, _read_all)
