"""A GraphQL server over a table of teas: connections as Relay has them."""

import os
import sqlite3
from base64 import b64decode, b64encode
from contextlib import closing

import strawberry
from strawberry.asgi import GraphQL

DATABASE = os.environ["TEAS"]


@strawberry.type
class Tea:
    """A tea with a price that changes."""

    id: int
    name: str
    price: int


@strawberry.type
class Edge:
    """A tea, and where it is in the list."""

    node: Tea
    cursor: str


@strawberry.type
class PageInfo:
    """Whether there is more."""

    end_cursor: str | None
    has_next_page: bool


@strawberry.type
class Teas:
    """Some of the teas."""

    edges: list[Edge]
    page_info: PageInfo
    total_count: int


def rows(query: str, *values: object) -> list[tuple]:
    with closing(sqlite3.connect(DATABASE, timeout=20)) as db:
        return db.execute(query, values).fetchall()


@strawberry.type
class Query:
    """What can be asked."""

    @strawberry.field
    def teas(self, first: int = 40, after: str | None = None, above: int = 0) -> Teas:
        """Return the teas after a cursor, and above a number."""
        begin = int(b64decode(after)) if after else above
        found = rows(
            "SELECT * FROM tea WHERE id > ? ORDER BY id LIMIT ?", begin, first + 1
        )
        edges = [
            Edge(node=Tea(id=i, name=n, price=p), cursor=b64encode(b"%d" % i).decode())
            for i, n, p in found[:first]
        ]
        end = edges[-1].cursor if edges else None
        (total,) = rows("SELECT count(*) FROM tea WHERE id > ?", above)[0]
        more = PageInfo(end_cursor=end, has_next_page=len(found) > first)
        return Teas(edges=edges, page_info=more, total_count=total)


app = GraphQL(strawberry.Schema(Query))
