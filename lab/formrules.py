"""Rules for databases behind forms, compared through the service in virtual time.

    python -m lab.formrules OBJECTS [new|known [POLICY ...]] [--only TABLE] [--begin D]

lets the service keep a recorded table behind a form, once with each rule and the same
budget, and prints a JSON row for each. Without ``--only``, new records are those of the
table with the longest history among those that have a text and something to choose. ICR
is the share of what came since the beginning that the copy has at the end. Known ones
are of the largest table that has a number which moves nearly every day, with five of
the values that can be chosen: content staleness is |number held - number there| in the
mean over records and time, the last three quarters of it. ``--begin`` is the first day,
in days since the epoch; by default the last days are played.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from halflife.bench.newrecords_play import infer
from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.core.forms import Interface
from halflife.core.object_store import Attributes
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.form.recorded_source import RecordedForm, held_records
from halflife.queries.known.content import number
from halflife.queries.policies import KNOWN, NEW
from halflife.recordings.relations import Relation, load_relation
from halflife.replay.play import Play, play_recorded
from halflife.stores import Store
from lab.tables import biggest, listed, tables

ORIGIN = "http://recorded-0.invalid"
QUARTERLY = ServiceRhythm(21600.0, 21600.0, 21600.0, 21600.0, 21600.0)
MOMENTS = 4  # a day at which the copy is compared with the truth


@dataclass(frozen=True)
class Game:
    """What is played.

    Attributes:
        history: The folder of the table.
        columns: What the form asks for.
        purpose: What the copy is kept for.
        budget: Requests a day.
        begin: The day on which it begins.
        days: How long it lasts.
        page_size: Records on a page.
        differs_by: What makes a known record stale.
        only: A column and the values of the records that are served; all if None.

    """

    history: Path
    columns: Sequence[str]
    purpose: str
    budget: int
    begin: float
    days: float
    page_size: int = 20
    differs_by: str = ""
    only: tuple[str, Sequence[str]] | None = None


NEW_DAYS, KNOWN_DAYS = 8.0, 6.0
SERVED = 5  # values of the choice whose records are served


def new_game(folder: Path, only: Sequence[str], begin: float | None) -> Game:
    """Return a game of finding new records."""
    found = [t for t in tables(folder, only) if t.text and t.choice]
    table = max(found, key=lambda one: one.length, default=None)
    if table is None:
        raise UsageError("no table has a text and something to choose")
    columns = f"{table.shortest_choice}:select", f"{table.text}:keyword"
    day = table.end - NEW_DAYS if begin is None else begin
    return Game(table.folder, columns, "new", 40, day, NEW_DAYS)


def known_game(folder: Path, only: Sequence[str], begin: float | None) -> Game:
    """Return a game of keeping known records as they are."""
    found = [t for t in tables(folder, only) if t.counter and t.text and t.choice]
    table = biggest(found, "with a counter, a text and something to choose")
    values = Counter(str(row.get(table.choice)) for row in table.last.values())
    common = tuple(sorted(value for value, _ in values.most_common(SERVED)))
    return Game(
        table.folder,
        (f"{table.choice}:select", f"{table.text}:keyword"),
        "known",
        40,
        table.end - KNOWN_DAYS if begin is None else begin,
        KNOWN_DAYS,
        differs_by=table.counter,
        only=(table.choice, common),
    )


@dataclass
class _Watch:
    source: RecordedForm
    at: list[float] = field(default_factory=list)
    quality: list[float] = field(default_factory=list)

    stale: list[float] = field(default_factory=list)

    def look(self, now: float, store: Store) -> None:
        """Write down how good the copy is."""
        self.at.append(now)
        self.quality.append(self.source.quality(store, now))
        column, there = self.source.differs_by, self.source.relation.at(now)
        held = held_records(store, self.source.name)
        gaps = [
            abs(number(held[key][column]) - number(there[key][column]))
            for key in (held.keys() & there.keys() if column else ())
        ]
        self.stale.append(float(np.mean(gaps)) if gaps else 0.0)


def played(source: RecordedForm, game: Game, policy: str) -> dict[str, Any]:
    """Return what a rule makes of a game."""
    watch = _Watch(source)
    play = Play(game.begin, game.days, 1.0 / MOMENTS, watch.look, rhythm=QUARTERLY)
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
    warm = len(watch.quality) // 4
    row: dict[str, Any] = {
        "policy": policy or "default",
        "requests": len(sent),
        "quality": round(float(np.mean(watch.quality[warm:])), 4),
        "at_the_end": round(watch.quality[-1], 4),
    }
    if game.purpose == "new":
        row |= _coverage(source.relation, found, game.begin, game.begin + game.days)
    else:
        row["content_staleness"] = round(float(np.mean(watch.stale[warm:])), 2)
    return row


def _coverage(
    relation: Relation, found: dict[str, float], begin: float, end: float
) -> dict[str, float]:
    """Return the share of the records that came meanwhile that were found."""
    new = relation.at(end).keys() - relation.at(begin).keys()
    return {"new": len(new), "icr": round(len(new & found.keys()) / len(new), 4)}


def _subset(relation: Relation, only: tuple[str, Sequence[str]] | None) -> Relation:
    """Return a relation with some of its spells."""
    if only is None:
        return relation
    column, values = only
    some = np.isin(relation.columns[column].astype(str), list(values))
    spells = np.unique(relation.spell[some])
    rows = np.isin(relation.spell, spells)
    return Relation(
        relation.looks,
        tuple(relation.keys[i] for i in spells.tolist()),
        relation.first_seen[spells],
        relation.last_seen[spells],
        np.searchsorted(spells, relation.spell[rows]),
        relation.since[rows],
        {name: values[rows] for name, values in relation.columns.items()},
    )


def _options(records: Iterable[Attributes], name: str) -> tuple[str, ...]:
    """Return what a choice offers: the values that records have."""
    return tuple(sorted({str(record[name]) for record in records if record.get(name)}))


def rows(game: Game, policies: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each rule."""
    relation = _subset(load_relation(game.history), game.only)
    there = relation.at(game.begin).values()
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
            game.history.name, relation, interface, game.purpose, game.differs_by
        )
        yield played(source, game, policy)


def main(words: Sequence[str] | None = None) -> None:
    """Print a row for each rule."""
    parser = argparse.ArgumentParser(prog="lab.formrules", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("game", nargs="?", choices=("new", "known"))
    parser.add_argument("policies", nargs="*")
    parser.add_argument("--only")
    parser.add_argument("--begin", type=float)
    given = parser.parse_args(words)
    games = {"new": (new_game, NEW), "known": (known_game, KNOWN)}
    for name in [given.game] if given.game else games:
        made, registered = games[name]
        game = made(given.folder, listed(given.only), given.begin)
        for row in rows(game, given.policies or list(registered)):
            sys.stdout.write(json.dumps({"game": name, **row}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
