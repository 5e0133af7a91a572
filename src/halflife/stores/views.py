"""Views of the state file for readers with other tools.

They have times as text and sources by name, so that Datasette or the ``sqlite3``
program show the data without any knowledge of the tables.
"""

import re

from halflife.stores.database import Database, execute_all, rewriting_schema

_DATE = "strftime('%Y-%m-%dT%H:%M:%SZ', {} * 86400.0, 'unixepoch')"
_TEXT = "CASE typeof({0}) WHEN 'blob' THEN lower(hex({0})) ELSE {0} END"
_LATEST = """coalesce(
        (SELECT version.attributes FROM version
         WHERE version.life = life.id AND version.attributes IS NOT NULL
         ORDER BY version.seen_from DESC LIMIT 1), life.attributes)"""
STATEMENTS = (
    f"""
CREATE VIEW current_records AS  -- records and pages that are there, as last seen
SELECT source.name AS source, life.key AS key, 'record' AS kind,
    {_DATE.format("life.first_seen")} AS first_seen,
    {_DATE.format("life.last_seen")} AS last_seen,
    {_LATEST} AS fields
FROM life JOIN source ON source.id = life.source WHERE life.gone_by IS NULL
UNION ALL
SELECT source.name, item.key, 'page', NULL, {_DATE.format("evidence.last_at")},
    json_object('text', {_TEXT.format("evidence.digest")})
FROM item JOIN source ON source.id = item.source
JOIN evidence ON evidence.item = item.id WHERE evidence.seen = 0""",  # noqa: S608  (constants)
    f"""
CREATE VIEW changes AS  -- what became of records and pages, in the order of writing
SELECT change.seq AS seq, {_DATE.format("change.at")} AS at, source.name AS source,
    change.key AS key, change.kind AS kind, change.fields AS fields
FROM change JOIN source ON source.id = change.source""",  # noqa: S608
    f"""
CREATE VIEW gone AS  -- records and pages that were there and are not
SELECT source.name AS source, life.key AS key, 'record' AS kind,
    {_DATE.format("life.last_seen")} AS last_seen,
    {_DATE.format("life.gone_by")} AS gone_by
FROM life JOIN source ON source.id = life.source
WHERE life.gone_by IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM life AS later WHERE later.source = life.source
     AND later.key = life.key AND later.spell > life.spell)
UNION ALL
SELECT source.name, item.key, 'page', NULL, {_DATE.format("evidence.last_at")}
FROM item JOIN source ON source.id = item.source
JOIN evidence ON evidence.item = item.id
WHERE evidence.seen = 1 AND evidence.changes > 0""",  # noqa: S608
)
_BARE = re.compile(r"\bREFERENCES (\w+)(?!\w)(?! *\()")


def create(db: Database) -> None:
    """Create the views, and let every foreign key name its column."""
    execute_all(STATEMENTS, db)
    name_columns(db)


def name_columns(db: Database) -> None:
    """Let every foreign key name the column that it refers to.

    To SQLite the meaning is the same, so no row changes, only the declaration of the
    table; programs such as Datasette fail where the column is not named. This is the
    way that SQLite's documentation of ``ALTER TABLE`` describes for such a change.
    """
    query = "SELECT name, sql FROM sqlite_schema WHERE type = 'table'"
    tables = [(name, sql) for name, sql in db.execute(query) if _BARE.search(sql or "")]
    with rewriting_schema(db):
        for name, sql in tables:
            db.execute(
                "UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?",
                (_BARE.sub(r"REFERENCES \1 (id)", sql), name),
            )
