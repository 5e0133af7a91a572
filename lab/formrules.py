"""Rules for databases behind forms, compared through the service in virtual time.

``python -m lab.formrules OBJECTS [new|known]`` lets the service keep a recorded history
behind a form, once with each rule and the same budget, and prints a JSON row for each.

Of ``toyota_inventory``, cars that come, change and go quickly: for new records ICR, the
share of those that came since the beginning and were there at any look of the history
that the copy has ever had, and the mean share of what there is that it holds; for known
ones content staleness, the share of the copy's records that are not as they are now.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from halflife.bench.newrecords_play import infer
from halflife.config import Config
from halflife.core.forms import Interface
from halflife.core.object_store import Attributes
from halflife.engine import bootstrap
from halflife.engine.service import Rhythm
from halflife.kinds.form.recorded import RecordedForm
from halflife.queries.policies import KNOWN, NEW
from halflife.recordings.relations import Relation, load_relation
from halflife.replay.play import Play, play_recorded
from halflife.stores.sqlite import SqliteStore

ORIGIN = "http://recorded-0.invalid"
QUARTERLY = Rhythm(21600.0, 21600.0, 21600.0, 21600.0, 21600.0)
MOMENTS = 4  # a day at which the copy is compared with the truth


@dataclass(frozen=True)
class Game:
    """What is played.

    Attributes:
        history: The folder of the history.
        columns: What the form asks for.
        purpose: What the copy is kept for.
        budget: Requests a day.
        days: How long it lasts.
        page_size: Records on a page.
        differs_by: What makes a known record stale.

    """

    history: str
    columns: Sequence[str]
    purpose: str
    budget: int
    days: float
    page_size: int = 20
    differs_by: str = ""


CARS = "toyota_inventory"
COLUMNS = ("trim", "dealer", "exterior_color", "interior_color")
NEW_GAME = Game(CARS, COLUMNS, "new", 60, 20.0, 10)
KNOWN_GAME = Game(CARS, COLUMNS, "known", 60, 20.0, 10, "changed:total_price,status")


@dataclass
class _Watch:
    source: RecordedForm
    at: list[float] = field(default_factory=list)
    quality: list[float] = field(default_factory=list)

    def look(self, now: float, store: SqliteStore) -> None:
        """Write down how good the copy is."""
        self.at.append(now)
        self.quality.append(self.source.quality(store, now))


def played(
    source: RecordedForm, game: Game, policy: str, begin: float
) -> dict[str, Any]:
    """Return what a rule makes of a game."""
    watch = _Watch(source)
    play = Play(begin, game.days, 1.0 / MOMENTS, watch.look, rhythm=QUARTERLY)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "halflife.toml"
        path.write_text(
            f'[budget]\nrequests = {game.budget}\nper = "day"\n[fetch]\ndelay = 0.0\n'
            f'[[source]]\nname = "{source.name}"\nrobots = false\n'
            + (f'policy = "{policy}"\n' if policy else "")
            + source.settings(ORIGIN)
        )
        config = Config.load(path)
        with bootstrap.writing(config) as store:
            store.skip_disk_syncs()
            sent = play_recorded(config, store, {ORIGIN: source.answer}, play)
            found = {s.key: s.first_seen for s in store.register(source.name).spells}
    half = len(watch.quality) // 4
    row: dict[str, Any] = {
        "policy": policy or "default",
        "requests": len(sent),
        "quality": round(float(np.mean(watch.quality[half:])), 4),
        "at_the_end": round(watch.quality[-1], 4),
    }
    if game.purpose == "new":
        row |= _coverage(source.relation, found, begin, begin + game.days)
    else:
        row["content_staleness"] = round(1.0 - row["quality"], 4)
    return row


def _coverage(
    relation: Relation, found: dict[str, float], begin: float, end: float
) -> dict[str, float]:
    """Return the share of the records that came meanwhile that were found."""
    before = relation.at(begin).keys()
    looks = [float(look) for look in relation.looks if begin < look <= end]
    new: set[str] = set()
    for look in looks:
        new |= relation.at(look).keys() - before
    there = relation.at(end).keys() - before
    return {
        "new": len(new),
        "icr": round(len(new & found.keys()) / max(len(new), 1), 4),
        "icr_of_those_there": round(len(there & found.keys()) / max(len(there), 1), 4),
    }


def _options(records: Iterable[Attributes], name: str) -> tuple[str, ...]:
    """Return what a choice offers: the values that records have."""
    return tuple(sorted({str(record[name]) for record in records if record.get(name)}))


def rows(folder: Path, game: Game, policies: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each rule."""
    relation = load_relation(folder / game.history)
    end = float(relation.looks[-1])
    begin = end - game.days - 1.0
    there = relation.at(begin).values()
    attributes = [
        replace(one, values=_options(there, one.name)) if one.kind == "select" else one
        for one in infer(there, list(game.columns))
    ]
    newest = "newest" in policies
    for policy in policies:
        interface = Interface(
            tuple(attributes),
            game.page_size,
            None,
            "exact",
            lookup=game.purpose == "known",
            everything=newest and policy == "newest",
            newest=newest and policy == "newest",
        )
        source = RecordedForm(
            game.history, relation, interface, game.purpose, game.differs_by
        )
        yield played(source, game, policy, begin)


def main(arguments: Sequence[str]) -> None:
    """Print a row for each rule."""
    folder = Path(arguments[0])
    games = {"new": (NEW_GAME, NEW), "known": (KNOWN_GAME, KNOWN)}
    for name in arguments[1:2] or games:
        game, registered = games[name]
        for row in rows(folder, game, list(arguments[2:]) or list(registered)):
            sys.stdout.write(json.dumps({"game": name, **row}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
