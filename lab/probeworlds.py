"""Relations to choose queries for: made up, and recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Ints
from halflife.core.forms import Attribute, Interface, Term, words_in
from halflife.core.object_store import Attributes
from halflife.queries.incidence import Incidence
from halflife.queries.table_form import TableForm
from halflife.recordings.relations import load_relation
from lab.tables import tables

WORDY = 3  # words in the median value of an attribute that is searched by words


@dataclass(frozen=True)
class World:
    """A server behind a form, and the part of it that is held."""

    name: str
    interface: Interface
    server: dict[str, Attributes]
    local: dict[str, Attributes]

    @cached_property
    def open(self) -> Incidence:
        """The server's relation, laid open."""
        return Incidence.of(self.interface, self.server)

    @cached_property
    def held(self) -> Incidence:
        """The local relation."""
        return Incidence.of(self.interface, self.local)

    def form(self, rng: Generator, page_size: int) -> TableForm:
        """Return the server as a form with so many records on a page."""
        shape = Interface(self.interface.attributes, page_size, lookup=True)
        return TableForm(shape, self.server, rng=rng)


def recorded(
    folder: Path, about: str, topics: Sequence[str], keywords: Sequence[str]
) -> World:
    """Return the last state of a recorded relation; what is about topics is held.

    Args:
        folder: A recorded history of objects.
        about: The attribute that says what a record is about; may list several.
        topics: What the local relation is about.
        keywords: The attributes that queries ask for.

    """
    relation = load_relation(folder)
    server = relation.at(float(relation.looks[-1]))
    wanted = set(topics)
    local = {
        key: record
        for key, record in server.items()
        if wanted & set(str(record.get(about)).split(";"))
    }
    shape = tuple(_attribute(name, server) for name in keywords)
    return World(folder.name, Interface(shape, lookup=True), server, local)


def _attribute(name: str, records: dict[str, Attributes]) -> Attribute:
    """Return an attribute, searched by words if its values are texts."""
    words = [len(words_in(str(record.get(name) or ""))) for record in records.values()]
    return Attribute(name, "keyword" if median(words) > WORDY else "select")


def known_worlds(folder: Path, only: Sequence[str] = ()) -> list[World]:
    """Return the recorded relations in a folder, a part of each held by its topic."""
    told = [(table, table.topics()) for table in tables(folder, only)]
    return [recorded(table.folder, *how) for table, how in told if how is not None]


def made_up(
    rng: Generator, *, held: int = 10_000, served: int = 200_000
) -> tuple[Incidence, Incidence]:
    """Return a local and a server relation: eight words and three authors a record.

    Words and authors are drawn by Zipf's law; what is held has one of 60 words or of
    60 authors.
    """
    words, authors = 20_000, 30_000
    often = 1.0 / np.arange(1, words + 1) ** 0.9
    prolific = 1.0 / np.arange(1, authors + 1) ** 0.6
    table = np.column_stack(
        [
            rng.choice(words, (served, 8), p=often / often.sum()),
            words + rng.choice(authors, (served, 3), p=prolific / prolific.sum()),
        ]
    )
    topic = rng.choice(np.arange(50, 2000), 60, replace=False)
    people = words + rng.choice(np.arange(3000), 60, replace=False)
    about = np.flatnonzero(np.isin(table, np.r_[topic, people]).any(axis=1))
    local = rng.choice(about, min(held, about.size), replace=False)
    terms = tuple(
        Term("word" if i < words else "author", f"{i:05d}")
        for i in range(words + authors)
    )
    return _tabled(table[local], terms), _tabled(table, terms)


def _tabled(table: Ints, terms: tuple[Term, ...]) -> Incidence:
    """Return records given as rows of term numbers, which may repeat."""
    table = np.sort(table, axis=1)
    new = np.ones(table.shape, dtype=bool)
    new[:, 1:] = table[:, 1:] != table[:, :-1]
    start = np.r_[0, np.cumsum(new.sum(axis=1))]
    return Incidence(tuple(map(str, range(len(table)))), terms, start, table[new])
