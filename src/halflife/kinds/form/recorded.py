"""A recorded form: what a query found at a moment, and the record of a key."""

from collections.abc import Callable, Mapping
from urllib.parse import unquote

from halflife.core.errors import SourceError
from halflife.core.forms import Form, Interface, Query, Term, within
from halflife.replay.world import Asked, Recorded, Told, as_json

KEY = "_key"  # the field with the key of a record
RECORDS = "/api/records"


def form(present: Callable[[float], Form]) -> Recorded:
    """Return a form at ``/api/records``; ``present`` gives it as it was at a time."""

    def answer(asked: Asked, now: float) -> Told:
        path, table = asked.url.raw_path, present(now)
        if path.startswith(f"{RECORDS}/"):
            return _record(table, unquote(path.removeprefix(f"{RECORDS}/")))
        if path != RECORDS:
            return as_json({"error": "no such page"}, 404)
        try:
            return _results(table, asked.url.query)
        except (ValueError, SourceError) as error:
            return as_json({"error": str(error)}, 400)

    return answer


def _record(table: Form, key: str) -> Told:
    for name, record in table.fetch(key).records.items():
        return as_json({**record, KEY: name})
    return as_json({"error": "no such record"}, 404)


def _results(table: Form, asked: Mapping[str, str]) -> Told:
    page = max(int(asked.get("page", "1")) - 1, 0)
    newest = asked.get("sort") == "date" and table.interface.newest
    found = table.ask(query_of(table.interface, asked), page, newest=newest)
    total = {} if found.total is None else {"total": found.total}
    rows = [{**record, KEY: key} for key, record in found.records.items()]
    return as_json({**total, "page": page + 1, "results": rows})


def query_of(interface: Interface, asked: Mapping[str, str]) -> Query:
    """Return the query that parameters ask for; empty ones ask for nothing."""
    terms: list[Term] = []
    for attribute in interface.attributes:
        name = attribute.name
        value = asked.get(name, "")
        if attribute.kind == "range":
            ends = asked.get(f"{name}_min", ""), asked.get(f"{name}_max", "")
            low, high = float(ends[0] or "-inf"), float(ends[1] or "inf")
            terms += [within(name, low, high)] if any(ends) else []
        elif attribute.kind == "keyword":
            terms += [Term(name, word) for word in value.lower().split()]
        elif value:
            terms.append(Term(name, value))
    return Query.of(*terms)
