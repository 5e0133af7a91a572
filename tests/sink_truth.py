"""What the tables of a database should hold after changes, computed from the changes.

It shares nothing with the sink: no SQL, no types, no batches.
"""

import json
import sqlite3
from contextlib import closing


def versions(changes):
    """Return the versions of each source: (key, values, first change, last or None)."""
    found, now = {}, {}
    for change in sorted(changes, key=lambda c: c.seq):
        if change.kind not in {"held", "accepted"} and change.key:
            found.setdefault(change.source, []).extend(_ended(change, now))
    for (source, _), row in now.items():
        found[source].append((*row, None))
    return {s: sorted(rows, key=lambda r: r[2]) for s, rows in found.items()}


def _ended(change, now):
    """Bring what is held up to date; return the versions that end by that."""
    place = was = change.source, change.key
    if change.kind == "moved" and "key" in change.fields:
        was = change.source, change.fields["key"][0]
        if was not in now:
            return
    values = _values(change, now.get(was, (None, {}))[1], renamed=was != place)
    if was in now:
        if values == now[was][1] and was == place:
            return
        yield (*now.pop(was), change.seq)
    if values is not None:
        now[place] = (change.key, values, change.seq)


def _values(change, old, *, renamed):
    """Return the fields of a record after a change; None if it has gone."""
    if change.kind == "gone":
        return None
    news = {} if renamed else {n: new for n, (_, new) in change.fields.items()}
    kept = {} if change.kind in {"new", "returned"} else old
    return {n: v for n, v in {**kept, **news}.items() if v is not None}


def present(changes):
    """Return the records of each source that are held."""
    rows = versions(changes)
    return {s: {r[0]: r[1] for r in some if r[3] is None} for s, some in rows.items()}


class Tables:
    """The tables of a SQLite file, read without SQLAlchemy."""

    def __init__(self, path, prefix=""):
        self.path, self.prefix = path, prefix
        self.url = f"sqlite:///{path}"

    def query(self, query, *given):
        with closing(sqlite3.connect(self.path)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(query, given)]

    def columns(self, source):
        query = f"SELECT field, name, type FROM {self.prefix}halflife_column"
        return self.query(f"{query} WHERE source = ?", source)

    def table(self, source):
        found = [c["name"] for c in self.columns(source) if c["type"] == "table"]
        return found[0] if found else None

    def values(self, source, row):
        values = {}
        for column in self.columns(source):
            value = None if column["type"] == "table" else row[column["name"]]
            if value is None:
                continue
            if column["type"] == "json":
                value = json.loads(value)
            elif column["type"] == "boolean":
                value = bool(value)
            values[column["field"]] = value
        return values

    def versions(self, source):
        rows = self.query(f'SELECT * FROM "{self.table(source)}_history"')
        found = [
            (r["_key"], self.values(source, r), r["_seq_from"], r["_seq_to"])
            for r in rows
        ]
        return sorted(found, key=lambda r: r[2])

    def present(self, source):
        rows = self.query(
            f'SELECT * FROM "{self.table(source)}" WHERE _gone_at IS NULL'
        )
        return {r["_key"]: self.values(source, r) for r in rows}

    def cursor(self, sink):
        query = f"SELECT seq FROM {self.prefix}halflife_cursor WHERE sink = ?"
        return self.query(query, sink)[0]["seq"]
