"""When a source was observed, and which fetches failed and why: the SQL.

Only the latest observations are read, so a large store takes no longer.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from halflife.stores.connection import Tables

REASONS = 20  # reasons of failures that are told apart
LATEST = 100_000  # observations that are read; 0.1 s
_WINDOW = "observation.id > (SELECT coalesce(max(id), 0) FROM observation) - :latest"
_MINE = "(SELECT id FROM source WHERE name = :source)"
# A subquery for each row: a join would read all items, however few were observed.
_OWNER = "(SELECT source FROM item WHERE item.id = observation.item)"
_FAILED = f"""
SELECT observation.note, count(*), count(DISTINCT item), min(at), max(at), max(item.key)
FROM observation CROSS JOIN item ON item.id = observation.item
WHERE {_WINDOW} AND seen = 2 AND item.source = {_MINE} AND at >= :since
GROUP BY observation.note ORDER BY max(at) DESC LIMIT :most
"""  # noqa: S608  (constants)
_BROKEN = f"""
SELECT note, count(*), 1, min(at), max(at), '' FROM snapshot
WHERE source = {_MINE} AND valid = 0 AND at >= :since
GROUP BY note ORDER BY max(at) DESC LIMIT :most
"""  # noqa: S608
_PAGES = f"""
SELECT avg(at), count(*), count(*) FILTER (WHERE seen = 2)
FROM observation
WHERE {_WINDOW} AND {_OWNER} = {_MINE} AND at >= :since AND seen < 3
GROUP BY CAST((at - :since) / :step AS INTEGER) ORDER BY 1
"""  # noqa: S608
_SETS = f"""
SELECT avg(at), count(*), count(*) FILTER (WHERE valid = 0)
FROM snapshot WHERE source = {_MINE} AND at >= :since
GROUP BY CAST((at - :since) / :step AS INTEGER) ORDER BY 1
"""  # noqa: S608


# In an order independent of when a page became known.
_SAMPLE = f"""
SELECT id FROM item WHERE source = {_MINE}
ORDER BY id * 2654435761 % 4294967296 LIMIT :most
"""  # noqa: S608


class FailureRow(NamedTuple):
    """Fetches that failed for one reason.

    Attributes:
        reason: The reason, as recorded.
        fetches: How many failed.
        items: The number of pages concerned.
        first: When the first failed, in days.
        last: When the last failed.
        example: One of the pages; empty if the whole source failed.

    """

    reason: str
    fetches: int
    items: int
    first: float
    last: float
    example: str


class ObservedRow(NamedTuple):
    """The observations of a period, and the mean of their times."""

    at: float
    fetches: int
    failed: int


def failures(store: "Tables", source: str, since: float) -> list[FailureRow]:
    """Return why fetches of a source failed since then, the latest reason first."""
    parameters = {"source": source, "since": since, "most": REASONS, "latest": LATEST}
    with store.reading() as db:
        rows = [*db.execute(_FAILED, parameters), *db.execute(_BROKEN, parameters)]
    return sorted(map(FailureRow._make, rows), key=lambda row: -row.last)[:REASONS]


def observed(
    store: "Tables", source: str, since: float, step: float
) -> list[ObservedRow]:
    """Return how often a source was observed since then, by periods of some days."""
    parameters = {"source": source, "since": since, "step": step, "latest": LATEST}
    with store.reading() as db:
        rows = [*db.execute(_PAGES, parameters), *db.execute(_SETS, parameters)]
    return [ObservedRow._make(row) for row in rows]


def sample_items(store: "Tables", source: str, most: int) -> list[int]:
    """Return the numbers of a fixed random sample of a source's pages."""
    with store.reading() as db:
        parameters = {"source": source, "most": most}
        return [int(number) for (number,) in db.execute(_SAMPLE, parameters)]
