"""The league, played job by job, so that a run that was cut short goes on.

One job is one policy at one budget. Its scores are written to a folder as soon as they
are there, under a name that says on which files and by which rules they were played;
a job whose scores are there is not played again.
"""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias, TypeVar

from halflife.bench import league, standings
from halflife.recordings.histories import RecordedSpan
from halflife.replay.pages import StrategyScore

PAGE_FILES = ("pages.parquet", "changes.parquet")
Known = TypeVar("Known")
Scores: TypeAlias = list[StrategyScore]


def digest(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of files, in this order; those that are missing count too."""
    found = sha256()
    for path in paths:
        found.update(path.name.encode())
        if path.is_file():
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    found.update(block)
    return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Memory:
    """Scores that are already there.

    Attributes:
        folder: Where they lie.
        about: What they were played on and by which rules, in a few characters.

    """

    folder: Path
    about: str

    def recall(self, name: str, make: Callable[[], Known]) -> Known:
        """Return what is remembered under a name; make it, and remember it, if not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{self.about}-{name}.pickle"
        if path.is_file():
            known: Known = pickle.loads(path.read_bytes())  # noqa: S301  (our own)
            return known
        found = make()
        half = path.with_suffix(".part")
        half.write_bytes(pickle.dumps(found))
        half.replace(path)
        return found


def rows(
    recorded: RecordedSpan,
    names: Sequence[str],
    rules: league.LeagueRules,
    memory: Memory,
    told: Callable[[str], None],
) -> list[standings.Row]:
    """Return the rows of ``league.compare``, playing only what is not remembered."""
    league.check(names)
    dealt = league.shuffle_items(recorded)
    scores, bounds = {}, {}
    for share in rules.shares:
        only = replace(rules, shares=(share,))
        for name in names:

            def play(name: str = name, only: league.LeagueRules = only) -> Scores:
                told(f"{name} at {only.shares[0]:.1%}")
                (found,) = league.play(dealt, [name], only, _silent).values()
                return found

            scores[name, share] = memory.recall(f"{name}-{share}", play)

        def bound(share: float = share) -> standings.Bounds:
            replay = rules.replay(dealt, share)
            found = replay.blind(), replay.announced(), replay.hindsight()
            return standings.Bounds(*found)

        bounds[share] = memory.recall(f"bounds-{share}", bound)
    return standings.rows(scores, bounds)


def _silent(_done: int, _said: str) -> None:
    """Say nothing."""
