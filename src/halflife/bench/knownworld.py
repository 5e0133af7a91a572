"""A recorded relation behind a form, day by day, and the true staleness of a copy."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.forms import Attribute, Interface, Query, ResultPage, Term
from halflife.core.object_store import Attributes
from halflife.queries.incidence import Incidence
from halflife.queries.known.content import Measure, number
from halflife.recordings.relations import KEY, Relation

_PART = 0.05  # share of the tuples; a word that more have is no topic


class ServedRelation:
    """The relation as ``halflife.core.forms.Form``, at a day that can be set.

    It answers as ``halflife.queries.table_form.TableForm`` over ``Relation.at(day)``
    would, without building a table each day. The order of results does not depend on
    the records and is the same on all days.

    Args:
        relation: The relation to serve.
        keywords: The columns that are searched by word.
        page_size: Records on a page.
        rng: Decides the order of results.

    """

    def __init__(
        self,
        relation: Relation,
        keywords: Sequence[str],
        *,
        page_size: int,
        rng: Generator,
    ) -> None:
        self.relation = relation
        attributes = tuple(Attribute(name, "keyword") for name in keywords)
        self.interface = Interface(
            attributes, page_size=page_size, together=2, lookup=True
        )
        self.keys = tuple(dict.fromkeys(relation.keys))
        self.place = {key: i for i, key in enumerate(self.keys)}
        places = [self.place[key] for key in relation.keys]
        self.key_row = np.array(places, dtype=np.intp)
        self._face, first = _faces(relation, keywords)
        shown = [self.record(version) for version in first.tolist()]
        terms = [self.interface.terms(record) for record in shown]
        self.incidence = Incidence.from_terms(map(str, range(first.size)), terms)
        self._rank = rng.permutation(len(self.keys))
        self.version = np.full(len(self.keys), -1, dtype=np.intp)
        self._of_face = np.full(first.size, -1, dtype=np.intp)
        self._days: dict[float, Ints] = {}

    def turn_to(self, day: float) -> None:
        """Serve the last snapshot until ``day``."""
        if day not in self._days:
            self._days[day] = self.relation.rows(day)
        versions = self._days[day]
        self.version[:] = -1
        self.version[self.key_row[self.relation.spell[versions]]] = versions
        self._of_face[:] = -1
        self._of_face[self._face[versions]] = versions

    def record(self, version: int) -> Attributes:
        """Return a version as a record."""
        relation = self.relation
        key = relation.keys[int(relation.spell[version])]
        values = {name: column[version] for name, column in relation.columns.items()}
        return {KEY: key, **values}

    def _meeting(self, term: Term) -> Ints:
        found = self.incidence.number.get(term)
        return np.zeros(0, np.intp) if found is None else self.incidence.of_term(found)

    def matches(self, query: Query) -> Ints:
        """Return the versions that answer a query, in the order of results."""
        faces = self._meeting(query.terms[0])
        for term in query.terms[1:]:
            faces = np.intersect1d(faces, self._meeting(term), assume_unique=True)
        versions = self._of_face[faces]
        versions = versions[versions >= 0]
        rank = self._rank[self.key_row[self.relation.spell[versions]]]
        ordered: Ints = versions[np.argsort(rank)]
        return ordered

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results; the first is number 0."""
        if newest:
            raise ValueError("the form does not show the newest first")
        versions = self.matches(query)
        begin = page * self.interface.page_size
        end = begin + self.interface.page_size
        records = [self.record(v) for v in versions[begin:end].tolist()]
        return ResultPage(
            {str(record[KEY]): record for record in records},
            int(versions.size),
            more=end < versions.size,
        )

    def fetch(self, key: str) -> ResultPage:
        """Return the record of a key, or nothing if there is none."""
        version = int(self.version[self.place[key]]) if key in self.place else -1
        return (
            ResultPage() if version < 0 else ResultPage({key: self.record(version)}, 1)
        )


def _faces(relation: Relation, keywords: Sequence[str]) -> tuple[Ints, Ints]:
    """Return a number for the searchable values of each version, and first versions.

    Versions of a spell that only differ in other columns have the same number.
    """
    spell = relation.spell
    fresh = np.r_[True, spell[1:] != spell[:-1]][: spell.size]
    for name in keywords:
        if name != KEY:
            values = relation.columns[name]
            differs = np.array(values[1:] != values[:-1], dtype=bool)
            fresh[1:] |= differs
    face: Ints = np.cumsum(fresh) - 1
    return face, np.flatnonzero(fresh)


class Differences:
    """The differences between many versions of a relation, by a measure.

    Args:
        served: The relation.
        measure: The measure.

    """

    def __init__(self, served: ServedRelation, measure: Measure) -> None:
        self._served, self._measure = served, measure
        names = measure.columns or tuple(served.relation.columns)
        columns = [served.relation.columns[name] for name in names]
        self._numbers: list[Floats] = []
        self._codes: list[Ints] = []
        if measure.how == "absolute":
            self._numbers = [np.array([number(v) for v in c]) for c in columns]
        elif measure.how == "changed":
            self._codes = [_coded(column) for column in columns]

    def __call__(self, held: Ints, there: Ints) -> Floats:
        """Return the difference of each pair of versions; 0 where one is missing."""
        found = np.zeros(held.size)
        rows = np.flatnonzero((there >= 0) & (held != there))
        old, new = held[rows], there[rows]
        if self._numbers:
            found[rows] = sum(np.abs(n[new] - n[old]) for n in self._numbers)
        elif self._codes:
            found[rows] = np.any([c[new] != c[old] for c in self._codes], axis=0)
        else:
            record, differ = self._served.record, self._measure.differ
            pairs = zip(old.tolist(), new.tolist(), strict=True)
            found[rows] = [differ(record(a), record(b)) for a, b in pairs]
        return found


def _coded(values: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> Ints:
    codes: dict[object, int] = {}
    found = [codes.setdefault(value, len(codes)) for value in values.tolist()]
    return np.array(found, dtype=np.intp)


def topical(incidence: Incidence, share: float, rng: Generator) -> Bools:
    """Return which records are known: all records of some random words.

    Words are drawn until so large a share is known; words that more than a twentieth
    of the records have are no topics.
    """
    known: Bools = np.zeros(len(incidence), dtype=bool)
    if share >= 1.0:
        return ~known
    topic = np.flatnonzero((incidence.hits > 1) & (incidence.hits < _PART * known.size))
    for term in rng.permutation(topic).tolist():
        if known.mean() >= share:
            break
        known[incidence.of_term(term)] = True
    return known
