"""The observed lifetimes of a database's summaries, a row a version.

Each database has one note of them, which outlives the versions themselves.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite

from halflife.core.store import NoteBook
from halflife.core.wording import finite
from halflife.stores.notes import NoteKind

MOST = 200  # versions of a database that are stored


@dataclass(frozen=True, slots=True)
class Life:
    """How long a summary held, as far as it was checked; ages are in days.

    Attributes:
        version: Its number.
        made: When it was made, in days.
        looked: When the database was last checked, in days.
        held: Its age when it was last seen to hold; 0 if it never was.
        failed: Its age when it was seen not to hold; infinity if it was not.
        doubted: Its age when it failed a check; infinity if none is open.

    """

    version: int
    made: float
    looked: float
    held: float = 0.0
    failed: float = inf
    doubted: float = inf

    @property
    def is_doubted(self) -> bool:
        """Whether it failed its last check and has not been replaced yet."""
        return isfinite(self.doubted)

    def with_result(self, at: float, *, holds: bool) -> "Life":
        """Return the same with a check that showed whether it holds."""
        age = max(at - self.made, 0.0)
        if not holds:
            return replace(self, looked=at, failed=age, doubted=inf)
        return replace(self, looked=at, held=max(age, self.held), doubted=inf)

    def with_doubt(self, at: float) -> "Life":
        """Return the same with a check that it failed."""
        return replace(self, looked=at, doubted=max(at - self.made, 0.0))


def lives(store: NoteBook, source: str) -> list[Life]:
    """Return the lifetimes of a database's summaries, oldest first."""
    return LIFETIMES.load(store, source) or []


def life(store: NoteBook, source: str, version: int, made: float) -> Life:
    """Return the lifetime of one version; a new one if there is none."""
    found = [row for row in lives(store, source) if row.version == version]
    return found[-1] if found else Life(version, made, made)


def note(store: NoteBook, source: str, life: Life) -> None:
    """Store the lifetime of a version, replacing the one before."""
    others = [row for row in lives(store, source) if row.version != life.version]
    rows = sorted([*others, life], key=lambda row: row.version)[-MOST:]
    LIFETIMES.save(store, rows, source)


def _read(row: dict[str, float | int | None]) -> Life:
    values = {k: inf if v is None else v for k, v in row.items()}
    version = int(values.pop("version"))
    return Life(version, **{k: float(v) for k, v in values.items()})


def _write(rows: Sequence[Life]) -> list[object]:
    return [finite(asdict(life)) for life in rows]


def _read_all(rows: Sequence[dict[str, float | int | None]]) -> list[Life]:
    return [_read(row) for row in rows]


LIFETIMES = NoteKind("summary_lifetimes", 1, _write, _read_all)
