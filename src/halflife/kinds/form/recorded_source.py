"""A recorded form: the hits of a query at a time, and the record of a key."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote
from zlib import crc32

import numpy as np

from halflife.core.errors import SourceError
from halflife.core.forms import Form, Interface, Query, Term, within
from halflife.core.object_store import NEVER, Attributes
from halflife.kinds.form.recorded_pages import snippet
from halflife.queries.faulty_form import FaultyForm, FormFaults
from halflife.queries.table_form import TableFaults, TableForm
from halflife.recordings.pages import Recording
from halflife.recordings.relations import Relation, items_of
from halflife.replay.world import RecordedAnswer, RecordedRequest, Responder, as_json
from halflife.stores import Store

KEY = "_key"  # the field with the key of a record
RECORDS = "/api/records"
LYING, SHUFFLED, FACTOR = "lying-counts", "shuffled-pages", 2.0
TROUBLES = {
    "stuck-page": FormFaults(stuck=True),
    "overlapping-pages": FormFaults(overlap=3),
    "joins-by-or": FormFaults(either=True),
}
FORM_FAULTS = {
    LYING: "a form's number of hits is off by up to a factor of two",
    SHUFFLED: "a form shows its results in another order each time",
    "stuck-page": "every page of a form's results is the first",
    "overlapping-pages": "pages of a form's results begin with three of the last",
    "joins-by-or": "a form joins conditions by or",
}


def form(present: Callable[[float], Form]) -> Responder:
    """Return a form at ``/api/records``; ``present`` gives its table at a time."""

    def answer(request: RecordedRequest, now: float) -> RecordedAnswer:
        path, table = request.url.raw_path, present(now)
        if path.startswith(f"{RECORDS}/"):
            return _record(table, unquote(path.removeprefix(f"{RECORDS}/")))
        if path != RECORDS:
            return as_json({"error": "no such page"}, 404)
        try:
            return _results(table, request.url.query)
        except (ValueError, SourceError) as error:
            return as_json({"error": str(error)}, 400)

    return answer


def _record(table: Form, key: str) -> RecordedAnswer:
    for name, record in table.fetch(key).records.items():
        return as_json({**record, KEY: name})
    return as_json({"error": "no such record"}, 404)


def _results(table: Form, parameters: Mapping[str, str]) -> RecordedAnswer:
    page = max(int(parameters.get("page", "1")) - 1, 0)
    newest = parameters.get("sort") == "date" and table.interface.newest
    hits = table.ask(query_of(table.interface, parameters), page, newest=newest)
    total = {} if hits.total is None else {"total": hits.total}
    rows = [{**record, KEY: key} for key, record in hits.records.items()]
    return as_json({**total, "page": page + 1, "results": rows})


def query_of(interface: Interface, parameters: Mapping[str, str]) -> Query:
    """Return the query in parameters; empty ones have no condition."""
    terms: list[Term] = []
    for attribute in interface.attributes:
        name = attribute.name
        value = parameters.get(name, "")
        if attribute.kind == "range":
            ends = parameters.get(f"{name}_min", ""), parameters.get(f"{name}_max", "")
            low, high = float(ends[0] or "-inf"), float(ends[1] or "inf")
            terms += [within(name, low, high)] if any(ends) else []
        elif attribute.kind == "keyword":
            terms += [Term(name, word) for word in value.lower().split()]
        elif value:
            terms.append(Term(name, value))
    return Query.of(*terms)


@dataclass(frozen=True)
class RecordedForm:
    """A table behind a form, with the history of a relation.

    Attributes:
        name: The name of the source.
        relation: The table at each fetch.
        interface: The capabilities of the form.
        purpose: What it is kept for: ``new`` records or ``known`` ones.
        differs_by: What makes a known record stale, as in the settings.
        faults: Its faults, of ``FORM_FAULTS``.

    """

    name: str
    relation: Relation
    interface: Interface
    purpose: str = "new"
    differs_by: str = ""
    kind: str = "form"
    faults: frozenset[str] = frozenset()
    _forms: dict[float, TableForm] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """The quality measure of its copy."""
        return "content" if self.purpose == "known" else "recall"

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last fetch."""
        return float(self.relation.looks[0]), float(self.relation.looks[-1])

    def items(self, now: float) -> int:
        """Return how many records there were."""
        return int(self.relation.rows(now).size)

    def moved(self, days: float) -> "RecordedForm":
        """Return the same form, shifted ``days`` later."""
        return replace(self, relation=self.relation.moved(days), _forms={})

    def table(self, now: float) -> TableForm:
        """Return the form at a time; results come in an arbitrary order."""
        look = self.relation.last_observation(now)
        if look not in self._forms:
            self._forms.clear()  # time moves on: earlier fetches are not needed again
            there = self.relation.at(look)
            places = {key: float(crc32(key.encode())) for key in there}
            rng, dates = np.random.default_rng(0), self.relation.first_seen_times(look)
            self._forms[look] = TableForm(
                self.interface,
                there,
                rng=rng,
                dates=dates,
                places=places,
                faults=self._table_faults,
            )
        return self._forms[look]

    def answer(self, request: RecordedRequest, now: float) -> RecordedAnswer:
        """Return the answer of the form at a time."""
        return form(self._faulty)(request, now)

    def truth(self) -> Recording:
        """Return when its records arrived, changed and departed."""
        return items_of(self.relation)

    def with_faults(self, faults: Collection[str]) -> "RecordedForm":
        """Return the form with faults; see ``FORM_FAULTS``."""
        return replace(self, faults=frozenset(faults) & FORM_FAULTS.keys(), _forms={})

    @property
    def _table_faults(self) -> TableFaults:
        lies = FACTOR if LYING in self.faults else 1.0
        return TableFaults(lies, SHUFFLED in self.faults)

    def _faulty(self, now: float) -> Form:
        served: Form = self.table(now)
        for name in sorted(self.faults & TROUBLES.keys()):
            served = FaultyForm(served, TROUBLES[name])
        return served

    def settings(self, origin: str) -> str:
        """Return the settings to query it."""
        lines = snippet(origin, self.interface, name=self.name).splitlines()[2:]
        lines = [line for line in lines if not line.startswith("allow")]
        first = [f'purpose = "{self.purpose}"']
        first += [f'differs_by = "{self.differs_by}"'] if self.differs_by else []
        return "\n".join([*first, *lines])

    def quality(self, store: Store, now: float) -> float:
        """Return the share of records in the copy, or of known ones that are right."""
        present, held = self.relation.at(now), held_records(store, self.name)
        if self.purpose != "known":
            return len(held.keys() & present.keys()) / len(present) if present else 1.0
        shared = held.keys() & present.keys()
        column = self.differs_by.rpartition(":")[2]
        names = [column] if column else list(self.relation.columns)
        true = (
            all(held[key].get(n) == present[key].get(n) for n in names)
            for key in shared
        )
        return sum(true) / len(shared) if shared else 0.0


def held_records(store: Store, name: str) -> dict[str, Attributes]:
    """Return the records in a store, as they were last seen."""
    if name not in store.collections():
        return {}
    register = store.register(name)
    records = {s.key: s.attributes for s in register.spells if s.gone_by == NEVER}
    for version in register.versions:
        if version.key in records and version.attributes is not None:
            records[version.key] = version.attributes
    return records
