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
        if change.kind in {"held", "accepted"} or not change.key:
            continue
        place = change.source, change.key
        past = found.setdefault(change.source, [])
        old = now.get(place)
        if change.kind == "gone":
            values = None
        elif change.kind in {"new", "returned"}:
            values = {n: new for n, (_, new) in change.fields.items()}
        else:
            values = {**(old[1] if old else {})}
            values |= {n: new for n, (_, new) in change.fields.items()}
        if values is not None:
            values = {n: v for n, v in values.items() if v is not None}
        if old is not None and old[1] == values:
            continue
        if old is not None:
            past.append((*old, change.seq))
            del now[place]
        if values is not None:
            now[place] = (change.key, values, change.seq)
    for (source, _), row in now.items():
        found[source].append((*row, None))
    return {s: sorted(rows, key=lambda r: r[2]) for s, rows in found.items()}


def present(changes):
    """Return the records of each source that are held."""
    rows = versions(changes)
    return {s: {r[0]: r[1] for r in some if r[3] is None} for s, some in rows.items()}


class Tables:
    """The tables of a SQLite file, read without SQLAlchemy."""

    def __init__(self, path, prefix=""):
        self.path, self.prefix = path, prefix

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
